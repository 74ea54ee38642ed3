"""Reading a data frame of polars, pandas or pyarrow through narwhals."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np

from .._errors import InvalidInput, InvalidTable
from .column import is_missing
from .rawtable import RawTable, check_names, check_size

MICROSECONDS = 86_400_000_000  # of a day
LAST_DAY = 2_932_896  # 9999-12-31, in days from 1970-01-01
NUMBERS = (bool, int, float, np.number, np.bool_, Decimal)
SCALARS = (*NUMBERS, str, dt.date, type(None))


class WrongCell(InvalidTable):
    """A cell that holds neither a number nor text nor a date: a list, an object."""


def read_frame(frame: Any, origin: str = "the data frame") -> RawTable:
    """The columns of a data frame, with its own types; a column of mixed objects becomes text."""
    import narwhals as nw

    if hasattr(frame, "collect") and hasattr(frame, "lazy"):
        raise InvalidInput(
            f"the data frame is lazy ({type(frame).__name__}); call .collect() on it first."
        )
    columns = getattr(frame, "columns", None)
    if columns is not None and type(frame).__module__.startswith("pandas"):
        check_names(origin, tuple(map(_name, columns)))
    try:
        table = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        check_names(origin, tuple(map(str, getattr(frame, "column_names", ()))))
        raise InvalidTable(
            f"{origin} has two columns of the same name; give every column its own name."
        ) from None
    except TypeError:
        raise InvalidInput(
            f"the table is a {type(frame).__name__}; it needs to be a path to a CSV or Parquet "
            "file, or a data frame of polars, pandas or pyarrow (for arrays use as_table(X, y))."
        ) from None
    names = tuple(map(_name, table.columns))
    check_names(origin, names)
    check_size(origin, *table.shape)
    series = tuple(_series(table[:, j], name, origin) for j, name in enumerate(names))
    return RawTable(origin, names, series, np.arange(table.shape[0]), "row")


def _name(name: Any) -> str:
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _series(column: Any, name: str, origin: str) -> Any:
    import narwhals as nw
    import polars as pl

    dtype = column.dtype
    if dtype.is_numeric():
        return _numbers(column)
    if dtype == nw.Boolean:
        return pl.Series(plain_values(column), dtype=pl.Boolean)
    if dtype in (nw.Date, nw.Datetime):
        return _dates(column, name, origin)
    if dtype == nw.Duration:
        return _numbers(column.dt.total_microseconds()) / MICROSECONDS
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return pl.Series(
            [None if v is None else str(v) for v in plain_values(column)], dtype=pl.String
        )
    return column_of_objects(plain_values(column), name, origin)


def _numbers(column: Any) -> Any:
    import narwhals as nw
    import polars as pl

    try:
        values = column.cast(nw.Float64).to_numpy()
    except (
        Exception
    ):  # each kind of frame raises its own: nullable dtypes without pyarrow, decimals
        # item by item; what is no number even then comes out as float's own error
        values = np.array([np.nan if v is None else float(v) for v in plain_values(column)])
    return pl.Series(np.asarray(values, dtype=np.float64), dtype=pl.Float64).fill_nan(None)


def _dates(column: Any, name: str, origin: str) -> Any:
    """Dates and times in UTC; those without a time zone as they are."""
    import narwhals as nw
    import polars as pl

    if column.dtype == nw.Date:
        days = _numbers(column.cast(nw.Int32))
    else:
        days = _numbers(column.dt.timestamp("us")) / MICROSECONDS
    if (days.abs() > LAST_DAY).any():
        row = int((days.abs() > LAST_DAY).fill_null(False).arg_max())
        raise InvalidTable(
            f"column {name!r} of {origin} has a date {days[row]:g} days from 1970 in row {row} "
            "(counted from 0); dates up to the year 9999 are needed: correct it."
        )
    return (days * MICROSECONDS).round().cast(pl.Int64).cast(pl.Datetime("us"))


def _python_dates(values: list) -> Any:
    """The same from objects of Python."""
    import polars as pl

    naive = [None if v is None else _naive(v) for v in values]
    return pl.Series(naive, dtype=pl.Datetime("us"))


def _naive(value: Any) -> dt.datetime:
    if hasattr(value, "to_pydatetime"):  # pandas
        value = value.to_pydatetime(warn=False)
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def column_of_objects(values: list, name: str, origin: str) -> Any:
    """A column of Python objects: booleans, numbers, dates, or else text."""
    import polars as pl

    known = [value for value in values if value is not None]
    for i, value in enumerate(values):
        if not isinstance(value, SCALARS):
            raise WrongCell(
                f"column {name!r} of {origin} holds a {type(value).__name__} in row {i} (counted "
                "from 0); every cell needs one number, text or date: unpack it or drop the column."
            )
    if known and all(isinstance(value, (bool, np.bool_)) for value in known):
        return pl.Series([None if v is None else bool(v) for v in values], dtype=pl.Boolean)
    if known and all(isinstance(value, NUMBERS) for value in known):
        return pl.Series([None if v is None else float(v) for v in values], dtype=pl.Float64)
    if known and all(isinstance(value, dt.date) for value in known):
        return _python_dates(values)
    return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)


def plain_values(column: Any) -> list:
    """The items of a column, None where one is missing."""
    return [None if is_missing(value) else value for value in column.to_list()]
