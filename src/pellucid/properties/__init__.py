"""Properties of outputs over boxes of inputs: proved, broken by a point, or undecided."""

from .checker import ProofCheck, check_proof
from .property import Case, Property
from .search import PropertyResult, check_property
from .vnnlib import read_vnnlib, write_vnnlib

__all__ = [
    "Case",
    "ProofCheck",
    "Property",
    "PropertyResult",
    "check_proof",
    "check_property",
    "read_vnnlib",
    "write_vnnlib",
]
