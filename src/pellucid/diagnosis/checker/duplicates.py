"""Conflicting duplicates: rows that agree in every column and not in the target."""

from typing import Any

import numpy as np

from .formulas import GAUSSIAN_CONSTANT
from .result import Refused
from .rows import Shape, TrainingRows, entropy_of_counts


def duplicates_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """The loss of the best function whatever: one output for rows that are the same.

    Labels: the entropy of each group. Numbers: the squares around each group's mean. Groups are
    found by the bytes of their rows in a dictionary.
    """
    if set(evidence) != {"n_groups"}:
        raise Refused("the evidence does not have the fields of its kind")
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(rows.X + 0.0):  # + 0.0 makes -0.0 the same as 0.0
        groups.setdefault(row.tobytes(), []).append(i)
    members = [np.array(group) for group in groups.values()]
    mixed = [group for group in members if len(set(rows.y[group].tolist())) > 1]
    if type(evidence["n_groups"]) is not int or evidence["n_groups"] != len(mixed):
        raise Refused(f"there are {len(mixed)} groups of conflicting rows")
    if rows.likelihood == "gaussian":
        u = rows.standardised
        squares = sum(float(((u[g] - u[g].mean()) ** 2).sum()) for g in mixed)
        return GAUSSIAN_CONSTANT + squares / (2 * rows.n) * (1 - 1e-10) - 1e-12
    total = sum(entropy_of_counts(np.bincount(rows.y[g])) for g in mixed)
    return total / rows.n * (1 - 1e-10)
