"""`read_table`: from a file or a data frame to a `Table`, or to one sentence that says why not."""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._errors import InvalidInput, InvalidTable
from .column import Column
from .encoder import MAX_LEVELS
from .files import read_file
from .frames import read_frame
from .identifiers import identifier_reason, is_running_number
from .infer import blank_to_missing, infer_column
from .rawtable import RawTable, listing
from .table import Table
from .target import make_target

MIN_ROWS = 10
EMPTY = "empty"


def read_table(
    source: Any,
    target: str | int,
    *,
    task: str = "auto",
    name: str | None = None,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
) -> Table:
    """The table in `source`, with the column `target` to predict from the others.

    `source` is the path of a CSV file (comma, semicolon or tab, UTF-8, names in the first line) or
    of a Parquet file, or a data frame of polars, pandas or pyarrow. `drop` names columns to leave
    out, and `keep` columns that are neither set aside as identifiers nor refused for having one
    value, such as a group or the time of a row. `task` is "classification", "regression" or "auto":
    text and true/false are classes, and so are whole numbers with at most 20 distinct values that
    are at most a tenth of the rows; other numbers are predicted as numbers.

    Decisions that a user may want to know of (dates turned into days, identifiers set aside, rows
    without a target left out) are in `Table.notes`. `InvalidTable` or `InvalidFile` says in one
    sentence what keeps the table from being used.
    """
    raw = read_file(source) if isinstance(source, (str, os.PathLike)) else read_frame(source)
    named = name or _table_name(source)
    return build_table(raw, target, task=task, name=named, drop=drop, keep=keep)


def build_table(
    raw: RawTable,
    target: str | int,
    *,
    task: str = "auto",
    name: str = "table",
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
) -> Table:
    """The second half of `read_table`: from cells as they were read to a `Table`."""
    raw = _cleaned(raw)
    drop = (drop,) if isinstance(drop, str) else tuple(str(column) for column in drop)
    target = str(target)
    keep = (keep,) if isinstance(keep, str) else tuple(str(column) for column in keep)
    for column in keep:
        _check_name(raw, column, "column to keep")
    raw = _without_dropped(raw, target, drop)
    for column in set(keep) & set(drop):
        raise InvalidInput(f"column {column!r} is both to be kept and to be dropped; choose one.")
    raw, notes = _rows_with_target(raw, target)
    inferred = infer_column(raw, raw.names.index(target))
    goal = make_target(inferred.column, task)
    notes += inferred.notes + goal.notes
    columns, more = _features(raw, target, keep)
    return Table(name, columns, target, goal.y, goal.classes, notes + more, raw.origin)


def _cleaned(raw: RawTable) -> RawTable:
    """The table with its missing markers turned into nulls; it must have columns and rows."""
    if not raw.names:
        raise InvalidTable(f"{raw.origin} has no columns; it needs a target and one more column.")
    if raw.n_rows == 0:
        raise InvalidTable(
            f"{raw.origin} has column names and no rows; it needs at least {MIN_ROWS} rows."
        )
    series = tuple(blank_to_missing(s) for s in raw.series)
    return RawTable(raw.origin, raw.names, series, raw.row_numbers, raw.unit)


def _table_name(source: Any) -> str:
    return Path(source).stem if isinstance(source, (str, os.PathLike)) else "table"


def _without_dropped(raw: RawTable, target: str, drop: tuple[str, ...]) -> RawTable:
    _check_name(raw, target, "target")
    for column in drop:
        _check_name(raw, column, "column to drop")
    if target in drop:
        raise InvalidInput(f"column {target!r} is both the target and to be dropped; choose one.")
    return raw.without(drop)


