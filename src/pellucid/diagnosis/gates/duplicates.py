"""Gates of rows that are equal: with different targets, or on both sides of the split."""

from collections.abc import Iterator

import numpy as np

from ..._shapes import Array, Float64, Int
from ..alarms import Alarm
from ..wording import counted
from .view import View, equal_rows
from .words import percent, some

COSTLY_COPIES, COSTLY_NUMBERS, COSTLY_REPEATS = 0.02, 0.1, 0.25
"""Share of the constant prediction's loss above which conflicts are told: of copies (with numbers
for targets, which may be measured twice), and of rows that repeat by themselves, where noise is
nothing strange."""
COPIED, CHANCE, STRANGE = 0.1, 0.02, 0.25
"""Neighbours among equal rows that have the same number, at least, though two rows rarely do (at
most the second share); and what the others differ by, as a share of what strangers do (squared)."""
MANY_COPIES, FEWEST_COPIES = 0.05, 5
"""Share and number of held-out rows that must be copies."""


def conflicting_duplicates(view: View) -> Iterator[Alarm]:
    """Rows that are equal in all columns and differ in the target: no model tells them apart.

    Every function of the columns pays at least, per group of equal rows, the entropy of its
    classes, or half the variance of its standardised targets.
    """
    groups, costs = view.row_groups, conflict_costs(view)
    rows = np.flatnonzero(costs > 0)
    floor, trivial = float(costs.mean()), trivial_cost(view)
    copied = len(rows) > 0 and (view.repeats_are_copies or _some_targets_were_changed(view))
    copies = COSTLY_COPIES if view.problem.classes else COSTLY_NUMBERS
    if not len(rows) or floor < (copies if copied else COSTLY_REPEATS) * trivial:
        return
    advice = (
        "Find out which of the copies are right."
        if copied
        else "A column that tells them apart is missing, or the target is random to that extent."
    )
    n_sets = len(np.unique(groups[rows]))
    yield Alarm(
        "conflicting duplicates",
        "data error" if copied else "data limit",
        "likely",
        f"{percent(len(rows) / view.n)} of the rows ({counted(n_sets, 'set')} of "
        f"equal rows) agree in every column and not in the target, which costs any model at least "
        f"{floor:.3g} nats per row, {percent(floor / trivial)} of the loss that the columns could "
        f"save. {advice}",
        rows=some(rows),
    )


def _some_targets_were_changed(view: View) -> bool:
    """Whether equal rows agree to the last digit or else differ as strangers do.

    Measurements that are repeated differ by their noise, and hardly ever in nothing at all.
    """
    if view.problem.classes:
        return False
    groups, y = view.row_groups, view.problem.y
    order = np.lexsort((y, groups))
    steps = np.diff(y[order])[np.diff(groups[order]) == 0]
    _, first = np.unique(groups, return_index=True)
    _, sizes = np.unique(y[first], return_counts=True)
    by_chance = float(((sizes / len(first)) ** 2).sum()) - 1 / len(first)
    agree = steps == 0
    if not COPIED <= agree.mean() < 1 or by_chance > CHANCE:
        return False
    return float((steps[~agree] ** 2).mean()) >= STRANGE * 2 * float(y.var())


def conflict_costs(view: View) -> Float64[Array, " n"]:
    """What each row costs the best function of the columns, in nats above a perfect one."""
    problem, groups = view.problem, view.row_groups
    y = problem.y
    sizes = np.bincount(groups)
    if problem.classes:
        k = len(problem.classes)
        counts = np.bincount(groups * k + y, minlength=len(sizes) * k)
        return -np.log(counts[groups * k + y] / sizes[groups])
    standard = (y - problem.standard.target_offset) / problem.standard.target_scale
    means = np.bincount(groups, standard) / sizes
    costs = (standard - means[groups]) ** 2 / 2
    same = _all_equal(groups, y, len(sizes))
    return np.where(same[groups], 0.0, costs)  # no rounding where nothing differs


def _all_equal(groups: Int[Array, " n"], y: Array, k: int) -> Array:
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(low, groups, y)
    np.maximum.at(high, groups, y)
    return low == high


def trivial_cost(view: View) -> float:
    """What the best constant prediction pays above a perfect one."""
    problem = view.problem
    if problem.classes:
        shares = np.bincount(problem.y) / view.n
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())
    return float((problem.y / problem.standard.target_scale).var() / 2)


def copies_across_the_split(view: View) -> Iterator[Alarm]:
    """Held-out rows whose columns and target are those of a training row."""
    problem = view.problem
    if not view.repeats_are_copies:
        return
    both = equal_rows(np.column_stack([view.row_groups, problem.y]).astype(np.float64))
    held_out = np.flatnonzero(problem.held_out)
    rows = held_out[np.isin(both[held_out], both[~problem.held_out])]
    if len(rows) < max(FEWEST_COPIES, MANY_COPIES * len(held_out)):
        return
    yield Alarm(
        "copies across the split",
        "data error",
        "likely",
        f"{percent(len(rows) / len(held_out))} of the held-out rows ({len(rows)}) are exact copies "
        "of training rows, so that a network that only remembers scores well on them: leave "
        "repeated rows out, or keep copies together with groups.",
        rows=some(rows),
        remedy="drop rows",
    )
