"""Which region holds a point."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._shapes import Array, Int
from .adjacency import hash_patterns
from .chain import Chain
from .domains import Space
from .maps import switch_maps

if TYPE_CHECKING:
    from .result import LinearRegions

#: how far a point may lie outside a region, in units of the domain's size
TOLERANCE = 1e-9


def locate(regions: "LinearRegions", coordinates: ArrayLike | tuple) -> Int[Array, " points"]:
    """`LinearRegions.locate`."""
    packed, domain = regions._get("packed_patterns"), regions.domain
    x = np.atleast_2d(domain.to_input(coordinates))
    p = np.atleast_2d(np.asarray(coordinates, np.float64))
    inside = ((p >= domain.low) & (p <= domain.high)).all(axis=1)
    found = np.full(len(p), -1, np.int64)
    found[inside] = rows_with_pattern(packed, pattern_at(regions._chain, x[inside]))
    for i in np.flatnonzero(inside & (found < 0)):
        found[i] = _by_geometry(regions, packed, p[i])
    return found


def pattern_at(chain: Chain, x: Array) -> Array:
    """Packed bits of every switch at the points x (n, d_in), by a forward pass in float64."""
    h, bits = x, []
    for W, b, pieces in zip(chain.weights, chain.biases, chain.pieces, strict=True):
        z = h @ W.T + b
        above = z[:, :, None] > np.array(pieces.kinks)  # a tie is inactive
        number = above.sum(axis=2)
        bits.append(above.reshape(len(z), z.shape[1] * len(pieces.kinks)))
        h = np.array(pieces.slopes)[number] * z + np.array(pieces.intercepts)[number]
    joint = np.concatenate(bits, axis=1) if bits else np.zeros((len(x), 0), bool)
    return np.packbits(joint, axis=1, bitorder="little")


def rows_with_pattern(packed: Array, wanted: Array) -> Array:
    """The rows of `packed` that equal the rows of `wanted`; -1 where there is none."""
    if not len(packed):
        return np.full(len(wanted), -1)
    key = np.random.default_rng(1).integers(1, 2**63, 8 * packed.shape[1], dtype=np.uint64)
    hashes, asked = hash_patterns(packed, key), hash_patterns(wanted, key)
    order = np.argsort(hashes)
    at = np.minimum(np.searchsorted(hashes[order], asked), len(packed) - 1)
    rows = order[at]
    return np.where((packed[rows] == wanted).all(axis=1), rows, -1)


def _by_geometry(regions: "LinearRegions", packed: Array, p: Array) -> int:
    """The region whose closure holds p best, to rounding; -1 where none does."""
    low, high = regions._bounding_boxes
    if isinstance(regions.domain, Space):
        size = TOLERANCE * (1 + np.abs(p))
    else:
        size = TOLERANCE * (regions.domain.high - regions.domain.low) + regions.vertex_error
    near = np.flatnonzero(((p >= low - size) & (p <= high + size)).all(axis=1))
    best, least = -1, 1.0
    for begin in range(0, len(near), 64):
        rows = near[begin : begin + 64]
        outside = _outside(regions, packed[rows], p) / size.min()
        k = int(outside.argmin())
        if outside[k] < least:
            best, least = int(rows[k]), float(outside[k])
    return best


def _outside(regions: "LinearRegions", packed: Array, p: Array) -> Array:
    """How far p lies outside each region: its largest distance beyond one of their hyperplanes."""
    maps = switch_maps(regions._chain, regions.domain, packed)
    if not maps.shape[1]:
        return np.zeros(len(packed))
    value = maps @ np.append(p, 1.0)
    on = np.unpackbits(packed, axis=1, count=maps.shape[1], bitorder="little").astype(bool)
    norm = np.linalg.norm(maps[:, :, :-1], axis=2)
    beyond = np.where(on, -value, value) / np.where(norm > 0, norm, 1.0)
    return np.maximum(beyond, 0).max(axis=1)
