"""One-hidden-layer networks that interpolate sin(2 pi x) + x / 2, and the fall of their error."""

import math
from functools import cache

import numpy as np

from .._shapes import Array
from ..constructions import interpolate
from ..network import Network
from .item import Outcome

SECOND_DERIVATIVE = 4 * math.pi**2  # of the target, at most
PRINTED = (4, 16, 64, 256)
DRAWN = (3, 6, 24)
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)


def target(x: Array) -> Array:
    """The chapter's function on [0, 1]."""
    return np.sin(2 * np.pi * x) + x / 2


@cache
def network(n_units: int) -> Network:
    """The network through n_units + 1 equally spaced knots."""
    found = interpolate(
        target, (0.0, 1.0), n_units=n_units, second_derivative_bound=SECOND_DERIVATIVE
    )
    return found.network


def knots(n_units: int) -> Array:
    """Where it is exact."""
    return np.linspace(0.0, 1.0, n_units + 1)


def largest_error(n_units: int) -> float:
    """On the chapter's grid of 100,001 points."""
    x = np.linspace(0.0, 1.0, 100_001)
    error = 0.0
    for part in np.array_split(x, 20):  # with 512 units, 400 MB otherwise
        f = network(n_units)(part[:, None])[:, 0]
        error = max(error, float(np.abs(f - target(part)).max()))
    return error


def bound(n_units: Array) -> Array:
    """max |g''| / (8 N^2)."""
    return SECOND_DERIVATIVE / 8 / n_units**2


def run() -> Outcome:
    """The printed table, the numbers of the caption, and the figure."""
    errors = {n: largest_error(n) for n in WIDTHS}
    exact = [np.allclose(network(n)(knots(n)[:, None])[:, 0], target(knots(n))) for n in PRINTED]
    values = {
        "exact_at_knots": exact,
        "error": [errors[n] for n in PRINTED],
        "bound": bound(np.array(PRINTED)),
        "error_4": errors[4],
        "error_512": errors[512],
        "power": math.log(errors[512] / errors[64]) / math.log(512 / 64),
    }
    return Outcome(values, {"interpolation": lambda: _figure(errors)})


def _figure(errors: dict[int, float]):
    from ..plot import interpolants

    shown = {f"{n} units": (network(n), knots(n)) for n in DRAWN}
    return interpolants(target, shown, errors, bound)
