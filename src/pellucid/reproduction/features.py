"""Fixed features and learned ones: the spirals with as many parameters, and many dimensions."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from .._shapes import Array, Float64
from ..datasets import spirals
from .item import Outcome
from .spirals import accuracy, grid

RIDGES = 10.0 ** np.arange(-10, 2)
DEGREE, SPLINES = 3, 8
DIMENSIONS = (1, 2, 10, 100)

Features = Callable[[Float64[Array, "n 2"]], Float64[Array, "n terms"]]


def polynomial(x: Float64[Array, "n 2"]) -> Float64[Array, "n 300"]:
    """All products of Legendre polynomials of total degree up to 23."""
    P = [np.polynomial.legendre.legvander(x[:, i] / 1.2, 23) for i in (0, 1)]
    pairs = [(i, j) for i in range(24) for j in range(24 - i)]
    return np.stack([P[0][:, i] * P[1][:, j] for i, j in pairs], axis=1)


def spline(x: Float64[Array, "n 2"]) -> Float64[Array, "n 289"]:
    """Products of 17 cubic B-splines in each direction."""
    from scipy.interpolate import BSpline

    inner = np.linspace(-1.2, 1.2, 15)
    t = np.concatenate([[-1.2] * 3, inner, [1.2] * 3])
    B = [BSpline.design_matrix(np.clip(x[:, i], -1.2, 1.2), t, 3).toarray() for i in (0, 1)]
    return np.einsum("ni,nj->nij", *B).reshape(len(x), -1)


def kernel(x: Float64[Array, "n 2"]) -> Float64[Array, "n 300"]:
    """Gaussian bumps of width 0.15 at half of the training points."""
    centres = spirals(600, seed=0).X[::2]
    return np.exp(-((x[:, None] - centres) ** 2).sum(axis=2) / (2 * 0.15**2))


FIXED: dict[str, Features] = {"polynomial": polynomial, "spline": spline, "kernel": kernel}


@cache
def fixed_accuracy(name: str) -> float:
    """On fresh points: least squares for labels -1 and 1, the ridge by a fifth held out."""
    data, fresh = spirals(600, seed=0), spirals(4000, seed=1)
    Phi, y = FIXED[name](data.X), 2.0 * data.y - 1
    held = np.arange(len(y)) % 5 == 0
    missed = Phi[held] @ _fits(Phi[~held], y[~held], RIDGES) - y[held, None]
    best = int((missed**2).mean(axis=0).argmin())
    scores = FIXED[name](fresh.X) @ _fits(Phi, y, RIDGES[best : best + 1])[:, 0]
    return float(((scores > 0) == (fresh.y == 1)).mean())


def _fits(Phi: Array, y: Array, ridges: Array) -> Array:
    """Coefficients of least |Phi c - y|^2 + ridge |c|^2, a column for each ridge."""
    U, s, Vt = np.linalg.svd(Phi, full_matrices=False)
    return Vt.T @ (s[:, None] / (s[:, None] ** 2 + ridges) * (U.T @ y)[:, None])


def run() -> Outcome:
    """Accuracies at about 300 parameters, and numbers of terms by dimension."""
    sizes = [FIXED[name](np.zeros((1, 2))).shape[1] for name in FIXED]
    values = {
        "parameters": [*sizes, grid().networks[6].n_parameters],
        "fixed": [fixed_accuracy(name) for name in FIXED],
        "learned": accuracy(grid().networks[6]),
        "polynomial_terms": [math.comb(d + DEGREE, DEGREE) for d in DIMENSIONS],
        "spline_terms": [float(SPLINES) ** d for d in DIMENSIONS],
        "network_terms": [64 * (d + 1) + 65 for d in DIMENSIONS],
    }
    return Outcome(values)
