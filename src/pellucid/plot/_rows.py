"""Figures whose rows have long names: a loss axis below, one named row per model."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels import n_parameters
from ..diagnosis.verdict import Experiment, Reference, Verdict
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_LINE, _GAP, _MARKS = 0.165, 0.04, 0.25  # inches: a line of a name, around it, the marks below
_NAME_LIMIT, _NAME_LINES = 74, 3
_YOURS = "your run"


def seeds_by_width(verdict: Verdict) -> "matplotlib.figure.Figure":
    """Draw the held-out loss of every seed as a dot, one row per experiment, small to large.

    The bar is the median. Lines: the constant predictor and the reference, as they cross-validate
    on the training rows. Seeds that diverged have no dot and are counted in the row's name.
    """
    order = sorted(verdict.experiments, key=lambda e: _size(e, verdict))
    with _style.style():
        figure, ax, places = _row_axes([_row_name(e) for e in order])
        for y, experiment in zip(places, order, strict=True):
            _dots(ax, y, experiment)
        _style.line_at(ax, "x", verdict.trivial_loss, "constant predictor", dashed=False)
        _style.line_at(ax, "x", verdict.reference_loss, _style.reference_label(verdict))
        values = [np.asarray(e.held_out_loss, dtype=float) for e in order]
        _loss_axis(ax, np.concatenate([*values, [verdict.trivial_loss, verdict.reference_loss]]))
        ax.set_xlabel("held-out loss (nats), lower is better")
        _role_legend(figure, ax, order)
    return figure


def gaps(verdict: Verdict) -> "matplotlib.figure.Figure":
    """Draw training and held-out loss: the user's run, the best of each role, the references.

    A run is chosen by its training loss, so that its held-out loss was not picked for being low.
    References are also judged by cross-validation on the training rows, with a bar of plus and
    minus two standard errors.
    """
    best = {e.role: _best(verdict, e.role) for e in verdict.experiments if e.role != "recipe"}
    chosen = [(_YOURS, "recipe", verdict.experiments[0], 0)]
    chosen += [
        (f"best {_style.role_mark(role).label}: {e.name}", role, e, i)
        for role, (e, i) in best.items()
        if i >= 0
    ]
    names = [name for name, *_ in chosen] + [r.name for r in verdict.references]
    values = [verdict.trivial_loss, verdict.reference_loss]
    with _style.style():
        figure, ax, places = _row_axes(names)
        for y, (name, role, experiment, i) in zip(places, chosen, strict=False):
            train = _floored(experiment.training_loss[i])
            held_out = _floored(experiment.held_out_loss[i])
            values += [train, held_out]
            _dumbbell(ax, y, train, held_out, _style.role_mark(role), name == _YOURS)
        for i, reference in enumerate(verdict.references):
            values += [reference.loss, reference.held_out_loss]
            _reference(ax, places[len(chosen) + i], reference, named=i == 0)
        _style.line_at(ax, "x", verdict.trivial_loss, "constant predictor", dashed=False)
        _style.line_at(ax, "x", verdict.reference_loss, _style.reference_label(verdict))
        _loss_axis(ax, np.asarray(values, dtype=float))
        ax.set_xlabel("loss (nats), lower is better")
        figure.legend(loc="outside lower left", ncols=2)
    return figure


def _size(experiment: Experiment, verdict: Verdict) -> tuple[int, int, str]:
    """Sort key: number of parameters, the user's recipe first among equals."""
    widths = (verdict.network.d_in, *experiment.recipe.hidden, verdict.network.d_out)
    return n_parameters(widths), experiment.role != "recipe", experiment.name


def _floored(loss: float) -> float:
    """Return a loss as drawn: below a millionth of a nat all are the same."""
    return _style.FLOOR if 0 <= loss < _style.FLOOR else float(loss)


def _row_name(experiment: Experiment) -> str:
    finite = int(np.isfinite(np.asarray(experiment.held_out_loss, dtype=float)).sum())
    lost = max(experiment.n_diverged, len(experiment.seeds) - finite)
    return experiment.name + (f" ({lost} of {len(experiment.seeds)} diverged)" if lost else "")


