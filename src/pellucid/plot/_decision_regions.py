"""What a network of one or two inputs computes, drawn over the rows that it was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64
from ..network import Network
from . import _style

if TYPE_CHECKING:
    import matplotlib.figure
    import matplotlib.lines

_CHUNK = 8192  # grid points evaluated at once: bounds the memory of wide networks
_MANY_ROWS = 1500  # more points than these are drawn as one picture inside the SVG
_TRAINING, _HELD_OUT = "training row", "held-out row"


@dataclass(frozen=True)
class _Rows:
    """The rows to draw over the network, and the user's names for what they hold."""

    X: Float64[Array, "n d_in"]
    y: Array
    held_out: Bool[Array, " n"]
    classes: Sequence[str]
    target_name: str

    @property
    def parts(self) -> tuple[tuple[str, Bool[Array, " n"]], ...]:
        """The rows of training and those held out, where there are any; else all rows."""
        if not self.held_out.any():
            return (("row", ~self.held_out),)
        return (_TRAINING, ~self.held_out), (_HELD_OUT, self.held_out)


def decision_regions(
    network: Network,
    X: ArrayLike,
    y: ArrayLike,
    classes: Sequence[str] | None = None,
    *,
    held_out: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    target_name: str = "target",
    resolution: int = 240,
) -> "matplotlib.figure.Figure":
    """Draw what a network with one or two inputs predicts, and the rows (X, y).

    With `classes`, `y` holds their numbers: two inputs give filled decision regions, one input
    gives the probability of each class. Without, `y` holds numbers: two inputs give filled
    contours of the fitted function, one input its curve. The function is sampled on a grid of
    `resolution` points a side and joined linearly between them, so what is smaller than a grid
    cell is not seen. Rows that the mask `held_out` names are drawn hollow, or as squares where the
    filling shows the target. Raises InvalidInput for more than two inputs or several numeric
    outputs.
    """
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y)
    _check(network, X, y, classes)
    rows = _Rows(X, y.reshape(len(X)), _mask(held_out, len(X)), classes or (), target_name)
    names = [_style.shorten(name, 40) for name in feature_names or _default_names(X.shape[1])]
    with _style.style():
        figure = _style.new_figure(4.3 if X.shape[1] == 2 else 3.6)
        ax = figure.add_subplot()
        ax.grid(visible=False)
        draw = _DRAW[X.shape[1], classes is not None]
        draw(figure, ax, network, rows, resolution)
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


def _mask(held_out: ArrayLike | None, n: int) -> Bool[Array, " n"]:
    mask = np.zeros(n, dtype=bool) if held_out is None else np.asarray(held_out)
    if mask.shape != (n,) or mask.dtype != bool:
        raise InvalidInput(
            f"held_out has shape {mask.shape} and type {mask.dtype}; it needs a true or false for "
            f"each of the {n} rows of X."
        )
    return mask


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


def _class_regions(figure, ax, network, rows: _Rows, resolution: int) -> None:
    a, b, points = _grid(rows.X, resolution)
    outputs = _evaluate(network, points, len(rows.classes))
    for k in range(len(rows.classes)):
        others = np.delete(outputs, k, axis=1).max(axis=1)
        margin = (outputs[:, k] - others).reshape(a.shape)  # > 0 where class k is predicted
        if margin.max() > 0:
            levels = [0.0, float(margin.max()) * 1.01]
            ax.contourf(a, b, margin, levels=levels, colors=[_style.class_colour(k)], alpha=0.30)
            if margin.min() < 0:
                ax.contour(a, b, margin, levels=[0.0], colors=[_style.BLACK], linewidths=0.8)
    for k, name in enumerate(rows.classes):
        for part, mask in rows.parts:
            of_class = mask & (rows.y == k)
            label = _style.shorten(str(name), 24) if part != _HELD_OUT else None
            if of_class.any() or label:
                _points(ax, rows.X[of_class], k, label, part == _HELD_OUT, len(rows.X))
    _class_legend(figure, rows)


def _points(
    ax, X: Float64[Array, "m 2"], k: int, label: str | None, hollow: bool, n_rows: int
) -> None:
    colour, many = _style.class_colour(k), n_rows > _MANY_ROWS
    ax.scatter(
        X[:, 0],
        X[:, 1],
        s=18 if n_rows <= 400 else 11 if not many else 5,
        marker=_style.class_marker(k),
        facecolor="white" if hollow else colour,
        edgecolor=colour if hollow else _style.BLACK,
        linewidth=1.1 if hollow and not many else 0.4 if not many else 0.2,
        label=label,
        rasterized=many,
        zorder=3,
    )


