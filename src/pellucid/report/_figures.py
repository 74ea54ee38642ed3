"""The figures of the report, each with a caption and a description for those who cannot see it."""

from typing import Any

from .. import plot
from ..diagnosis.verdict import Verdict
from ..network import Network
from . import words
from ._html import Html, el

FLOOR = 1e-6  # nats; where the figures draw what is below


def gaps(verdict: Verdict) -> Html:
    """Training and held-out loss of the runs that the verdict compares."""
    run = verdict.experiments[0]
    description = (
        f"The constant predictor has loss {words.loss(verdict.trivial_loss)} nats, the reference "
        f"{words.loss(verdict.reference_loss)} (cross-validated); your run "
        f"{words.loss(run.training_loss[0])} on training rows and "
        f"{words.loss(run.held_out_loss[0])} on held-out rows."
    )
    caption = (
        "Hollow: training rows. Filled: held-out rows. Upright stroke: cross-validation on the "
        "training rows, with two standard errors either way. Of each kind of network the run with "
        "the lowest training loss is shown, whatever its held-out loss. "
        f"{_about_losses(verdict)}"
    )
    return _figure(
        plot.gaps(verdict),
        "Your run between the constant predictor and the reference",
        description,
        caption,
    )


def loss_curves(verdict: Verdict, alone: bool) -> Html:
    """Loss by step of the runs; `alone` in its row, it has its caption beside it."""
    ends = "; ".join(
        f"{e.name}: {words.loss(words.lowest(e.training_loss))}" for e in verdict.experiments
    )
    caption = (
        "Training loss by step: your run, the other seeds of your recipe, and of every other "
        "experiment the seed that ended lowest. The axis ends at three times your steps at most. "
        "With minibatches each point is the loss of one batch. "
        "A training loss below the dashed line is no good sign by itself: the network may only "
        "remember its rows."
    )
    return _figure(
        plot.loss_curves(verdict),
        "Loss curves",
        f"Lowest final training losses in nats. {ends}.",
        caption,
        beside=alone,
    )


def seeds_by_width(verdict: Verdict) -> Html:
    """Held-out loss of every seed."""
    medians = "; ".join(
        f"{e.name}: {words.loss(words.median(e.held_out_loss))}" for e in verdict.experiments
    )
    caption = (
        "Every dot is one seed, from the smallest network to the largest; the bar is the median. "
        "Where the dots of two rows overlap, chance may be all that sets them apart."
    )
    return _figure(
        plot.seeds_by_width(verdict),
        "Held-out loss of every seed",
        f"Median held-out losses in nats. {medians}.",
        caption,
    )


def decision_regions(verdict: Verdict) -> Html | None:
    """What the user's network computes, where it has one or two inputs; else None."""
    title = "Decision regions of your run" if verdict.classes else "The function your run fitted"
    caption = (
        "Your network, evaluated on a grid over the range of the data. All rows are drawn: "
        f"{_marks(verdict)}. Details smaller than a grid cell do not show."
    )
    return _regions(verdict, verdict.network, title, caption)


def better_regions(verdict: Verdict) -> Html | None:
    """What the better parameters of the same architecture compute, where there is a proof."""
    if verdict.witness is None:
        return None
    title = "The same architecture with the better parameters"
    caption = "The network of the proof, drawn in the same way."
    return _regions(verdict, verdict.witness.network, title, caption)


def _marks(verdict: Verdict) -> str:
    if verdict.classes is None and verdict.raw_X.shape[1] == 2:
        return "training rows as circles, held-out rows as squares"
    return "training rows filled, held-out rows hollow"


def _about_losses(verdict: Verdict) -> str:
    """What else must be known to read a training loss off the figure."""
    penalty = " Your training losses include the penalty of your recipe."
    floor = " Losses below a millionth of a nat are drawn there."
    values = [x for e in verdict.experiments for x in (*e.training_loss, *e.held_out_loss)]
    return (penalty if words.penalised(verdict.recipe) else "") + (
        floor if any(0 <= x < FLOOR for x in values) else ""
    )


def _regions(verdict: Verdict, network: Network, title: str, caption: str) -> Html | None:
    d_in = verdict.raw_X.shape[1]
    if d_in not in (1, 2) or (verdict.classes is None and network.d_out != 1):
        return None
    figure = plot.decision_regions(
        network,
        verdict.raw_X,
        verdict.y,
        verdict.classes,
        held_out=verdict.held_out,
        feature_names=verdict.feature_names if len(verdict.feature_names) == d_in else None,
        target_name=verdict.target_name,
    )
    inputs = " and ".join(verdict.feature_names)
    return _figure(figure, title, f"Inputs: {inputs}. Target: {verdict.target_name}.", caption)


def _figure(figure: Any, title: str, description: str, caption: str, beside: bool = False) -> Html:
    svg = Html(plot.to_svg(figure, title, description))
    text = el("figcaption", el("strong", f"{title}. "), caption)
    place = {"class_": "beside"} if beside else {}
    return Html(el("figure", el("div", svg, class_="card"), text, **place) + "\n")