def _row_axes(
    names: list[str],
) -> "tuple[matplotlib.figure.Figure, matplotlib.axes.Axes, list[float]]":
    """Rows from the top, each with its name above its marks, and the height of the marks.

    The y axis counts inches. A name has a strip of its own, over which no line runs.
    """
    lines = [_style.wrap(name, _NAME_LIMIT, _NAME_LINES) for name in names]
    heights = [_LINE * len(name) + 2 * _GAP + _MARKS for name in lines]
    tops = np.cumsum([0.0, *heights])
    figure = _style.new_figure(1.35 + max(float(tops[-1]), 2 * (_LINE + 2 * _GAP + _MARKS)))
    ax = figure.add_subplot()
    for row, name in enumerate(lines):
        band = "#f5f5f5" if row % 2 == 0 else "#ffffff"
        strip = tops[row] + 2 * _GAP + _LINE * len(name)
        ax.axhspan(tops[row], tops[row + 1], color=band, linewidth=0, zorder=0)
        ax.axhspan(tops[row], strip, color=band, linewidth=0, zorder=1.8)  # over lines at 1.5
        label = ax.annotate(
            "\n".join(name),
            (0, tops[row] + _GAP),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="top",
            fontsize=9,
            color=_style.BLACK,
            zorder=2.5,
        )
        label.set_in_layout(False)  # a long name must not narrow the axes
    ax.set_ylim(float(tops[-1]) or 1.0, 0.0)
    ax.set_yticks([])
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)
    return figure, ax, [float(end) - _MARKS / 2 for end in tops[1:]]


def _dots(ax: "matplotlib.axes.Axes", y: float, experiment: Experiment) -> None:
    mark = _style.role_mark(experiment.role)
    losses = np.asarray(experiment.held_out_loss, dtype=float)
    losses = losses[np.isfinite(losses)]
    losses = np.array([_floored(loss) for loss in losses])
    ax.scatter(losses, np.full(len(losses), y), s=30, **_face(mark), alpha=0.85, zorder=3)
    if len(losses):
        ax.vlines(
            np.median(losses), y - 0.1, y + 0.1, color=_style.BLACK, linewidth=1.8, zorder=2.8
        )


def _face(mark: _style.Mark) -> dict[str, Any]:
    return {
        "marker": mark.marker,
        "facecolor": mark.colour,
        "edgecolor": "white",
        "linewidth": 0.6,
    }


def _dumbbell(
    ax: "matplotlib.axes.Axes",
    y: float,
    train: float,
    held_out: float,
    mark: _style.Mark,
    named: bool,
) -> None:
    ax.hlines(y, min(train, held_out), max(train, held_out), color=mark.colour, linewidth=2)
    ax.scatter(
        train,
        y,
        s=42,
        marker=mark.marker,
        facecolor="white",
        edgecolor=mark.colour,
        linewidth=1.6,
        zorder=3,
        label="training rows" if named else None,
    )
    label = "held-out rows" if named else None
    ax.scatter(held_out, y, s=46, **_face(mark), label=label, zorder=3.5)


def _reference(ax: "matplotlib.axes.Axes", y: float, one: Reference, named: bool) -> None:
    if np.isfinite(one.standard_error):
        low, high = one.loss - 2 * one.standard_error, one.loss + 2 * one.standard_error
        ax.hlines(y, low, high, color=_style.BLACK, linewidth=1.2)
    ax.scatter(
        one.loss,
        y,
        s=70,
        marker="|",
        color=_style.BLACK,
        linewidth=2.2,
        zorder=3,
        label="cross-validated" if named else None,
    )
    ax.scatter(one.held_out_loss, y, s=36, **_face(_style.Mark("", _style.GREY, "o")), zorder=3.5)


def _best(verdict: Verdict, role: str) -> tuple[Experiment, int]:
    """Return the run of a role with the lowest training loss: its experiment and place, or -1."""
    runs = [
        (float(loss), experiment, i)
        for experiment in verdict.experiments
        if experiment.role == role
        for i, loss in enumerate(experiment.training_loss)
        if np.isfinite(loss) and np.isfinite(experiment.held_out_loss[i])
    ]
    if not runs:
        return verdict.experiments[0], -1
    _, experiment, i = min(runs, key=lambda run: run[0])
    return experiment, i


def _loss_axis(ax: "matplotlib.axes.Axes", values: np.ndarray, may_be_log: bool = True) -> None:
    from matplotlib.ticker import MaxNLocator

    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if may_be_log and _style.wants_log(values):
        low = max(low, _style.FLOOR)
        room = (high / low) ** 0.06
        ax.set_xlim(low / room, high * room)
        _style.use_log(ax, "x")
    else:
        room = 0.06 * (high - low) or 0.5
        ax.set_xlim(low - room, high + room)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        _style.plain_ticks(ax.xaxis)


def _role_legend(
    figure: "matplotlib.figure.Figure", ax: "matplotlib.axes.Axes", order: list[Experiment]
) -> None:
    """One entry for each role that occurs, the median bar, and the lines."""
    from matplotlib.lines import Line2D

    roles = dict.fromkeys(e.role for e in order)
    entries = [
        Line2D([], [], linestyle="", marker=m.marker, color=m.colour, label=m.label)
        for m in map(_style.role_mark, roles)
    ]
    entries.append(
        Line2D([], [], linestyle="", marker="|", markersize=11, color=_style.BLACK, label="median")
    )
    lines, _ = ax.get_legend_handles_labels()
    figure.legend(handles=[*entries, *lines], loc="outside lower left", ncols=2)
