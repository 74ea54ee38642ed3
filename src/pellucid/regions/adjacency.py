"""Which regions share a facet, from their patterns.

Two regions that share a facet were separated by one cut of the search, along the switch s that both
name on that facet, and under the same pattern of the earlier layers. Across the facet s flips, and
every switch that vanishes on the whole facet may flip with it; no other can. Hence:

* If a region has the pattern with s alone flipped, it is the neighbour. (A switch that vanishes on
  the facet is a multiple of s on either side of it; had it to flip as well, the pattern without its
  flip would belong to no point.)
* Otherwise the neighbour's pattern agrees outside a set that holds all switches vanishing on the
  facet. The set is first taken too large, by a tolerance: one match is then still the right one.
  Where several match, the set is computed exactly.
"""

from typing import TYPE_CHECKING

import numpy as np

from .._shapes import Array, Int
from .exact import ExactMaps
from .maps import switch_maps

if TYPE_CHECKING:
    from .result import LinearRegions

#: relative size of a minor that counts as zero in the first, too large set
TOLERANCE = 1e-6


def adjacent_pairs(regions: "LinearRegions") -> Int[Array, "pairs 2"]:
    """Pairs (i < j) of regions that share a facet."""
    return owner_of_facets(regions)[facet_pairs(regions)]


def facet_pairs(regions: "LinearRegions") -> Int[Array, "pairs 2"]:
    """Rows of `facets` that are one facet, seen from its two regions; in the order of regions."""
    packed, facets = regions._get("packed_patterns"), regions._get("facets")
    owner = owner_of_facets(regions)
    inner = np.flatnonzero(facets >= 0)
    s, of = facets[inner], owner[inner]
    found, alone = _by_single_flip(packed, s, of, regions.n_switches)
    if len(alone) and regions.n_activation_regions > 1:
        others = alone[_by_many_flips(regions, packed, s[alone], of[alone])]
        found = np.concatenate([found, others])
    found = np.where((of[found[:, 0]] > of[found[:, 1]])[:, None], found[:, ::-1], found)
    pairs = inner[found]
    order = np.argsort(owner[pairs[:, 0]] * len(packed) + owner[pairs[:, 1]])
    return pairs[order]


def owner_of_facets(regions: "LinearRegions") -> Int[Array, " facets"]:
    """The region of each row of `facets`."""
    offsets = regions._get("facet_offsets")
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _by_single_flip(packed: Array, s: Array, owner: Array, n_switches: int) -> tuple[Array, Array]:
    """Pairs of facets found by hashing, each checked bit for bit, and those without a partner."""
    rng = np.random.default_rng(0)
    key = rng.integers(1, 2**63, n_switches, dtype=np.uint64)
    hashes = hash_patterns(packed, key)
    bit = (packed[owner, s >> 3] >> (s & 7).astype(np.uint8)) & 1
    cleared = hashes[owner] ^ (key * np.uint64(0x9E3779B97F4A7C15))[s]
    cleared ^= np.where(bit, key[s], np.uint64(0))
    order = np.argsort(cleared)
    ordered = cleared[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    left, right = order[equal], order[equal + 1]
    good = (bit[left] != bit[right]) & (s[left] == s[right])
    good &= _flipped_bits(packed, owner[left], owner[right]) == 1
    left, right = left[good], right[good]
    alone = np.ones(len(s), bool)
    alone[left] = alone[right] = False
    return np.stack([left, right], axis=1), np.flatnonzero(alone)


def hash_patterns(packed: Array, key: Array) -> Array:
    """64-bit hashes that change by key[i] where bit i flips (Zobrist 1970)."""
    n, n_bytes = packed.shape
    keys = np.zeros(8 * n_bytes, np.uint64)
    keys[: len(key)] = key
    table = np.zeros((n_bytes, 256), np.uint64)
    for bit in range(8):  # the sums of all subsets of a byte's keys
        table[:, 1 << bit : 2 << bit] = table[:, : 1 << bit] ^ keys[bit::8, None]
    hashes = np.zeros(n, np.uint64)
    columns = np.ascontiguousarray(packed.T)
    for row, column in zip(table, columns, strict=True):
        hashes ^= row[column]
    return hashes


def _flipped_bits(packed: Array, i: Array, j: Array) -> Array:
    if packed.shape[1] % 8 == 0 and packed.flags.c_contiguous:
        packed = packed.view(np.uint64)
    counts = np.empty(len(i), np.int64)
    for begin in range(0, len(i), 1 << 14):
        rows = slice(begin, begin + (1 << 14))
        counts[rows] = np.bitwise_count(packed[i[rows]] ^ packed[j[rows]]).sum(axis=1)
    return counts


def _by_many_flips(regions: "LinearRegions", packed: Array, s: Array, owner: Array) -> Array:
    """Partners of the facets on which several switches vanish together."""
    masks = _nearly_zero_on(regions, packed, s, owner)
    bit = (packed[owner, s >> 3] >> (s & 7).astype(np.uint8)) & 1
    exact = ExactMaps(regions._chain, regions.domain)
    pairs = []
    order = np.argsort(s, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(s[order])) + 1):
        mask = np.bitwise_or.reduce(masks[group], axis=0)
        found = _match(packed[owner[group]] & ~mask, bit[group])
        if found is None:
            kept = []
            for facet in group:
                zero = exact.zero_on(packed[owner[facet]], int(s[facet]))
                mask = np.packbits(zero, bitorder="little")
                kept.append((*(packed[owner[facet]] & ~mask).tolist(), *mask.tolist()))
            found = _match(np.array(kept, np.uint8), bit[group])
        pairs += [(group[i], group[j]) for i, j in found or ()]
    return np.array(pairs, np.int64).reshape(len(pairs), 2)


def _match(kept: Array, bit: Array) -> list[tuple[int, int]] | None:
    """Pairs with equal rows of `kept` and different bits; None where a row has two partners."""
    sides: tuple[dict, dict] = ({}, {})
    for i, (row, side) in enumerate(zip(kept, bit, strict=True)):
        if sides[side].setdefault(row.tobytes(), i) != i:
            return None
    return [(i, sides[1][row]) for row, i in sides[0].items() if row in sides[1]]


def _nearly_zero_on(regions: "LinearRegions", packed: Array, s: Array, owner: Array) -> Array:
    """For every facet the packed set of switches that vanish on it, or nearly."""
    masks = np.empty((len(s), packed.shape[1]), np.uint8)
    batch = max(1, 2**22 // max(1, regions.n_switches * (regions.domain.dimension + 1)))
    for begin in range(0, len(s), batch):
        rows = slice(begin, begin + batch)
        maps = switch_maps(regions._chain, regions.domain, packed[owner[rows]])
        own = maps[np.arange(len(maps)), s[rows]]
        p = np.abs(own).argmax(axis=1)[:, None, None]
        pivot = np.take_along_axis(own[:, None], p, axis=2)
        minors = maps * pivot - np.take_along_axis(maps, p, axis=2) * own[:, None]
        scale = np.abs(maps).max(axis=2)
        small = np.abs(minors).max(axis=2) <= TOLERANCE * scale * np.abs(pivot[:, :, 0])
        small |= scale <= TOLERANCE * scale.max(axis=1, keepdims=True)
        masks[rows] = np.packbits(small, axis=1, bitorder="little")
    return masks
