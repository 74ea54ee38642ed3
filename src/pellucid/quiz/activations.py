"""Questions about values and slopes of activations."""

from fractions import Fraction
from random import Random
from typing import Any

from .question import choice, kind, number

ACTIVATIONS = "activations"
SMOOTH = {
    "sigmoid": "s'(z) = s(z) (1 - s(z))",
    "tanh": "tanh'(z) = 1 - tanh(z)^2",
    "softplus": "the derivative of softplus is the sigmoid",
    "elu": "1 for z > 0, else exp(z) (with alpha = 1)",
    "silu": "s(z) (1 + z (1 - s(z)))",
    "softsign": "1 / (1 + |z|)^2",
}


def _activation(name: str):
    from ..network import Activation

    return Activation(name)


def _slope_of(name: str, z: float) -> float:
    import numpy as np

    return float(_activation(name).derivative(np.array([z]))[0])


def _value_of(name: str, z: float) -> float:
    import numpy as np

    return float(_activation(name).value(np.array([z]))[0])


@kind(ACTIVATIONS)
def _slope(rng: Random) -> dict[str, Any]:
    """The derivative of a smooth activation at a point."""
    name, z = rng.choice(list(SMOOTH)), rng.choice((-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2))
    found = _slope_of(name, z)
    return number(
        f"What is the derivative of {name} at z = {z:g}?",
        found,
        f"{SMOOTH[name]}; at {z:g} this is {found:.6f}.",
        decimals=3,
    )


@kind(ACTIVATIONS)
def _value(rng: Random) -> dict[str, Any]:
    """The value of an activation at a point."""
    formulas = {
        "sigmoid": "1 / (1 + exp(-z))",
        "tanh": "tanh z",
        "softplus": "log(1 + exp(z))",
        "silu": "z / (1 + exp(-z))",
        "elu": "z for z > 0, else exp(z) - 1",
    }
    name, z = rng.choice(list(formulas)), rng.choice((-3, -2, -1, -0.5, 0.5, 1, 2, 3))
    found = _value_of(name, z)
    return number(
        f"What is {name}({z:g})?", found, f"{name}(z) = {formulas[name]} = {found:.6f}.", decimals=3
    )


@kind(ACTIVATIONS)
def _piecewise_slope(rng: Random) -> dict[str, Any]:
    """The derivative of a piecewise-linear activation, also at its kink."""
    alpha, z = Fraction(rng.choice((1, 2, 5)), 100), rng.choice((-2, -1, 0, 0, 1, 3))
    cases = {
        "ReLU": (0, "0 at z <= 0 and 1 above: a tie counts as inactive"),
        f"leaky ReLU with slope {float(alpha):g}": (alpha, "the small slope at z <= 0, 1 above"),
    }
    name = rng.choice(list(cases))
    low, why = cases[name]
    return number(
        f"What is the derivative of {name} at z = {z} (where it has none, what Pellucid and "
        "PyTorch take)?",
        1 if z > 0 else low,
        f"It is {why}.",
    )


@kind(ACTIVATIONS)
def _largest_slope(rng: Random) -> dict[str, Any]:
    """The largest derivative of an activation."""
    cases = {
        "the logistic sigmoid": (Fraction(1, 4), "s (1 - s) is largest at s = 1/2, where z = 0"),
        "tanh": (1, "1 - tanh(z)^2 is largest at z = 0"),
        "ReLU": (1, "the slope is 0 or 1"),
    }
    name = rng.choice(list(cases))
    found, why = cases[name]
    return number(f"What is the largest value of the derivative of {name}?", found, f"{why}.")


@kind(ACTIVATIONS)
def _sigmoid_chain(rng: Random) -> dict[str, Any]:
    """How much of a gradient several sigmoids let through at most."""
    layers = rng.randint(2, 6)
    return number(
        f"A gradient passes backwards through {layers} sigmoid layers whose weight matrices change "
        "no norm. By which factor can the slopes multiply its norm at most?",
        Fraction(1, 4**layers),
        f"The slope of the sigmoid is at most 1/4: (1/4)^{layers} = 1/{4**layers}.",
    ) | {"tolerance": 4.0**-layers / 100}


@kind(ACTIVATIONS)
def _dip(rng: Random) -> dict[str, Any]:
    """Where the derivative of GELU or SiLU is negative."""
    name, least = rng.choice((("GELU", -0.751792), ("SiLU", -1.278465)))
    return choice(
        rng,
        f"Where is the derivative of {name} negative?",
        f"for all z below {least:.3f}",
        [f"only between {least:.3f} and 0", "nowhere", "for all z below 0"],
        f"{name} falls from 0 at minus infinity to its minimum at z = {least:.6f} and rises from "
        "there: on the whole half-line below the derivative is negative, if only barely.",
    )


@kind(ACTIVATIONS)
def _rescaled_relu(rng: Random) -> dict[str, Any]:
    """The homogeneity of ReLU."""
    c, value = rng.choice((2, 3, Fraction(1, 2), 5)), Fraction(rng.randint(1, 12), 2)
    return number(
        f"ReLU(z) = {float(value):g}. What is ReLU({float(c):g} z)?",
        c * value,
        f"ReLU(c z) = c ReLU(z) for c > 0: {float(c * value):g}.",
    )


KINDS = (*(_slope, _value, _piecewise_slope, _largest_slope, _sigmoid_chain, _dip, _rescaled_relu),)
