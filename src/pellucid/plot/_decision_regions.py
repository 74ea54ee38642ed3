"""What a network of one or two inputs computes, drawn over the rows that it was trained on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_CHUNK = 8192  # grid points evaluated at once: bounds the memory of wide networks
_MANY_ROWS = 1500  # more points than these are drawn as one picture inside the SVG


def decision_regions(
    network: Network,
    X: ArrayLike,
    y: ArrayLike,
    classes: Sequence[str] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    target_name: str = "target",
    resolution: int = 240,
) -> "matplotlib.figure.Figure":
    """Draw what a network with one or two inputs predicts, and the rows (X, y).

    With `classes`, `y` holds their numbers: two inputs give filled decision regions, one input
    gives the probability of each class. Without, `y` holds numbers: two inputs give filled
    contours of the fitted function, one input its curve. The function is sampled on a grid of
    `resolution` points a side and joined linearly between them, so what is smaller than a grid
    cell is not seen. Raises InvalidInput for more than two inputs or several numeric outputs.
    """
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y)
    _check(network, X, y, classes)
    names = [_style.shorten(name, 40) for name in feature_names or _default_names(X.shape[1])]
    with _style.style():
        figure = _style.new_figure(4.3 if X.shape[1] == 2 else 3.6)
        ax = figure.add_subplot()
        ax.grid(visible=False)
        draw = _DRAW[X.shape[1], classes is not None]
        draw(figure, ax, network, X, y.reshape(len(X)), classes or (), target_name, resolution)
        ax.set_xlabel(names[0])
        if X.shape[1] == 2:
            ax.set_ylabel(names[1])
    return figure


def _check(network: Network, X: Array, y: Array, classes: Sequence[str] | None) -> None:
    if X.ndim != 2 or X.shape[1] not in (1, 2) or network.d_in != X.shape[1]:
        raise InvalidInput(
            f"decision regions are drawn for one or two input columns; X has shape {X.shape} "
            f"and the network takes {network.d_in} inputs."
        )
    if y.size != len(X):
        raise InvalidInput(f"y has {y.size} values for {len(X)} rows of X; it needs one each.")
    d_out = 1 if classes is None else len(classes)
    if network.d_out != d_out and not (d_out == 2 and network.d_out == 1):
        raise InvalidInput(
            f"the network has {network.d_out} outputs; "
            + ("one number" if classes is None else f"{d_out} classes")
            + f" needs {d_out}."
        )


def _default_names(d_in: int) -> list[str]:
    return [f"x{i + 1}" for i in range(d_in)]


def _evaluate(
    network: Network, points: Float64[Array, "m d_in"], n_classes: int
) -> Float64[Array, "m k"]:
    """Outputs on many points; one logit for two classes becomes the pair (0, logit)."""
    parts = [network(points[i : i + _CHUNK]) for i in range(0, len(points), _CHUNK)]
    outputs = np.concatenate(parts).astype(np.float64)
    if n_classes == 2 and outputs.shape[1] == 1:
        outputs = np.hstack([np.zeros_like(outputs), outputs])
    return outputs


def _axis(values: Array, resolution: int) -> Float64[Array, " m"]:
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.5
    return np.linspace(low - room, high + room, resolution)


def _grid(X: Array, resolution: int) -> tuple[Array, Array, Float64[Array, "m 2"]]:
    a, b = np.meshgrid(_axis(X[:, 0], resolution), _axis(X[:, 1], resolution))
    return a, b, np.column_stack([a.ravel(), b.ravel()])


def _class_regions(figure, ax, network, X, y, classes, target_name, resolution) -> None:
    a, b, points = _grid(X, resolution)
    outputs = _evaluate(network, points, len(classes))
    for k in range(len(classes)):
        others = np.delete(outputs, k, axis=1).max(axis=1)
        margin = (outputs[:, k] - others).reshape(a.shape)  # > 0 where class k is predicted
        if margin.max() > 0:
            levels = [0.0, float(margin.max()) * 1.01]
            ax.contourf(a, b, margin, levels=levels, colors=[_style.class_colour(k)], alpha=0.30)
            if margin.min() < 0:
                ax.contour(a, b, margin, levels=[0.0], colors=[_style.BLACK], linewidths=0.8)
    for k, name in enumerate(classes):
        rows = y == k
        if rows.any():
            _points(ax, X[rows, 0], X[rows, 1], k, name, len(X))
    _class_legend(figure, target_name)


def _points(ax, x, y, k: int, name: str, n_rows: int) -> None:
    ax.scatter(
        x,
        y,
        s=18 if n_rows <= 400 else 10 if n_rows <= _MANY_ROWS else 5,
        marker=_style.class_marker(k),
        facecolor=_style.class_colour(k),
        edgecolor=_style.BLACK,
        linewidth=0.4 if n_rows <= _MANY_ROWS else 0.2,
        label=_style.shorten(str(name), 24),
        rasterized=n_rows > _MANY_ROWS,
        zorder=3,
    )


def _class_legend(figure: "matplotlib.figure.Figure", target_name: str) -> None:
    """Put as many columns as the longest class name allows."""
    names = figure.axes[0].get_legend_handles_labels()[1]
    longest = max((len(name) for name in names), default=0)
    figure.legend(
        loc="outside lower left",
        ncols=4 if longest <= 9 else 3 if longest <= 15 else 2,
        title=_style.shorten(target_name, 40),
        title_fontsize=9,
        alignment="left",
        markerscale=1.4,
        handletextpad=0.2,
    )


def _fitted_surface(figure, ax, network, X, y, classes, target_name, resolution) -> None:
    from matplotlib.ticker import MaxNLocator

    a, b, points = _grid(X, resolution)
    f = _evaluate(network, points, 0).reshape(a.shape)
    low, high = np.nanmin([f.min(), np.nanmin(y)]), np.nanmax([f.max(), np.nanmax(y)])
    levels = MaxNLocator(14).tick_values(low, high if high > low else low + 1.0)
    filled = ax.contourf(a, b, f, levels=levels, cmap="cividis")
    ax.scatter(
        X[:, 0],
        X[:, 1],
        c=y,
        s=16,
        cmap="cividis",
        vmin=levels[0],
        vmax=levels[-1],
        edgecolor="white",
        linewidth=0.5,
        rasterized=len(X) > _MANY_ROWS,
        zorder=3,
    )
    bar = figure.colorbar(filled, ax=ax)
    bar.set_label(f"{_style.shorten(target_name, 40)}: area fitted, dots data")


def _class_curves(figure, ax, network, X, y, classes, target_name, resolution) -> None:
    from ..likelihoods import as_likelihood

    x = _axis(X[:, 0], 4 * resolution)
    outputs = _evaluate(network, x[:, None], len(classes))
    p = as_likelihood("categorical").predict(outputs)
    for k, name in enumerate(classes):
        colour = _style.class_colour(k)
        ax.plot(x, p[:, k], color=colour, label=_style.shorten(str(name), 24), linewidth=2)
        rows = X[y == k, 0]
        ax.plot(rows, np.full(len(rows), -0.04 - 0.03 * k), "|", color=colour, markersize=5)
    ax.set_ylabel("probability (ticks below: the rows)")
    _class_legend(figure, target_name)


def _fitted_curve(figure, ax, network, X, y, classes, target_name, resolution) -> None:
    x = _axis(X[:, 0], 4 * resolution)
    ax.plot(X[:, 0], y, "o", color=_style.SKY, markersize=3.5, alpha=0.7, label="rows")
    ax.plot(x, _evaluate(network, x[:, None], 0)[:, 0], color=_style.VERMILLION, label="network")
    ax.set_ylabel(_style.shorten(target_name, 40))
    figure.legend(loc="outside lower left", ncols=2)


_DRAW = {
    (2, True): _class_regions,
    (2, False): _fitted_surface,
    (1, True): _class_curves,
    (1, False): _fitted_curve,
}
