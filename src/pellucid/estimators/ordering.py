"""Rows in an order of their own, so that a fit does not depend on the order they were given in.

And whole-number weights as what they mean: so many equal rows.
"""

import hashlib

import numpy as np

from .._shapes import Array, Float64, Int
from ..datasets import Column
from ..datasets.features import Features

MOST_REPETITION = 4
"""Whole-number weights repeat rows if the rows become at most so many times as many."""

UInt64 = np.uint64


def order_of(features: Features, y: Array) -> Int[Array, " n"]:
    """Row numbers sorted by a hash of all that stands in a row."""
    key = np.zeros(features.n_rows, UInt64)
    for column in features.columns:
        key = _mixed(key ^ _bits(column))
    for target in np.asarray(y, np.float64).reshape(len(y), -1).T:
        key = _mixed(key ^ _of_floats(target))
    return np.argsort(key, kind="stable")


def repetitions(weight: Float64[Array, " n"] | None, n: int) -> Int[Array, " n"] | None:
    """How often each row stands for itself; None where the weights are no such numbers."""
    if weight is None:
        return np.ones(n, np.int64)
    whole = bool((weight == np.round(weight)).all()) and weight.sum() <= MOST_REPETITION * n
    return weight.astype(np.int64) if whole else None


def _bits(column: Column) -> Array:
    if column.kind != "categorical":
        return _of_floats(column.values)
    levels = {value: _of_text(value) for value in set(column.values)}
    return np.array([levels[value] for value in column.values], UInt64)


def _of_floats(values: Float64[Array, " n"]) -> Array:
    plain = np.where(np.isnan(values), np.nan, values + 0.0)  # one nan, one zero
    return np.ascontiguousarray(plain, np.float64).view(UInt64)


def _of_text(text: str | None) -> int:
    if text is None:
        return 0
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(key: Array) -> Array:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    key = key + UInt64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> UInt64(30))) * UInt64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> UInt64(27))) * UInt64(0x94D049BB133111EB)
    return key ^ (key >> UInt64(31))
