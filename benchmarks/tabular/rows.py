"""Rows of a table and its folds, by the protocol.

Rows without a target are dropped; more than 10,000 rows are cut to the first 10,000 of
`RandomState(0).permutation(n)`; then five shuffled folds of seed 0, stratified for labels, of
which all are taken up to 2,000 rows and the first three beyond.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .catalogue import TABLES, Source

MOST_ROWS, ALL_FOLDS = 10_000, 2_000


@dataclass(frozen=True)
class TableRows:
    """A whole table as a pandas data frame; `y` are labels 0, 1, ... or numbers."""

    name: str
    X: Any
    y: NDArray
    n_classes: int

    @property
    def categorical(self) -> list[str]:
        """Names of the columns that hold levels."""
        return [name for name in self.X.columns if str(self.X[name].dtype) == "category"]

    @property
    def numeric(self) -> list[str]:
        """Names of the others."""
        return [name for name in self.X.columns if name not in self.categorical]

    def test_rows(self) -> list[NDArray[np.intp]]:
        """The held-out rows of each fold."""
        from sklearn.model_selection import KFold, StratifiedKFold

        kind = StratifiedKFold if self.n_classes else KFold
        splits = kind(5, shuffle=True, random_state=0).split(np.zeros(len(self.y)), self.y)
        tests = [test for _, test in splits]
        return tests if len(self.y) <= ALL_FOLDS else tests[:3]

    def fold(self, test: NDArray[np.intp]) -> "Fold":
        """The rows that are trained on, and those held out."""
        train = np.setdiff1d(np.arange(len(self.y)), test)
        X, held_out = (self.X.iloc[rows].reset_index(drop=True) for rows in (train, test))
        return Fold(
            X, self.y[train], held_out, self.y[test], self.n_classes, self.numeric, self.categorical
        )


@dataclass(frozen=True)
class Fold:
    """One fold; `n_classes` is 0 for numbers."""

    X: Any
    y: NDArray
    X_held_out: Any
    y_held_out: NDArray
    n_classes: int
    numeric: list[str]
    categorical: list[str]

    @property
    def labels(self) -> bool:
        """Whether `y` are labels."""
        return self.n_classes > 0


def table_rows(name: str) -> TableRows:
    """Read a table from its package and prepare it by the protocol."""
    source = TABLES[name]
    frame = source.read()
    frame = frame[frame[source.target].notna()].reset_index(drop=True)
    if len(frame) > MOST_ROWS:
        kept = np.random.RandomState(0).permutation(len(frame))[:MOST_ROWS]
        frame = frame.iloc[kept].reset_index(drop=True)
    y, n_classes = _targets(frame[source.target], source)
    X = frame.drop(columns=[source.target, *source.left_out])
    return TableRows(name, _with_levels(X, source), y, n_classes)


def _targets(values: Any, source: Source) -> tuple[NDArray, int]:
    if not source.labels:
        return values.to_numpy(dtype=float), 0
    classes, y = np.unique(values.to_numpy().astype(str), return_inverse=True)
    return y, len(classes)


def _with_levels(X: Any, source: Source) -> Any:
    """Text, and what the catalogue names, becomes levels; everything else float64."""
    import pandas as pd

    columns = {}
    for name in X.columns:
        values = X[name]
        is_text = name in source.levels or not pd.api.types.is_numeric_dtype(values)
        columns[name] = values.astype("category") if is_text else values.astype(float)
    return pd.DataFrame(columns)
