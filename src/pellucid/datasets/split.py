"""`held_out_rows`: which rows to keep away from training."""

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Bool, Int
from .column import Integer
from .table import Table


def held_out_rows(table: Table, share: float = 0.25, seed: Integer = 0) -> Bool[Array, " n"]:
    """A mask of the rows to hold out: about `share` of them, drawn with `seed`.

    Classes are held out in proportion, and each keeps at least one row for training.
    """
    if not 0 < share < 1:
        raise InvalidInput(f"share is {share}; the held-out share lies between 0 and 1.")
    if seed < 0:
        raise InvalidInput(f"seed is {seed}; it is a whole number, 0 or more.")
    labels = None if table.classes is None else np.asarray(table.y, np.int64)
    return hold_out(labels, table.n_rows, share, seed)


def hold_out(
    labels: Int[Array, " n"] | None, n: int, share: float, seed: Integer
) -> Bool[Array, " n"]:
    """The same for n rows with these labels, or without."""
    if n < 2:
        raise InvalidInput(f"the table has {n} row; holding some out needs at least 2.")
    groups = np.zeros(n, np.int64) if labels is None else labels
    total = min(max(round(share * n), 1), n - 1)
    counts = _allot(np.bincount(groups), total)
    order = np.random.default_rng(seed).permutation(n)
    mask = np.zeros(n, dtype=bool)
    for group, count in enumerate(counts):
        mask[order[groups[order] == group][:count]] = True
    return mask


def _allot(sizes: Int[Array, " k"], total: int) -> Int[Array, " k"]:
    """How many of each group to hold out: by largest remainder, never a whole group."""
    room = np.maximum(sizes - 1, 0)
    exact = total * sizes / sizes.sum()
    counts = np.minimum(np.floor(exact).astype(np.int64), room)
    for group in np.argsort(counts - exact, kind="stable"):
        if counts.sum() < total and counts[group] < room[group]:
            counts[group] += 1
    return counts
