"""`View`: the rows and columns as the gates look at them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._shapes import Array, Float64, Int
from ..problem import Problem
from ..verdict import Recipe

SAMPLE = 1500
"""Training rows that a model is fitted on."""


@dataclass(frozen=True)
class Group:
    """The encoded columns that one column of the table became."""

    name: str
    indices: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class View:
    """A problem and a recipe, with what several gates need of them."""

    problem: Problem
    recipe: Recipe
    shuffles: bool = True
    threads: int | None = None
    seed: int = 0

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.problem.y)

    @cached_property
    def sample(self) -> Int[Array, " m"]:
        """Some of the training rows, in their order."""
        rows = np.flatnonzero(~self.problem.held_out)
        if len(rows) <= SAMPLE:
            return rows
        return np.sort(np.random.default_rng(self.seed).choice(rows, SAMPLE, replace=False))

    @cached_property
    def X(self) -> Float64[Array, "m d_in"]:
        """The sampled rows, standardised."""
        standard = self.problem.standard
        return (self.problem.raw_X[self.sample] - standard.input_offset) / standard.input_scale

    @cached_property
    def scores(self) -> Float64[Array, "m k"]:
        """The sampled targets as columns to predict: 0/1 per class, or ranks from 0 to 1."""
        y = self.problem.y[self.sample]
        if self.problem.classes:
            return np.eye(len(self.problem.classes))[y]
        return (ranks(y) / max(len(y) - 1, 1))[:, None]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The encoded columns of each column of the table, in order."""
        names, found, i = self.problem.feature_names, [], 0
        for column in self.problem.table.columns:
            start = i
            while i < len(names) and _belongs(names[i], column.name):
                i += 1
            found.append(Group(column.name, tuple(range(start, i))))
        return tuple(found)

    @cached_property
    def row_groups(self) -> Int[Array, " n"]:
        """A number for every row, the same for rows that are equal in every encoded column."""
        return equal_rows(self.problem.raw_X)

    @cached_property
    def repeats_are_copies(self) -> bool:
        """Whether equal rows must be copies, since rows hardly repeat by themselves.

        Of rows that differ, nearly all differ in some one column, or in each of two halves of the
        columns. Rows of few discrete columns repeat by themselves, and where fewer than half of the
        rows differ they were repeated on purpose, as measurements are.
        """
        _, first = np.unique(self.row_groups, return_index=True)
        if len(first) < self.n / 2:
            return False
        X = self.problem.raw_X[first]
        n_values = np.array([len(np.unique(x)) for x in X.T])
        if n_values.max() >= 0.9 * len(X):
            return True
        order = np.argsort(-n_values, kind="stable")
        halves = [X[:, order[i::2]] for i in (0, 1) if len(order) > 1]
        return bool(halves) and all(
            len(np.unique(equal_rows(half))) >= 0.95 * len(X) for half in halves
        )


def _belongs(name: str, column: str) -> bool:
    return name in (column, f"{column} is missing") or name.startswith(f"{column}=")


def ranks(x: Float64[Array, " n"]) -> Float64[Array, " n"]:
    """The rank of every value, from 0; equal values share their mean rank."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[inverse]


def equal_rows(X: Float64[Array, "n d"]) -> Int[Array, " n"]:
    """A number for every row, the same for equal rows: 64-bit hashes, and ties compared."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # + 0.0: -0.0 equals 0.0
    mixed = bits ^ (bits >> np.uint64(29))
    odd = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * 2 + 1
    with np.errstate(over="ignore"):
        hashes = (mixed * odd).sum(axis=1, dtype=np.uint64)
    _, first, groups = np.unique(hashes, return_index=True, return_inverse=True)
    if (X[first[groups]] == X).all():
        return groups
    return np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)  # a collision: once in an age
