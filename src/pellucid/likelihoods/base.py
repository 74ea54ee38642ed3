"""What every likelihood can do, whatever its target."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64

Levels = ArrayLike | Sequence[float]

MOST_COUNT = 2**53  # whole numbers beyond it are no longer all there in float64
SMALLEST_SCALE = 1e-3
"""Floor of standard deviations and other scales: a likelihood of exact fits has no maximum."""
LEAST_FLOOR, LARGEST_FLOOR = 1e-12, 1e12


@dataclass(frozen=True, eq=False)
class ChangeOfUnit:
    """How outputs for a target y become those for offset + scale y.

    `likelihood` judges them there: its floor of the scale is in the new unit. Each output of a
    target is multiplied by its `factor` and moved by its `shift`, both (outputs per target,).
    """

    likelihood: "Likelihood"
    factor: Float64[Array, " per_target"]
    shift: Float64[Array, " per_target"]


@dataclass(frozen=True)
class Likelihood(ABC):
    """How the outputs of a network become a probability of the target.

    `target_kind` is "real", "binary", "count" or "label". Losses are negative log-likelihoods in
    nats, one per row, summed over the targets. Targets given to `loss` and `gradient` are those
    that `check_targets` returns. Where a target takes several outputs, they stand side by side:
    those of the first target first.

    Text such as "student_t(4)" names a likelihood with its parameters; `str` gives it and
    `as_likelihood` reads it.
    """

    name: str
    target_kind: str

    #: the fields that are parameters, what one target's outputs are, and the likelihood in a line
    parameter_names: ClassVar[tuple[str, ...]] = ()
    output_names: ClassVar[tuple[str, ...]] = ()
    about: ClassVar[str] = ""
    #: powers of the unit in the exponentials of the outputs; None where an output is in the unit
    unit_powers: ClassVar[tuple[float | None, ...]] = ()

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters as plain numbers, in the order of `parameter_names`."""
        return tuple(float(getattr(self, name)) for name in self.parameter_names)

    @property
    def outputs_per_target(self) -> int:
        """How many outputs of the network one target takes."""
        return len(self.output_names)

    def change_of_unit(self, offset: float, scale: float) -> ChangeOfUnit:
        """What outputs for a real target y, of deviation 1 say, are for offset + scale y."""
        powers = self._powers()
        if self.target_kind != "real" or len(powers) != self.outputs_per_target:
            raise InvalidInput(f"targets of the {self.name} likelihood have no unit to change.")
        factor = np.array([scale if p is None else 1.0 for p in powers])
        shift = np.array([offset if p is None else p * math.log(scale) for p in powers])
        head = self
        if "smallest_scale" in self.parameter_names:
            head = replace(self, smallest_scale=self.parameters[-1] * scale)
        return ChangeOfUnit(head, factor, shift)

    def _powers(self) -> tuple[float | None, ...]:
        """`unit_powers` of each output of a target."""
        return self.unit_powers[: self.outputs_per_target]

    @property
    def loss_is_objective(self) -> bool:
        """Whether `gradient` is the derivative of `loss`: not under beta-NLL."""
        return True

    def with_parameters(self, values: Iterable[SupportsFloat]) -> "Likelihood":
        """The same likelihood with these first parameters; `InvalidInput` for wrong ones."""
        values, names = list(values), self.parameter_names
        if len(values) > len(names):
            takes = f"{len(names)}: {', '.join(names)}" if names else "none"
            raise InvalidInput(f"{self.name} got {len(values)} parameters; it takes {takes}.")
        return replace(self, **dict(zip(names, values, strict=False)))

    def n_outputs(self, y: ArrayLike) -> int:
        """How many outputs a network for the targets `y`, (n,) or (n, targets), needs."""
        y = np.asarray(y)
        return self.outputs_per_target * (y.shape[1] if y.ndim == 2 else 1)

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The quantiles of each target at `levels`; `InvalidInput` where targets have none."""
        raise InvalidInput(
            f"the {self.name} likelihood has no quantiles: its targets are {self.target_kind} "
            "ones; predict gives their probabilities."
        )

    def __str__(self) -> str:
        values = list(self.parameters)
        usual = [f.default for f in fields(self) if f.name in self.parameter_names]
        while values and values[-1] == usual[len(values) - 1]:
            values.pop()
        return written(self.name, values)

    @abstractmethod
    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """Negative log-likelihood of every row, in nats and in the dtype of the outputs."""

    @abstractmethod
    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """Derivative of each row's loss by that row's outputs; not divided by n."""

    @abstractmethod
    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n _"]:
        """What the outputs say about the target: a mean, quantiles, or probabilities."""

    @abstractmethod
    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The outputs that fit `y` best when they may not depend on the input."""

    @abstractmethod
    def check_targets(self, y: ArrayLike, d_out: int) -> Array:
        """The targets as `loss` wants them; `InvalidInput` says what is wrong with them."""


