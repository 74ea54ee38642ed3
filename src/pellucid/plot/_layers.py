"""What happened in each layer while a network trained, as small multiples."""

from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from ..training import History, LayerHistory, Run
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_PANELS = {
    "gradient_norm": "norm of the gradient",
    "update_ratio": "update / parameters",
    "dead": "dead units",
    "saturated": "saturated units",
}
_STYLES = ("-", "--", "-.", ":")


def layer_history(run: Run | History | LayerHistory) -> "matplotlib.figure.Figure":
    """Draw gradients, updates, dead and saturated units of each layer by step.

    Norms and ratios have logarithmic axes. Raises InvalidInput where nothing was measured.
    """
    one = run.history if isinstance(run, Run) else run
    layers = one.layers if isinstance(one, History) else one
    if layers is None or not len(layers.steps):
        raise InvalidInput(
            "no layer was measured; train with measure_every=25, for example, to see them."
        )
    with _style.style():
        figure = _style.new_figure(4.4)
        axes = figure.subplots(2, 2, sharex=True)
        for ax, (name, title) in zip(axes.flat, _PANELS.items(), strict=True):
            share = name in ("dead", "saturated")
            _draw(ax, layers, getattr(layers, name), share)
            ax.set_title(title)
        for ax in axes[1]:
            ax.set_xlabel("step")
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=4)
    return figure


def _draw(
    ax: "matplotlib.axes.Axes", layers: LayerHistory, values: np.ndarray, share: bool
) -> None:
    n_layers = layers.gradient_norm.shape[1]
    for i, series in enumerate(values.T):
        label = f"layer {i + 1}" + (" (output)" if i == n_layers - 1 else "")
        ax.plot(
            layers.steps,
            series,
            _STYLES[i // 8 % len(_STYLES)],
            color=_style.class_colour(i),
            marker="." if len(layers.steps) < 30 else None,
            label=label,
        )
    if share:
        ax.set_ylim(-0.03, 1.03)
    elif np.isfinite(values).any() and np.nanmax(values) > 0:
        ax.set_yscale("log")
        _style.power_ticks(ax.yaxis)
