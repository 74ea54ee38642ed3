"""Pairs of classes: a bound for two classes bounds many, row by row.

-log p_y >= -log(p_y / (p_a + p_b)): what the rows of classes a and b lose is at least what they
lose where only these two are possible, and then the difference of two logits decides.
"""

from itertools import combinations

import numpy as np

from ..._shapes import Array

MOST_CLASSES = 12


def class_pairs(y: Array) -> list[tuple[int, int]]:
    """Every pair of the classes that are there, the most frequent ones first."""
    labels, counts = np.unique(y, return_counts=True)
    order = labels[np.argsort(-counts, kind="stable")][:MOST_CLASSES]
    return list(combinations([int(k) for k in order], 2))


def disjoint(values: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Pairs without a common class, the best first: each row counts once."""
    chosen: list[tuple[int, int]] = []
    used: set[int] = set()
    for pair in sorted(values, key=lambda p: (-values[p], p)):
        if values[pair] > 0 and not used & set(pair):
            chosen.append(pair)
            used |= set(pair)
    return chosen
