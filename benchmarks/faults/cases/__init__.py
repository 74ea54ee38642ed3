"""Faults that people asked about in public, rebuilt small: `REBUILT`, in the order of the table."""

from . import capacity, data, local_minima, outputs, rates, scales
from .registry import NOT_REBUILT, REBUILT

__all__ = [
    "NOT_REBUILT",
    "REBUILT",
    "capacity",
    "data",
    "local_minima",
    "outputs",
    "rates",
    "scales",
]
