"""What an estimator is given, checked: rows, weights, seeds, numbers of threads."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from .._errors import InvalidInput, InvalidTable
from .._shapes import Array, Float64
from ..datasets import Column, Table
from ..datasets.features import Features, is_frame, read_features, read_features_as
from ..datasets.frames import WrongCell


def read_new(
    estimator: Any, X: Any, categorical: Any
) -> tuple[Features, dict[str, str], tuple[str, ...]]:
    """The columns of a first fit, the kind of each, and notes; sets the estimator's names."""
    try:
        if isinstance(X, Table):
            features = Features(X.columns)
            estimator.n_features_in_ = len(X.columns)
            estimator.feature_names_in_ = np.array(X.feature_names, dtype=object)
        elif is_frame(X):
            features = read_features(X, _named(categorical, _names_of(X)))
            validate_data(estimator, X, skip_check_array=True, reset=True)
        else:
            X = validate_data(estimator, _array(X), reset=True, **_AS_IS)
            features = read_features(X, _named(categorical, _default_names(X.shape[1])))
    except WrongCell as error:
        raise _wrong_cell(error) from None
    if features.n_rows == 0:
        raise InvalidInput("X has 0 sample(s), no row; fit needs at least one of each class.")
    return features, {c.name: c.kind for c in features.columns}, features.notes


def read_as_before(estimator: Any, X: Any, used: Collection[str] | None = None) -> Features:
    """The columns of later rows, of the kinds that they had in the fit; all, or those in `used`."""
    if isinstance(X, (Table, Features)):
        return of_table(X.columns, estimator.column_kinds_, used)
    try:
        if is_frame(X):
            validate_data(estimator, X, skip_check_array=True, reset=False)
        else:
            X = validate_data(estimator, _array(X), reset=False, **_AS_IS)
        return read_features_as(X, estimator.column_kinds_, used)
    except WrongCell as error:
        raise _wrong_cell(error) from None


def of_table(
    columns: tuple[Column, ...], kinds: dict[str, str], used: Collection[str] | None
) -> Features:
    """Columns that have their kinds already, found by their names."""
    by_name = {column.name: column for column in columns}
    wanted = [name for name in kinds if used is None or name in used]
    for name in wanted:
        if name not in by_name or by_name[name].kind != kinds[name]:
            found = by_name[name].kind if name in by_name else "missing"
            raise InvalidTable(
                f"column {name!r} is {found}; the fit had it as {kinds[name]}, and needs it so."
            )
    if not wanted:
        return Features((Column("nothing", "numeric", np.zeros(len(columns[0].values))),))
    return Features(tuple(by_name[name] for name in wanted))


def target_names(X: Any, y: Any, n: int) -> tuple[str, ...]:
    """Names of the targets, where their table or series has some: else y, or y1, y2, ...."""
    if isinstance(X, Table):
        return (X.target_name,)
    columns = getattr(y, "columns", None)
    if columns is not None and len(columns) == n:
        return tuple(str(name) for name in columns)
    name = getattr(y, "name", None)
    if n == 1:
        return (str(name) if isinstance(name, str) and name else "y",)
    return tuple(f"y{k + 1}" for k in range(n))


_AS_IS: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}


def _array(X: Any) -> Any:
    """An array; lists of mixed cells keep the type of each."""
    if hasattr(X, "__array__") or hasattr(X, "toarray"):
        return X
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array


def _names_of(frame: Any) -> list[str]:
    import narwhals as nw

    return [str(name) for name in nw.from_native(frame).columns]


def _default_names(d: int) -> list[str]:
    return [f"x{j + 1}" for j in range(d)]


def _named(categorical: Any, names: list[str]) -> Collection[str]:
    """The names of the columns that were named, numbered, or marked by a mask."""
    if categorical is None:
        return ()
    if isinstance(categorical, str):
        return (categorical,)
    values = list(categorical)
    if values and all(isinstance(v, (bool, np.bool_)) for v in values):
        if len(values) != len(names):
            raise InvalidInput(
                f"categorical_features marks {len(values)} columns, and X has {len(names)}."
            )
        return tuple(name for name, mark in zip(names, values, strict=True) if mark)
    found = []
    for value in values:
        if isinstance(value, (int, np.integer)) and not -len(names) <= value < len(names):
            raise InvalidInput(
                f"categorical_features holds {value}, and X has {len(names)} columns, 0 to "
                f"{len(names) - 1}."
            )
        found.append(names[value] if isinstance(value, (int, np.integer)) else str(value))
    return tuple(found)


def _wrong_cell(error: Exception) -> TypeError:
    return TypeError(f"{error} (the argument must be a string or a number in every cell.)")


def checked_weight(sample_weight: Any, n: int) -> Float64[Array, " n"] | None:
    """Weights of rows, finite and not all 0."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, np.zeros((n, 1)), dtype=np.float64)
    if (weight < 0).any():
        raise InvalidInput(f"sample_weight holds {weight.min():g}; weights are 0 or more.")
    if not weight.any():
        raise InvalidInput(
            "sample_weight is zero for every row; at least one weight must be above zero."
        )
    return weight


def generator_of(random_state: Any) -> np.random.Generator:
    """A generator of the estimator's own; NumPy's global one is neither read nor moved."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31 - 1)))
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(int(random_state.integers(2**31 - 1)))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise InvalidInput(
        f"random_state is {random_state!r:.40}; it needs a whole number from 0, a generator of "
        "NumPy, or None."
    )


def split_seed(random_state: Any, rng: np.random.Generator) -> int:
    """The seed of the split: that of the estimator where it is a number, else a drawn one."""
    drawn = int(rng.integers(2**31 - 1))
    return int(random_state) if isinstance(random_state, (int, np.integer)) else drawn


def threads_of(n_jobs: Any) -> int:
    """Networks trained at once: one if nothing is said, -1 for one on each processor (0 here)."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0 or n_jobs < -1:
        raise InvalidInput(f"n_jobs is {n_jobs!r:.40}; it needs a whole number from 1, or -1.")
    return 0 if n_jobs == -1 else int(n_jobs)
