"""Which hidden units work, and on how many rows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float
from ..network import Activation, Network
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_MOST = 128  # units of a layer that are drawn one by one
_ROW = 0.42  # inches


def unit_activity(network: Network, X: ArrayLike) -> "matplotlib.figure.Figure":
    """Draw one cell per hidden unit, dark where it is active on many rows of `X`, a row per layer.

    A unit with straight pieces is active on a row where its slope there is not 0; of a smooth unit
    the cell shows the mean slope as a share of the steepest. Units of a layer are sorted. A cross
    marks a dead unit, active on no row. Layers of more than 128 units show 128, evenly chosen
    from the sorted ones. Raises InvalidInput for a network without hidden layers.
    """
    if not network.hidden:
        raise InvalidInput("the network has no hidden layer; there are no units to draw.")
    z = network.forward(np.asarray(X, dtype=np.float64)).z
    shares = [
        np.sort(_active(zl, layer.activation))[::-1]
        for zl, layer in zip(z, network.hidden_layers, strict=False)
    ]
    with _style.style():
        figure = _style.new_figure(0.95 + _ROW * len(shares))
        ax = figure.add_subplot()
        widest = max(min(len(s), _MOST) for s in shares)
        images = [_layer(ax, y, share, widest) for y, share in enumerate(shares)]
        ax.set_xlim(0, widest)
        ax.set_ylim(len(shares) - 0.5, -0.5)
        ax.set_yticks(range(len(shares)), [_name(i, s) for i, s in enumerate(shares)])
        ax.set_xticks([])
        ax.grid(visible=False)
        for spine in ax.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(images[0], ax=ax, orientation="horizontal", aspect=40, pad=0.04)
        bar.set_label("share of the training rows where it is active")
    return figure


def _active(z: Float[Array, "n width"], sigma: Activation) -> Float[Array, " width"]:
    slope = np.abs(sigma.derivative(z))
    if sigma.is_piecewise_linear:
        return (slope > 0).mean(axis=0)
    steepest = np.abs(sigma.derivative(np.linspace(-5.0, 5.0, 1001))).max()
    return np.minimum(slope.mean(axis=0) / steepest, 1.0)


def _layer(ax: "matplotlib.axes.Axes", y: int, share: Array, widest: int):
    kept = (
        share if len(share) <= _MOST else share[np.linspace(0, len(share) - 1, _MOST).astype(int)]
    )
    edges = np.linspace(0, widest, len(kept) + 1)
    image = ax.pcolormesh(
        edges,
        [y - 0.4, y + 0.4],
        kept[None, :],
        cmap="Blues",
        vmin=0,
        vmax=1,
        edgecolors="#bdbdbd",
        linewidth=0.5,
    )
    dead = np.flatnonzero(kept == 0)
    middle = (edges[:-1] + edges[1:]) / 2
    ax.scatter(middle[dead], np.full(len(dead), y), marker="x", s=22, color=_style.VERMILLION)
    return image


def _name(i: int, share: Array) -> str:
    n = int((share == 0).sum())
    return f"layer {i + 1}: {len(share)} units" + (f"\n{n} dead" if n else "")
