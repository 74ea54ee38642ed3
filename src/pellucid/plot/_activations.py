"""Activations and their derivatives, as small multiples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from ..network import Activation, as_activation
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

COURSE = (
    *("sigmoid", "tanh", "relu"),
    *(Activation("leaky_relu", (0.1,)), "gelu", "silu"),
)
_COLUMNS = 3
_POINTS = 401


def activations(
    names: Sequence[str | Activation] = COURSE,
    low: float = -4.0,
    high: float = 4.0,
    *,
    limits: tuple[float, float] = (-1.2, 2.2),
) -> "matplotlib.figure.Figure":
    """Draw activations (solid) and their derivatives (dashed) from `low` to `high`, a panel each.

    `limits` are the least and the largest value shown.
    Where a derivative is negative, the area between it and 0 is filled. Below each title stand the
    least and the largest derivative in the picture. A derivative that jumps at 0 is drawn with a
    gap there.
    """
    sigmas = [as_activation(name) for name in names]
    if not sigmas or not low < high:
        raise InvalidInput(
            f"got {len(sigmas)} activations from {low} to {high}; it needs one or more, and "
            "low < high."
        )
    rows = -(-len(sigmas) // _COLUMNS)
    with _style.style():
        columns = min(_COLUMNS, len(sigmas))
        figure = _style.new_figure(2.35 * rows + 0.4, max(_style.WIDTH, 2.7 * columns))
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for ax in axes.flat[len(sigmas) :]:
            ax.set_visible(False)
        for ax, sigma in zip(axes.flat, sigmas, strict=False):
            _panel(ax, sigma, np.linspace(low, high, _POINTS))
            ax.set_ylim(*limits)
        for column in axes.T:
            lowest = [ax for ax in column if ax.get_visible()][-1]
            lowest.set_xlabel("z")
            lowest.tick_params(labelbottom=True)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=3)
    return figure


def _panel(ax: "matplotlib.axes.Axes", sigma: Activation, z: np.ndarray) -> None:
    value, slope = sigma.value(z), sigma.derivative(z)
    jumps = np.flatnonzero(np.abs(np.diff(slope)) > 0.05) + 1  # smooth ones move far less per step
    ax.axhline(0, color=_style.GREY, linewidth=0.7, zorder=1)
    ax.plot(z, value, color=_style.BLUE, linewidth=1.9, label="σ(z)", zorder=3)
    ax.plot(
        np.insert(z, jumps, np.nan),
        np.insert(slope, jumps, np.nan),
        color=_style.VERMILLION,
        linestyle=(0, (5, 2)),
        linewidth=1.6,
        label="derivative σ′(z)",
        zorder=3,
    )
    look = {"color": _style.VERMILLION, "alpha": 0.35, "linewidth": 0}
    below = np.flatnonzero(slope < 0) if (slope < 0).any() else np.arange(1)
    ax.fill_between(z[below], np.minimum(slope[below], 0), 0, label="where σ′ < 0", **look)
    ax.set_title(str(sigma), pad=20)
    ax.annotate(
        f"σ′ from {_short(slope.min())} to {_short(slope.max())}",
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 5),
        textcoords="offset points",
        fontsize=8.5,
        color="#505050",
    )


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".").replace("-", "−")