def _class_legend(figure: "matplotlib.figure.Figure", rows: _Rows) -> None:
    """Put as many columns as the longest class name allows; then what hollow means."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    if rows.held_out.any():
        handles, names = [*handles, *_part_marks("o")], [*names, _TRAINING, _HELD_OUT]
    longest = max((len(name) for name in names), default=0)
    figure.legend(
        handles,
        names,
        loc="outside lower left",
        ncols=4 if longest <= 9 else 3 if longest <= 15 else 2,
        title=_style.shorten(rows.target_name, 40),
        title_fontsize=9,
        alignment="left",
        markerscale=1.4,
        handletextpad=0.2,
    )


def _part_marks(shape: str) -> "list[matplotlib.lines.Line2D]":
    """Legend entries: a filled mark for training rows, a hollow one for those held out."""
    from matplotlib.lines import Line2D

    look = {"linestyle": "", "markersize": 4, "markeredgecolor": _style.GREY}
    filled = Line2D([], [], marker=shape, markerfacecolor=_style.GREY, **look)
    return [filled, Line2D([], [], marker=shape, markerfacecolor="white", **look)]


def _fitted_surface(figure, ax, network, rows: _Rows, resolution: int) -> None:
    from matplotlib.ticker import MaxNLocator

    a, b, points = _grid(rows.X, resolution)
    f, y = _evaluate(network, points, 0).reshape(a.shape), rows.y
    low, high = np.nanmin([f.min(), np.nanmin(y)]), np.nanmax([f.max(), np.nanmax(y)])
    levels = MaxNLocator(14).tick_values(low, high if high > low else low + 1.0)
    filled = ax.contourf(a, b, f, levels=levels, cmap="cividis")
    for part, mask in rows.parts:
        ax.scatter(
            rows.X[mask, 0],
            rows.X[mask, 1],
            c=y[mask],
            s=16,
            marker="s" if part == _HELD_OUT else "o",
            cmap="cividis",
            vmin=levels[0],
            vmax=levels[-1],
            edgecolor="white",
            linewidth=0.5,
            label=part,
            rasterized=len(y) > _MANY_ROWS,
            zorder=3,
        )
    bar = figure.colorbar(filled, ax=ax)
    bar.set_label(f"{_style.shorten(rows.target_name, 40)}: area fitted, marks data")
    if len(rows.parts) > 1:
        figure.legend(loc="outside lower left", ncols=2)


def _class_curves(figure, ax, network, rows: _Rows, resolution: int) -> None:
    from ..likelihoods import as_likelihood

    x = _axis(rows.X[:, 0], 4 * resolution)
    outputs = _evaluate(network, x[:, None], len(rows.classes))
    p = as_likelihood("categorical").predict(outputs)
    for k, name in enumerate(rows.classes):
        colour = _style.class_colour(k)
        ax.plot(x, p[:, k], color=colour, label=_style.shorten(str(name), 24), linewidth=2)
        for part, mask in rows.parts:
            X = rows.X[mask & (rows.y == k), 0]
            face = "white" if part == _HELD_OUT else colour
            level = np.full(len(X), -0.04 - 0.05 * k - 0.025 * (part == _HELD_OUT))
            ax.plot(X, level, "o", color=colour, markerfacecolor=face, markersize=2.5, mew=0.6)
    ax.set_ylabel("probability (marks below: the rows)")
    _class_legend(figure, rows)


def _fitted_curve(figure, ax, network, rows: _Rows, resolution: int) -> None:
    x = _axis(rows.X[:, 0], 4 * resolution)
    for part, mask in rows.parts:
        face = "white" if part == _HELD_OUT else _style.SKY
        ax.plot(
            rows.X[mask, 0],
            rows.y[mask],
            "o",
            color=_style.BLUE,
            markerfacecolor=face,
            markersize=3.5,
            markeredgewidth=0.6,
            label=f"{part}s",
        )
    f = _evaluate(network, x[:, None], 0)[:, 0]
    ax.plot(x, f, color=_style.VERMILLION, linewidth=2, label="network", zorder=3)
    ax.set_ylabel(_style.shorten(rows.target_name, 40))
    figure.legend(loc="outside lower left", ncols=3)


_DRAW = {
    (2, True): _class_regions,
    (2, False): _fitted_surface,
    (1, True): _class_curves,
    (1, False): _fitted_curve,
}