def numeric_targets(y: ArrayLike, name: str) -> Array:
    """`y` as an array of finite numbers with at least one row."""
    array = np.asarray(y)
    if array.dtype.kind not in "biuf":
        array = _numbers_in(array, name)
    if array.size == 0 or array.ndim == 0:
        raise InvalidInput(
            f"y has shape {array.shape}; the {name} likelihood needs one target per row, "
            f"and at least one row."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InvalidInput(
            f"y is {array[row]} in row {row}; the {name} likelihood needs finite targets: "
            f"remove such rows or fill them in."
        )
    return array


def _numbers_in(array: Array, name: str) -> Array:
    """Object arrays that hold nothing but numbers, as float64."""
    error = InvalidInput(
        f"y holds {array.dtype} values; the {name} likelihood needs numbers: "
        f"map class names to 0, 1, 2, ... first."
    )
    if array.dtype.kind != "O" or any(isinstance(value, str) for value in array.flat):
        raise error
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise error from None


def target_columns(
    y: ArrayLike, d_out: int, name: str, per_target: int = 1
) -> Float[Array, "n targets"]:
    """Targets with one column per `per_target` outputs; a flat `y` is one column."""
    array = numeric_targets(y, name)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] * per_target != d_out:
        raise InvalidInput(_misfit(np.shape(y), d_out, name, per_target))
    return array


def _misfit(shape: tuple[int, ...], d_out: int, name: str, per_target: int) -> str:
    if per_target == 1:
        return (
            f"y has shape {shape}; the {name} likelihood needs (n, {d_out}), "
            f"one column per output of the network" + (", or (n,)." if d_out == 1 else ".")
        )
    columns = shape[1] if len(shape) == 2 else 1
    return (
        f"y has shape {shape} and the network {d_out} output(s); the {name} likelihood needs "
        f"{per_target} outputs for each target, here {per_target * columns} in all."
    )


def real_targets(y: ArrayLike, d_out: int, head: Likelihood) -> Float[Array, "n targets"]:
    """Finite numbers, one column for the outputs of each target."""
    return target_columns(y, d_out, head.name, head.outputs_per_target)


def count_targets(y: ArrayLike, d_out: int, head: Likelihood) -> Float[Array, "n targets"]:
    """Whole numbers from 0, one column for the outputs of each target."""
    columns = target_columns(y, d_out, head.name, head.outputs_per_target)
    wrong = (columns < 0) | (columns != np.floor(columns)) | (columns > MOST_COUNT)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidInput(
            f"y is {columns[row, column]:g} in row {row}; the {head.name} likelihood needs counts, "
            f"whole numbers from 0: use gaussian for other numbers."
        )
    return columns


def whole_labels(y: ArrayLike, n_classes: int, name: str, why: str) -> Array:
    """Labels 0, ..., n_classes - 1, shape (n,), as int64; whole floats and booleans pass."""
    array = numeric_targets(y, name)
    if array.ndim != 1:
        raise InvalidInput(
            f"y has shape {array.shape}; the {name} likelihood needs one label per row, "
            f"shape (n,): use y.ravel() for a single column, y.argmax(axis=1) for one-hot rows."
        )
    wrong = (array != np.floor(array)) | (array < 0) | (array >= n_classes)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"y is {array[row]} in row {row}; the {name} likelihood needs whole labels "
            f"from 0 to {n_classes - 1}, {why}."
        )
    return array.astype(np.int64)


