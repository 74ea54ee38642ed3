"""Which activations commute with scaling, and what they make of a change of sign: one table."""

from collections.abc import Callable
from dataclasses import dataclass

from ..network import Activation


@dataclass(frozen=True)
class Flip:
    """sigma(-z) = factor sigma(z) + shift; the factor is 1 or -1."""

    factor: float
    shift: float = 0.0


@dataclass(frozen=True)
class Symmetry:
    """What can be done to z and undone after the activation.

    `scales`: sigma(c z) = c sigma(z) for every c > 0. `flip`: what a change of sign does, or None
    where no factor and shift undo it.
    """

    scales: bool = False
    flip: Flip | None = None


ODD, EVEN = Flip(-1.0), Flip(1.0)


def _leaky(slope: float) -> Symmetry:
    """max(z, 0) + slope min(z, 0): |z| for the slope -1, and z for the slope 1."""
    return Symmetry(True, {-1.0: EVEN, 1.0: ODD}.get(slope))


def _hardtanh(low: float, high: float) -> Symmetry:
    return Symmetry(False, ODD if low == -high else None)


def _always(scales: bool = False, flip: Flip | None = None) -> Callable[..., Symmetry]:
    return lambda *_: Symmetry(scales, flip)


#: for each activation, from its parameters
SYMMETRIES: dict[str, Callable[..., Symmetry]] = {
    "identity": _always(True, ODD),
    "relu": _always(True),
    "leaky_relu": _leaky,
    "prelu": _leaky,
    "hardtanh": _hardtanh,
    "abs": _always(True, EVEN),
    "sigmoid": _always(flip=Flip(-1.0, 1.0)),
    "tanh": _always(flip=ODD),
    "elu": lambda alpha: Symmetry(alpha == 0.0),
    "gelu": _always(),
    "gelu_tanh": _always(),
    "silu": _always(),
    "softplus": _always(),
    "softsign": _always(flip=ODD),
}


def symmetry_of(activation: Activation) -> Symmetry:
    """The row of the table for an activation with its parameters."""
    return SYMMETRIES[activation.name](*activation.parameters)
