"""Rows as the engine wants them: real inputs, checked targets, and the likelihood they fit.

float32 rows stay as they are and others become float64; the engine rounds them to the number type
of each network.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._kernels import ReferenceFunctions
from .._shapes import Array, Float
from ..likelihoods import Likelihood, as_likelihood
from ..network import Activation

Validation = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None]
_MANY_CLASSES = 1000  # labels beyond this and beyond the number of rows are no class numbers


@dataclass(frozen=True)
class TrainingData:
    """Training rows, validation rows or None, their likelihood, and the output width."""

    X: Float[Array, "n d_in"]
    y: Array
    X_validation: Float[Array, "n_validation d_in"] | None
    y_validation: Array | None
    likelihood: Likelihood
    d_out: int
    sample_weight: Float[Array, " n"] | None = None
    class_weight: Float[Array, " d_out"] | None = None
    validation_weight: Float[Array, " n_validation"] | None = None

    @property
    def functions(self) -> ReferenceFunctions:
        """What the NumPy twin computes with: the project's own tables."""
        return ReferenceFunctions(
            activation=lambda name, parameters: Activation(name, parameters),
            likelihood=as_likelihood,
        )


def training_data(
    X: ArrayLike,
    y: ArrayLike,
    likelihood: str | Likelihood | None,
    d_out: int | None,
    validation: Validation | None,
    sample_weight: ArrayLike | None = None,
    class_weight: ArrayLike | None = None,
) -> TrainingData:
    """Check the rows; `d_out` None takes the output width from the targets."""
    y = _targets(y, "y")
    family = as_likelihood(likelihood or _usual_likelihood(y))
    rows = _inputs(X, "X")
    width = _output_width(family, y) if d_out is None else d_out
    targets = _checked(family, y, width, rows, "X and y")
    X_validation = y_validation = validation_weight = None
    if validation is not None:
        if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
            raise InvalidInput("validation needs a pair (X, y) of held-out rows and their targets.")
        X_validation = _inputs(validation[0], "the validation inputs")
        y_validation = _targets(validation[1], "the validation targets")
        y_validation = _checked(family, y_validation, width, X_validation, "the validation pair")
        if X_validation.shape[1] != rows.shape[1]:
            raise InvalidInput(
                f"the validation inputs have {X_validation.shape[1]} columns and X has "
                f"{rows.shape[1]}; both need the same columns."
            )
        if len(validation) == 3:
            n_held_out = len(X_validation)
            validation_weight = _weights(validation[2], "the validation weight", n_held_out, "row")
    if class_weight is not None and family.name != "categorical":
        raise InvalidInput(
            f"class_weight needs labels of the categorical likelihood, and got {family.name}; "
            "weigh the rows with sample_weight."
        )
    return TrainingData(
        rows,
        targets,
        X_validation,
        y_validation,
        family,
        width,
        _weights(sample_weight, "sample_weight", len(rows), "row"),
        _weights(class_weight, "class_weight", width, "class"),
        validation_weight,
    )


def _weights(weights: ArrayLike | None, name: str, n: int, of: str) -> Array | None:
    if weights is None:
        return None
    numbers = np.asarray(weights)
    if numbers.dtype.kind not in "fiub" or numbers.shape != (n,):
        raise InvalidInput(
            f"{name} has shape {numbers.shape} and type {numbers.dtype}; it needs {n} numbers, "
            f"one for each {of}."
        )
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InvalidInput(f"{name} holds {numbers.min():g}; it needs finite numbers from 0 up.")
    return _as_real(numbers)


def _usual_likelihood(y: Array) -> str:
    return "gaussian" if y.dtype.kind == "f" else "categorical"


def _output_width(family: Likelihood, y: Array) -> int:
    if family.target_kind != "label" or not y.size:
        return family.n_outputs(y)
    highest = int(y.max()) if y.size and y.dtype.kind in "iub" else 0
    if highest >= max(_MANY_CLASSES, len(y)):
        raise InvalidInput(
            f"the labels of {len(y)} rows go up to {highest}; they need to be 0, 1, ..., one "
            "number per class. datasets.as_table numbers the classes."
        )
    return family.n_outputs(y)


def _array(values: ArrayLike, name: str) -> Array:
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInput(f"{name} is a masked array; fill or drop what is masked first.")
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInput(f"{name} has rows of different lengths; give all the same.") from None


def _inputs(X: ArrayLike, name: str) -> Float[Array, "n d_in"]:
    rows = _array(X, name)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{name} has shape {rows.shape} and type {rows.dtype}; it needs numbers in rows and "
            "columns, (n, d_in). One column is X.reshape(-1, 1)."
        )
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise InvalidInput(
            f"{name} holds {rows[i, j]} in row {i}, column {j}; fill or drop such rows first."
        )
    return _as_real(rows)


def _as_real(values: Array) -> Float[Array, "..."]:
    kept = values.dtype if values.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(values, dtype=kept)


def _targets(y: ArrayLike, name: str) -> Array:
    targets = _array(y, name)
    if targets.dtype.kind not in "fiub" or targets.ndim not in (1, 2):
        raise InvalidInput(
            f"{name} has shape {targets.shape} and type {targets.dtype}; it needs labels 0, 1, ... "
            "(n,) or real numbers (n,) or (n, d_out). datasets.as_table turns names into labels."
        )
    return targets


def _checked(family: Likelihood, y: Array, d_out: int, rows: Array, pair: str) -> Array:
    if len(y) != len(rows) or not len(rows):
        raise InvalidInput(
            f"{pair} have {len(rows)} and {len(y)} rows; they need the same number, at least one."
        )
    targets = family.check_targets(y, d_out)
    if family.target_kind == "label":
        return targets
    return _as_real(targets)
