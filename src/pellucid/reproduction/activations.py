"""Activations: extremes of values and slopes, and how slopes shrink the gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnosis import gradient_flow
from ..network import Activation, as_activation
from .item import Outcome

_GRID = np.linspace(-12.0, 12.0, 24_001)
_FAR_LEFT = np.linspace(-30.0, -12.0, 1801)  # below it the slopes are too small for a float64


@dataclass(frozen=True)
class Extreme:
    """Where a function is least or largest, and its value there."""

    at: float
    value: float


def at(f: Callable[[np.ndarray], np.ndarray], z: float) -> float:
    """The value of a function of arrays at one number."""
    return float(f(np.array([z]))[0])


def minimum(f: Callable[[np.ndarray], np.ndarray]) -> Extreme:
    """The least value between -12 and 12: from a grid, then by Brent's method beside it."""
    from scipy.optimize import minimize_scalar

    values = f(_GRID)
    best = int(values.argmin())
    around = _GRID[max(best - 1, 0)], _GRID[min(best + 1, len(_GRID) - 1)]
    found: Any = minimize_scalar(
        lambda z: at(f, z),
        bounds=around,
        method="bounded",
        options={"xatol": 1e-12},
    )
    if found.fun < values[best]:
        return Extreme(float(found.x), float(found.fun))
    return Extreme(float(_GRID[best]), float(values[best]))


def maximum(f: Callable[[np.ndarray], np.ndarray]) -> Extreme:
    """The largest value between -12 and 12."""
    found = minimum(lambda z: -f(z))
    return Extreme(found.at, -found.value)


def lowest_point(sigma: Activation) -> Extreme:
    """The minimum of an activation, at the root of its derivative."""
    from scipy.optimize import root_scalar

    near = minimum(sigma.value).at
    around = near - 0.1, near + 0.1
    z = root_scalar(lambda z: at(sigma.derivative, z), bracket=around, xtol=1e-15).root
    return Extreme(float(z), at(sigma.value, float(z)))


def falls_below(sigma: Activation) -> float:
    """The z below which the slope is negative everywhere, as far as it is looked at: to -30."""
    z = np.concatenate([_FAR_LEFT, _GRID])
    negative = sigma.derivative(z) < 0
    first = int(np.argmin(negative))  # the first that is not
    return lowest_point(sigma).at if negative[:first].any() else float("nan")


def run() -> Outcome:
    """The statements about activations, with the figure of six of them."""
    sigmoid, tanh, relu, gelu, silu = map(
        as_activation, ("sigmoid", "tanh", "relu", "gelu", "silu")
    )
    leaky, steep = Activation("leaky_relu", (0.1,)), Activation("leaky_relu", (2.0,))
    flow = gradient_flow(["sigmoid"], ["torch", "he_normal"], depth=10, draws=3)
    elus = [Activation("elu", (alpha,)) for alpha in (1.0, 2.0)]
    values = {
        "sigmoid_slope": maximum(sigmoid.derivative).value,
        "sigmoid_factor": max(float(one.slope_factor.max()) for one in flow),
        "tanh_slope": at(tanh.derivative, 0.0),
        "relu_slopes": np.unique(relu.derivative(_GRID)),
        "leaky_slope": at(leaky.derivative, -1.0),
        "gelu_dip": lowest_point(gelu).value,
        "silu_dip": lowest_point(silu).value,
        "gelu_negative_slope": falls_below(gelu),
        "silu_negative_slope": falls_below(silu),
        "leaky_as_maximum": [at(steep.value, -1.0), max(-1.0, 2.0 * -1.0)],
        "elu_jump": [1 - at(elu.derivative, 0.0) for elu in elus],
    }
    return Outcome(values, {"activations": _figure})


def _figure():
    from ..plot import activations

    return activations()
