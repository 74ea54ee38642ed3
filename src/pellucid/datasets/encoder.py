"""`Encoder`: from the columns of a table to the numbers that a network takes.

Everything that an encoder knows comes from the rows that it was fitted on, so that held-out rows
stay unseen: the median that fills a gap, the levels that get an indicator, the mean and the
standard deviation.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from .column import Column, as_rows
from .scaling import SCALINGS

MAX_LEVELS = 50
"""Indicators of one categorical column at most; the rarest levels share the last one."""


@runtime_checkable
class HasColumns(Protocol):
    """What an encoder reads: a `Table`, or anything else with feature columns."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The feature columns."""
        ...


@dataclass(frozen=True)
class NumberEncoding:
    """A numeric, boolean or date column: its gaps are filled with `fill`.

    `marks_missing`: a second column says where the gaps were (only if the fitting rows had some).
    """

    name: str
    kind: str
    fill: float
    marks_missing: bool

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name, *_missing_name(self))

    @property
    def is_measured(self) -> tuple[bool, ...]:
        """Which encoded columns are measurements, to be standardised, and no 0/1 indicators."""
        return (self.kind != "boolean",) + (False,) * self.marks_missing

    def encode(self, column: Column) -> Float64[Array, "n k"]:
        """The encoded columns, unscaled."""
        gaps = column.missing
        filled = np.where(gaps, self.fill, column.values)
        return np.column_stack([filled, gaps] if self.marks_missing else [filled])


@dataclass(frozen=True)
class LevelEncoding:
    """A categorical column: one 0/1 indicator for each of `levels`.

    Two levels need one indicator, that of the second; `base` is the first, which is 0. Where the
    fitting rows had more than `MAX_LEVELS` levels, all that are not in `levels` share the indicator
    "(other)"; otherwise a level that the fitting rows did not have is 0 everywhere.
    """

    name: str
    levels: tuple[str, ...]
    has_other: bool
    marks_missing: bool
    base: str | None = None

    @property
    def all_levels(self) -> tuple[str, ...]:
        """Levels that are known by name."""
        return self.levels if self.base is None else (self.base, *self.levels)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        names = tuple(f"{self.name}={level}" for level in self.levels)
        return names + (f"{self.name}=(other)",) * self.has_other + _missing_name(self)

    @property
    def is_measured(self) -> tuple[bool, ...]:
        """Indicators are never standardised."""
        return (False,) * len(self.feature_names)

    def encode(self, column: Column) -> Float64[Array, "n k"]:
        """The encoded columns, 0 or 1."""
        code = {level: k for k, level in enumerate(self.levels)}
        other = len(self.levels) if self.has_other else -1
        codes = np.array([code.get(v, other) if v is not None else -1 for v in column.values])
        indicators = codes[:, None] == np.arange(len(self.levels) + self.has_other)
        parts = [indicators, column.missing[:, None]] if self.marks_missing else [indicators]
        return np.hstack(parts).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Turns the columns of a table into `feature_names`, in that order.

    standardised = (raw - offset) / scale, where raw is what an encoder with `standardize=False`
    gives; indicators have offset 0 and scale 1, and so has everything without standardising.
    """

    encodings: tuple[NumberEncoding | LevelEncoding, ...]
    offset: Float64[Array, " d"]
    scale: Float64[Array, " d"]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns: "island=Biscoe", "bill_length_mm is missing"."""
        return tuple(name for encoding in self.encodings for name in encoding.feature_names)

    @property
    def d(self) -> int:
        """Number of encoded columns: the inputs of a network."""
        return len(self.offset)

    def raw(self, table: HasColumns) -> Float64[Array, "n d"]:
        """Every row encoded and filled in, but not standardised."""
        return _encode(self.encodings, _matching(self.encodings, table))

    def transform(
        self, table: HasColumns, standardize: bool | None = None
    ) -> Float64[Array, "n d"]:
        """Every row of the table as numbers; `standardize=False` leaves the scale alone."""
        raw = self.raw(table)
        return raw if standardize is False else (raw - self.offset) / self.scale

    def __repr__(self) -> str:
        return f"Encoder({len(self.encodings)} columns -> {self.d} inputs)"


def fit_encoder(
    table: HasColumns, rows: Any = None, standardize: bool = True, scaling: str = "standard"
) -> Encoder:
    """An encoder that knows `rows` of the table (a mask or row numbers; None: all), and no others.

    Standardising takes the mean and the standard deviation (dividing by n) of the filled-in
    values, or what else of `SCALINGS` is named; a column without spread in these rows keeps
    scale 1.
    """
    if not table.columns:
        raise InvalidInput("the table has no column to encode; give it at least one feature.")
    rows = as_rows(rows, len(table.columns[0].values))
    columns = tuple(column.take(rows) for column in table.columns)
    encodings = tuple(_fit(column) for column in columns)
    raw = _encode(encodings, columns)
    offset, scale = np.zeros(raw.shape[1]), np.ones(raw.shape[1])
    measured = np.array([m for encoding in encodings for m in encoding.is_measured])
    for j in np.flatnonzero(measured) if standardize else ():
        offset[j], scale[j] = SCALINGS[scaling](raw[:, j])
    return Encoder(encodings, offset, scale)


def _fit(column: Column) -> NumberEncoding | LevelEncoding:
    gaps = column.missing
    if column.kind == "categorical":
        return _fit_levels(column, bool(gaps.any()))
    known = column.values[~gaps]
    fill = float(np.median(known)) if len(known) else 0.0
    if column.kind == "boolean":
        fill = float(fill > 0.5)
    return NumberEncoding(column.name, column.kind, fill, bool(gaps.any()))


def _fit_levels(column: Column, marks_missing: bool) -> LevelEncoding:
    counts = Counter(value for value in column.values if value is not None)
    by_count = sorted(counts, key=lambda level: (-counts[level], level))
    has_other = len(by_count) > MAX_LEVELS
    levels = sorted(by_count[: MAX_LEVELS - 1] if has_other else by_count)
    base = levels.pop(0) if len(levels) == 2 else None
    return LevelEncoding(column.name, tuple(levels), has_other, marks_missing, base)


def _missing_name(encoding: NumberEncoding | LevelEncoding) -> tuple[str, ...]:
    return (f"{encoding.name} is missing",) if encoding.marks_missing else ()


def _encode(encodings: tuple, columns: tuple[Column, ...]) -> Float64[Array, "n d"]:
    parts = [encoding.encode(column) for encoding, column in zip(encodings, columns, strict=True)]
    return np.hstack(parts)


def _matching(encodings: tuple, table: HasColumns) -> tuple[Column, ...]:
    """The table's columns in the encoder's order, by name and of the same nature."""
    by_name = {column.name: column for column in table.columns}
    for encoding in encodings:
        column = by_name.get(encoding.name)
        if column is None:
            raise InvalidInput(
                f"the table has no column {encoding.name!r}, which the encoder was fitted on; "
                f"its columns are {', '.join(map(repr, by_name))}: add the missing one."
            )
        is_text = column.kind == "categorical"
        if is_text != isinstance(encoding, LevelEncoding):
            was = "numbers" if is_text else "text"
            raise InvalidInput(
                f"column {column.name!r} is {column.kind}, and the encoder was fitted on {was}; "
                "transform a table whose columns are of the same kinds."
            )
    return tuple(by_name[encoding.name] for encoding in encodings)
