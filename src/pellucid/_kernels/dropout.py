"""Inverted dropout: the twin of ``isa/dropout.hpp``, bit for bit the same masks."""

from typing import Any

import numpy as np

from .._shapes import Array, Float
from .random_bits import mix


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
    key = mix(mix(mix(seed ^ 0x64726F706F757421) + step) + layer)
    of_rows, of_units = np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)
    n, width = shape
    rows = _scramble(np.arange(n, dtype=np.uint32) ^ of_rows)
    units = np.arange(width, dtype=np.uint32) * np.uint32(0x9E3779B9) ^ of_units
    bits = _scramble(rows[:, None] + units) >> np.uint32(8)  # 24 of them
    kept = bits >= int(rate * 16777216.0)
    return np.where(kept, 1 / (1 - rate), 0.0).astype(dtype)
