"""`Table`: rows with named columns, and the target that a network is to predict."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from .column import Column, as_rows
from .encoder import Encoder, fit_encoder


@dataclass(frozen=True, eq=False)
class Table:
    """Feature columns and a target: class labels, or numbers for regression.

    `y` holds int64 labels 0 .. k-1 that index `classes` (their names), or float64 numbers when
    `classes` is None. `notes` says, one sentence each, what reading decided on its own.
    """

    name: str
    columns: tuple[Column, ...]
    target_name: str
    y: Array = field(repr=False)
    classes: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        for column in self.columns:
            if len(column.values) != len(self.y):
                raise InvalidInput(
                    f"column {column.name!r} has {len(column.values)} rows and the target has "
                    f"{len(self.y)}; give every column one value per row of the target."
                )

    @property
    def task(self) -> str:
        """The task: "classification" where there are classes, otherwise "regression"."""
        return "regression" if self.classes is None else "classification"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the feature columns, before encoding."""
        return tuple(column.name for column in self.columns)

    @property
    def X(self) -> Float64[Array, "n d"]:
        """The columns as they are, side by side; needs numbers without a gap in every one."""
        for column in self.columns:
            if column.kind == "categorical":
                raise InvalidInput(
                    f"column {column.name!r} of {self.name} is text, and X holds numbers only; "
                    "use table.encoder().transform(table) to turn text into indicator columns."
                )
            if column.missing.any():
                raise InvalidInput(
                    f"column {column.name!r} of {self.name} has {column.missing.sum()} missing "
                    "values, and X needs them all; use table.encoder().transform(table) to fill "
                    "them in."
                )
        return np.column_stack([column.values for column in self.columns])

    def encoder(self, rows: Any = None, standardize: bool = True) -> Encoder:
        """An encoder fitted on `rows` alone (a mask or row numbers; None: all rows)."""
        return fit_encoder(self, rows, standardize)

    def take(self, rows: Any) -> "Table":
        """A table of those rows (a mask or row numbers); the classes stay as they are."""
        rows = as_rows(rows, self.n_rows)
        columns = tuple(column.take(rows) for column in self.columns)
        return replace(self, columns=columns, y=self.y[rows])

    def to_frame(self) -> Any:
        """A polars DataFrame of the feature columns and, last, the target (classes by name)."""
        import polars as pl

        series = [
            pl.Series(column.name, column.values.tolist(), dtype=pl.String)
            if column.kind == "categorical"
            else pl.Series(column.name, column.values).fill_nan(None)
            for column in self.columns
        ]
        y = self.y if self.classes is None else [self.classes[label] for label in self.y]
        return pl.DataFrame([*series, pl.Series(self.target_name, y)])

    def __repr__(self) -> str:
        target = f"{self.target_name!r} as numbers"
        if self.classes is not None:
            target = f"{self.target_name!r} with {len(self.classes)} classes"
        return f"Table({self.name}: {self.n_rows} rows, {len(self.columns)} columns, {target})"
