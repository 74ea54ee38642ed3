"""Measures of regions in coordinates of their domain."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

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


def polygon_areas(vertices: Array, offsets: Array) -> Float64[Array, " n"]:
    """Areas of polygons by the shoelace formula about their first corners."""
    p = vertices - np.repeat(vertices[offsets[:-1]], np.diff(offsets), axis=0)
    following = np.arange(1, len(vertices) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    q = p[following]
    return np.add.reduceat(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], offsets[:-1]) / 2


def _hull_volume(vertices: Array) -> float:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(vertices).volume)
    except QhullError:  # thinner than rounding
        return 0.0
