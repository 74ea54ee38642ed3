"""Groups of rows whose convex hulls meet: no function of one linear form tells them apart.

Each group is split in two so that a point is a convex combination of either part (Radon 1921).
Along any linear form neither part lies wholly above the other, and a function that follows the
form, up or down, cannot be wholly higher on one part than on the other.
"""

import math
from fractions import Fraction
from typing import Any

from ..._shapes import Array
from .formulas import GAUSSIAN_CONSTANT
from .result import Refused
from .rows import TrainingRows

MOST_COLUMNS = 12


def groups_bound(rows: TrainingRows, columns: Array, groups: Any) -> float:
    """The costs of disjoint groups added up; all other rows lose nothing."""
    if type(groups) is not list or not groups:
        raise Refused("the evidence holds no groups of rows")
    if columns.shape[1] > MOST_COLUMNS:
        raise Refused("there are too many columns to check groups of rows exactly")
    members = [i for group in groups if type(group) is list for i in group]
    if not all(type(i) is int and 0 <= i < rows.n for i in members):
        raise Refused("the groups of the evidence do not consist of rows")
    if len(set(members)) != len(members) or not all(type(g) is list for g in groups):
        raise Refused("the groups of the evidence share a row")
    numbers = rows.likelihood == "gaussian"
    target = rows.standardised if numbers else rows.y
    total = 0.0
    for group in groups:
        one, other = _parts(columns[group].tolist(), [target[i] for i in group])
        gap = float(max(min(one) - max(other), min(other) - max(one)))
        if not gap > 0 or (not numbers and len({*one, *other}) != 2):
            raise Refused("a group of the evidence costs nothing")
        total += gap * gap / 2 if numbers else 2 * math.log(2)
    if numbers:
        return GAUSSIAN_CONSTANT + total / (2 * rows.n) * (1 - 1e-9) - 1e-12
    return total / rows.n * (1 - 1e-12)


def _parts(points: list[list[float]], target: list[Any]) -> tuple[list[Any], list[Any]]:
    """The targets of the two parts, by the signs of cofactors: sum a_i (x_i, 1) = 0."""
    rows = [[*(Fraction(v) for v in x), Fraction(1)] for x in points]
    if len(rows) != len(rows[0]) + 1:
        raise Refused("a group of the evidence does not have two rows more than columns")
    a = [(-1) ** i * _determinant(rows[:i] + rows[i + 1 :]) for i in range(len(rows))]
    if not all(a):
        raise Refused("a group of the evidence is degenerate")
    split = [
        [t for t, q in zip(target, a, strict=True) if (q > 0) is side] for side in (True, False)
    ]
    return split[0], split[1]


def _determinant(matrix: list[list[Fraction]]) -> Fraction:
    """By elimination, exactly."""
    rows, value = [list(row) for row in matrix], Fraction(1)
    for c in range(len(rows)):
        pivot = next((r for r in range(c, len(rows)) if rows[r][c]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != c:
            rows[c], rows[pivot] = rows[pivot], rows[c]
            value = -value
        value *= rows[c][c]
        for r in range(c + 1, len(rows)):
            f = rows[r][c] / rows[c][c]
            rows[r] = [v - f * w for v, w in zip(rows[r], rows[c], strict=True)]
    return value
