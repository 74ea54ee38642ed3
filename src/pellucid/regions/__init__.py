"""Exact linear regions: where a piecewise-linear network is affine, and what it does there."""

from . import bounds
from .along import PiecesAlong, RegionsAlong, count_along, linear_regions_along
from .boundaries import DecisionBoundary, Polyline
from .domains import Box, Plane, Segment, Space
from .explain import Explanation, explain
from .function_distance import function_distance
from .linear_regions import iter_linear_regions, linear_regions
from .local import LocalRegions, local_regions
from .quantities import Extremum
from .result import LinearRegion, LinearRegions
from .sampling import SampledPatterns, sample_patterns
from .topology import BettiNumbers

__all__ = [
    "BettiNumbers",
    "Box",
    "DecisionBoundary",
    "Explanation",
    "Extremum",
    "LinearRegion",
    "LinearRegions",
    "LocalRegions",
    "PiecesAlong",
    "Plane",
    "Polyline",
    "RegionsAlong",
    "SampledPatterns",
    "Segment",
    "Space",
    "bounds",
    "count_along",
    "explain",
    "function_distance",
    "iter_linear_regions",
    "linear_regions",
    "linear_regions_along",
    "local_regions",
    "sample_patterns",
]
