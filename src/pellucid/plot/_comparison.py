"""Two recipes seed by seed: the runs from one seed are joined."""

from typing import TYPE_CHECKING

import numpy as np

from ..diagnosis import Comparison
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_HEIGHT = 3.4  # inches


def comparison(comparison: Comparison) -> "matplotlib.figure.Figure":
    """Draw the held-out loss of A and B, the two runs from each seed joined by a line.

    Bars are the means. The difference and its interval stand below. A loss that is not finite has
    no dot.
    """
    c = comparison
    losses = np.stack([c.held_out_loss_a, c.held_out_loss_b])
    finite = np.where(np.isfinite(losses), losses, np.nan)
    with _style.style():
        figure = _style.new_figure(_HEIGHT)
        ax = figure.subplots()
        ax.plot([0, 1], finite, color=_style.GREY, linewidth=0.9, alpha=0.7, zorder=2)
        for side, values in enumerate(finite):
            _side(ax, side, values)
        ax.set_xlim(-0.45, 1.45)
        ax.set_xticks([0, 1], ["A", "B"])
        ax.set_ylabel("held-out loss (nats)")
        if _style.wants_log(finite[np.isfinite(finite)]):
            _style.use_log(ax, "y")
        what = _style.wrap(_style.printable(f"B is A with {c.change}"), 55, 2)
        ax.set_xlabel("\n".join([*what, _difference(c)]))
    return figure


def _side(ax: "matplotlib.axes.Axes", side: int, values: np.ndarray) -> None:
    colour = _style.class_colour(side)
    ax.plot(
        np.full(len(values), side),
        values,
        linestyle="none",
        marker=_style.class_marker(side),
        markersize=5,
        color=colour,
        zorder=3,
    )
    if np.isfinite(values).any():
        mean = float(np.nanmean(values))
        ax.plot([side - 0.2, side + 0.2], [mean, mean], color=colour, linewidth=2.4, zorder=4)


def _difference(c: Comparison) -> str:
    if not np.isfinite(c.difference):
        return "the losses are not finite"
    return f"A − B: {c.difference:.3g} nats, 95 % interval {c.low:.3g} to {c.high:.3g}"
