"""Depth efficiency: units for a compositional target, deep and shallow, and for one without one."""

import math

import numpy as np

from ..constructions import from_piecewise_linear, interpolate, square
from .item import Outcome

TOLERANCES = (1e-2, 1e-4, 1e-6)
VALUES = 65


def deep_units(tolerance: float) -> int:
    """Hidden units of the first network square(m) whose certificate is good enough for x^2."""
    found = next(one for m in range(40) if (one := square(m)).certificate.bound <= tolerance)
    return sum(found.network.hidden)


def shallow_units(tolerance: float) -> int:
    """Units of one hidden layer that interpolates x^2 as well."""
    found = interpolate(np.square, (0.0, 1.0), tolerance, second_derivative_bound=2.0)
    return sum(found.network.hidden)


def run() -> Outcome:
    """Units for x^2 by accuracy, and for 65 values that have nothing to do with each other."""
    values = np.random.default_rng(0).normal(size=VALUES)
    network = from_piecewise_linear(np.linspace(0, 1, VALUES), values).network
    x = np.linspace(0, 1, VALUES)[:, None]
    found = {
        "deep": [deep_units(e) for e in TOLERANCES],
        "shallow": [shallow_units(e) for e in TOLERANCES],
        "needed": [math.ceil(math.sqrt(2 / (8 * e))) for e in TOLERANCES],
        "unstructured": sum(network.hidden),
        "values_met": float(np.abs(network(x)[:, 0] - values).max()),
    }
    return Outcome(found)
