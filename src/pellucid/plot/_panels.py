"""Several networks beside each other: graphs on a line, regions and classes of a plane."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InvalidInput
from ..regions import LinearRegions
from . import _domains, _linear_regions, _style
from ._function import graph

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_SIDE = 3.0  # inches of one panel
_MOST = 12


def function_panels(
    regions: Sequence[LinearRegions],
    titles: Sequence[str],
    output: int = 0,
    names: Sequence[str] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw the exact graphs of several networks on a line, one panel each, with their kinks.

    `regions` are those of a `Segment` or of a `Box` of one input; `titles` one for each. Dots are
    the places where the slope changes, as long as there are few. Below each title stands how many
    linear regions there are. Raises InvalidInput for another dimension or number of titles.
    """
    _check(regions, titles, 1, "draw one dimension here, and two by plot.region_panels")
    with _style.style():
        figure = _style.new_figure(2.6, max(_style.WIDTH, 2.5 * len(regions)))
        axes = figure.subplots(1, len(regions), sharey=True, squeeze=False)[0]
        for ax, one, title in zip(axes, regions, titles, strict=True):
            x, f = graph(one, _domains.output_number(output, one.network.d_out))
            n = one.n_linear_regions
            dots = {"marker": "o", "markersize": 3.5, "mec": "white", "mew": 0.5} if n < 40 else {}
            ax.plot(x, f, color=_style.BLUE, linewidth=1.6, **dots)
            ax.set_xlabel(_domains.axis_names(one.domain, names)[0])
            _few_ticks(ax)
            _title(ax, title, f"{n:,} linear region{'s' if n != 1 else ''}")
    return figure


def region_panels(
    regions: Sequence[LinearRegions],
    titles: Sequence[str],
    color: str = "pattern",
    *,
    data: Any = None,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw the regions of several networks on a plane side by side, as `plot.linear_regions` does.

    `color` is "pattern" (colours only tell neighbours apart) or "class" (the areas of the classes,
    with the exact decision boundary in black). `data` is (X, y), drawn over every panel. Below each
    title stands how many activation regions there are. Raises InvalidInput for regions that are not
    of a plane or of a box of two inputs, and for another number of titles.
    """
    _check(regions, titles, 2, "draw two dimensions here, and one by plot.function_panels")
    if color not in ("pattern", "class"):
        raise InvalidInput(f"color is {color!r}; choose pattern or class.")
    with _style.style():
        figure = _style.new_figure(_SIDE, _SIDE * len(regions))
        ratios = [1.0]  # height / width of the panels
        axes = figure.subplots(1, len(regions), sharex=True, sharey=True, squeeze=False)[0]
        for ax, one, title in zip(axes, regions, titles, strict=True):
            ratios.append(_plane(ax, one, names))
            _linear_regions._FILL[color](figure, ax, one, 0, classes)
            if color == "class":
                _linear_regions._draw_boundary(ax, one)
            if data is not None:
                _points(ax, _domains.Data(data, one.domain, classes))
            _title(ax, title, _domains.title_of(one))
        axes[0].set_ylabel(_domains.axis_names(regions[0].domain, names)[1])
        if color == "class":
            _linear_regions._class_legend(figure, axes[0])
        low = min(ratio or 1.0 for ratio in ratios)
        figure.set_figheight(_SIDE * low + (0.9 if color == "class" else 0.6))
    return figure


def _check(
    regions: Sequence[LinearRegions], titles: Sequence[str], dimension: int, instead: str
) -> None:
    if len(regions) != len(titles) or not 1 <= len(regions) <= _MOST:
        raise InvalidInput(
            f"got {len(regions)} regions and {len(titles)} titles; give one title each, and at "
            f"most {_MOST} panels."
        )
    for one in regions:
        _domains.check_regions(one, dimension, instead)


def _plane(
    ax: "matplotlib.axes.Axes", regions: LinearRegions, names: Sequence[str] | None
) -> float:
    """Axes of one panel; the height / width of the plane, 0 where it is not to scale."""
    domain = regions.domain
    ax.grid(visible=False)
    ax.set_xlim(domain.low[0], domain.high[0])
    ax.set_ylim(domain.low[1], domain.high[1])
    ax.set_xlabel(_domains.axis_names(domain, names)[0])
    _few_ticks(ax)
    return _domains.to_scale(ax, domain)


def _few_ticks(ax: "matplotlib.axes.Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))


def _points(ax: "matplotlib.axes.Axes", data: "_domains.Data") -> None:
    """Rows in the colours and markers of their classes, small enough for a panel."""
    labels = np.zeros(len(data.p), np.int64) if data.labels is None else data.labels
    for k in np.unique(labels).tolist():
        ax.plot(
            *data.p[labels == k].T,
            _style.class_marker(k),
            color=_style.class_colour(k),
            markersize=2.6,
            mec=_style.BLACK,
            mew=0.25,
            label=None if data.labels is None else _domains.class_name(data.classes, k),
            zorder=5,
        )


def _title(ax: "matplotlib.axes.Axes", title: str, below: str) -> None:
    ax.set_title(_style.printable(title), pad=20)
    look: dict[str, Any] = {"fontsize": 8.5, "color": "#505050"}
    ax.annotate(
        below, (0, 1), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points", **look
    )
