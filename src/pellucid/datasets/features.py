"""Feature columns of a data frame or an array, first as they are, later as they were.

What a column holds (numbers, true/false, dates, text) is decided once, on the rows that something
is fitted on. Rows that come later are read as of that kind, whatever they look like by themselves:
a column of levels stays one where the next ten rows all hold numbers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidInput, InvalidTable
from .._shapes import Array
from .column import LARGEST, Column, is_missing
from .encoder import MAX_LEVELS
from .frames import column_of_objects, read_frame
from .identifiers import identifier_reason
from .infer import blank_to_missing, infer_column, read_as
from .rawtable import RawTable, check_size, listing

ORIGIN = "X"


@dataclass(frozen=True, eq=False)
class Features:
    """Feature columns without a target; `notes` says what reading decided on its own."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    def take(self, rows: Any) -> "Features":
        """Those rows (a mask or row numbers)."""
        return Features(tuple(column.take(rows) for column in self.columns), self.notes)


def read_features(X: Any, categorical: Collection[str] = ()) -> Features:
    """The columns of X, typed by what they hold; those named in `categorical` as levels.

    X is a data frame of polars, pandas or pyarrow, or an (n, d) array whose columns are then called
    x1, x2, .... Columns of a categorical type of their own are levels, too.
    """
    if not is_frame(X) and np.asarray(X).dtype.kind in "iuf" and not categorical:
        return Features(_measured(np.asarray(X), _names(np.shape(X)[1])))
    raw, own = _raw(X)
    wanted = {*categorical, *own}
    for name in categorical:
        if name not in raw.names:
            raise InvalidInput(
                f"categorical_features names {name!r}; the columns of X are {', '.join(raw.names)}."
            )
    columns, notes = [], []
    for j, name in enumerate(raw.names):
        if name in wanted:
            columns.append(read_as(raw, j, "categorical"))
            continue
        inferred = infer_column(raw, j)
        columns.append(inferred.column)
        notes.extend(inferred.notes)
    return Features(tuple(columns), tuple(notes))


def read_features_as(
    X: Any, kinds: Mapping[str, str], used: Collection[str] | None = None
) -> Features:
    """The columns of X, which are those of `kinds` in their order, each of that kind.

    Only those in `used`, if it is given, are read. `InvalidTable` says where one is not of its
    kind.
    """
    wanted = [name for name in kinds if used is None or name in used]
    if not wanted:
        return Features((Column("nothing", "numeric", np.zeros(len(X))),))
    places = {name: j for j, name in enumerate(kinds)}
    plain = not is_frame(X) and np.asarray(X).dtype.kind in "iuf"
    if plain and all(kinds[name] == "numeric" for name in wanted):
        chosen = np.asarray(X)[:, [places[name] for name in wanted]]
        return Features(_measured(chosen, wanted))
    raw, _ = _raw(X)
    raw = RawTable(raw.origin, tuple(kinds), raw.series, raw.row_numbers, raw.unit)
    return Features(tuple(read_as(raw, places[name], kinds[name]) for name in wanted))


def features_of(raw: RawTable, kinds: Mapping[str, str], used: Collection[str]) -> Features:
    """The columns in `used` of a table that was read, found by their names, of the known kinds."""
    series = tuple(blank_to_missing(s) for s in raw.series)
    raw = RawTable(raw.origin, raw.names, series, raw.row_numbers, raw.unit)
    places = {name: j for j, name in enumerate(raw.names)}
    missing = [name for name in used if name not in places]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise InvalidTable(
            f"{raw.origin} has no column {missing[0]!r}{more}, which the model reads; its columns "
            f"are {listing(raw.names)}."
        )
    if not used:
        return Features((Column("nothing", "numeric", np.zeros(raw.n_rows)),))
    return Features(tuple(read_as(raw, places[name], kinds[name]) for name in used))


def useless_reason(column: Column, rows: Array) -> str | None:
    """Why these rows of a column teach nothing: no value, one value, or a name for each row."""
    part = column.take(rows)
    missing = part.missing
    if missing.all():
        return "no value"
    known = part.values[~missing]
    if not missing.any() and bool((known == known[0]).all()):
        return "one value"
    if column.kind != "categorical" or len(known) <= MAX_LEVELS:
        return None
    return "a text for each row" if identifier_reason(part, is_first=False) else None


def is_frame(X: Any) -> bool:
    """Whether that is a data frame."""
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(X)) or hasattr(X, "collect")


def _names(d: int) -> list[str]:
    return [f"x{j + 1}" for j in range(d)]


def _measured(array: Array, names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of an array of numbers; nan is a missing value."""
    check_size(ORIGIN, *array.shape)
    values = array.astype(np.float64)
    wrong = np.argwhere(np.abs(values) > LARGEST)
    if len(wrong):
        i, j = wrong[0]
        raise InvalidTable(
            f"X has {values[i, j]:g} in row {i} (counted from 0), column {names[j]!r}; numbers up "
            f"to {LARGEST:g} are needed, or nan for a missing value."
        )
    return tuple(Column(n, "numeric", x) for n, x in zip(names, values.T.copy(), strict=True))


def _raw(X: Any) -> tuple[RawTable, frozenset[str]]:
    """Untyped columns without missing markers, and the names of those with a categorical type."""
    if is_frame(X):
        raw, own = _of_frame(X)
    else:
        raw, own = _of_array(np.asarray(X)), frozenset()
    series = tuple(blank_to_missing(s) for s in raw.series)
    return RawTable(raw.origin, raw.names, series, raw.row_numbers, raw.unit), own


def _of_frame(X: Any) -> tuple[RawTable, frozenset[str]]:
    import narwhals as nw

    raw = read_frame(X, ORIGIN)
    schema = nw.from_native(X, eager_only=True).schema
    is_categorical = [kind in (nw.Categorical, nw.Enum) for kind in schema.values()]
    return raw, frozenset(name for name, own in zip(raw.names, is_categorical, strict=True) if own)


def _of_array(array: Array) -> RawTable:
    import polars as pl

    n, d = array.shape
    check_size(ORIGIN, n, d)
    names = tuple(_names(d))
    if array.dtype.kind == "b":
        columns: Sequence[Any] = [pl.Series(column, dtype=pl.Boolean) for column in array.T]
    elif array.dtype.kind in "iuf":
        columns = [
            pl.Series(column, dtype=pl.Float64).fill_nan(None)
            for column in array.astype(np.float64).T
        ]
    elif array.dtype.kind in "US":
        columns = [pl.Series(column.astype(str).tolist(), dtype=pl.String) for column in array.T]
    else:
        columns = [
            column_of_objects([None if is_missing(v) else v for v in column], name, ORIGIN)
            for column, name in zip(array.T, names, strict=True)
        ]
    return RawTable(ORIGIN, names, tuple(columns), np.arange(n), "row")
