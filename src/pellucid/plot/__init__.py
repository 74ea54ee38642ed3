"""Figures: one function per result, each returning a `matplotlib.figure.Figure`."""

from ._bent_hyperplanes import bent_hyperplanes
from ._decision_regions import decision_regions
from ._function import function
from ._gradient_flow import gradient_flow
from ._history import history, loss_curves
from ._layers import layer_history
from ._linear_regions import linear_regions
from ._rows import gaps, seeds_by_width
from ._save import save, to_svg

__all__ = [
    "bent_hyperplanes",
    "decision_regions",
    "function",
    "gaps",
    "gradient_flow",
    "history",
    "layer_history",
    "linear_regions",
    "loss_curves",
    "save",
    "seeds_by_width",
    "to_svg",
]
