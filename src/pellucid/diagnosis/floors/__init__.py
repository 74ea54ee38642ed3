"""Lower bounds on the training loss of every parameter vector of an architecture."""

from .architecture import OUTPUT_ACTIVATIONS, Architecture
from .table import FLOORS, Floor, FloorFamily, find_floors

__all__ = [
    "FLOORS",
    "OUTPUT_ACTIVATIONS",
    "Architecture",
    "Floor",
    "FloorFamily",
    "find_floors",
]
