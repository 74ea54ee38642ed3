"""Rows that agree in every column and not in the target."""

import numpy as np

from ..wording import at_least
from .architecture import Architecture
from .found import Found
from .rows import Rows, entropy


def find_duplicates(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """The loss of one output per distinct row: its mean, or its shares of the classes."""
    n, d = rows.X.shape
    if n * (d + 10.0) > work:
        return None
    _, group, size = np.unique(rows.X, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    if len(size) == n:
        return None
    mixed = _conflicting(rows.y, group, len(size))
    if not mixed.any():
        return None
    if rows.is_regression:
        mean = np.bincount(group, rows.u) / size
        value = rows.least + float(((rows.u - mean[group]) ** 2).mean()) / 2
    else:
        k = int(rows.y.max()) + 1
        counts = np.zeros((len(size), k))
        np.add.at(counts, (group, rows.y), 1.0)
        value = float(entropy(counts[mixed]).sum()) / n
    n_rows = int(size[mixed].sum())
    return Found(
        value,
        f"{n_rows} of {n} training rows agree in every column with a row that has another target: "
        f"no function of these columns has a training loss below {at_least(value)}",
        {"n_groups": int(mixed.sum())},
    )


def _conflicting(y: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """Which groups hold more than one target."""
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, group, y)
    np.maximum.at(high, group, y)
    return low < high
