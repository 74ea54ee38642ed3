"""Columns that name the rows and measure nothing: identifiers and running numbers."""

import re

import numpy as np

from .column import Column

STRONG = {"id", "ids", "uid", "uuid", "guid", "identifier", "rowid", "rownames", "rowname"}
WEAK = {"index", "idx", "key", "row", "rownumber", "number", "no", "nr", "num", "unnamed"}
NEARLY_ALL = 0.9


def identifier_reason(column: Column, is_first: bool) -> str | None:
    """Why the column is an identifier, or None.

    Text is one when more than nine tenths of its values differ. Whole numbers that all differ are
    one when the name ends in "id" or the like; when they also run in steps of one, a name such as
    "row" or "number" is enough, or an empty name in the first column.
    """
    if column.kind == "categorical":
        known = [value for value in column.values if value is not None]
        n_different = len(set(known))
        if len(known) and n_different > NEARLY_ALL * len(known):
            return f"{n_different} different texts in {len(known)} rows"
        return None
    if column.kind != "numeric" or not _all_different_whole(column):
        return None
    words = _words(column.name)
    if words and (words[-1] in STRONG or "".join(words) in STRONG):
        return "whole numbers that all differ"
    unnamed = is_first and (column.name == "column 1" or words[:1] == ["unnamed"])
    named = bool(words) and (words[-1] in WEAK or words[0] in WEAK or "".join(words) in WEAK)
    if is_running_number(column) and (named or unnamed):
        return "a running number"
    return None


def is_running_number(column: Column) -> bool:
    """Whether the values are whole numbers that go up by one from each row to the next."""
    if column.kind != "numeric" or column.missing.any() or len(column.values) < 2:
        return False
    steps = np.diff(column.values)
    return bool((steps == 1).all() and column.values[0] == np.round(column.values[0]))


def _all_different_whole(column: Column) -> bool:
    x = column.values
    if column.missing.any() or (x != np.round(x)).any():
        return False
    return len(np.unique(x)) == len(x)


def _words(name: str) -> list[str]:
    """The words of a name in lower case: "PassengerId", "passenger_id" -> passenger, id."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z]+", spaced) if word]
