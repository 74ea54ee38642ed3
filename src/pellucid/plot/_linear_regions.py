"""The linear regions of a network on a plane."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..regions import Box, LinearRegions
from ..regions.quantities import corner_values
from . import _domains, _style
from ._map_colours import FILLS, map_colours

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_MANY_REGIONS = 4000  # more are drawn as one picture inside an SVG
_NO_EDGES = 30_000  # more are drawn without lines between them, which would cover all
_SHARE = 0.45  # of its colour in the fill of a class
_HATCHES = (None, "...", "OO")  # of classes whose colour another class has
_SKEWED = 12.0  # largest value / median above which a colour scale is logarithmic


def linear_regions(
    regions: LinearRegions,
    color: str = "pattern",
    *,
    output: int = 0,
    boundary: bool = True,
    data: Any = None,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    marks: Mapping[str, ArrayLike] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw regions of two dimensions: those of a `Box` of two inputs, or of a `Plane`.

    `color` is "pattern" (colours that only tell neighbours apart), "slope" (the norm of the
    gradient of output `output` within the plane), "output" (its value, which is linear on every
    region) or "class" (the largest output; of one output, its sign). `boundary` draws the decision
    boundary over it, exactly: for one output, where it is 0. `data` is (X, y) or X, points of the
    input space, of which those on the plane are drawn. `classes` and `names` are what classes and
    inputs are called; `marks` are points of the plane to write a name at. Hatched is what an
    incomplete result left out.

    Raises InvalidInput for regions of another dimension, of the whole space, or only counted.
    """
    instead = "draw those of a Box of two inputs or of a Plane, and one dimension by plot.function"
    _domains.check_regions(regions, 2, instead)
    if color not in _FILL:
        raise InvalidInput(f"color is {color!r}; choose one of {', '.join(_FILL)}.")
    k = _domains.output_number(output, regions.network.d_out)
    points = None if data is None else _domains.Data(data, regions.domain, classes)
    with _style.style():
        figure, ax = _domains.new_axes(regions.domain, names)
        if not regions.complete:
            ax.set_facecolor("#f2f2f2")
            ax.patch.set(hatch="////", edgecolor="#c4c4c4", linewidth=0)
        told = [_FILL[color](figure, ax, regions, k, classes)] if len(regions) else []
        if boundary and len(regions):
            told.append(_draw_boundary(ax, regions))
        if points is not None:
            _domains.draw_points(ax, points)
            told.append(points.note())
        _domains.draw_marks(ax, regions.domain, marks or {})
        _class_legend(figure, ax)
        standing = _domains.standing_of(regions)
        below = "; ".join([standing, *(part for part in told if part)])
        _domains.tell(figure, ax, _domains.title_of(regions), below)
    return figure


def polygons(regions: LinearRegions) -> list[Float64[Array, "corners 2"]]:
    """The corners of every region."""
    return np.split(regions._get("vertices"), regions._get("offsets")[1:-1])


def edge_width(n: int) -> float:
    """Width of the lines between n regions, in points: none where they would cover the picture."""
    return 0.0 if n > _NO_EDGES else float(np.clip(12 / np.sqrt(n), 0.1, 0.4))


def _fill(ax: "matplotlib.axes.Axes", parts: list[Array], n: int, **colours: Any) -> Any:
    """Polygons; without lines between them they are not smoothed, so that no seam shows."""
    from matplotlib.collections import PolyCollection

    width = edge_width(n)
    look: dict[str, Any] = {"edgecolors": "white" if width else "none"} | colours
    collection = PolyCollection(
        parts,
        linewidths=width,
        antialiaseds=width > 0,
        rasterized=n > _MANY_REGIONS,
        **look,
    )
    ax.add_collection(collection, autolim=False)
    return collection


def _by_pattern(figure, ax, regions: LinearRegions, k: int, classes: Any) -> str:
    colours = np.array(FILLS)[map_colours(len(regions), regions.adjacency)]
    _fill(ax, polygons(regions), len(regions), facecolors=colours, edgecolors=colours)
    return "colours only tell neighbours apart"


def slope_norm(regions: LinearRegions, k: int) -> Float64[Array, " n"]:
    """The norm of the gradient of output k within the domain, by lengths in the input space."""
    A, g = regions.domain.axes, regions.slope[:, k]
    return np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", g, np.linalg.pinv(A @ A.T), g), 0))


def _by_slope(figure, ax, regions: LinearRegions, k: int, classes: Any) -> str:
    values = slope_norm(regions, k)
    filled = _fill(ax, polygons(regions), len(regions), array=values, cmap="cividis")
    filled.set_norm(_from_zero(values, regions.volume))
    _domains.colour_bar(figure, ax, filled, f"slope of output {k} (norm)")
    return "" if isinstance(regions.domain, Box) else "slopes are those within the plane"


