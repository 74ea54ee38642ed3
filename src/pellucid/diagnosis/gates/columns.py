"""Gates of single columns: gaps in arrays, constants, row numbers."""

from collections.abc import Iterator

import numpy as np

from ..alarms import Alarm
from ..wording import counted
from .view import View
from .words import percent, some, subject


def missing_values(view: View) -> Iterator[Alarm]:
    """Arrays with nan in them; in a table read from a file a gap is nothing strange."""
    table = view.problem.table
    if table.source:
        return
    gaps = {column.name: column.missing for column in table.columns}
    columns = tuple(name for name, gap in gaps.items() if gap.any())
    if not columns:
        return
    rows = np.flatnonzero(np.any([gaps[name] for name in columns], axis=0))
    n = sum(int(gaps[name].sum()) for name in columns)
    yield Alarm(
        "missing values",
        "data error",
        "likely",
        f"{subject(columns)} of X "
        f"{'holds' if len(columns) == 1 else 'hold'} nan ({counted(n, 'value')} in "
        f"{percent(len(rows) / view.n)} of the rows): a network that is given them returns nan. "
        "Here the median of the training rows stands in for them; fill them in, or leave those "
        "rows out, before you train.",
        columns,
        some(rows),
    )


def constant_columns(view: View) -> Iterator[Alarm]:
    """Columns with one value in all training rows."""
    X = view.problem.raw_X[~view.problem.held_out]
    still = X.min(axis=0) == X.max(axis=0)
    columns = tuple(g.name for g in view.groups if all(still[i] for i in g.indices))
    if not columns:
        return
    everything = len(columns) == len(view.groups)
    one = len(columns) == 1
    yield Alarm(
        "constant columns",
        "data error" if everything else "warning",
        "likely",
        f"{subject(columns)} {'has' if one else 'have'} one value in all training rows "
        f"and {'says' if one else 'say'} nothing about the target"
        + ("; no column varies: give the network one that does." if everything else "."),
        columns,
        remedy=None if everything else "drop columns",
    )


def identifiers(view: View) -> Iterator[Alarm]:
    """Columns that count the rows: whole numbers without gap or repetition.

    A table with one column is left alone: 0, 1, 2, ... may be its only input.
    """
    table = view.problem.table
    if len(table.columns) < 2:
        return
    found = tuple(c.name for c in table.columns if c.kind == "numeric" and _counts(c.values))
    if not found:
        return
    one = len(found) == 1
    yield Alarm(
        "identifiers",
        "warning",
        "likely",
        f"{subject(found)} {'numbers' if one else 'number'} the rows (every whole "
        f"number of a range of {view.n} once): what a network learns from "
        f"{'it' if one else 'them'} holds for no new row; leave {'it' if one else 'them'} out.",
        found,
        remedy="drop columns",
    )


def _counts(x: np.ndarray) -> bool:
    if np.isnan(x).any() or x.max() - x.min() != len(x) - 1 or (x != np.round(x)).any():
        return False
    return len(np.unique(x)) == len(x)
