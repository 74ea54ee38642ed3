"""Regions of the whole input space, exactly and without a box that might be too small.

A network whose kinks are all at 0 becomes homogeneous with one more input t that multiplies every
bias: F(x, t) = t f(x / t) for t > 0. Its regions are the cones over those of f, so each meets the
surface of the cube |x_i| <= r_i, 0 <= t <= 1 in the face t = 1 or in a face x_i = +-r_i, and is
found there under its own pattern.

A facet is missed only where its cone meets the cube in edges alone; it then lies in x_i = +-r_i or
in x_i / r_i = +-x_j / r_j. Two cubes with different ratios miss different facets, so that together
they show all adjacencies.
"""

import time
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Int
from ..network import Network
from .chain import Chain
from .domains import Face, Space
from .maps import bits_of

if TYPE_CHECKING:
    from .result import LinearRegions


def regions_of_space(
    network: Network, chain: Chain, domain: Space, options: dict
) -> "LinearRegions":
    """All regions of the whole space; no vertices. A count too holds every pattern, to compare."""
    from .result import LinearRegions

    seconds, limit = options["seconds"], options["limit"]
    start, parts = time.monotonic(), []
    for face in faces(domain.dimension, 0):
        left = None if seconds is None else seconds - (time.monotonic() - start)
        if left is None or left > 0:
            parts.append(_on_face(chain, face, options | {"seconds": left}))
    patterns = _without_t(chain, parts)
    _, first = np.unique(patterns, axis=0, return_index=True)
    packed = np.ascontiguousarray(patterns[np.sort(first)])
    complete = len(parts) == 2 * domain.dimension + 1 and all(part.complete for part in parts)
    if limit is not None and len(packed) > limit:
        packed, complete = packed[:limit], False
    return LinearRegions(
        network=network,
        domain=domain,
        n_activation_regions=len(packed),
        packed_patterns=None if options["count_only"] else packed,
        facets=None,
        facet_offsets=None,
        by_filter=sum(part.by_filter for part in parts),
        by_exact=sum(part.by_exact for part in parts),
        undecided=sum(part.undecided for part in parts),
        complete=complete,
    )


def pairs_in_space(regions: "LinearRegions") -> Int[Array, "pairs 2"]:
    """Pairs (i < j) of regions of the whole space that share a facet."""
    packed = regions._get("packed_patterns")
    number = {row.tobytes(): i for i, row in enumerate(packed)}
    options = {"exact": regions.certified, "limit": None, "seconds": None, "threads": 1}
    found = [np.empty((0, 2), np.int64)]
    for cube in (0, 1):
        for face in faces(regions.domain.dimension, cube):
            part = _on_face(regions._chain, face, options)
            rows = _without_t(regions._chain, [part])
            own = np.array([number.get(row.tobytes(), -1) for row in rows])
            found.append(own[part.adjacency])
    pairs = np.sort(np.concatenate(found), axis=1)
    return np.unique(pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] != pairs[:, 1])], axis=0)


def faces(d: int, cube: int) -> list[Face]:
    """The face t = 1 of a cube and its faces x_i = +-r_i, in the coordinates (x_1, ..., x_d, t)."""
    r = 1 + np.random.default_rng(cube).random(d)
    e = np.eye(d + 1)
    found = [Face(e[d], e[:d], -r, r)]
    for i in range(d):
        others = np.arange(d) != i
        axes = np.concatenate([e[:d][others], e[d:]])
        low, high = np.append(-r[others], 0.0), np.append(r[others], 1.0)
        found += [Face(sign * r[i] * e[i], axes, low, high) for sign in (-1.0, 1.0)]
    return found


def homogeneous(chain: Chain) -> Network:
    """The network in (x, t): biases are weights of t, which every layer hands on in a last unit."""
    for layer, pieces in enumerate(chain.pieces):
        if any(pieces.kinks) or any(pieces.intercepts):
            raise InvalidInput(
                f"layer {layer + 1} has a kink that is not at 0 (hardtanh); the regions of the "
                "whole space need kinks at 0: use a large Box."
            )
    weights = [
        np.block([[W, b[:, None]], [np.zeros((1, W.shape[1])), np.ones((1, 1))]])
        for W, b in zip(chain.weights, chain.biases, strict=True)
    ]
    weights.append(np.column_stack([chain.output_weight, chain.output_bias]))
    return Network(weights, [np.zeros(len(W)) for W in weights], chain.activations)


def _on_face(chain: Chain, face: Face, options: dict) -> "LinearRegions":
    from .linear_regions import linear_regions

    return linear_regions(homogeneous(chain), face, **(options | {"count_only": False}))


def _without_t(chain: Chain, parts: list["LinearRegions"]) -> Array:
    """Patterns of all parts, packed, without the switches of the units that carry t."""
    keep = []
    for b, pieces in zip(chain.biases, chain.pieces, strict=True):
        keep += [True] * (len(b) * len(pieces.kinks)) + [False] * len(pieces.kinks)
    packed = np.concatenate([part._get("packed_patterns") for part in parts])
    bits = bits_of(packed, 0, len(keep))[:, np.array(keep, bool)]
    return np.packbits(bits, axis=1, bitorder="little")
