"""Coordinates of a domain brought to a size near 1 for the search, exactly: by powers of two.

The kernels bound rounding by the largest coordinate, and locate vertices to a fixed part of 1.
Where one coordinate runs to 60,000 (feet) and another to 3 (radians), most signs would go to exact
numbers.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from .._kernels.subdivision import BoxRegions, PlaneRegions
from .._shapes import Array, Float64
from .domains import Domain, Face

Found = TypeVar("Found", PlaneRegions, BoxRegions)

LEAST, MOST = 2.0**-4, 2.0**3  # coordinates that reach so far are left as they are
LARGEST = 2.0**500  # numbers up to this, and down to its inverse, are scaled without a loss


def common_scale(domain: Domain) -> Float64[Array, " d"] | None:
    """A power of two for each coordinate: p = scale q with all |q| at most 1.

    None where all reach about that far, or where scaling could overflow or lose bits.
    """
    ends = zip(domain.low.tolist(), domain.high.tolist(), strict=True)
    reach = [max(abs(low), abs(high)) for low, high in ends]
    if min(reach) >= LEAST and max(reach) < MOST:
        return None
    scale = np.ldexp(1.0, np.frexp(reach)[1])
    numbers = np.concatenate([domain.axes.ravel(), domain.low, domain.high])
    sizes = np.abs(numbers[numbers != 0])
    safe = max(sizes.max(), 1 / sizes.min()) < LARGEST
    return scale if safe else None


def scaled(domain: Domain, scale: Float64[Array, " d"]) -> Face:
    """The same domain in the coordinates q = p / scale."""
    return Face(
        domain.origin, domain.axes * scale[:, None], domain.low / scale, domain.high / scale
    )


def unscaled(found: Found, scale: Float64[Array, " d"]) -> Found:
    """Regions found in the coordinates q, in p = scale q."""
    vertices = None if found.vertices is None else found.vertices * scale
    return replace(found, vertices=vertices, vertex_error=found.vertex_error * float(scale.max()))
