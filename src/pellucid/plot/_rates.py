"""What grows or falls with the size of a network: errors by width, pieces by depth."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from ..network import Network
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_COLOURS = (_style.ORANGE, _style.GREEN, _style.BLUE, _style.PURPLE, _style.SKY)
_DASHES: tuple = ("-", (0, (6, 2)), (0, (3, 1, 1, 1)), (0, (1, 1)), "-")


def interpolants(
    f: Callable[[np.ndarray], np.ndarray],
    networks: Mapping[str, tuple[Network, ArrayLike]],
    errors: Mapping[int, float],
    bound: Callable[[np.ndarray], Any] | None = None,
    interval: tuple[float, float] = (0.0, 1.0),
) -> "matplotlib.figure.Figure":
    """Draw a function with networks that interpolate it, and how the largest error falls.

    On the left `f` on the interval (thick grey), and of each of `networks` ({label: (network,
    knots)}) the graph, with dots at its knots. On the right `errors` ({units: largest error}) on
    logarithmic axes, over the proved `bound` of the number of units. Raises InvalidInput without
    errors or with more than five networks.
    """
    if not errors or len(networks) > len(_COLOURS):
        raise InvalidInput(
            f"got {len(networks)} networks and {len(errors)} errors; it needs at most "
            f"{len(_COLOURS)} networks and one error or more."
        )
    with _style.style():
        figure = _style.new_figure(3.9, 9.2)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        x = np.linspace(*interval, 2001)
        left.plot(x, f(x), color="#c9c9c9", linewidth=5, label="target", zorder=1.5)
        for i, (label, (network, knots)) in enumerate(networks.items()):
            t = np.asarray(knots, np.float64)
            look = {"color": _COLOURS[i], "zorder": 3 + i}
            corners = np.unique(np.append(t, interval))
            left.plot(corners, network(corners[:, None])[:, 0], linestyle=_DASHES[i], **look)
            left.plot(
                t, network(t[:, None])[:, 0], "o", markersize=4.5 if len(t) < 12 else 3, **look
            )
            mark = "o" if i < len(_DASHES) else None
            left.plot(
                [], [], linestyle=_DASHES[i], marker=mark, ms=4, label=label, color=_COLOURS[i]
            )
        left.set_xlabel("x")
        left.set_title("networks through the knots")
        left.legend(loc="lower left")
        _errors(right, errors, bound)
    return figure


def _errors(
    ax: "matplotlib.axes.Axes", errors: Mapping[int, float], bound: Callable | None
) -> None:
    units = np.array(sorted(errors))
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    if bound is not None:
        look = {"color": _style.BLACK, "linestyle": (0, (5, 3)), "linewidth": 1.2}
        ax.plot(units, bound(units), label="proved bound, falls as N⁻²", **look)
    found = [errors[int(n)] for n in units]
    ax.plot(units, found, "o", color=_style.BLUE, label="largest error", markersize=5, zorder=3)
    ax.set_xticks(units, [str(n) for n in units])
    ax.minorticks_off()
    _style.power_ticks(ax.yaxis)
    ax.set_xlabel("units N")
    ax.set_title("largest error")
    for n, at, side in ((units[0], (0, -12), "center"), (units[-1], (-8, -3), "right")):
        look = {"textcoords": "offset points", "fontsize": 9, "ha": side, "va": "center"}
        ax.annotate(_style.short(errors[int(n)]), (n, errors[int(n)]), xytext=at, **look)
    ax.legend(loc="lower left")


def pieces_by_depth(
    depths: Sequence[int],
    sawtooth: Sequence[int],
    one_layer: Sequence[int],
    random: Mapping[int, ArrayLike],
) -> "matplotlib.figure.Figure":
    """Draw pieces on a line by the number of hidden layers, on a logarithmic axis.

    `sawtooth` are those of the compositions of the tent map, `one_layer` the most that one hidden
    layer of as many units can have, and `random` {depth: counts} those of random networks: a box
    from the lower to the upper quartile, the median, whiskers to the least and the largest, and the
    mean as a diamond.
    """
    with _style.style():
        figure = _style.new_figure(3.9)
        ax = figure.add_subplot()
        ax.plot(depths, sawtooth, "s-", color=_style.VERMILLION, label="sawtooth, 2 units a layer")
        ax.plot(
            depths,
            one_layer,
            "^",
            color=_style.GREEN,
            linestyle=(0, (5, 2)),
            label="most of one hidden layer of as many units",
        )
        counts = [np.asarray(random[k]) for k in depths]
        ax.boxplot(
            counts,
            positions=list(depths),
            widths=0.7,
            whis=(0, 100),
            showmeans=True,
            manage_ticks=False,
            medianprops={"color": _style.BLUE, "linewidth": 2},
            meanprops={"marker": "D", "markerfacecolor": _style.BLUE, "markeredgecolor": "white"},
            boxprops={"color": _style.BLUE},
            whiskerprops={"color": _style.BLUE},
            capprops={"color": _style.BLUE},
        )
        label = f"{len(counts[0])} random networks, 2 units a layer"
        ax.plot([], [], "D", color=_style.BLUE, label=label)
        ax.set_yscale("log", base=2)
        ax.set_ylim(0.8, 2.2 * max(sawtooth))
        ticks = 4 ** np.arange(0, int(np.log2(max(sawtooth))) // 2 + 1)
        ax.set_yticks(ticks, [f"{t:,}" for t in ticks])
        ax.set_xticks(list(depths))
        ax.set_xlabel("hidden layers")
        ax.set_ylabel("activation intervals on [0, 1]")
        figure.legend(loc="outside lower left", ncols=1)
    return figure


def measured(
    series: Mapping[str, Mapping[Any, float]],
    x_label: str,
    y_label: str,
    *,
    dashed: Sequence[str] = (),
    log: str = "",
) -> "matplotlib.figure.Figure":
    """Draw measured numbers, {label: {x: y}}, with a line and a marker for each label.

    Labels in `dashed`, such as bounds, are black lines without markers. `log` names the axes that
    are logarithmic: "", "x", "y" or "xy". Raises InvalidInput for more than eight measured labels.
    """
    shown = [label for label in series if label not in dashed]
    if not shown or len(shown) > len(_style.CLASS_COLOURS):
        raise InvalidInput(f"got {len(shown)} series; it needs 1 to {len(_style.CLASS_COLOURS)}.")
    with _style.style():
        figure = _style.new_figure(3.6)
        ax = figure.add_subplot()
        for i, label in enumerate(dashed):
            look = {"linestyle": _DASHES[1 + i % 3], "linewidth": 1.2}
            ax.plot(*_ordered(series[label]), color=_style.BLACK, label=label, **look)
        for k, label in enumerate(shown):
            ax.plot(
                *_ordered(series[label]),
                color=_style.class_colour(k),
                marker=_style.class_marker(k),
                markersize=5,
                label=label,
                zorder=3,
            )
        if "x" in log:
            _log_x(ax, sorted({x for points in series.values() for x in points}))
        if "y" in log:
            ax.set_yscale("log")
            _style.power_ticks(ax.yaxis)
        elif min(min(points.values()) for points in series.values()) >= 0:
            ax.set_ylim(bottom=0)
        else:
            ax.axhline(0, color=_style.GREY, linewidth=0.8, zorder=1)
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        longest = max(map(len, series))
        figure.legend(loc="outside lower left", ncols=1 if longest > 24 else 3)
    return figure


def _log_x(ax: "matplotlib.axes.Axes", places: list) -> None:
    """A logarithmic axis with a tick at every place, if there are few."""
    if len(places) > 8:
        _style.use_log(ax, "x")
        return
    ax.set_xscale("log")
    ax.set_xticks(places, [f"{x:,}" for x in places])
    ax.minorticks_off()


def _ordered(points: Mapping[Any, float]) -> tuple[list, list[float]]:
    x = sorted(points)
    return x, [points[one] for one in x]
