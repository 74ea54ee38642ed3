"""Which regions share a facet, from their patterns.

Two regions that share a facet were separated by one cut of the search, along the switch s that both
name on that facet, and under the same pattern of the earlier layers. Across the facet s flips, and
every switch that vanishes on the whole facet may flip with it; no other can. Hence:

* If a region has the pattern with s alone flipped, it is the neighbour. (A switch that vanishes on
  the facet is a multiple of s on either side of it; had it to flip as well, the pattern without its
  flip would belong to no point.)
* Otherwise the neighbour has the same set of switches vanishing on the facet, its pattern agrees
  outside this set, and no other region on that side is so. Where a bound on rounding proves that s
  alone vanishes, the neighbour is not among the regions; elsewhere the set is computed exactly.
"""

from typing import TYPE_CHECKING

import numpy as np

from .._kernels.subdivision import regions_module
from .._shapes import Array, Int
from .exact import ExactMaps
from .maps import U, switch_maps, switch_rounding

if TYPE_CHECKING:
    from .result import LinearRegions


def adjacent_pairs(regions: "LinearRegions") -> Int[Array, "pairs 2"]:
    """Pairs (i < j) of regions that share a facet."""
    return _paired(regions)[1]


def facet_pairs(regions: "LinearRegions") -> Int[Array, "pairs 2"]:
    """Rows of `facets` that are one facet, seen from its two regions; in the order of regions."""
    return _paired(regions)[0]


def _paired(regions: "LinearRegions") -> tuple[Array, Array]:
    """Pairs of rows of `facets`, and the regions that each joins."""
    packed, facets = regions._get("packed_patterns"), regions._get("facets")
    pairs, of, alone = _by_single_flip(packed, facets, regions._get("facet_offsets"))
    if not len(alone) or len(packed) < 2:
        return pairs, of
    owner = owner_of_facets(regions)
    others = alone[_by_many_flips(regions, packed, facets[alone], owner[alone])]
    return _in_order(np.concatenate([pairs, others]), owner)


def _in_order(pairs: Array, owner: Array) -> tuple[Array, Array]:
    """Pairs of facets by their regions, that of the lower number first, and these regions."""
    of = owner[pairs]
    pairs = np.where((of[:, 0] > of[:, 1])[:, None], pairs[:, ::-1], pairs)
    of.sort(axis=1)
    order = np.lexsort(of.T[::-1])
    return pairs[order], of[order]


def owner_of_facets(regions: "LinearRegions") -> Int[Array, " facets"]:
    """The region of each row of `facets`."""
    offsets = regions._get("facet_offsets")
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _by_single_flip(packed: Array, facets: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Pairs of facets whose regions differ in their switch alone, these regions, what is left."""
    module = regions_module()
    if module is None:
        return pair_facets(packed, facets, offsets)
    pairs, of, alone = module.pair_facets(
        *(np.ascontiguousarray(packed), np.asarray(offsets, np.int64)),
        np.ascontiguousarray(facets, np.int32),
    )
    return pairs.view(np.int64), of.view(np.int64), alone.view(np.int64)


def pair_facets(packed: Array, facets: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """The twin of the compiled `pair_facets`: by hashing, each checked bit for bit."""
    inner = np.flatnonzero(facets >= 0)
    owner = np.repeat(np.arange(len(packed)), np.diff(offsets))
    s, of = facets[inner], owner[inner]
    rng = np.random.default_rng(0)
    key = rng.integers(1, 2**63, 8 * packed.shape[1], dtype=np.uint64)
    hashes = hash_patterns(packed, key)
    bit = (packed[of, s >> 3] >> (s & 7).astype(np.uint8)) & 1
    cleared = hashes[of] ^ (key * np.uint64(0x9E3779B97F4A7C15))[s]
    cleared ^= np.where(bit, key[s], np.uint64(0))
    order = np.argsort(cleared)
    ordered = cleared[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    left, right = order[equal], order[equal + 1]
    good = (bit[left] != bit[right]) & (s[left] == s[right])
    good &= _flipped_bits(packed, of[left], of[right]) == 1
    pairs = np.stack([left[good], right[good]], axis=1)
    alone = np.ones(len(s), bool)
    alone[pairs] = False
    return *_in_order(inner[pairs], owner), inner[alone]


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
    masks = _perhaps_zero_on(regions, packed, s, owner)
    several = np.flatnonzero(np.bitwise_count(masks).sum(axis=1, dtype=np.int64) > 1)
    exact = ExactMaps(regions._chain, regions.domain)
    sides: tuple[dict, dict] = ({}, {})
    for facet in several:
        pattern, switch = packed[owner[facet]], int(s[facet])
        among = np.flatnonzero(np.unpackbits(masks[facet], bitorder="little"))
        zero = np.zeros(8 * packed.shape[1], np.uint8)
        zero[among] = exact.zero_on(pattern, switch, among)
        mask = np.packbits(zero, bitorder="little")
        bit = pattern[switch >> 3] >> (switch & 7) & 1
        sides[bit][switch, mask.tobytes(), (pattern & ~mask).tobytes()] = facet
    pairs = [(facet, sides[1][key]) for key, facet in sides[0].items() if key in sides[1]]
    return np.array(pairs, np.int64).reshape(len(pairs), 2)


def _perhaps_zero_on(regions: "LinearRegions", packed: Array, s: Array, owner: Array) -> Array:
    """For every facet the packed set of switches of which rounding may hide that they vanish on it.

    A switch t does if all t_i s_p - t_p s_i are 0, where s_p is not.
    """
    masks = np.empty((len(s), packed.shape[1]), np.uint8)
    batch = max(1, 2**22 // max(1, regions.n_switches * (regions.domain.dimension + 1)))
    for begin in range(0, len(s), batch):
        rows = slice(begin, begin + batch)
        of = regions._chain, regions.domain, packed[owner[rows]]
        maps, error = switch_maps(*of), switch_rounding(*of)
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(maps).max(axis=2)
            error = error + 2 * U * size  # that of z - kink
            own, own_error = (of[np.arange(len(maps)), s[rows]] for of in (maps, error))
            p = np.abs(own).argmax(axis=1)[:, None, None]
            pivot = np.take_along_axis(own[:, None], p, axis=2)
            minors = maps * pivot - np.take_along_axis(maps, p, axis=2) * own[:, None]
            own_size, own_error = np.abs(pivot[:, :, 0]), own_error[:, None]
            bound = size * own_error + error * own_size + error * own_error
            bound = 2.02 * bound + 8 * U * size * own_size + 1e-300
            other = (np.abs(minors) > bound[:, :, None]).any(axis=2)
        other[np.arange(len(maps)), s[rows]] = False
        masks[rows] = np.packbits(~other, axis=1, bitorder="little")
    return masks
