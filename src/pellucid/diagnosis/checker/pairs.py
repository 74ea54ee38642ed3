"""Pairs of classes that a certificate compares."""

from typing import Any

import numpy as np

from ..._shapes import Array
from .result import Refused


def read_pairs(value: Any, y: Array) -> list[tuple[int, int]]:
    """Pairs of labels; no label twice, since each row may be counted once."""
    if type(value) is not list or not value:
        raise Refused("the evidence names no pair of classes")
    labels = [label for pair in value if type(pair) is list for label in pair]
    if not all(type(label) is int for label in labels) or len(labels) != 2 * len(value):
        raise Refused("the pairs of the evidence are no pairs of labels")
    if len(set(labels)) != len(labels) or not set(labels) <= set(np.unique(y).tolist()):
        raise Refused("the pairs of the evidence share a class, or name one without rows")
    return [(pair[0], pair[1]) for pair in value]


def read_count(value: Any, what: str, least: int = 0, most: int = 2**62) -> int:
    """A whole number in that range."""
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"{what} of the evidence is no whole number in its range")
    return value
