"""A network on a line: its graph, with every kink."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._shapes import Array, Float64
from ..regions import LinearRegions
from . import _domains, _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_MANY_KINKS = 300  # more marks would hide the line
_STYLES = ("-", "--", "-.", ":")


def function(
    regions: LinearRegions,
    *,
    output: int | None = None,
    boundary: bool = True,
    data: Any = None,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw the function on regions of one dimension: a `Segment`, or a `Box` of one input.

    The graph is exact: straight between the ends of the regions. Ticks below it are the places
    where some unit has its kink, one row for each hidden layer (counted from 1); dots are those at
    which the map changes. `output` names one output; None draws all. `boundary` marks where the
    class changes, or where a single output is 0. `data` is (X, y) or X, points of the input space,
    of which those on the line are drawn; y may hold numbers. `classes` and `names` are what outputs
    and inputs are called.

    Raises InvalidInput for regions of another dimension, of the whole space, or only counted.
    """
    instead = "draw those of a Segment or of a Box of one input, and two by plot.linear_regions"
    _domains.check_regions(regions, 1, instead)
    d_out = regions.network.d_out
    shown = list(range(d_out)) if output is None else [_domains.output_number(output, d_out)]
    points = None if data is None else _domains.Data(data, regions.domain, classes)
    with _style.style():
        figure, ax = _domains.new_axes(regions.domain, names)
        told = [_domains.standing_of(regions)]
        for k in shown:
            _graph(ax, regions, k, _name(classes, k, d_out))
        if boundary and len(regions):
            told.append(_boundary(ax, regions))
        if points is not None:
            _points(ax, points)
            told.append(points.note())
        ax.set_ylabel(_name(classes, shown[0], d_out) if len(shown) == 1 else "outputs")
        _kink_ticks(ax, regions)
        if len(shown) > 1:
            figure.legend(loc="outside lower left", ncols=5)
        below = "; ".join(part for part in told if part)
        _domains.tell(figure, ax, _domains.title_of(regions), below)
    return figure


def _name(classes: Sequence[str] | None, k: int, d_out: int) -> str:
    if classes and d_out == len(classes):
        return _domains.class_name(classes, k)
    return f"output {k}"


def graph(regions: LinearRegions, k: int) -> tuple[Float64[Array, " m"], Float64[Array, " m"]]:
    """The ends of all regions in order, and output k there; nan between regions that are apart."""
    p = regions._get("vertices").reshape(len(regions), 2)
    order = np.argsort(p[:, 0], kind="stable")
    p = p[order]
    f = regions.slope[order, k] * p + regions.intercept[order, k, None]
    apart = np.flatnonzero(p[1:, 0] > p[:-1, 1]) * 2 + 2
    return np.insert(p.ravel(), apart, np.nan), np.insert(f.ravel(), apart, np.nan)


def _graph(ax: "matplotlib.axes.Axes", regions: LinearRegions, k: int, label: str) -> None:
    x, f = graph(regions, k)
    kinks, heights = _kinks(regions, k)
    look = {"color": _style.class_colour(k), "zorder": 3}
    ax.plot(x, f, _STYLES[k // 8 % len(_STYLES)], linewidth=1.8, label=label, **look)
    if len(kinks) <= _MANY_KINKS:
        size = 4.0 if len(kinks) <= 60 else 2.2
        ax.plot(kinks, heights, "o", markersize=size, mec="white", mew=0.5, **look)


def _kinks(regions: LinearRegions, k: int) -> tuple[Array, Array]:
    """Where two linear regions meet, and output k there."""
    p = regions._get("vertices").reshape(len(regions), 2)
    i, j = regions.adjacency.T
    met = regions.linear_region[i] != regions.linear_region[j]
    i, j = i[met], j[met]
    x = np.where(p[i, 1] == p[j, 0], p[i, 1], p[i, 0])
    return x, regions.slope[i, k, 0] * x + regions.intercept[i, k]


def _kink_ticks(ax: "matplotlib.axes.Axes", regions: LinearRegions) -> None:
    """A row of ticks for each hidden layer, below the graph."""
    facets = regions._get("facets")
    p, inner = regions._get("vertices")[:, 0], facets >= 0
    layer = regions.switches[facets[inner], 0] if inner.any() else np.empty(0, np.int64)
    layers = np.unique(layer)
    low, high = ax.get_ylim()
    row = 0.055 * (high - low)
    for place, one in enumerate(layers[::-1]):
        x = np.unique(p[inner][layer == one])
        base = low - row * (len(layers) - place)
        ax.vlines(x, base, base + 0.75 * row, color=_style.GREY, linewidth=0.7, zorder=2)
        ax.annotate(
            f"kinks of layer {one + 1}",
            (1, base + 0.37 * row),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=_style.GREY,
        )
    ax.set_ylim(low - row * (len(layers) + 0.3), high)


def _boundary(ax: "matplotlib.axes.Axes", regions: LinearRegions) -> str:
    places = regions.decision_boundary().vertices[:, 0]
    for x in places:
        ax.axvline(x, color=_style.BLACK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1.5)
    if not len(places):
        return _domains.no_boundary(regions)
    what = "output 0 is 0" if regions.network.d_out == 1 else "the class changes"
    return f"dashed: {what}"


def _points(ax: "matplotlib.axes.Axes", data: "_domains.Data") -> None:
    """Rows with a number at its height; rows with a class in a row at the top."""
    on = data.p[:, 0]
    if data.y is not None and data.labels is None:
        ax.plot(on, data.y, "o", color=_style.GREY, markersize=3, mec="white", mew=0.4, zorder=2.5)
        return
    low, high = ax.get_ylim()
    labels = np.zeros(len(on), np.int64) if data.labels is None else data.labels
    for k in np.unique(labels):
        height = high + 0.03 * (high - low) * (1 + int(k))
        x = on[labels == k]
        ax.plot(x, np.full(len(x), height), "|", color=_style.class_colour(int(k)), markersize=6)
    ax.set_ylim(low, high + 0.03 * (high - low) * (2 + int(labels.max(initial=0))))
