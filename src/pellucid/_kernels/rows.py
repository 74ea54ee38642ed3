"""Which rows a step takes: the twin of ``isa/rows.hpp``."""

from collections.abc import Iterator
from typing import Any

from .._shapes import Array, Int
from .random_bits import advance, splitmix64
from .state import Run


def shuffle(order: Int[Array, " n"], bits: Iterator[int]) -> None:
    """Fisher and Yates, in place; j = floor(u (i + 1)) with u the high 32 bits as a fraction."""
    for i in range(len(order) - 1, 0, -1):
        j = ((next(bits) >> 32) * (i + 1)) >> 32
        order[i], order[j] = order[j], order[i]


def next_rows(run: Run, batch_size: int) -> Any:
    """The rows of the next step; the last batch of an epoch may be short."""
    n = len(run.order)
    if n == 0:
        return slice(None)  # all of them
    if run.next_row >= n:
        shuffle(run.order, splitmix64(run.random))
        run.random, run.next_row = advance(run.random, n - 1), 0
    rows = run.order[run.next_row : run.next_row + batch_size].copy()
    run.next_row += len(rows)
    return rows
