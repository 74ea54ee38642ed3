"""Exact linear regions: where a piecewise-linear network is affine, and what it does there."""

from .domains import Box, Plane, Segment
from .linear_regions import linear_regions
from .result import LinearRegion, LinearRegions

__all__ = ["Box", "LinearRegion", "LinearRegions", "Plane", "Segment", "linear_regions"]
