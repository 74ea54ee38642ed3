"""What every likelihood can do, whatever its target."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64


@dataclass(frozen=True)
class Likelihood(ABC):
    """How the outputs of a network become a probability of the target.

    `target_kind` is "real", "binary" or "label". Losses are negative log-likelihoods in nats, one
    per row, summed over the outputs. Targets given to `loss` and `gradient` are those that
    `check_targets` returns.
    """

    name: str
    target_kind: str

    @abstractmethod
    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """Negative log-likelihood of every row, in nats and in the dtype of the outputs."""

    @abstractmethod
    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """Derivative of each row's loss by that row's outputs; not divided by n."""

    @abstractmethod
    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """What the outputs say about the target: a mean, or probabilities."""

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


def target_columns(y: ArrayLike, d_out: int, name: str) -> Float[Array, "n d_out"]:
    """Targets with one column per output; a flat `y` is one column."""
    array = numeric_targets(y, name)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != d_out:
        raise InvalidInput(
            f"y has shape {np.shape(y)}; the {name} likelihood needs (n, {d_out}), "
            f"one column per output of the network" + (", or (n,)." if d_out == 1 else ".")
        )
    return array


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
