"""Lower bounds on the training loss of every parameter vector of an architecture."""

from .architecture import OUTPUT_ACTIVATIONS, Architecture, is_named
from .table import FLOORS, Floor, FloorFamily, find_floors

__all__ = [
    "FLOORS",
    "OUTPUT_ACTIVATIONS",
    "Architecture",
    "Floor",
    "FloorFamily",
    "find_floors",
    "is_named",
]
