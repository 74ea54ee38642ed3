"""Regions cut once more, by classes or by a level of an output: exactly.

The functions that tell classes apart are units of further layers, put after the output, and the
same search cuts along their zeros. All that is proved of regions holds of the cells then: their
pattern says on which side of every cut they lie, and facets pair without comparing coordinates.

With M_j = max(f_0, ..., f_j), layer j of the further layers has the unit d_j = f_j - M_(j-1), and

    M_j = M_(j-1) + relu(d_j).

The class is the last j with d_j > 0, else 0: the largest output, the lower index where some are
equal on a whole cell. What a layer only hands on passes a relu as h + C, with a power of two C that
keeps it positive. All weights are 0, 1 and -1, so that nothing is rounded.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Int
from ..network import Network
from .adjacency import facet_pairs, owner_of_facets
from .chain import Chain
from .domains import Domain, Space
from .locating import rows_with_pattern

if TYPE_CHECKING:
    from .result import LinearRegions


@dataclass(frozen=True, eq=False)
class Cells:
    """The regions of a result, cut so that each cell is of one class.

    `owner` is the region that holds each cell, -1 for one that an incomplete result left out. In a
    level set class 1 is above the level, and 0 is below it or on it everywhere.
    """

    regions: "LinearRegions"
    owner: Int[Array, " cells"]
    label: Int[Array, " cells"]
    n_classes: int

    @cached_property
    def facet_pairs(self) -> Int[Array, "pairs 2"]:
        """Rows of `regions.facets` that are one facet, seen from its two cells."""
        pairs = facet_pairs(self.regions)
        return pairs[(self.owner[self.owner_of_facets[pairs]] >= 0).all(axis=1)]

    @cached_property
    def owner_of_facets(self) -> Int[Array, " facets"]:
        """The cell of each row of `regions.facets`."""
        return owner_of_facets(self.regions)


def cells_by_class(regions: "LinearRegions") -> Cells:
    """Cells of one class: the largest output, or with one output its sign."""
    if regions.network.d_out == 1:
        return cells_by_level(regions, 0, 0.0)
    head = [] if isinstance(regions.domain, Space) else tower(regions._chain, regions.domain)
    return _cut(regions, head, regions.network.d_out)


def cells_by_level(regions: "LinearRegions", output: int, level: float) -> Cells:
    """Cells on which an output is above a level (class 1), or nowhere above (0)."""
    pick = np.zeros((1, regions.network.d_out))
    pick[0, output] = 1.0
    return _cut(regions, [(pick, np.array([-level]))], 2)


def tower(chain: Chain, domain: Domain) -> list[tuple[Array, Array]]:
    """The layers (W, b) of d_1, d_2, ... after the outputs; d_j is unit 0 of its layer."""
    K = chain.d_out
    C = above(output_bound(chain, domain))
    W = np.eye(K)  # f_1 - f_0, then f_0 (the maximum so far), then f_2, f_3, ...
    W[[0, 1]] = W[[1, 0]]
    W[0, 0] = -1.0
    b = np.full(K, C)
    b[0] = 0.0
    layers = [(W, b)]
    for width in range(K - 1, 1, -1):  # from (d, M, f_j, f_(j+1), ...), one longer
        W = np.zeros((width, width + 1))
        W[0, :3] = -1.0, -1.0, 1.0
        W[1, :2] = 1.0
        W[2:, 3:] = np.eye(width - 2)
        layers.append((W, np.zeros(width)))
    W, b = layers[-1]
    layers[-1] = W[:1], b[:1]  # nothing is handed on any more
    return layers


def output_bound(chain: Chain, domain: Domain) -> float:
    """No output is larger than this in size on the domain: sums of absolute values, doubled."""
    h = np.abs(domain.origin) + np.maximum(np.abs(domain.low), np.abs(domain.high)) @ np.abs(
        domain.axes
    )
    with np.errstate(over="ignore"):
        for W, b, pieces in zip(chain.weights, chain.biases, chain.pieces, strict=True):
            z = np.abs(W) @ h + np.abs(b)
            steepest, highest = (max(map(abs, x)) for x in (pieces.slopes, pieces.intercepts))
            h = steepest * z + highest
        h = np.abs(chain.output_weight) @ h + np.abs(chain.output_bias)
    return 2.0 * float(h.max(initial=0.0))


def above(bound: float) -> float:
    """A power of two above a bound."""
    if not bound < 1e300:
        raise InvalidInput(
            "the outputs may be too large for float64 on this domain; use a smaller domain or "
            "smaller weights."
        )
    return 2.0 ** max(math.frexp(bound)[1] + 1, -500)


def _cut(regions: "LinearRegions", head: list[tuple[Array, Array]], n_classes: int) -> Cells:
    from .linear_regions import linear_regions

    if isinstance(regions.domain, Space):
        raise InvalidInput("boundaries and volumes of classes need a bounded domain; use a Box.")
    chain, packed = regions._chain, regions._get("packed_patterns")
    limit = None if regions.complete else max(4 * len(packed), 1000)
    cut = linear_regions(
        _with_head(chain, head), regions.domain, exact=regions.certified, limit=limit
    )
    found = cut._get("packed_patterns")
    owner = _owners(packed, _first_bits(found, chain.n_switches, packed.shape[1]))
    label = np.zeros(len(found), np.int64)
    for j, (_, first) in enumerate(zip(head, _firsts(cut._chain, len(head)), strict=True)):
        bit = found[:, first >> 3] >> (first & 7) & 1
        label[bit == 1] = j + 1
    return Cells(cut, owner, label, n_classes)


def _owners(packed: Array, kept: Array) -> Int[Array, " cells"]:
    """The row of `packed` that equals each row of `kept`; -1 where there is none.

    Both come from the same depth-first search, so that equal rows follow each other.
    """
    new = np.ones(len(kept), bool)
    new[1:] = (kept[1:] != kept[:-1]).any(axis=1)
    runs = kept[new]
    if np.array_equal(runs, packed):
        return np.cumsum(new) - 1
    return rows_with_pattern(packed, kept)


def _with_head(chain: Chain, head: list[tuple[Array, Array]]) -> Network:
    layers = [
        *zip(chain.weights, chain.biases, strict=True),
        (chain.output_weight, chain.output_bias),
        *head,
        (np.ones((1, len(head[-1][1]))), np.zeros(1)),
    ]
    activations = [*chain.activations, "identity", *["relu"] * len(head)]
    return Network([W for W, _ in layers], [b for _, b in layers], activations)


def _firsts(chain: Chain, n: int) -> tuple[int, ...]:
    """The number of the first switch of each of the last n layers."""
    return chain.first[-1 - n : -1]


def _first_bits(packed: Array, n: int, n_bytes: int) -> Array:
    """The first n bits of packed patterns, as patterns of n_bytes bytes."""
    kept = np.zeros((len(packed), n_bytes), np.uint8)
    whole, bits = divmod(n, 8)
    kept[:, :whole] = packed[:, :whole]
    if bits:
        kept[:, whole] = packed[:, whole] & ((1 << bits) - 1)
    return kept
