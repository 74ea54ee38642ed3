"""`Column`: one named column of a table, and the selection of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Bool

Integer = int | np.integer

LARGEST = 1e100
"""Larger numbers are refused: their squares might overflow."""

KINDS = ("numeric", "categorical", "boolean", "date")


@dataclass(frozen=True, eq=False)
class Column:
    """One named column.

    `values` is float64 with nan where a value is missing, for the kinds "numeric", "boolean"
    (0 or 1) and "date" (days since 1970-01-01, time of day as a fraction); for "categorical" it is
    an object array of str with None where a value is missing.
    """

    name: str
    kind: str
    values: Array

    @property
    def missing(self) -> Bool[Array, " n"]:
        """Which rows have no value."""
        if self.kind == "categorical":
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values)

    def take(self, rows: Array) -> "Column":
        """Those rows (a mask or row numbers) of this column."""
        return Column(self.name, self.kind, self.values[rows])


def as_rows(rows: Any, n: int) -> Array:
    """A mask of length n, or row numbers below n, as an index array; None means all rows."""
    if rows is None:
        return np.arange(n)
    index = np.asarray(rows)
    if index.dtype == bool and index.shape == (n,):
        index = np.flatnonzero(index)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise InvalidInput(
            f"rows is {index.dtype} of shape {index.shape}; give a mask of {n} booleans or a "
            "list of row numbers."
        )
    if len(index) == 0:
        raise InvalidInput("rows selects no row; select at least one.")
    if index.min() < -n or index.max() >= n:
        raise InvalidInput(
            f"rows holds {index.min()} to {index.max()}; the table's rows are 0 to {n - 1}."
        )
    return index


def is_missing(value: Any) -> bool:
    """None, nan, and what pandas writes for a missing value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value
