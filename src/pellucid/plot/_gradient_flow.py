"""How activations and gradients travel with depth, as small multiples."""

from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from ..diagnosis import Flow, GradientFlow
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_MEASURES = {
    "activation_norm": "activations",
    "signal": "differences\nbetween inputs",
    "gradient_norm": "gradient",
}
_COLUMN, _ROW = 2.9, 2.0  # inches
_MOST_LINES = 8
_QUARTER = 0.25


def gradient_flow(flow: GradientFlow) -> "matplotlib.figure.Figure":
    """Draw activations, differences between inputs and gradients of each hidden layer, by layer.

    One column for each scheme, one line for each activation: the median over the networks drawn,
    and a band from the least to the largest. The dotted line falls by 1/4 per layer on its way
    down, as the slope of the sigmoid makes it at most. Axes are logarithmic, and the same along a
    row. Raises InvalidInput for more than eight activations.
    """
    schemes = list(dict.fromkeys(one.scheme for one in flow))
    names = list(dict.fromkeys(one.activation for one in flow))
    if len(names) > _MOST_LINES:
        raise InvalidInput(
            f"there are {len(names)} activations; at most {_MOST_LINES} can be told apart."
        )
    with _style.style():
        size = _ROW * len(_MEASURES) + 0.6, max(_style.WIDTH, _COLUMN * len(schemes))
        figure = _style.new_figure(*size)
        axes = figure.subplots(
            len(_MEASURES), len(schemes), sharex=True, sharey="row", squeeze=False
        )
        for one in flow:
            k = names.index(one.activation)
            for ax, measure in zip(axes[:, schemes.index(one.scheme)], _MEASURES, strict=True):
                _line(ax, one, measure, k)
        for ax in axes[-1]:
            _quarter(ax, flow)
        _label(axes, schemes)
        handles, labels = axes[-1, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=5)
    return figure


def _line(ax: "matplotlib.axes.Axes", flow: Flow, measure: str, k: int) -> None:
    values = getattr(flow, measure)
    layers = np.arange(1, values.shape[1] + 1)
    shown = np.where(values > 0, values, np.nan)
    look = {"color": _style.class_colour(k), "zorder": 3}
    ax.plot(
        layers,
        np.where(np.median(values, axis=0) > 0, np.median(values, axis=0), np.nan),
        marker=_style.class_marker(k),
        markersize=4,
        markevery=max(1, len(layers) // 10),
        linewidth=1.6,
        label=flow.activation,
        **look,
    )
    if len(values) > 1 and np.isfinite(shown).all():
        look = {"color": look["color"], "alpha": 0.18, "linewidth": 0}
        ax.fill_between(layers, shown.min(axis=0), shown.max(axis=0), **look)


def _quarter(ax: "matplotlib.axes.Axes", flow: GradientFlow) -> None:
    """A fall by 1/4 per layer from the last one down, from the largest gradient there."""
    layers = np.arange(1, flow[0].gradient_norm.shape[1] + 1)
    top = max(float(one.median("gradient_norm")[-1]) for one in flow) or 1.0
    fall = top * _QUARTER ** (layers[-1] - layers).astype(float)
    ax.plot(
        layers,
        fall,
        color=_style.BLACK,
        linestyle=(0, (1, 2)),
        linewidth=1.3,
        label="1/4 per layer",
        zorder=2,
    )


def _label(axes: np.ndarray, schemes: list[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    for ax, scheme in zip(axes[0], schemes, strict=True):
        ax.set_title(scheme)
    for ax in axes[-1]:
        ax.set_xlabel("hidden layer")
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    for row, label in zip(axes, _MEASURES.values(), strict=True):
        row[0].set_ylabel(label)
        if any((np.nan_to_num(line.get_ydata()) > 0).any() for ax in row for line in ax.lines):
            row[0].set_yscale("log")
            _style.power_ticks(row[0].yaxis)
