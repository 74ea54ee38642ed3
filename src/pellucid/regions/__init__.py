"""Exact linear regions: where a piecewise-linear network is affine, and what it does there."""

from . import bounds
from .boundaries import DecisionBoundary, Polyline
from .domains import Box, Plane, Segment, Space
from .explain import Explanation, explain
from .function_distance import function_distance
from .linear_regions import iter_linear_regions, linear_regions
from .quantities import Extremum
from .result import LinearRegion, LinearRegions

__all__ = [
    "Box",
    "DecisionBoundary",
    "Explanation",
    "Extremum",
    "LinearRegion",
    "LinearRegions",
    "Plane",
    "Polyline",
    "Segment",
    "Space",
    "bounds",
    "explain",
    "function_distance",
    "iter_linear_regions",
    "linear_regions",
]