def _check_name(raw: RawTable, name: str, role: str) -> None:
    if name in raw.names:
        return
    close = difflib.get_close_matches(name, raw.names, 1) or [
        other for other in raw.names if other.lower() == name.lower()
    ]
    hint = f"did you mean {close[0]!r}? " if close else ""
    if raw.unit == "line" and all(_is_number(other) for other in raw.names):
        hint = "its first line holds numbers where the column names belong; "
    raise InvalidTable(
        f"{raw.origin} has no column {name!r} ({role}); {hint}its columns are {listing(raw.names)}."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows_with_target(raw: RawTable, target: str) -> tuple[RawTable, tuple[str, ...]]:
    """The rows that have a target, enough of them."""
    known = raw.series[raw.names.index(target)].is_not_null()
    n, n_known = raw.n_rows, int(known.sum())
    if n_known == 0:
        raise InvalidTable(
            f"target {target!r} of {raw.origin} has no value in any of {n} rows; name another "
            "target or fill it in."
        )
    if n_known < MIN_ROWS:
        raise InvalidTable(
            f"{raw.origin} has {n_known} rows with a target, and at least {MIN_ROWS} are needed; "
            "add rows."
        )
    if n_known == n:
        return raw, ()
    rows = "1 row has" if n - n_known == 1 else f"{n - n_known} rows have"
    return raw.keep_rows(known), (f"{rows} no value in target {target!r} and were left out.",)


def _features(
    raw: RawTable, target: str, keep: tuple[str, ...]
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Every column but the target, typed; identifiers are set aside, useless ones refused."""
    columns: list[Column] = []
    notes: list[str] = []
    set_aside: list[str] = []
    useless: dict[str, str] = {}
    for j in range(len(raw.names)):
        if raw.names[j] == target:
            continue
        inferred = infer_column(raw, j)
        column = inferred.column
        problem = _uselessness(column)
        if column.name in keep and problem != EMPTY:
            columns.append(column)
            notes.extend(inferred.notes)
            continue
        reason = None if problem else identifier_reason(column, is_first=j == 0)
        if problem:
            useless[column.name] = problem
        elif reason:
            set_aside.append(column.name)
            notes.append(
                f"column {column.name!r} was set aside as an identifier ({reason}); rename it if "
                "it is a measurement."
            )
        else:
            columns.append(column)
            notes.extend((*inferred.notes, *_remarks(column)))
    _refuse_useless(raw, useless)
    if not columns:
        reason = f" after setting aside {listing(set_aside)} as identifiers" if set_aside else ""
        raise InvalidTable(
            f"{raw.origin} has no column left to predict {target!r} from{reason}; it needs at "
            "least one that measures something."
        )
    return tuple(columns), tuple(notes)


def _uselessness(column: Column) -> str | None:
    """Why a column tells the rows apart in no way: no value, or the same in every row."""
    missing = column.missing
    if missing.all():
        return EMPTY
    if missing.any():
        return None
    first = column.values[0]
    if not (column.values == first).all():
        return None
    return f"always {first[:40]!r}" if column.kind == "categorical" else f"always {first:g}"


def _refuse_useless(raw: RawTable, useless: dict[str, str]) -> None:
    if not useless:
        return
    described = [f"{name!r} ({problem})" for name, problem in useless.items()]
    shown = ", ".join(described[:8]) + (f" and {len(described) - 8} more" * (len(described) > 8))
    column, it = ("column", "it") if len(useless) == 1 else ("columns", "them")
    raise InvalidTable(
        f"{column} {shown} of {raw.origin} cannot tell one row from another; remove {it}, or leave "
        f"{it} out (drop {listing(useless, 1000)})."
    )


def _remarks(column: Column) -> list[str]:
    if is_running_number(column):
        return [
            f"column {column.name!r} numbers the rows in their order and is kept as a number; drop "
            "it if it is an identifier."
        ]
    if column.kind != "categorical":
        return []
    n_levels = len(set(column.values) - {None})
    if n_levels <= MAX_LEVELS:
        return []
    return [
        f"column {column.name!r} has {n_levels} different texts; the {MAX_LEVELS - 1} most "
        "frequent get an indicator each, and the others share one."
    ]
