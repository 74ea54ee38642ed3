"""What a column of a raw table holds: numbers, true/false, dates or text."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidTable
from .._shapes import Array
from .column import LARGEST, Column
from .dates import parse_dates
from .rawtable import RawTable

MISSING = ["", "?", "-", "NA", "N/A", "n/a", "#N/A", "<NA>", "None", "null", "Null", "NULL"]
MISSING += ["nan", "NaN", "NAN", "Nan"]
"""Cells that hold no value."""

MOSTLY = 0.9
"""A column whose cells are numbers to this share or more is a column of numbers."""

CODE_LEVELS, CODE_ROWS = 20, 5
"""At most so many different cells, the texts each at least so often: codes such as 0, 1, 2, 3+."""

DECIMAL_COMMA = r"^[+-]?\d+(,\d+)+$"


@dataclass(frozen=True)
class Inferred:
    """A typed column and what should be said about it."""

    column: Column
    notes: tuple[str, ...] = ()


def blank_to_missing(series: Any) -> Any:
    """The series with spaces around text removed and missing markers turned into nulls."""
    import polars as pl

    if series.dtype != pl.String:
        return series
    stripped = series.str.strip_chars()
    return stripped.set(stripped.is_in(MISSING).fill_null(False), None)


def infer_column(raw: RawTable, j: int) -> Inferred:
    """Column j of the raw table (already without missing markers), typed.

    `InvalidTable` names the column and the row of a text among numbers or dates, of a decimal
    comma, and of a number too large to compute with.
    """
    import polars as pl

    name, series = raw.names[j], raw.series[j]
    if series.dtype == pl.Boolean:
        return Inferred(Column(name, "boolean", _floats(series)))
    if series.dtype == pl.Float64:
        return _numeric(raw, name, series)
    if series.dtype == pl.Datetime:
        return _days(name, series)
    return _infer_text(raw, name, series)


def _infer_text(raw: RawTable, name: str, text: Any) -> Inferred:
    import polars as pl

    known = text.is_not_null()
    n_known = int(known.sum())
    numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
    stray = known & numbers.is_null()
    n_numbers = n_known - int(stray.sum())
    if n_numbers == n_known:
        return _numeric(raw, name, numbers)
    _refuse_decimal_commas(raw, name, text, n_numbers)
    if n_numbers >= MOSTLY * n_known and not _are_codes(text, stray):
        _refuse_stray(raw, name, text, stray, "numbers")
    lower = text.str.to_lowercase()
    if lower.drop_nulls().is_in(["true", "false"]).all():
        return Inferred(Column(name, "boolean", _floats(lower == "true")))
    dates = parse_dates(raw, name, text)
    if dates is not None:
        stray = known & dates.is_null()
        if stray.any():
            _refuse_stray(raw, name, text, stray, "dates")
        return _days(name, dates)
    note = (
        f"column {name!r} holds numbers and text ({n_numbers} of {n_known} cells are numbers) and "
        "is read as text."
    )
    column = Column(name, "categorical", _objects(text))
    return Inferred(column, (note,) if n_numbers >= n_known / 2 else ())


def _numeric(raw: RawTable, name: str, numbers: Any) -> Inferred:
    values = _floats(numbers)
    wrong = np.flatnonzero(np.abs(np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)) > LARGEST)
    if len(wrong):
        value = values[wrong[0]]
        problem = "is infinite" if np.isinf(value) else f"is {value:g}"
        raise InvalidTable(
            f"column {name!r} of {raw.origin} {problem} in {raw.where(wrong[0])}; numbers up to "
            f"{LARGEST:g} are needed: correct the cell or leave it empty."
        )
    return Inferred(Column(name, "numeric", values))


def _days(name: str, dates: Any) -> Inferred:
    days = _floats(dates.dt.epoch("us")) / 86_400_000_000
    note = f"column {name!r} holds dates and is read as days since 1970-01-01."
    return Inferred(Column(name, "date", days), (note,))


def _refuse_decimal_commas(raw: RawTable, name: str, text: Any, n_numbers: int) -> None:
    """1,5 may mean one and a half or fifteen: nobody should guess."""
    commas = text.str.contains(DECIMAL_COMMA).fill_null(False)
    n_commas = int(commas.sum())
    if n_commas and n_commas + n_numbers >= MOSTLY * text.is_not_null().sum():
        i = int(commas.arg_max())
        raise InvalidTable(
            f"column {name!r} of {raw.origin} has commas inside its numbers ({text[i]!r} in "
            f"{raw.where(i)}); write 1.5 for one and a half and 1500 without a separator."
        )


def _are_codes(text: Any, stray: Any) -> bool:
    """Few different cells, and no text among them that is rare: levels, not slips."""
    counts = text.filter(stray).value_counts()["count"]
    return text.n_unique() <= CODE_LEVELS and bool(counts.min() >= CODE_ROWS)


def _refuse_stray(raw: RawTable, name: str, text: Any, stray: Any, expected: str) -> None:
    i, n = int(stray.arg_max()), int(stray.sum())
    more = f" (and {n - 1} more like it)" if n > 1 else ""
    raise InvalidTable(
        f"column {name!r} of {raw.origin} holds {expected}, but {raw.where(i)} has the text "
        f"{_cut(text[i])}{more}; correct the cell, or leave it empty if the value is missing (a "
        "column that is not needed can be dropped)."
    )


def _cut(text: str, limit: int = 40) -> str:
    return repr(text) if len(text) <= limit else repr(text[:limit] + "...")


def _floats(series: Any) -> Array:
    import polars as pl

    return np.array(series.cast(pl.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)


def _objects(text: Any) -> Array:
    values = np.empty(len(text), dtype=object)
    values[:] = text.to_list()
    return values


def read_as(raw: RawTable, j: int, kind: str) -> Column:
    """Column j of the raw table (already without missing markers) as of a known kind.

    `InvalidTable` names the first cell that is not of that kind. Numbers that stand for levels are
    written without trailing zeros, so that 3, 3.0 and "3" are one level.
    """
    import polars as pl

    name, series = raw.names[j], raw.series[j]
    if kind == "categorical":
        return Column(name, kind, _levels(series))
    if kind == "date":
        dates = parse_dates(raw, name, series) if series.dtype == pl.String else series
        if dates is None:  # no text that looks like a date
            dates = pl.Series(name, [None] * len(series), dtype=pl.Datetime("us"))
        _refuse_others(raw, name, series, dates, "dates")
        return _days(name, dates).column
    if kind == "boolean" and series.dtype == pl.String:
        lower = series.str.to_lowercase()
        truth = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        numbers = lower.replace_strict(truth, default=None, return_dtype=pl.Float64)
    elif series.dtype == pl.Datetime:
        numbers = pl.Series(name, [None] * len(series), dtype=pl.Float64)
    else:
        numbers = series.cast(pl.Float64, strict=False).fill_nan(None)
    if kind == "boolean":
        numbers = numbers.set(~numbers.is_in([0.0, 1.0]).fill_null(True), None)
    _refuse_others(raw, name, series, numbers, "numbers" if kind == "numeric" else "true or false")
    return Column(name, kind, _numeric(raw, name, numbers).column.values)


def _levels(series: Any) -> Array:
    """Each cell as the text of a level, None where it is missing."""
    import polars as pl

    if series.dtype == pl.String:
        return _objects(series)
    if series.dtype == pl.Boolean:
        values = [None if v is None else str(v) for v in series.to_list()]
    elif series.dtype == pl.Datetime:
        values = [None if v is None else v.isoformat(" ") for v in series.to_list()]
    else:
        values = [level_text(v) for v in series.fill_nan(None).to_list()]
    return _objects(pl.Series(values, dtype=pl.String))


def level_text(value: Any) -> str | None:
    """The text of a level: "3" for 3 and 3.0."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        number = float(value)
        return str(int(number)) if number == round(number) else repr(number)
    return None if value is None else str(value)


def _refuse_others(raw: RawTable, name: str, series: Any, read: Any, expected: str) -> None:
    """Cells that hold something and could not be read as what is expected."""
    stray = series.is_not_null() & read.is_null()
    if stray.any():
        i = int(stray.arg_max())
        raise InvalidTable(
            f"column {name!r} of {raw.origin} has {_cut(str(series[i]))} in {raw.where(i)}; it "
            f"held {expected} in the rows of the fit, and needs them here: correct the cell or "
            "leave it empty."
        )
