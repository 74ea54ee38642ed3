"""Arguments, and the values of a function that the caller gives."""

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64

MOST_PARAMETERS = 50_000_000  # of a network that is made: 400 MB


def affordable(widths: Sequence[int], name: str) -> None:
    """Refuse a network that would fill the memory."""
    count = sum((n + 1) * m for n, m in pairwise(widths))
    if count > MOST_PARAMETERS:
        raise InvalidInput(
            f"this {name} has {count:,} parameters; at most {MOST_PARAMETERS:,} are made: choose "
            "fewer or smaller layers."
        )


def whole(value: Any, name: str, least: int, most: int | None = None) -> int:
    """A whole number (NumPy's too) from `least` on."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or (most is not None and number > most):
        upto = "or more" if most is None else f"to {most:,}"
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number, {least} {upto}.")
    return number


def positive(value: Any, name: str) -> float:
    """A finite number above 0."""
    number = real(value, name)
    if not number > 0:
        raise InvalidInput(f"{name} is {value!r}; it must be above 0.")
    return number


def real(value: Any, name: str) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise InvalidInput(f"{name} is {value!r}; it must be a finite number.")
    return number


def choice(value: Any, name: str, options: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        words = " or ".join(f'"{option}"' for option in options)
        raise InvalidInput(f"{name} is {value!r:.60}; it must be {words}.")
    return value


def interval_of(interval: Any) -> tuple[float, float]:
    """(low, high) with low < high."""
    try:
        low, high = interval
    except (TypeError, ValueError):
        raise InvalidInput(f"the interval is {interval!r}; it must be (low, high).") from None
    low, high = real(low, "low"), real(high, "high")
    if not low < high:
        raise InvalidInput(f"the interval is ({low:g}, {high:g}); low must be below high.")
    if high - low == np.inf:
        raise InvalidInput(
            f"the interval is ({low:g}, {high:g}); too long for float64, choose a shorter one."
        )
    return low, high


def numbers(values: ArrayLike | tuple, name: str, ndim: int) -> Array:
    """A float64 array of finite numbers."""
    try:
        array = np.array(values, None if np.iscomplexobj(values) else np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} must be an array of numbers.") from None
    if array.dtype.kind == "c":
        raise InvalidInput(f"{name} holds complex numbers; it must hold real ones.")
    if array.ndim != ndim or not array.size:
        shape = "(n,)" if ndim == 1 else "(n, d)"
        raise InvalidInput(f"{name} has shape {array.shape}; it must have shape {shape}.")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} holds {array[~np.isfinite(array)][0]}; it must be finite.")
    return array


def values_of(f: Callable, x: Float64[Array, "n *d"], name: str = "f") -> Float64[Array, " n"]:
    """The values f(x_i), whether f takes an array of points or one point at a time.

    An array of answers is believed where it has one number for each point and agrees with the
    answer for a single point.
    """
    if not callable(f):
        raise InvalidInput(f"{name} is a {type(f).__name__}; it must be a function.")
    values = _all_at_once(f, x)
    if values is None:
        points = x.tolist() if x.ndim == 1 else list(x)
        values = np.array([_one(f, point, name) for point in points])
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        i = int(wrong[0])
        raise InvalidInput(f"{name} is {values[i]} at {x[i].tolist()}; it must be finite there.")
    return values


def _all_at_once(f: Callable, x: Array) -> Array | None:
    try:
        values = _real_array(f(x))
        if values.shape == (len(x), 1):
            values = values[:, 0]
        if values.shape != (len(x),):
            return None
        i = len(x) // 2
        alone = float(_real_array(f(x[i : i + 1])).reshape(()))
    except Exception:  # a function of one point may fail in any way on many
        return None
    agrees = np.isclose(alone, values[i], rtol=1e-6, atol=1e-300, equal_nan=True)
    return values if agrees else None


def _real_array(values: Any) -> Array:
    """In float64; TypeError for complex numbers, whose imaginary part would be lost."""
    if np.iscomplexobj(values):
        raise TypeError("complex numbers")
    return np.asarray(values, np.float64)


def _one(f: Callable, point: Any, name: str) -> float:
    try:
        value: SupportsFloat = f(point)
    except InvalidInput:
        raise
    except (ArithmeticError, ValueError) as error:  # 1 / 0, log(0)
        raise InvalidInput(
            f"{name} has no value at {point!r:.60} ({error}); it must be finite there."
        ) from error
    try:
        return float(_real_array(value).reshape(()))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} gives {value!r:.60} at {point!r:.60}; it must give one number for a point."
        ) from None
