"""Which regions have the same affine map: decided exactly.

Two maps are told apart in floating point only where they differ by more than rounding can have
moved both (`rounding`). Where they do not, they are equal if the units that still reach the
output are on the same pieces (nothing else enters the composition), and otherwise exactly if their
compositions in whole numbers agree.
"""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._shapes import Array, Int
from .chain import Chain
from .exact import ExactMaps
from .maps import BATCH, U, bits_of, piece_numbers, rounding

if TYPE_CHECKING:
    from .result import LinearRegions


def linear_regions_of(regions: "LinearRegions") -> Int[Array, " n"]:
    """Labels of maximal sets of regions that are connected through facets and have one map."""
    pairs = regions.adjacency
    maps = Equality(regions)
    i, j = pairs[:, 0], pairs[:, 1]
    near = maps.near(i, j)
    same = pairs[near][maps.equal(i[near], j[near])]
    return _components(len(regions), same)


def affine_maps_of(regions: "LinearRegions") -> Int[Array, " n"]:
    """Labels of equal affine maps."""
    pieces = regions.linear_region
    if not len(pieces):
        return pieces
    _, first = np.unique(pieces, return_index=True)  # one region of each
    labels = Equality(regions).classes(first)
    return _renumber(labels[pieces])


class Equality:
    """Compares the maps of regions."""

    def __init__(self, regions: "LinearRegions"):
        self.chain, self.packed = regions._chain, regions._get("packed_patterns")
        self.domain = regions.domain
        maps = regions._maps
        joint = np.concatenate([maps.slope, maps.intercept[:, :, None]], axis=2)
        self.joint = joint.reshape(len(joint), -1)
        self.error = rounding(self.chain, regions.domain, maps.norms)
        self._keys: dict[int, int] = {}  # of exact maps, numbered
        self._numbers: dict[tuple, int] = {}

    def near(self, i: Array, j: Array) -> Array:
        """Which pairs floating point cannot tell apart; bool."""
        found = np.empty(len(i), bool)
        for begin in range(0, len(i), 1 << 16):
            rows = slice(begin, begin + (1 << 16))
            gap = np.abs(self.joint[i[rows]] - self.joint[j[rows]]).max(axis=1)
            found[rows] = ~(gap > (self.error[i[rows]] + self.error[j[rows]]) * (1 + 1e-12))
        return found

    def equal(self, i: Array, j: Array) -> Array:
        """Which pairs have equal maps, exactly; bool."""
        same = np.empty(len(i), bool)
        for begin in range(0, len(i), BATCH):
            rows = slice(begin, begin + BATCH)
            left, right = (effective_pieces(self.chain, self.packed[k[rows]]) for k in (i, j))
            same[rows] = (left == right).all(axis=1)
        for k in np.flatnonzero(~same):
            same[k] = self.exact_number(int(i[k])) == self.exact_number(int(j[k]))
        return same

    def exact_number(self, i: int) -> int:
        """The same number for regions with equal maps, by composition in whole numbers."""
        if i not in self._keys:
            key = self._exact.output_key(self.packed[i])
            self._keys[i] = self._numbers.setdefault(key, len(self._numbers))
        return self._keys[i]

    def classes(self, members: Array) -> Int[Array, " members"]:
        """Labels of equal maps among the given regions."""
        m = len(members)
        direction = np.random.default_rng(2).uniform(0.5, 1, self.joint.shape[1])
        values, reach = along(self.joint[members], self.error[members], direction)
        order = np.argsort(values - reach)
        # Runs in which each interval value +- reach touches an earlier one.
        ends = np.maximum.accumulate((values + reach)[order])
        run = np.cumsum(np.append(False, (values - reach)[order][1:] > ends[:-1]))
        single = np.bincount(run)[run] == 1
        labels = np.empty(m, np.int64)
        labels[order[single]] = np.arange(single.sum())
        close = np.sort(order[~single])
        labels[close] = single.sum() + self._exact_classes(members[close])
        return labels

    def _exact_classes(self, members: Array) -> Int[Array, " members"]:
        """Exact labels, composed once for all regions on which the same units matter.

        In the order of the search neighbours share the maps of the first layers.
        """
        effective = [
            effective_pieces(self.chain, self.packed[members[begin : begin + BATCH]])
            for begin in range(0, len(members), BATCH)
        ]
        if not effective:
            return np.empty(0, np.int64)
        _, first, kind = np.unique(
            np.concatenate(effective), axis=0, return_index=True, return_inverse=True
        )
        number = {k: self.exact_number(int(members[k])) for k in np.sort(first)}
        return np.array([number[k] for k in first], np.int64)[kind.ravel()]

    @cached_property
    def _exact(self) -> ExactMaps:
        return ExactMaps(self.chain, self.domain)


def along(joint: Array, error: Array, direction: Array) -> tuple[Array, Array]:
    """Products of maps with a direction, all positive, and a bound on their distance to the truth.

    error bounds that of every column of a map; a product of n numbers adds n u |joint| direction
    (Higham 2002, chapter 3), and taking and adding the bound 4 u more.
    """
    reach = error * direction.sum() * 1.01
    reach += 1.01 * (len(direction) + 4) * U * (np.abs(joint) @ direction) + 1e-290
    return joint @ direction, reach


def effective_pieces(chain: Chain, packed: Array) -> Array:
    """On which piece each unit is, 255 for one with no path to the output that is not 0."""
    weights = (*chain.weights, chain.output_weight)
    reach = np.ones((len(packed), chain.d_out), bool)
    found = []
    for layer in reversed(range(len(chain.weights))):
        W, pieces = weights[layer + 1] != 0, chain.pieces[layer]
        reach = _through(reach, W)
        bits = bits_of(packed, chain.first[layer], chain.first[layer + 1])
        number = piece_numbers(bits, pieces) if pieces.kinks else np.zeros(reach.shape, np.uint8)
        found.append(np.where(reach, number, 255).astype(np.uint8))
        reach &= np.array(pieces.slopes)[number] != 0
    return np.concatenate(found[::-1], axis=1) if found else np.empty((len(packed), 0), np.uint8)


def _through(reach: Array, W: Array) -> Array:
    """Units from which some unit that reaches the output is fed; W (units after, units)."""
    if W.all():
        return np.repeat(reach.any(axis=1, keepdims=True), W.shape[1], axis=1)
    return reach.astype(np.float32) @ W.astype(np.float32) > 0


def _components(n: int, pairs: Array) -> Int[Array, " n"]:
    """Connected components of a graph, numbered by their first member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(pairs):
        return np.arange(n)
    ones = np.ones(len(pairs), np.int8)
    graph = coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return _renumber(connected_components(graph, directed=False)[1])


def _renumber(labels: Array) -> Int[Array, " n"]:
    """The same classes, numbered in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
