"""`Split`: which rows are held out and how the others are folded: at random, by group, in time.

Rows of one group (a patient, a machine) resemble each other, and so do neighbours in time. Held out
at random, such rows would be judged by what training has seen of their group or hour.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool, Int
from ..datasets import Column, Table, held_out_rows
from .wording import counted

N_FOLDS = 5
FEWEST_GROUPS, FEWEST_TIMES = 3, 4
CANDIDATES = 25
"""Draws of held-out groups, of which the one nearest to the wanted share is taken."""

Fold = tuple[Int[Array, " k"], Int[Array, " l"]]
"""Rows to fit on, and rows to judge by."""


@dataclass(frozen=True, eq=False)
class Split:
    """How rows are kept apart: `kind` is "random", "groups" or "time".

    `values` holds a whole number per row for groups, a number that grows for times. `name` is that
    of the column.
    """

    kind: str = "random"
    name: str = ""
    values: Array | None = None

    def held_out(self, table: Table, share: float, seed: int) -> Bool[Array, " n"]:
        """A mask of about that share of the rows: whole groups, or the latest rows."""
        if self.kind == "random":
            return held_out_rows(table, share, seed)
        if not 0 < share < 1:
            raise InvalidInput(f"held_out is {share}; the held-out share lies between 0 and 1.")
        draw = self._some_groups if self.kind == "groups" else self._latest
        mask = draw(table, share, seed)
        self._check_classes(table, mask)
        return mask

    def folds(self, rows: Int[Array, " m"], y: Array, stratify: bool, seed: int) -> list[Fold]:
        """Folds of those rows (`y`: their targets) as positions in `rows`.

        At random and by group every row is judged once. In time a fold is judged by a model of
        earlier rows alone, and the earliest rows are never judged.
        """
        if self.kind == "groups":
            return self._group_folds(rows, y, stratify, seed)
        if self.kind == "time":
            return self._time_folds(rows)
        number = fold_numbers(y, stratify, seed)
        return [(np.flatnonzero(number != k), np.flatnonzero(number == k)) for k in range(N_FOLDS)]

    def note(self, held_out: Bool[Array, " n"]) -> str:
        """A sentence that says which rows were held out."""
        assert self.values is not None
        if self.kind == "groups":
            n, k = len(np.unique(self.values)), len(np.unique(self.values[held_out]))
            return (
                f"rows were held out by groups: {k} of the {n} groups of {self.name!r}, and "
                f"{self.name!r} is no feature."
            )
        return (
            f"the latest {int(held_out.sum())} rows by {self.name!r} were held out, and "
            f"{self.name!r} is no feature."
        )

    # ---- groups

    def _some_groups(self, table: Table, share: float, seed: int) -> Bool[Array, " n"]:
        from sklearn.model_selection import GroupShuffleSplit

        assert self.values is not None
        n_groups = len(np.unique(self.values))
        size = min(max(share, 1 / n_groups), 1 - 2 / n_groups)  # two are left to fold
        draws = GroupShuffleSplit(CANDIDATES, test_size=size, random_state=seed)
        y = table.y if table.classes else np.zeros(table.n_rows, dtype=np.int64)
        wanted = share * np.bincount(y)
        masks = [
            np.isin(np.arange(table.n_rows), held_out)
            for _, held_out in draws.split(np.zeros((table.n_rows, 1)), groups=self.values)
        ]
        return min(masks, key=lambda mask: self._distance(mask, y, wanted))

    def _distance(self, mask: Bool[Array, " n"], y: Array, wanted: Array) -> tuple[bool, float]:
        """How far a draw is from the wanted share of every class; a class without rows is worst."""
        counts = np.bincount(y[mask], minlength=len(wanted))
        whole = bool((counts == np.bincount(y))[wanted > 0].any())
        return whole, float(np.abs(counts - wanted).sum())

    def _group_folds(self, rows: Array, y: Array, stratify: bool, seed: int) -> list[Fold]:
        from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

        assert self.values is not None
        groups = _numbered(self.values[rows])
        k = min(N_FOLDS, int(groups.max()) + 1)
        if stratify and np.bincount(y).max() >= k:
            folds = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # rare classes
                found = [(a, b) for a, b in folds.split(np.zeros((len(y), 1)), y, groups)]
            found = [(a, b) for a, b in found if len(b)]
            if len(found) == k:
                return found
        drawn = np.random.default_rng(seed).permutation(groups.max() + 1)[groups]
        return [(a, b) for a, b in GroupKFold(k).split(np.zeros((len(y), 1)), y, drawn)]

    # ---- time

    def _latest(self, table: Table, share: float, seed: int) -> Bool[Array, " n"]:
        """The latest rows; those of one moment stay together."""
        assert self.values is not None
        starts = np.unique(self.values)[FEWEST_TIMES - 1 :]
        n_from = len(self.values) - np.searchsorted(np.sort(self.values), starts)
        return self.values >= starts[np.argmin(np.abs(n_from - share * len(self.values)))]

    def _time_folds(self, rows: Array) -> list[Fold]:
        from sklearn.model_selection import TimeSeriesSplit

        assert self.values is not None
        times = self.values[rows]
        k = min(N_FOLDS, len(np.unique(times)) - 1)
        later = [block for _, block in TimeSeriesSplit(k).split(times[:, None])]
        starts = np.unique([np.sort(times)[block[0]] for block in later])
        starts = starts[starts > times.min()]
        if not len(starts):  # the first moment has most of the rows
            starts = np.array([part[0] for part in np.array_split(np.unique(times)[1:], k)])
        ends = np.append(starts[1:], np.inf)
        return [
            (np.flatnonzero(times < a), np.flatnonzero((times >= a) & (times < b)))
            for a, b in zip(starts, ends, strict=True)
        ]

    def _check_classes(self, table: Table, mask: Bool[Array, " n"]) -> None:
        """Every class must be there to train on."""
        if table.classes is None:
            return
        for label, name in enumerate(table.classes):
            if (table.y == label).any() and not (table.y[~mask] == label).any():
                where = (
                    f"only in the latest rows by {self.name!r}"
                    if self.kind == "time"
                    else f"in too few groups of {self.name!r}"
                )
                raise InvalidInput(
                    f"class {name!r} occurs {where}, so that no row of it is left to train on; "
                    "leave those rows out, hold fewer rows out, or merge classes."
                )


RANDOM = Split()


def fold_numbers(y: Array, stratify: bool, seed: int) -> Int[Array, " n"]:
    """The fold of every row: drawn, and with `stratify` dealt out class by class."""
    order = np.random.default_rng(seed).permutation(len(y))
    if stratify:
        order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), dtype=np.int64)
    folds[order] = np.arange(len(y)) % N_FOLDS
    return folds


def split_of(
    table: Table, groups: str | ArrayLike | None, time: str | ArrayLike | None
) -> tuple[Table, Split]:
    """The split that the user asks for, and the table without its column."""
    if groups is not None and time is not None:
        raise InvalidInput("got groups and time; rows are split by one of them: leave one out.")
    if groups is None and time is None:
        return table, RANDOM
    kind, what = ("groups", groups) if groups is not None else ("time", time)
    table, column = _column(table, what, kind)
    return table, _by_group(column) if kind == "groups" else _by_time(column)


def _by_group(column: Column) -> Split:
    _check_known(column, "groups")
    values = _numbered(column.values.astype(str) if column.kind == "categorical" else column.values)
    n = int(values.max()) + 1
    if n < FEWEST_GROUPS:
        raise InvalidInput(
            f"{column.name!r} has {counted(n, 'group')}; to hold some out and fold "
            f"the others it needs at least {FEWEST_GROUPS}."
        )
    return Split("groups", column.name, values)


def _by_time(column: Column) -> Split:
    if column.kind not in ("numeric", "date"):
        raise InvalidInput(
            f"{column.name!r} is {column.kind}; time needs dates or numbers that grow with it."
        )
    _check_known(column, "time")
    values = np.asarray(column.values, dtype=np.float64)
    n = len(np.unique(values))
    if n < FEWEST_TIMES:
        raise InvalidInput(
            f"{column.name!r} has {counted(n, 'different time')}; to hold the "
            f"latest out and fold the others it needs at least {FEWEST_TIMES}."
        )
    return Split("time", column.name, values)


def _check_known(column: Column, kind: str) -> None:
    n = int(column.missing.sum())
    if n:
        raise InvalidInput(
            f"{column.name!r} has {counted(n, 'missing value')}, and {kind} needs "
            "one for every row: fill them in, or leave those rows out."
        )


def _column(table: Table, what: Any, kind: str) -> tuple[Table, Column]:
    """The named column, taken out of the table, or an array as a column."""
    if not isinstance(what, str):
        return table, _as_column(what, kind, table.n_rows)
    if what == table.target_name:
        raise InvalidInput(f"{kind} is {what!r}, which is the target; name another column.")
    if what not in table.feature_names:
        raise InvalidInput(
            f"{table.name} has no column {what!r} for {kind}; its columns are "
            f"{', '.join(map(repr, table.feature_names))}."
        )
    columns = tuple(c for c in table.columns if c.name != what)
    if not columns:
        raise InvalidInput(
            f"{what!r} is the only column, and no feature is left beside {kind}; give the table "
            "one more."
        )
    column = next(c for c in table.columns if c.name == what)
    return replace(table, columns=columns), column


def _as_column(what: Any, kind: str, n: int) -> Column:
    values = np.asarray(what)
    if values.shape != (n,):
        raise InvalidInput(
            f"{kind} has shape {values.shape}; it needs the name of a column or one value for each "
            f"of the {n} rows."
        )
    if values.dtype.kind == "M":
        days = values.astype("datetime64[us]")
        numbers = np.where(np.isnat(days), np.nan, days.astype(np.int64) / 86_400e6)
        return Column(kind, "date", numbers)
    if values.dtype.kind in "biuf":
        return Column(kind, "numeric", values.astype(np.float64))
    gone = [v is None or v != v for v in values.tolist()]
    texts = [None if g else str(v) for g, v in zip(gone, values.tolist(), strict=True)]
    return Column(kind, "categorical", np.array(texts, dtype=object))


def _numbered(values: Array) -> Int[Array, " n"]:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
