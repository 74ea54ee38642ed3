"""Loss curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from ..diagnosis.verdict import BOUNDED, Experiment, Verdict
from ..training import History, Run
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_COLOURS = (
    _style.BLUE,
    _style.VERMILLION,
    _style.GREEN,
    _style.ORANGE,
    _style.PURPLE,
    _style.SKY,
    _style.GREY,
)
LONGEST = 3  # times the user's steps: where the axis of loss_curves ends
_STYLES = ("-", "--", "-.", ":")


def history(
    *runs: Run | History,
    labels: Sequence[str] | None = None,
    trivial: float = np.nan,
    reference: float = np.nan,
) -> "matplotlib.figure.Figure":
    """Draw the loss curves of some runs: training solid, validation dashed, in nats by step.

    A run is a `Run` or its `History`. `trivial` and `reference` are losses drawn as horizontal
    lines. Raises InvalidInput without a run, or when the labels are not as many as the runs.
    """
    if not runs:
        raise InvalidInput("there is no run to draw; give at least one.")
    if labels is not None and len(labels) != len(runs):
        raise InvalidInput(f"{len(labels)} labels for {len(runs)} runs; give one each.")
    histories = [run.history if isinstance(run, Run) else run for run in runs]
    names = labels or [f"run {i + 1}" for i in range(len(histories))]
    with _style.style():
        figure = _style.new_figure(3.4)
        ax = figure.add_subplot()
        for i, (one, name) in enumerate(zip(histories, names, strict=True)):
            colour = _COLOURS[i % len(_COLOURS)]
            dash = _STYLES[(i // len(_COLOURS)) % len(_STYLES)]
            ax.plot(one.steps, one.loss, dash, color=colour, label=_style.shorten(name))
            if len(one.validation_loss):
                ax.plot(
                    one.steps,
                    one.validation_loss,
                    linestyle=(0, (4, 2)),
                    color=colour,
                    alpha=0.8,
                    label=f"{_style.shorten(name)}, validation",
                )
        _style.line_at(ax, "y", trivial, "constant predictor", dashed=False)
        _style.line_at(ax, "y", reference, "reference")
        _finish(figure, ax, histories, (trivial, reference), "loss (nats)")
    return figure


def loss_curves(verdict: Verdict) -> "matplotlib.figure.Figure":
    """Draw the training losses of a verdict: the user's run thick, the others thin, by role.

    Of the user's recipe every seed is drawn, of every other experiment the seed that ended with
    the lowest training loss. The axis ends at three times the steps of the user's recipe.
    """
    with _style.style():
        figure = _style.new_figure(3.8)
        ax = figure.add_subplot()
        named: set[str] = set()
        drawn = []
        for experiment in reversed(verdict.experiments):
            mark = _style.role_mark(experiment.role)
            for i in _curves_of(experiment):
                users = experiment is verdict.experiments[0] and i == 0
                label = "your run" if users else _other_label(experiment.role, mark.label)
                one = experiment.histories[i]
                drawn.append(one)
                ax.plot(
                    one.steps,
                    one.loss,
                    color=mark.colour,
                    linewidth=2.4 if users else 1.1,
                    alpha=1.0 if users else 0.75,
                    zorder=3 if users else 2,
                    label=label if label not in named else None,
                )
                named.add(label)
        longest = max((int(h.steps[-1]) for h in drawn if len(h.steps)), default=1)
        end = min(longest, LONGEST * verdict.recipe.steps)
        ax.set_xlim(-0.03 * end, 1.03 * end)
        lines = verdict.trivial_loss, verdict.reference_loss
        _style.line_at(ax, "y", lines[0], "constant predictor", dashed=False)
        _style.line_at(ax, "y", lines[1], _style.reference_label(verdict))
        floors = [one.value for one in verdict.floors if one.objective is None]
        if floors:
            floor = max(floors)
            proved = any(c.kind in BOUNDED and c.certainty == "proved" for c in verdict.causes)
            how = "proved" if proved else "of this architecture"
            dashes = {"linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.3, "zorder": 1.5}
            ax.axhline(floor, color=_style.BLACK, label=f"floor, {how}", **dashes)
        _finish(figure, ax, drawn, lines, "training loss (nats)")
    return figure


def _other_label(role: str, label: str) -> str:
    return "your recipe, other seeds" if role == "recipe" else label


def _curves_of(experiment: Experiment) -> list[int]:
    """Which seeds to draw; the user's own last, so that it lies on top."""
    losses = np.asarray(experiment.training_loss, dtype=float)
    n = min(len(losses), len(experiment.histories))
    if experiment.role == "recipe":
        return list(range(n))[::-1]
    finite = [i for i in range(n) if np.isfinite(losses[i])]
    return [min(finite, key=lambda i: losses[i])] if finite else []


def _finish(
    figure: "matplotlib.figure.Figure",
    ax: "matplotlib.axes.Axes",
    histories: Sequence[History],
    lines: tuple[float, float],
    label: str,
) -> None:
    from matplotlib.ticker import MaxNLocator

    end = ax.get_xlim()[1]
    shown = [np.asarray(h.loss, dtype=float)[h.steps <= end] for h in histories]
    if shown and _style.wants_log(np.concatenate([*shown, lines])):
        finite = np.concatenate(shown)
        finite = finite[np.isfinite(finite)]
        ax.set_ylim(0.7 * max(float(finite.min()), _style.FLOOR), None)
        _style.use_log(ax, "y")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    _style.plain_ticks(ax.xaxis)
    ax.set_xlabel("step (updates of the parameters)")
    ax.set_ylabel(label)
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="outside lower left", ncols=2)
