"""The reliability diagram: how often predictions are right, by how sure they are."""

from typing import TYPE_CHECKING

from . import _style

if TYPE_CHECKING:
    import matplotlib.figure

    from ..estimators import Reliability


def reliability(found: "Reliability") -> "matplotlib.figure.Figure":
    """Draw the share of right predictions by mean confidence, with the rows of each bin as bars.

    On the diagonal predictions are calibrated. The title gives the expected calibration error, and
    the 95 % range that perfectly calibrated predictors with the same confidences have.
    """
    with _style.style():
        figure = _style.new_figure(4.4)
        ax = figure.subplots()
        share = found.counts / found.counts.sum()
        width = 0.9 * float(found.edges[1] - found.edges[0])
        ax.bar(
            found.confidence, share, width, color=_style.class_colour(1), alpha=0.3, label="rows"
        )
        ax.plot([0, 1], [0, 1], "--", color=_style.GREY, label="calibrated")
        ax.plot(
            found.confidence,
            found.accuracy,
            marker="o",
            color=_style.class_colour(0),
            label="share of right predictions",
        )
        ax.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="confidence", ylabel="share")
        low, high = found.interval
        ax.set_title(f"ECE {found.ece:.3f}; calibrated: {low:.3f} to {high:.3f}")
        ax.legend(loc="upper left")
    return figure
