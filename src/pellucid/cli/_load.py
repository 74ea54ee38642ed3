"""From what the user named to a table: a file, or a data set that is listed."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from ..datasets import Table

TASKS = ("auto", "classification", "regression")


def load_table(
    data: str,
    target: str | None,
    task: str,
    drop: Sequence[str] | None,
    keep: Sequence[str] = (),
) -> "Table":
    """Return the table that `data` names: a file where there is one, else a listed data set.

    Columns in `keep` are never set aside as identifiers.
    """
    from ..datasets import DATASETS, load_dataset, read_table

    if task not in TASKS:
        raise InvalidInput(f"--task is {task!r}; choose one of {', '.join(TASKS)}.")
    is_file = _exists(data)
    if is_listed(data):
        table = load_dataset(data, target=target)
        if task not in ("auto", table.task):
            raise InvalidInput(
                f"the target {table.target_name!r} of {data} makes a {table.task}; "
                f"leave --task {task} out."
            )
        return _without(table, drop or ())
    if not is_file and Path(data).suffix == "" and "/" not in data:
        raise InvalidFile(_unknown(data, list(DATASETS)))
    if target is None:
        raise InvalidInput(f"--target is missing; name the column of {data} to predict.")
    return read_table(data, target, task=task, drop=tuple(drop or ()), keep=tuple(keep))


def is_listed(data: str) -> bool:
    """Whether that is a listed data set, whose task is its own."""
    from ..datasets import DATASETS

    return data in DATASETS and not _exists(data)


def _exists(data: str) -> bool:
    try:
        return Path(data).exists()
    except (OSError, ValueError):  # a name too long, or with a null character
        return False


def _unknown(data: str, names: list[str]) -> str:
    close = difflib.get_close_matches(data, names, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"there is no file and no data set {data!r}; {hint}the data sets are {', '.join(names)}."


def _without(table: "Table", drop: Sequence[str]) -> "Table":
    for name in drop:
        if name not in table.feature_names:
            raise InvalidInput(
                f"{table.name} has no column {name!r} to drop; its columns are "
                f"{', '.join(table.feature_names)}."
            )
    columns = tuple(column for column in table.columns if column.name not in drop)
    if not columns:
        raise InvalidInput(f"--drop leaves no column of {table.name}; keep at least one.")
    return replace(table, columns=columns)
