"""The kernel's random numbers on any device: the order of the rows, and dropout's masks.

Both are the twin's, bit for bit; only what makes them is arranged for whole arrays.
"""

import numpy as np
import torch
from torch import Tensor

from .._kernels.random_bits import advance, mix
from .._kernels.state import Run
from .._shapes import Array, Float, Int

_STEP = 0x9E3779B97F4A7C15


def _mixed(state: Array) -> Array:
    """`random_bits.mix` of many states at once (uint64 wraps around)."""
    z = state + np.uint64(_STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def shuffled(order: Int[Array, " n"], state: int) -> Int[Array, " n"]:
    """The rows in the order of the next epoch: `_kernels.rows.shuffle`."""
    draws = len(order) - 1
    i = np.arange(draws, 0, -1, dtype=np.uint64)
    bits = _mixed(np.uint64(state) + np.arange(draws, dtype=np.uint64) * np.uint64(_STEP))
    j = ((bits >> np.uint64(32)) * (i + np.uint64(1))) >> np.uint64(32)
    rows = order.tolist()
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        rows[a], rows[b] = rows[b], rows[a]
    return np.array(rows)


class Batches:
    """The rows of one step after the other, on a device: `_kernels.rows.next_rows`."""

    def __init__(self, run: Run, batch_size: int, device: torch.device):
        self._run, self._size, self._device = run, batch_size, device
        self._order = torch.from_numpy(run.order).to(device)

    def next(self) -> Tensor | None:
        """The rows of the next step, or None for all; the last batch of an epoch may be short."""
        run, n = self._run, len(self._run.order)
        if n == 0:
            return None
        if run.next_row >= n:
            run.order = shuffled(run.order, run.random)
            run.random, run.next_row = advance(run.random, n - 1), 0
            self._order = torch.from_numpy(run.order).to(self._device)
        rows = self._order[run.next_row : run.next_row + self._size]
        run.next_row += len(rows)
        return rows


def _int32(word: int) -> int:
    """The same 32 bits as a signed number: torch has no unsigned arithmetic on every device."""
    word &= 0xFFFFFFFF
    return word - (1 << 32) if word >> 31 else word


def _shift(x: Int[Tensor, "..."], bits: int) -> Int[Tensor, "..."]:
    """To the right, filled with zeros."""
    return (x >> bits) & ((1 << (32 - bits)) - 1)


def _scramble(x: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """Wellons (2018), "lowbias32"."""
    x = (x ^ _shift(x, 16)) * _int32(0x7FEB352D)
    x = (x ^ _shift(x, 15)) * _int32(0x846CA68B)
    return x ^ _shift(x, 16)


def dropout_factors(
    seed: int, step: int, layer: int, z: Float[Tensor, "n width"], rate: float
) -> Float[Tensor, "n width"]:
    """The factors of `_kernels.dropout.dropout_factors` on the device and in the type of z."""
    key = mix(mix(mix(seed ^ 0x64726F706F757421) + step) + layer)
    n, width = z.shape
    number = {"dtype": torch.int32, "device": z.device}
    rows = _scramble(torch.arange(n, **number) ^ _int32(key))
    units = torch.arange(width, **number) * _int32(0x9E3779B9) ^ _int32(key >> 32)
    kept = _shift(_scramble(rows[:, None] + units), 8) >= int(rate * 16777216.0)
    return kept.to(z.dtype) * (1 / (1 - rate))
