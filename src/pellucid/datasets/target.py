"""From a target column to class labels or numbers."""

from dataclasses import dataclass

import numpy as np

from .._errors import InvalidInput, InvalidTable
from .._shapes import Array
from .column import Column

TASKS = ("auto", "classification", "regression")
MAX_INTEGER_CLASSES = 20
"""Whole numbers with at most this many distinct values may be classes when the task is "auto"."""


@dataclass(frozen=True)
class Target:
    """A checked target: int64 labels with the names of the classes, or float64 numbers."""

    y: Array
    classes: tuple[str, ...] | None
    notes: tuple[str, ...] = ()


def make_target(column: Column, task: str = "auto") -> Target:
    """Labels or numbers from a target column that has no missing value.

    With task "auto", text and true/false are classes; whole numbers are classes if they take at
    most 20 distinct values and those are at most a tenth of the rows (two values always are);
    other numbers and dates stay numbers.
    """
    if task not in TASKS:
        raise InvalidInput(f"task is {task!r}; it is one of {', '.join(TASKS)}.")
    if column.kind in ("categorical", "boolean"):
        return _classes_from_text(column, task)
    if column.kind == "date" or task == "regression":
        return _numbers(column, task)
    if task == "classification":
        return _classes_from_numbers(column)
    return _decide(column)


def _decide(column: Column) -> Target:
    whole = _are_whole(column.values)
    n_distinct = len(np.unique(column.values))
    most = min(MAX_INTEGER_CLASSES, max(2, len(column.values) / 10))
    if whole and n_distinct <= most:
        target = _classes_from_numbers(column)
        note = (
            f"target {column.name!r} takes {n_distinct} whole numbers and is read as classes; "
            "ask for task 'regression' to predict it as a number."
        )
        return Target(target.y, target.classes, (note,))
    return _numbers(column, "auto")


def _numbers(column: Column, task: str) -> Target:
    if task == "classification":
        raise InvalidTable(
            f"target {column.name!r} is a date and the task is classification, which needs "
            "classes; ask for task 'regression' or name another target."
        )
    y = column.values.astype(np.float64)
    if np.ptp(y) == 0:
        raise InvalidTable(
            f"target {column.name!r} is {y[0]:g} in all {len(y)} rows, and there is nothing to "
            "predict; name a target that varies."
        )
    return Target(y, None)


def _classes_from_text(column: Column, task: str) -> Target:
    if task == "regression":
        raise InvalidTable(
            f"target {column.name!r} is text ({_first(column)}) and the task is regression, which "
            "needs numbers; ask for task 'classification' or name another target."
        )
    values = column.values
    if column.kind == "boolean":
        values = np.where(values == 1, "True", "False").astype(object)
    names = sorted(set(values))
    label = {name: k for k, name in enumerate(names)}
    return _checked(column.name, np.array([label[v] for v in values], np.int64), tuple(names))


def _classes_from_numbers(column: Column) -> Target:
    values, y = np.unique(column.values, return_inverse=True)
    if not _are_whole(values) and len(values) > MAX_INTEGER_CLASSES:
        raise InvalidTable(
            f"target {column.name!r} takes {len(values)} different fractional numbers and the "
            "task is classification, which needs classes; ask for task 'regression'."
        )
    names = tuple(str(int(v)) if v == int(v) else repr(float(v)) for v in values)
    return _checked(column.name, y.astype(np.int64), names)


def _checked(name: str, y: Array, classes: tuple[str, ...]) -> Target:
    if len(classes) < 2:
        raise InvalidTable(
            f"target {name!r} has one class only, {classes[y[0]]!r}, in all {len(y)} rows; "
            "classification needs at least two."
        )
    if len(classes) > len(y) / 2:
        raise InvalidTable(
            f"target {name!r} has {len(classes)} classes in {len(y)} rows, and classification "
            "needs at least two rows per class on average; name another target, or ask for task "
            "'regression' if it is a number."
        )
    counts = np.bincount(y)
    single = [classes[k] for k in np.flatnonzero(counts == 1)]
    if not single:
        return Target(y, classes)
    return Target(y, classes, (_about_single(name, single),))


def _about_single(name: str, single: list[str]) -> str:
    if len(single) == 1:
        return (
            f"class {single[0]!r} of target {name!r} has one row only, which is kept for training."
        )
    shown = ", ".join(map(repr, single[:5])) + (", ..." if len(single) > 5 else "")
    return (
        f"{len(single)} classes of target {name!r} ({shown}) have one row each, which is kept for "
        "training."
    )


def _are_whole(values: Array) -> bool:
    return bool(np.all(values == np.round(values)))


def _first(column: Column) -> str:
    return "true/false" if column.kind == "boolean" else f"first {column.values[0]!r}"
