"""Figures: one function per result, each returning a `matplotlib.figure.Figure`."""

from ._activations import activations
from ._bent_hyperplanes import bent_hyperplanes
from ._comparison import comparison
from ._decision_regions import decision_regions
from ._function import function
from ._gradient_flow import gradient_flow
from ._history import history, loss_curves
from ._layers import layer_history
from ._linear_regions import linear_regions
from ._panels import function_panels, region_panels
from ._rates import interpolants, measured, pieces_by_depth
from ._reliability import reliability
from ._rows import gaps, seeds_by_width
from ._save import save, to_svg
from ._unit_activity import unit_activity
from ._waterfall import waterfall

__all__ = [
    "activations",
    "bent_hyperplanes",
    "comparison",
    "decision_regions",
    "function",
    "function_panels",
    "gaps",
    "gradient_flow",
    "history",
    "interpolants",
    "layer_history",
    "linear_regions",
    "loss_curves",
    "measured",
    "pieces_by_depth",
    "region_panels",
    "reliability",
    "save",
    "seeds_by_width",
    "to_svg",
    "unit_activity",
    "waterfall",
]
