"""`target_scaling`: the offset and the scale that standardise a numeric target."""

from collections.abc import Callable

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64

SMALLEST_SCALE, LARGEST_SCALE = 1e-150, 1e150
"""Standard deviations of the target between which squares neither underflow nor overflow."""


LEAST_SPREAD = 1e-100
"""Columns with less spread keep scale 1."""


def standard(x: Float64[Array, " n"]) -> tuple[float, float]:
    """Mean and standard deviation (dividing by n); 1 for a column without spread."""
    if np.ptp(x) == 0:
        return float(x[0]), 1.0
    spread = float(np.std(x))
    return float(np.mean(x)), spread if spread > LEAST_SPREAD else 1.0


def robust(x: Float64[Array, " n"]) -> tuple[float, float]:
    """Median and distance of the quartiles; half the range where the quartiles are one."""
    low, middle, high = np.quantile(x, (0.25, 0.5, 0.75))
    spread = float(high - low)
    if spread <= LEAST_SPREAD:
        spread = float(np.ptp(x)) / 2
    return float(middle), spread if spread > LEAST_SPREAD else 1.0


SCALINGS: dict[str, Callable[[Float64[Array, " n"]], tuple[float, float]]] = {
    "standard": standard,
    "robust": robust,
}
"""Offset and scale of a measured column, by name."""


def target_scaling(y: Float64[Array, " n"], name: str) -> tuple[float, float]:
    """Mean and standard deviation, by way of numbers near 1, so that no square underflows."""
    if y.min() == y.max():
        raise InvalidInput(
            f"the target {name!r} is constant on the training rows; it needs at least two values."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        offset = float(y.mean())
        largest = float(np.abs(y - offset).max())
        scale = largest * float(((y - offset) / largest).std())
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        small = scale < SMALLEST_SCALE
        raise InvalidInput(
            f"the target {name!r} is too {'small' if small else 'large'} to calculate with: its "
            f"standard deviation on the training rows is not between {SMALLEST_SCALE:g} and "
            f"{LARGEST_SCALE:g}; {'multiply' if small else 'divide'} it by a power of ten."
        )
    return offset, scale
