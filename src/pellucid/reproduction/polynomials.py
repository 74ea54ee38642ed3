"""Why the activation must not be a polynomial: dimensions, and the best parabola for |x|."""

import math

import numpy as np

from ..network import Network
from .item import Outcome

DIMENSIONS = (1, 2, 3, 5)
UNITS = 60
GRID = 2001  # points of [-1, 1], with 0, +-1/2 and +-1 among them


def dimension(d: int, degree: int = 2, seed: int = 0) -> int:
    """How many functions of d inputs the units (w . x + b)^degree span: the rank of 60 of them."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (400, d))
    z = x @ rng.normal(size=(d, UNITS)) + rng.normal(size=UNITS)
    return int(np.linalg.matrix_rank(z**degree, rtol=1e-10))


def best_fit_error(degree: int = 2) -> float:
    """The least largest error of a polynomial for |x| on [-1, 1], by linear programming."""
    from scipy.optimize import linprog

    x = np.linspace(-1, 1, GRID)
    V = np.vander(x, degree + 1)
    ones = np.ones((GRID, 1))  # |V c - |x|| <= e, least e
    A = np.block([[V, -ones], [-V, -ones]])
    b = np.concatenate([np.abs(x), -np.abs(x)])
    free = [(None, None)] * (degree + 1) + [(0, None)]
    return float(linprog(np.eye(degree + 2)[-1], A, b, bounds=free).fun)


def relu_error() -> float:
    """The largest error of relu(x) + relu(-x) for |x|."""
    network = Network([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]], ["relu"])
    x = np.linspace(-1, 1, GRID)[:, None]
    return float(np.abs(network(x) - np.abs(x)).max())


def run() -> Outcome:
    """Dimension counts and errors."""
    values = {
        "dimension": [dimension(d) for d in DIMENSIONS],
        "formula": [math.comb(d + 2, 2) for d in DIMENSIONS],
        "parabola": best_fit_error(),
        "relu": relu_error(),
    }
    return Outcome(values)
