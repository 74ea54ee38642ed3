"""Measures of regions in coordinates of their domain."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._kernels.region_arrays import polygon_areas
from .._kernels.subdivision import regions_module
from .._shapes import Array, Float64

if TYPE_CHECKING:
    from .result import LinearRegions

#: dimensions up to which files and `pellucid regions` say volumes: one takes some d! simplices
MOST_DIMENSIONS = 6


def volumes(regions: "LinearRegions") -> Float64[Array, " n"]:
    """Length, area or volume of every region, in coordinates."""
    vertices, offsets = regions._get("vertices"), regions._get("offsets")
    if not len(regions):
        return np.empty(0)
    d = regions.domain.dimension
    if d == 1:
        ends = vertices[:, 0]
        return np.maximum.reduceat(ends, offsets[:-1]) - np.minimum.reduceat(ends, offsets[:-1])
    if d == 2:
        return polygon_areas(vertices, offsets)
    return polytope_volumes(vertices, offsets, regions.tight)


def polytope_volumes(
    vertices: Array, offsets: Array, tight: Array | None
) -> Float64[Array, " polytopes"]:
    """Volumes of polytopes, of which `tight` says what vertices lie on what facets."""
    module = regions_module()
    if module is not None and tight is not None:
        return module.box_volumes(*map(np.ascontiguousarray, (vertices, offsets, tight)))
    return np.array([_hull_volume(vertices[a:b]) for a, b in pairwise(offsets)])


def _hull_volume(vertices: Array) -> float:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(vertices).volume)
    except QhullError:  # thinner than rounding
        return 0.0
