"""`RawTable`: named columns as they were read, before anyone decided what they mean."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .._errors import InvalidTable
from .._shapes import Array
from .column import Integer

MAX_CELLS = 200_000_000
"""A table with more cells is refused, so that no file exhausts the memory of a machine."""


@dataclass(frozen=True)
class RawTable:
    """Columns as polars Series of String, Float64, Boolean or Datetime, null where missing.

    `row_numbers` says where each row came from: `unit` is "line" for lines of a text file (the
    first line, with the names, is line 1) and "row" for rows counted from 0.
    """

    origin: str
    names: tuple[str, ...]
    series: tuple[Any, ...]
    row_numbers: Array
    unit: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_numbers)

    def where(self, row: Integer) -> str:
        """How an error names a row: "line 7" of a text file, "row 5 (counted from 0)" otherwise."""
        counted = "" if self.unit == "line" else " (counted from 0)"
        return f"{self.unit} {self.row_numbers[row]}{counted}"

    def keep_rows(self, mask: Any) -> "RawTable":
        """The rows for which a polars Series of booleans is true."""
        rows = self.row_numbers[mask.to_numpy()]
        series = tuple(s.filter(mask) for s in self.series)
        return RawTable(self.origin, self.names, series, rows, self.unit)

    def without(self, names: Any) -> "RawTable":
        """All columns but those."""
        kept = [j for j, name in enumerate(self.names) if name not in names]
        series = tuple(self.series[j] for j in kept)
        names = tuple(self.names[j] for j in kept)
        return RawTable(self.origin, names, series, self.row_numbers, self.unit)


def check_names(origin: str, names: tuple[str, ...]) -> None:
    """Column names must differ."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidTable(
            f"{origin} has more than one column named {', '.join(map(repr, twice))}; give every "
            "column its own name."
        )


def check_size(origin: str, n_rows: int, n_columns: int) -> None:
    """A table must fit in memory."""
    if n_rows * n_columns > MAX_CELLS:
        raise InvalidTable(
            f"{origin} has more than {MAX_CELLS:,} cells; use a sample of its rows or fewer "
            "columns."
        )


def listing(names: Any, limit: int = 12) -> str:
    """Quoted names with commas, cut after `limit`."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
