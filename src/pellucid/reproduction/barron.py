"""Barron's rate beside measured ones, for g(x) = exp(-|x|^2 / 2)."""

import math
from functools import cache

import numpy as np

from .._shapes import Array, Float64
from ..training import train_many
from .item import Outcome

RADIUS = 1.0
WIDTHS = (2, 4, 8, 16, 32)
TRAINED_DIMENSION, SAMPLED_DIMENSION = 2, 10
SAMPLES = (4, 16, 64, 256)
REPEATS = 40


def constant(d: int) -> float:
    """C_g = E|w| for w standard normal: the first moment of the Fourier transform, by quadrature.

    g(x) = integral of exp(i w . x) times the normal density of w.
    """
    from scipy.integrate import quad

    def density(r: float) -> float:  # of |w|: r^(d-1) exp(-r^2/2) / (2^(d/2-1) Gamma(d/2))
        return r ** (d - 1) * math.exp(-r * r / 2) / (2 ** (d / 2 - 1) * math.gamma(d / 2))

    return float(quad(lambda r: r * density(r), 0, np.inf)[0])


def bound(n: int, d: int) -> float:
    """(2 r C)^2 / N: of the mean squared error over a probability measure on the ball."""
    return (2 * RADIUS * constant(d)) ** 2 / n


def ball(n: int, d: int, seed: int) -> Float64[Array, "n d"]:
    """Points evenly in the ball."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n, d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return RADIUS * u * rng.uniform(size=(n, 1)) ** (1 / d)


def target(x: Float64[Array, "n d"]) -> Float64[Array, " n"]:
    """The function g."""
    return np.exp(-(x**2).sum(axis=1) / 2)


@cache
def trained() -> dict[int, float]:
    """Mean squared error on fresh points of the best of three sigmoid networks of each width."""
    X, fresh = ball(500, TRAINED_DIMENSION, 0), ball(5000, TRAINED_DIMENSION, 1)
    grid = train_many(
        X,
        target(X),
        hidden=[[n] for n in WIDTHS],
        seed=range(3),
        activation="sigmoid",
        learning_rate=0.03,
        steps=2000,
        progress=False,
    )
    errors = [float(((f(fresh)[:, 0] - target(fresh)) ** 2).mean()) for f in grid.networks]
    return {n: min(errors[3 * i : 3 * i + 3]) for i, n in enumerate(WIDTHS)}


@cache
def sampled() -> dict[int, float]:
    """Mean squared error of means of N waves cos(w . x), with w drawn from the transform of g."""
    rng = np.random.default_rng(0)
    x = ball(400, SAMPLED_DIMENSION, 2)
    g = target(x)
    found = {}
    for n in SAMPLES:
        waves = np.cos(x @ rng.normal(size=(REPEATS, SAMPLED_DIMENSION, n)))
        found[n] = float(((waves.mean(axis=2) - g) ** 2).mean())
    return found


def power(errors: dict[int, float]) -> float:
    """By which power of N the errors fall: the slope of the fit to their logarithms."""
    n, e = np.array(list(errors)), np.array(list(errors.values()))
    return float(np.polyfit(np.log(n), np.log(e), 1)[0])


def run() -> Outcome:
    """The constants, both rates, and what the bound is for."""
    ratios = [trained()[n] / bound(n, TRAINED_DIMENSION) for n in WIDTHS]
    inside = [e / bound(n, SAMPLED_DIMENSION) for n, e in sampled().items()]
    values = {
        "constant": [constant(1), constant(10)],
        "trained": max(ratios),
        "sampled": max(inside),
        "power": power(sampled()),
        "measure": math.pi * RADIUS**2,
    }
    return Outcome(values, {"barron": _figure})


def _figure():
    from ..plot import measured

    d, e = TRAINED_DIMENSION, SAMPLED_DIMENSION
    series = {
        f"bound, {e} inputs": {n: bound(n, e) for n in SAMPLES},
        f"bound, {d} inputs": {n: bound(n, d) for n in WIDTHS},
        f"mean of N random waves, {e} inputs": sampled(),
        f"trained sigmoid network, {d} inputs": trained(),
    }
    dashed = tuple(series)[:2]
    return measured(series, "units N", "mean squared error", dashed=dashed, log="xy")
