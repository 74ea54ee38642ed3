"""What every construction comes with: a network, and what is claimed of it."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from numbers import Integral
from typing import Literal, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64
from ..network import Network

#: more than what some hundred roundings take away from a computed bound
SAFE = 1 + 2.0**-45


@dataclass(frozen=True)
class Certificate:
    """A claimed bound on the largest error of a network, and how it is known.

    `bound` holds for the real-valued function of the stored weights, so that the rounding of
    coefficients is in it. What a forward pass in float64 adds is not.

    `kind` is "exact" (the function of the stored weights is the target, `bound` is 0), "proved"
    (the error is at most `bound`; `how` names what had to be assumed, such as the caller's own
    bound on a derivative) or "sampled" (the largest error that was seen: no proof).

    `exact_error` is the largest error itself where it is known, else None.
    """

    bound: float
    kind: Literal["exact", "proved", "sampled"]
    how: str
    exact_error: float | None = None

    def __repr__(self) -> str:
        return f"Certificate({self.kind}, error at most {self.bound:.4g}: {self.how})"


@dataclass(frozen=True, eq=False, repr=False)
class Construction:
    """A network with chosen weights, and the certificate of what it computes."""

    network: Network
    certificate: Certificate

    def __call__(self, x: ArrayLike) -> Float[Array, "*n d_out"]:
        """The outputs of the network."""
        return self.network(x)

    def __repr__(self) -> str:
        known = self.certificate
        return f"Construction({self.network!r}, {known.kind}, error at most {known.bound:.4g})"


def exact(how: str) -> Certificate:
    """The certificate of a network that is its target."""
    return Certificate(0.0, "exact", how, 0.0)


def as_fraction(number: SupportsFloat) -> Fraction:
    """A float, a whole number (NumPy's too) or a fraction, as it is."""
    if isinstance(number, Integral):
        return Fraction(int(number))
    return number if isinstance(number, Fraction) else Fraction(float(number))


def off_chord(
    M: SupportsFloat | Float64[Array, " n"], h: Float64[Array, " n"]
) -> Float64[Array, " n"]:
    """M h^2 / 8 (no less): how far g is from its chord on cells of width h, if |g''| <= M."""
    with np.errstate(over="ignore"):
        bound = (M * h) * h / 8 * SAFE + 1e-290 * (np.asarray(M) > 0)  # h^2 may underflow
    if not np.isfinite(bound).all():
        raise InvalidInput("the bound on the error is too large for float64.")
    return bound


def rounded_down(number: Fraction) -> float:
    """The largest float64 that is not above the number."""
    return -rounded_up(-number) + 0.0


def rounded_up(number: Fraction) -> float:
    """The least float64 that is not below the number."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else nextafter(nearest, inf)