def _from_zero(values: Array, weights: Array) -> Any:
    """A linear scale from 0, or a logarithmic one where half of the area is far below the top."""
    from matplotlib.colors import LogNorm, Normalize

    top, middle = float(values.max()), _median(values, weights)
    if not top > _SKEWED * middle or not (values > 0).any():
        return Normalize(0, top or 1.0)
    low = max(float(values[values > 0].min()), min(middle, top / _SKEWED) / 100)
    return LogNorm(low, top, clip=True)


def _median(values: Array, weights: Array) -> float:
    """Half of the weight lies at or below it."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, share[-1] / 2)])


def _by_output(figure, ax, regions: LinearRegions, k: int, classes: Any) -> str:
    """Bands between level lines, which are straight in every triangle, as the network is."""
    from matplotlib.colors import BoundaryNorm

    p, offsets = regions._get("vertices"), regions._get("offsets")
    first = np.repeat(offsets[:-1], np.diff(offsets))
    inner = np.flatnonzero((np.arange(len(p)) > first) & (np.append(first[1:], -1) == first))
    triangles = np.stack([first[inner], inner, inner + 1], axis=1)
    values = corner_values(regions, k)
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"output {k} is too large for float64 on this domain; colour by pattern, or take a "
            "smaller domain or smaller weights."
        )
    at_center = np.einsum("ni,ni->n", regions.slope[:, k], regions.center) + regions.intercept[:, k]
    levels = _levels(values, _median(np.abs(at_center), regions.volume))
    filled = ax.tricontourf(
        *p.T,
        triangles,
        values,
        levels=levels,
        norm=BoundaryNorm(levels, 256),
        cmap="cividis",
        antialiased=False,
    )
    filled.set_rasterized(len(regions) > _MANY_REGIONS)
    if edge_width(len(regions)):
        _fill(ax, polygons(regions), len(regions), facecolors="none", alpha=0.5)
    _domains.colour_bar(figure, ax, filled, f"output {k}")
    return ""


def _levels(values: Array, middle: float) -> Array:
    """Levels for all values: evenly apart, or 1, 2, 5, 10, ... times a scale on both sides of 0."""
    from matplotlib.ticker import MaxNLocator

    low, high = float(values.min()), float(values.max())
    if not low < high:
        return np.array([low - 0.5, low + 0.5])
    top = max(-low, high)
    if not top > _SKEWED * middle:
        return np.asarray(MaxNLocator(16).tick_values(low, high))
    decades = np.arange(np.floor(np.log10(max(middle, top / 1e3) / 10)), np.log10(top) + 1)
    steps = np.sort(np.outer([1.0, 2.0, 5.0], 10.0**decades).ravel())
    both = np.concatenate([-steps[::-1], [0.0], steps])
    return both[np.searchsorted(both, low, "right") - 1 : np.searchsorted(both, high, "left") + 1]


def _by_class(figure, ax, regions: LinearRegions, k: int, classes: Any) -> str:
    cells = regions._cells  # each of one class, cut exactly
    parts = polygons(cells.regions)
    for c in np.unique(cells.label[cells.owner >= 0]).tolist():
        own = np.flatnonzero((cells.label == c) & (cells.owner >= 0))
        look = {"facecolors": _pale(_style.class_colour(c)), "hatch": _hatch(c)}
        name = _domains.class_name(classes, c)
        _fill(ax, [parts[i] for i in own], len(regions), label=name, **look)
    return ""


def _pale(colour: str) -> tuple[float, ...]:
    """The colour mixed with white: rows of the class stay visible over it."""
    from matplotlib.colors import to_rgb

    return tuple(1 - _SHARE * (1 - part) for part in to_rgb(colour))


def _hatch(k: int) -> str | None:
    """What tells class k from another of its colour."""
    return _HATCHES[min(k // len(_style.CLASS_COLOURS), len(_HATCHES) - 1)]


_FILL: dict[str, Callable] = {
    "pattern": _by_pattern,
    "slope": _by_slope,
    "output": _by_output,
    "class": _by_class,
}


def _draw_boundary(ax: "matplotlib.axes.Axes", regions: LinearRegions) -> str:
    from matplotlib.collections import LineCollection

    lines = [line.points for line in regions.decision_boundary().polylines]
    many = sum(map(len, lines)) > _MANY_REGIONS
    for colour, width in (("white", 2.6), (_style.BLACK, 1.3)):
        drawn = LineCollection(
            lines, colors=colour, linewidths=width, capstyle="round", zorder=3, rasterized=many
        )
        ax.add_collection(drawn, autolim=False)
    if not lines:
        return _domains.no_boundary(regions)
    return "black: " + ("output 0 is 0" if regions.network.d_out == 1 else "decision boundary")


def _class_legend(figure: Any, ax: "matplotlib.axes.Axes") -> None:
    """The classes in the picture: as the rows are marked, else as the areas are filled."""
    classes = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    if classes:
        longest = max(map(len, classes))
        ncols = 5 if longest <= 7 else 4 if longest <= 10 else 2
        handles = [classes[name] for name in sorted(classes)]
        figure.legend(
            handles, sorted(classes), loc="outside lower left", ncols=ncols, markerscale=1.4
        )
