"""Corners of polygons moved onto their lines, where the search left them badly off.

Where two lines nearly coincide, as those of two networks that are nearly the same function, the
search still decides every sign exactly, but the rounded corner may be far from both lines. What is
integrated over such slivers needs corners on the lines; where along the lines hardly matters, as
the function is nearly affine there.
"""

from dataclasses import replace

import numpy as np

from .._shapes import Array, Float64
from .adjacency import owner_of_facets
from .maps import BATCH, switch_maps
from .result import Corners, LinearRegions

#: corners are left as they are where `vertex_error` is below this share of the domain's size
GOOD = 1e-8
#: sines of angles below this are taken as 0
PARALLEL = 1e-9


def polished(regions: LinearRegions) -> LinearRegions:
    """The same regions of a plane, with corners that lie on both their lines."""
    size = (regions.domain.high - regions.domain.low).min()
    if regions.domain.dimension != 2 or regions.vertex_error <= GOOD * size:
        return regions
    lines, offsets, v = _lines(regions), regions._get("offsets"), regions._get("vertices")
    before = np.arange(-1, len(v) - 1)
    before[offsets[:-1]] = offsets[1:] - 1
    A = np.stack([lines, lines[before]], axis=1)  # of the edge that leaves and the one that arrives
    residual = (A[:, :, :2] @ v[:, :, None])[:, :, 0] + A[:, :, 2]
    # One Newton step; of least length where the lines are parallel but for rounding.
    step = np.linalg.pinv(A[:, :, :2], rcond=PARALLEL) @ residual[:, :, None]
    corners = Corners(v - step[:, :, 0], offsets, regions.vertex_error)
    return replace(regions, corners=corners)


def _lines(regions: LinearRegions) -> Float64[Array, "facets 3"]:
    """The line of each edge, a p + c = 0 with |a| = 1."""
    facets, domain, packed = regions._get("facets"), regions.domain, regions._get("packed_patterns")
    lines, owner = np.zeros((len(facets), 3)), owner_of_facets(regions)
    starts = regions._get("facet_offsets")
    for begin in range(0, len(packed), BATCH):
        end = min(begin + BATCH, len(packed))
        rows = np.arange(starts[begin], starts[end])
        rows = rows[facets[rows] >= 0]
        maps = switch_maps(regions._chain, domain, packed[begin:end])
        lines[rows] = maps[owner[rows] - begin, facets[rows]]
    side = np.flatnonzero(facets < 0)
    k, high = np.divmod(-1 - facets[side], 2)
    lines[side, k] = 1.0
    lines[side, 2] = -np.where(high == 1, domain.high[k], domain.low[k])
    for size in (np.inf, 2):  # first the largest entry: squares of subnormal numbers are 0
        norm = np.linalg.norm(lines[:, :2], size, axis=1, keepdims=True)
        lines /= np.where(norm > 0, norm, 1.0)
    return lines