def same_shape(outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
    """`y` in the dtype and shape of the outputs, never broadcast."""
    y = np.asarray(y, dtype=outputs.dtype)
    if y.ndim == 1:
        y = y[:, None]
    if y.shape != outputs.shape:
        raise InvalidInput(
            f"y has shape {y.shape} and the outputs have shape {outputs.shape}; they must agree."
        )
    return y


def split(
    outputs: Float[Array, "n d_out"], y: Array, head: Likelihood
) -> tuple[Float[Array, "n targets per_target"], Float[Array, "n targets"]]:
    """Outputs side by side for each target, and the targets in their dtype; never broadcast."""
    y = np.asarray(y, dtype=outputs.dtype)
    if y.ndim == 1:
        y = y[:, None]
    grouped = by_target(outputs, head)
    if y.shape != grouped.shape[:2]:
        raise InvalidInput(
            f"y has shape {y.shape} and the outputs have shape {outputs.shape}; the {head.name} "
            f"likelihood needs {head.outputs_per_target} outputs for each target."
        )
    return grouped, y


def by_target(
    outputs: Float[Array, "n d_out"], head: Likelihood
) -> Float[Array, "n targets per_target"]:
    """Outputs side by side for each target."""
    per_target = head.outputs_per_target
    if outputs.shape[1] % per_target:
        raise InvalidInput(
            f"the outputs have shape {outputs.shape}; the {head.name} likelihood needs "
            f"{per_target} for each target."
        )
    return outputs.reshape(len(outputs), -1, per_target)


def joined(*outputs: Float[Array, "n targets"]) -> Float[Array, "n d_out"]:
    """The inverse of `by_target`: one array for each output of a target."""
    return np.stack(outputs, axis=2).reshape(len(outputs[0]), -1)


# ---- parameters


def number(head: str, name: str, value: Any, low: float, high: float) -> float:
    """A parameter between two bounds, as float."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not low <= found <= high:
        raise InvalidInput(
            f"{name} of {head} is {value!r:.40}; it needs a number from {low:g} to {high:g}."
        )
    return found


def checked_floor(head: str, value: Any) -> float:
    """A smallest scale."""
    return number(head, "smallest_scale", value, LEAST_FLOOR, LARGEST_FLOOR)


def checked_levels(levels: Levels) -> Float64[Array, " levels"]:
    """Levels of quantiles, each between 0 and 1."""
    values = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values < 1)).all():
        raise InvalidInput(f"the levels are {levels!r:.60}; they must lie between 0 and 1.")
    return values


def written(name: str, values: Sequence[float]) -> str:
    """A name with parameters that have all their digits, whole ones without a point."""

    def digits(v: float) -> str:
        return str(int(v)) if v == int(v) and abs(v) < 1e15 else repr(float(v))

    return f"{name}({','.join(map(digits, values))})" if values else name


# ---- best constants


def best_constants(
    head: Likelihood, y: Float64[Array, "n targets"], starts: Float64[Array, "targets per_target"]
) -> Float64[Array, " d_out"]:
    """Outputs that fit each column best when they are constant, found from `starts`.

    BFGS on the mean loss, for likelihoods without a closed form. A lower point than the start, and
    the best one near it.
    """
    from scipy.optimize import minimize

    found = []
    for column, start in zip(y.T, starts, strict=True):
        values, counts = np.unique(column, return_counts=True)
        weights = counts / len(column)

        def mean(theta: Array, values: Array = values, weights: Array = weights) -> Any:
            outputs = np.tile(theta, (len(values), 1))
            loss, gradient = (f(outputs, values[:, None]) for f in (head.loss, head.gradient))
            return float(weights @ loss), weights @ gradient

        with np.errstate(all="ignore"):
            best = minimize(mean, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x
        lower = np.isfinite(best).all() and mean(best)[0] <= mean(start)[0]
        found.append(best if lower else start)
    return np.concatenate(found)
