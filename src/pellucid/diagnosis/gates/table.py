"""`DATA_GATES`: every check of the data by name, and `data_gates`, which makes them all.

A gate is silent unless it is sure. Exact checks read all rows; checks that fit a model or count
shares read a seeded sample of the training rows, so that their time grows with the number of
columns and hardly with the number of rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..alarms import Alarm
from ..problem import Problem
from ..verdict import Recipe
from .columns import constant_columns, identifiers, missing_values
from .duplicates import conflicting_duplicates, copies_across_the_split
from .labels import (
    corrupted_labels,
    few_rows_per_class,
    one_class_dominates,
    target_of_another_scale,
)
from .leak import gives_the_target_away
from .order import drift_with_time, sorted_rows
from .scales import scales
from .view import View


@dataclass(frozen=True)
class Gate:
    """One check: its name, what it looks for, and the function that makes it."""

    name: str
    description: str
    check: Callable[[View], Iterable[Alarm]]


_GATES = (
    Gate("missing values", "arrays that come with nan", missing_values),
    Gate("constant columns", "columns with one value in all rows", constant_columns),
    Gate("identifiers", "columns that only number the rows", identifiers),
    Gate(
        "scales",
        "columns or a target whose scale keeps the recipe from training, tried beside "
        "standardised data",
        scales,
    ),
    Gate(
        "conflicting duplicates",
        "equal rows with different targets, and the loss that they cost",
        conflicting_duplicates,
    ),
    Gate(
        "copies across the split",
        "held-out rows that are copies of training rows",
        copies_across_the_split,
    ),
    Gate(
        "gives the target away",
        "a column that predicts the target far better than all others together",
        gives_the_target_away,
    ),
    Gate(
        "corrupted labels",
        "targets that contradict a model of the other rows even where it is most certain",
        corrupted_labels,
    ),
    Gate(
        "target of another scale",
        "a few targets many times as large as all others, as in another unit",
        target_of_another_scale,
    ),
    Gate(
        "class imbalance",
        "one class so large that always naming it scores high",
        one_class_dominates,
    ),
    Gate("few rows per class", "classes with too few rows to learn", few_rows_per_class),
    Gate(
        "sorted rows",
        "rows in the order of their target, where training does not shuffle",
        sorted_rows,
    ),
    Gate(
        "drift with time", "rows in the order of a date, with a target that drifts", drift_with_time
    ),
)
DATA_GATES: dict[str, Gate] = {gate.name: gate for gate in _GATES}
"""Name -> gate, in the order in which they are made."""


def data_gates(
    problem: Problem,
    recipe: Recipe,
    *,
    shuffles: bool = True,
    threads: int | None = None,
    seed: int = 0,
) -> tuple[Alarm, ...]:
    """Every alarm of every gate, in the order of the table; nothing where all is well.

    Parameters
    ----------
    problem, recipe
        The split rows, and how the user trains.
    shuffles
        Whether training draws its batches at random, as Pellucid's own does. Where it does not, or
        nobody knows, rows that are sorted by their target are told of.
    threads, seed
        Of the runs that are tried, and of the samples.
    """
    view = View(problem, recipe, shuffles, threads, seed)
    return tuple(alarm for gate in _GATES for alarm in gate.check(view))
