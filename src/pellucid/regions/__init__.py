"""Exact linear regions: where a piecewise-linear network is affine, and what it does there."""

from . import bounds
from .domains import Box, Plane, Segment, Space
from .explain import Explanation, explain
from .linear_regions import iter_linear_regions, linear_regions
from .result import LinearRegion, LinearRegions

__all__ = [
    "Box",
    "Explanation",
    "LinearRegion",
    "LinearRegions",
    "Plane",
    "Segment",
    "Space",
    "bounds",
    "explain",
    "iter_linear_regions",
    "linear_regions",
]
