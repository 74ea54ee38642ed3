"""Networks whose numbers are fractions, so that a pass can be worked without rounding."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from ..network import Activation, Network

LONG_EXPONENT = re.compile(r"[eE][+-]?0*[1-9]\d{3}")  # a power that would fill the memory
READINGS = ("stored", "decimal")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class RationalNetwork:
    """A multilayer perceptron with rational weights, as `Network` otherwise.

    Numbers may be integers, `Fraction`s, `Decimal`s, texts such as "1/3" and "0.1", or floats. With
    reading "decimal" a float is the shortest decimal that it prints as (0.1 is 1/10), which is what
    one means by a network written by hand; with "stored" it is the binary number that is in the
    computer. `InvalidInput` is raised for anything else, and where shapes do not chain.
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activations: tuple[Activation, ...]
    output_activation: Activation
    reading: str

    def __init__(
        self,
        weights: Iterable[Any],
        biases: Iterable[Any],
        activations: str | Activation | Iterable[str | Activation] = (),
        output_activation: str | Activation = "identity",
        reading: str = "decimal",
    ):
        if reading not in READINGS:
            raise InvalidInput(f"reading is {reading!r}; choose one of {', '.join(READINGS)}.")
        Ws = tuple(fractions(W, reading) for W in weights)
        bs = tuple(fractions(b, reading) for b in biases)
        rounded = Network(
            [_floats(W) for W in Ws], [_floats(b) for b in bs], activations, output_activation
        )  # checks everything
        for name, value in (
            ("weights", Ws),
            ("biases", bs),
            ("activations", rounded.activations),
            ("output_activation", rounded.output_activation),
            ("reading", reading),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def of(network: Network, reading: str = "stored") -> "RationalNetwork":
        """The fractions that a network's floats stand for.

        A float32 network prints its weights with fewer digits: with reading "decimal" its 0.1, too,
        is 1/10.
        """
        return RationalNetwork(
            network.weights,
            network.biases,
            network.activations,
            network.output_activation,
            reading,
        )

    @property
    def widths(self) -> tuple[int, ...]:
        """(d_0, ..., d_L): inputs, hidden widths, outputs."""
        return (self.weights[0].shape[1], *(len(b) for b in self.biases))

    def rounded(self) -> Network:
        """The network of the nearest floats, in float64."""
        return Network(
            [_floats(W) for W in self.weights],
            [_floats(b) for b in self.biases],
            self.activations,
            self.output_activation,
        )

    def __repr__(self) -> str:
        sizes = "-".join(map(str, self.widths))
        names = ", ".join(dict.fromkeys(str(sigma) for sigma in self.activations)) or "linear"
        return f"RationalNetwork({sizes}, {names})"


# ---- reading numbers


def fractions(values: Any, reading: str = "stored") -> Array:
    """An array of `Fraction`s of the shape of `values`; `InvalidInput` where one is no number."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufOU":
        raise InvalidInput(f"got {array.dtype} values; fractions are made of numbers.")
    found = np.empty(array.shape, object)
    for i, value in np.ndenumerate(array):
        found[i] = _fraction(value, reading)
    return found


def _fraction(value: Any, reading: str) -> Fraction:
    if isinstance(value, float | np.floating) and reading == "decimal":
        value = np.format_float_positional(value) if np.isfinite(value) else str(value)
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | Decimal) and LONG_EXPONENT.search(str(value)):
        raise InvalidInput(f"{str(value)!r:.40} is out of the range of numbers; give smaller ones.")
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidInput(
            f"{value!r:.40} is no rational number; give integers, fractions or finite decimals."
        ) from None


def holds_fractions(values: Any) -> bool:
    """Whether there is a `Fraction` (or `Decimal`) among the numbers, and nothing but rationals."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return False
    kinds = {type(value) for value in array.flat}
    return bool(kinds & {Fraction, Decimal}) and kinds <= {Fraction, Decimal, int, bool}


def _floats(values: Array) -> Array:
    return np.array(values, dtype=np.float64)


# ---- activations of fractions


def activate(sigma: Activation, z: Array, reading: str) -> tuple[Array, Array]:
    """Value and derivative of the activation at every entry.

    Of fractions under a piecewise-linear activation they are fractions; anything else gives floats.
    """
    exact = RATIONAL.get(sigma.name)
    if z.dtype != object or exact is None:
        real = _floats(z)
        return sigma.value(real), sigma.derivative(real)
    parameters = [_fraction(p, reading) for p in sigma.parameters]
    kinks, slopes = exact.kinks(*parameters), exact.slopes(*parameters)
    out = np.empty(z.shape, object)
    slope = np.empty(z.shape, object)
    for i, v in np.ndenumerate(z):
        out[i] = exact.value(v, *parameters)
        slope[i] = _slope(v, kinks, slopes)
    return out, slope


def _slope(v: Fraction, kinks: list, slopes: list) -> Fraction:
    """The slope at v; at a kink that of PyTorch's convention, the entry between both slopes."""
    at = 0
    for kink in kinks:
        if v == kink:
            return Fraction(slopes[at + 1])
        if v < kink:
            break
        at += 2
    return Fraction(slopes[at])


@dataclass(frozen=True)
class Pieces:
    """A piecewise-linear activation of fractions, as functions of its parameters.

    `slopes` are those left of the first kink, at it, right of it, at the second kink, and so on.
    """

    kinks: Callable[..., list]
    slopes: Callable[..., list]
    value: Callable[..., Any]


_LEAKY = Pieces(lambda a: [0], lambda a: [a, a, 1], lambda z, a: z if z > 0 else a * z)

RATIONAL: dict[str, Pieces] = {
    "identity": Pieces(list, lambda: [1], lambda z: z),
    "relu": Pieces(lambda: [0], lambda: [0, 0, 1], lambda z: max(z, Fraction(0))),
    "leaky_relu": _LEAKY,
    "prelu": _LEAKY,
    "hardtanh": Pieces(
        lambda low, high: [low, high],
        lambda low, high: [0, 0, 1, 0, 0],
        lambda z, low, high: min(max(z, low), high),
    ),
    "abs": Pieces(lambda: [0], lambda: [-1, 0, 1], abs),
}
