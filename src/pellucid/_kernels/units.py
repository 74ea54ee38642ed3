"""When a hidden unit is dead or saturated: one definition for training and diagnosis."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._shapes import Array, Bool, Float

FLAT = 0.01
"""A smooth unit is saturated on a row where its slope is below this share of the steepest."""
ROWS = 0.99
"""The share of rows on which a saturated unit must be so."""

PIECEWISE_LINEAR = ("identity", "relu", "leaky_relu", "prelu", "hardtanh", "abs")


def dead(slope: Float[Array, "n width"]) -> Bool[Array, " width"]:
    """Units of a piecewise linear activation whose slope is 0 on every row."""
    return (slope == 0).all(axis=0)


def saturated(
    slope: Float[Array, "n width"], derivative: Callable[[Any], Any]
) -> Bool[Array, " width"]:
    """Units of a smooth activation that are flat on more than 99 % of the rows."""
    steepest = np.abs(derivative(np.linspace(-5.0, 5.0, 1001))).max()
    return (np.abs(slope) < FLAT * steepest).mean(axis=0) > ROWS
