"""The figures of the report, each with a caption and a description for those who cannot see it."""

from typing import Any

from .. import plot
from ..diagnosis.verdict import Verdict
from ..network import Network
from ..regions import Box, LinearRegions, linear_regions
from . import words
from ._html import Html, el

MOST_REGIONS = 2000  # more cannot be told apart in a figure
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


def waterfall(verdict: Verdict) -> Html:
    """Training losses from the constant prediction down to the floor."""
    steps = "; ".join(f"{step.name} {words.loss(step.loss)}" for step in verdict.waterfall)
    caption = (
        "From the constant prediction to what is known to be possible: each bar is the change from "
        "the row above, green where the loss falls and red where it rises. What lies between your "
        "run and the best run of the same architecture is the training's; what lies between that "
        "and a larger network, the size's. The reference is cross-validated, all others are on the "
        "rows that they were trained on."
    )
    description = f"Losses in nats: {steps}."
    return _figure(plot.waterfall(verdict), "Waterfall", description, caption, beside=True)


def unit_activity(verdict: Verdict) -> Html | None:
    """How many rows every hidden unit of the user's run is active on; None without units."""
    network = verdict.network
    if not network.hidden or network.d_in != verdict.raw_X.shape[1]:
        return None
    counts = "; ".join(
        f"layer {layer.layer}: {layer.n_dead} of {layer.n_units} dead"
        for layer in verdict.unit_health
    )
    caption = (
        "One cell per hidden unit of your run, sorted within its layer. A cross marks a unit that "
        "is active on no training row. Units that are active on every row are affine there."
    )
    figure = plot.unit_activity(network, verdict.raw_X[~verdict.held_out])
    return _figure(figure, "Activity of the hidden units", f"{counts}.", caption, beside=True)


def exact_regions(verdict: Verdict) -> Html | None:
    """The linear regions of the user's run, beside those of the better parameters."""
    networks = [verdict.network]
    networks += [] if verdict.witness is None else [verdict.witness.network]
    found = [_regions_of(network, verdict) for network in networks]
    regions = [one for one in found if one is not None]
    if len(regions) < len(networks):
        return None
    titles = ("your run", "better parameters")[: len(regions)]
    names = verdict.feature_names
    if verdict.raw_X.shape[1] == 1:
        if verdict.network.d_out != 1:
            return None
        figure = plot.function_panels(regions, titles, names=names)
    else:
        figure = plot.region_panels(regions, titles, names=names)
    counts = "; ".join(f"{t}: {r.n_linear_regions}" for t, r in zip(titles, regions, strict=True))
    caption = "The pieces on which the network is linear, exactly, over the range of the data."
    if verdict.raw_X.shape[1] == 2:
        caption += " Colours only tell neighbours apart."
    return _figure(figure, "Linear regions", f"Numbers of linear regions: {counts}.", caption)


def _regions_of(network: Network, verdict: Verdict) -> LinearRegions | None:
    """All linear regions over the range of the data; None where that is not possible, or many."""
    d_in = verdict.raw_X.shape[1]
    straight = all(sigma.is_piecewise_linear for sigma in network.activations)
    if d_in not in (1, 2) or not network.hidden or not straight:
        return None
    low, high = verdict.raw_X.min(axis=0), verdict.raw_X.max(axis=0)
    if not (low < high).all():
        return None
    regions = linear_regions(network, Box(low, high), limit=MOST_REGIONS)
    return regions if regions.complete else None


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
