"""The waterfall of a verdict: training losses from the constant prediction down to the floor."""

from typing import TYPE_CHECKING

import numpy as np

from ..diagnosis.verdict import Step, Verdict
from ..diagnosis.wording import number
from . import _style
from ._rows import _floored, _loss_axis, _row_axes

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_THICK = 0.09  # inches; half the height of a bar
_FAR = 10.0  # times the constant's loss; farther off the bars are no longer as long as their shares


def waterfall(verdict: Verdict) -> "matplotlib.figure.Figure":
    """Draw the steps of `verdict.waterfall`, one row each: the loss, and what it changes.

    A bar leads from the loss of the row above to that of its own row: green where the loss falls,
    red where it rises, with the change as a share of (constant - reference) in the row's name. The
    reference is no step, only a mark. The axis is linear, so that bars are as long as what they
    stand for, unless a run is far above the constant. The last row is a lower bound, where one is
    known: a hatched bar covers what no parameters reach.
    """
    steps = [step for step in verdict.waterfall if np.isfinite(step.loss)]
    names = [
        _named(step, before, verdict)
        for step, before in zip(steps, [None, *steps[:-1]], strict=True)
    ]
    values = np.array([step.loss for step in steps])
    with _style.style():
        figure, ax, places = _row_axes(names)
        _loss_axis(ax, values, bool(values.max() > _FAR * verdict.trivial_loss))
        for i, (y, step) in enumerate(zip(places, steps, strict=True)):
            if step.name.startswith("floor"):
                _floor(ax, y, step)
            elif i and not step.name.startswith("reference"):
                _bar(ax, y, steps[i - 1].loss, step.loss)
            ax.scatter(
                _floored(step.loss),
                y,
                s=44,
                marker="|" if step.name.startswith(("reference", "constant")) else "o",
                color=_style.BLACK,
                linewidth=2.2,
                zorder=3,
            )
        bars = [s for s in steps if not s.name.startswith(("floor", "reference"))]
        for y, below, step in zip(places, places[1:], bars[:-1], strict=False):
            loss = _floored(step.loss)
            ax.vlines(loss, y, below, color=_style.GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        _style.line_at(ax, "x", verdict.reference_loss, "reference")
        ax.set_xlabel("training loss (nats), lower is better")
    return figure


def _named(step: Step, before: Step | None, verdict: Verdict) -> str:
    """The name of a step with its loss, and the change as a share of what the reference gains."""
    text = f"{step.name}: {number(step.loss)} nats"
    gap = verdict.trivial_loss - verdict.reference_loss
    if before is None or not gap > 0 or step.name.startswith(("floor", "reference")):
        return text
    change = (step.loss - before.loss) / gap
    if abs(change) < 0.005:
        return f"{text} (no change)"
    sign = "−" if change < 0 else "+"
    if abs(change) > 10:
        return f"{text} ({sign}{abs(change):,.0f} times the reference's gain)"
    return f"{text} ({sign}{100 * abs(change):.0f} % of the reference's gain)"


def _bar(ax: "matplotlib.axes.Axes", y: float, start: float, end: float) -> None:
    start, end = _floored(start), _floored(end)
    colour = _style.GREEN if end <= start else _style.VERMILLION
    low, high = min(start, end), max(start, end)
    ax.fill_between([low, high], y - _THICK, y + _THICK, color=colour, linewidth=0, zorder=2)


def _floor(ax: "matplotlib.axes.Axes", y: float, step: Step) -> None:
    """What no parameters of the architecture reach."""
    left, right = ax.get_xlim()[0], _floored(step.loss)
    look = {"facecolor": "#f2f2f2", "edgecolor": _style.GREY, "hatch": "////", "linewidth": 0}
    ax.fill_between([left, right], y - _THICK, y + _THICK, zorder=2, **look)
