"""`as_table`: a table from two arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from .column import LARGEST, Column, is_missing
from .table import Table
from .target import Target, make_target


def as_table(
    X: Any,
    y: Any = None,
    *,
    task: str = "auto",
    feature_names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    name: str = "arrays",
    target_name: str = "y",
) -> Table:
    """A table from an (n, d) array of numbers and n targets.

    nan in X is a missing value. A y of text or booleans holds classes; whole-number dtypes are
    read as `read_table` reads them (few distinct values: classes); floats are numbers unless
    `task` says "classification". With `classes`, y holds indices into those names.
    """
    if y is None:
        raise InvalidInput(
            f"as_table got X ({type(X).__name__}) and no y; give the targets as y, or use "
            "read_table(frame, target) for a data frame that holds its target."
        )
    features = _features(X)
    names = _names(X, feature_names, features.shape[1])
    column, auto_task = _target_column(y, target_name)
    if len(column.values) != len(features):
        raise InvalidInput(
            f"X has {len(features)} rows and y has {len(column.values)}; give one target per row."
        )
    chosen = auto_task if task == "auto" else task
    target = make_target(column, chosen) if classes is None else _labels(column, classes)
    columns = tuple(Column(n, "numeric", x) for n, x in zip(names, features.T.copy(), strict=True))
    return Table(name, columns, target_name, target.y, target.classes, target.notes)


def _features(X: Any) -> Array:
    array = np.asarray(X)
    if array.ndim != 2:
        hint = "use X.reshape(-1, 1) for a single column" if array.ndim == 1 else "flatten each row"
        raise InvalidInput(
            f"X has shape {array.shape}; it needs two axes, (rows, columns): {hint}."
        )
    if 0 in array.shape:
        raise InvalidInput(
            f"X has shape {array.shape}; it needs at least one row and one column: give it data."
        )
    if array.dtype.kind not in "biufO":
        raise InvalidInput(f"X has dtype {array.dtype}; it needs numbers: {_TO_READ_TEXT}.")
    if array.dtype.kind == "O":
        gaps = np.asarray(np.frompyfunc(is_missing, 1, 1)(array), dtype=bool)
        array = np.where(gaps, np.nan, array)
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        i, j = next(index for index, value in np.ndenumerate(array) if not _is_number(value))
        raise InvalidInput(
            f"X[{i}, {j}] is {array[i, j]!r}; X needs numbers only: {_TO_READ_TEXT}."
        ) from None
    too_large = np.argwhere(np.abs(array) > LARGEST)
    if len(too_large):
        i, j = too_large[0]
        value = "infinite" if np.isinf(array[i, j]) else f"{array[i, j]:g}"
        raise InvalidInput(
            f"X[{i}, {j}] is {value}; X needs numbers up to {LARGEST:g}, or nan for a missing "
            "value."
        )
    return array


_TO_READ_TEXT = "use read_table(frame, target) for columns of text"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _names(X: Any, feature_names: Sequence[str] | None, d: int) -> list[str]:
    if feature_names is None:
        feature_names = list(getattr(X, "columns", [f"x{j + 1}" for j in range(d)]))
    names = [str(name) for name in feature_names]
    if len(names) != d or len(set(names)) != d:
        raise InvalidInput(
            f"feature_names has {len(names)} names, {len(set(names))} of them different, and X has "
            f"{d} columns; give each column its own name."
        )
    return names


def _target_column(y: Any, name: str) -> tuple[Column, str]:
    """The target as a column, and the task that "auto" means for its dtype."""
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInput(f"y has shape {array.shape}; it needs one axis with one target per row.")
    if array.dtype.kind == "O":
        array = _plain(array)
    if array.dtype.kind == "b":
        return Column(name, "boolean", array.astype(np.float64)), "auto"
    if array.dtype.kind in "US":
        return Column(name, "categorical", array.astype(str).astype(object)), "auto"
    if array.dtype.kind not in "iuf":
        raise InvalidInput(f"y has dtype {array.dtype}; it needs numbers, text or booleans.")
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidInput(
            f"y[{i}] is {values[i]}; every row needs a finite target: leave the row out of X and y."
        )
    return Column(name, "numeric", values), "auto" if array.dtype.kind in "iu" else "regression"


def _plain(array: Array) -> Array:
    """An object array with the dtype that its items share: booleans, text or numbers."""
    for i, value in enumerate(array):
        if is_missing(value):
            raise InvalidInput(
                f"y[{i}] is missing; every row needs a target: leave the row out of X and y."
            )
    for kinds in ((bool, np.bool_), (str,), (int, np.integer), (int, float, np.number)):
        if all(isinstance(value, kinds) for value in array):
            return np.array(array.tolist())
    found = sorted({type(value).__name__ for value in array})
    raise InvalidInput(f"y mixes {', '.join(found)}; it needs one kind: numbers, text or booleans.")


def _labels(column: Column, classes: Sequence[str]) -> Target:
    names = tuple(str(name) for name in classes)
    y = column.values
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidInput(f"classes is {names}; it needs two or more different names.")
    ok = column.kind in ("numeric", "boolean")
    if not ok or (y != np.round(y)).any() or y.min() < 0 or y.max() >= len(names):
        raise InvalidInput(
            f"y holds more than the numbers 0 to {len(names) - 1}, which index the {len(names)} "
            "names in classes; leave classes out to take the names from y."
        )
    return Target(y.astype(np.int64), names)
