"""Colours of a map: as few as needed, and no two neighbours alike."""

import numpy as np

from .._shapes import Array, Int

FILLS = ("#77aadd", "#eedd88", "#ffaabb", "#44bb99", "#ee8866", "#99ddff", "#bbcc33")
"""The scheme "light" of Tol (2021) without its grey: apart under colour vision deficiencies."""

_PLANAR = 5  # every planar graph has a vertex with at most five neighbours


def map_colours(n: int, pairs: Int[Array, "m 2"]) -> Int[Array, " n"]:
    """A number below len(FILLS) for each of n regions of a plane; neighbours (i, j) differ.

    Regions with at most five neighbours are taken away until none is left, which the map of a plane
    always allows, and coloured in the opposite order (Kempe 1879): of seven colours at least two
    are free each time, and one of these is chosen by chance with a fixed seed. (Regions that are
    not certified need not make a map; neighbours may be alike then.)
    """
    neighbours, start = _neighbours(n, pairs)
    order = _strip(n, pairs)
    first = np.random.default_rng(0).integers(0, len(FILLS), n).tolist()
    colour = [-1] * n
    for i in order[::-1].tolist():
        used = {colour[j] for j in neighbours[start[i] : start[i + 1]]}
        shifted = (k % len(FILLS) for k in range(first[i], first[i] + len(FILLS)))
        colour[i] = next((k for k in shifted if k not in used), first[i])
    return np.array(colour, np.int64)


def _neighbours(n: int, pairs: Array) -> tuple[list[int], list[int]]:
    """The neighbours of all regions in one list, and where those of each begin."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    start = np.searchsorted(both[:, 0], np.arange(n + 1))
    return both[:, 1].tolist(), start.tolist()


def _strip(n: int, pairs: Array) -> Int[Array, " n"]:
    """All regions in an order in which each has at most five neighbours behind it."""
    left, found = np.ones(n, bool), []
    while left.any():
        degree = np.bincount(pairs.ravel(), minlength=n)
        few = left & (degree <= max(_PLANAR, degree[left].min()))
        found.append(np.flatnonzero(few))
        left &= ~few
        pairs = pairs[left[pairs].all(axis=1)]
    return np.concatenate(found) if found else np.empty(0, np.int64)
