"""Figures: one function per result, each returning a `matplotlib.figure.Figure`."""

from ._decision_regions import decision_regions
from ._history import history, loss_curves
from ._layers import layer_history
from ._rows import gaps, seeds_by_width
from ._save import save, to_svg

__all__ = [
    "decision_regions",
    "gaps",
    "history",
    "layer_history",
    "loss_curves",
    "save",
    "seeds_by_width",
    "to_svg",
]
