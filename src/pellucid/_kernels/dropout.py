"""Inverted dropout: the twin of ``isa/dropout.hpp``, bit for bit the same masks."""

from typing import Any

import numpy as np

from .._shapes import Array, Float

_WORD = (1 << 64) - 1


def _splitmix64(state: int) -> int:
    z = (state + 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def _scramble(x: Array) -> Array:
    """Wellons (2018), "lowbias32"."""
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def dropout_factors(
    seed: int, step: int, layer: int, shape: tuple[int, int], rate: float, dtype: Any
) -> Float[Array, "n width"]:
    """0 with probability ``rate``, else 1 / (1 - rate), for each row of the batch and unit.

    A hash of seed, step, layer, row and unit decides.
    """
    key = _splitmix64((_splitmix64(seed ^ 0x64726F706F757421) + step) & _WORD)
    key = _splitmix64((key + layer) & _WORD)
    of_rows, of_units = np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)
    n, width = shape
    rows = _scramble(np.arange(n, dtype=np.uint32) ^ of_rows)
    units = np.arange(width, dtype=np.uint32) * np.uint32(0x9E3779B9) ^ of_units
    bits = _scramble(rows[:, None] + units) >> np.uint32(8)  # 24 of them
    kept = bits >= int(rate * 16777216.0)
    return np.where(kept, 1 / (1 - rate), 0.0).astype(dtype)
