"""Sums of cosines, each a function of one direction, as a network of one hidden layer."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from ..regions import Box
from ..regions.maps import U
from .certificate import (
    SAFE,
    Certificate,
    Construction,
    off_chord,
    rounded_down,
    rounded_up,
)
from .checks import numbers
from .piecewise import deviation, hinges_through


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CosineSum:
    """The band-limited function sum_k c_k cos(2 pi (w_k x + phase_k)).

    `amplitudes` c (m,), `frequencies` w (m, d) in cycles for each unit of x, `phases` (m,) in
    cycles, 0 by default. A function of points (n, d), or of one point (d,).
    """

    amplitudes: Float64[Array, " m"]
    frequencies: Float64[Array, "m d"]
    phases: Float64[Array, " m"]

    def __init__(
        self,
        amplitudes: ArrayLike | tuple,
        frequencies: ArrayLike | tuple,
        phases: ArrayLike | tuple | None = None,
    ):
        c, w = numbers(amplitudes, "amplitudes", 1), numbers(frequencies, "frequencies", 2)
        phase = np.zeros(len(c)) if phases is None else numbers(phases, "phases", 1)
        if not len(c) == len(w) == len(phase):
            raise InvalidInput(
                f"got {len(c)} amplitudes, {len(w)} frequencies and {len(phase)} phases; they must "
                "agree."
            )
        for name, value in (("amplitudes", c), ("frequencies", w), ("phases", phase)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __call__(self, x: ArrayLike) -> Float64[Array, " n"] | np.float64:
        """The values at points (n, d), or at one point (d,)."""
        turns = np.asarray(x, np.float64) @ self.frequencies.T + self.phases
        return np.cos(2 * np.pi * turns) @ self.amplitudes

    @property
    def hessian_bound(self) -> float:
        """A bound on the spectral norm of the second derivatives: sum |c_k| (2 pi |w_k|)^2."""
        squares = (2 * np.pi) ** 2 * np.square(self.frequencies).sum(axis=1)
        rounding = SAFE + self.frequencies.size * U
        return float(np.abs(self.amplitudes) @ squares) * rounding

    def __repr__(self) -> str:
        m, d = self.frequencies.shape
        return f"CosineSum({m} term{'s' if m != 1 else ''} in {d} dimension{'s' if d != 1 else ''})"


def units_for(f: CosineSum, box: Box, tolerance: float) -> list[int]:
    """Units of each ridge that hold the tolerance together, with the least sum.

    Ridge k errs by A_k / N_k^2 at most: N_k is proportional to the third root of A_k.
    """
    with np.errstate(over="ignore"):
        A = np.abs(f.amplitudes) * _sizes(f, box)
    if not np.isfinite(A).all():
        raise InvalidInput("the cosines turn too often on this box; choose smaller frequencies.")
    roots = np.cbrt(A)
    each = roots * math.sqrt(roots.sum() / tolerance) * (1 + 1e-12)
    return [max(1, math.ceil(n)) if a else 0 for n, a in zip(each, A, strict=True)]


def _sizes(f: CosineSum, box: Box) -> Float64[Array, " m"]:
    """(2 pi range of w_k x on the box)^2 / 8."""
    return (2 * np.pi * (np.abs(f.frequencies) @ (box.high - box.low))) ** 2 / 8


def ridge_network(f: CosineSum, box: Box, units: list[int]) -> Construction:
    """Each cosine interpolated along its own direction; units 0 for a term that is constant."""
    W, b, a, start = [], [], [], Fraction(0)
    error = rounding = Fraction(0)
    for c, w, phase, N in zip(f.amplitudes, f.frequencies, f.phases, units, strict=True):
        low, high = _range(w, box)
        t = np.linspace(low, high, max(N, 1) + 1) if low < high else np.array([low])
        v = c * np.cos(2 * np.pi * (t + phase))
        # cos is 1-Lipschitz: an angle of some turns, in float64, is off by a few roundings
        rounding += Fraction(8 * U * abs(c) * (2 * np.pi * np.abs(t + phase).max() + 1))
        start += Fraction(float(v[0]))
        if len(t) > 1 and c:
            hinges = hinges_through(t, v)
            W.append(np.repeat(w[None], len(hinges.t), axis=0))
            b.append(-hinges.t)
            a.append(hinges.a)
            rounding += deviation(hinges, t, v)
            angle = 2 * np.pi * np.diff(t).max(keepdims=True)
            error += Fraction(off_chord(abs(c), angle)[0])
    c0 = float(start)
    rounding += abs(Fraction(c0) - start)
    if not a:
        network = Network([np.zeros((1, f.frequencies.shape[1]))], [[c0]])
    else:
        output = np.concatenate(a)[None]
        network = Network([np.concatenate(W), output], [np.concatenate(b), [c0]], ["relu"])
    bound = rounded_up(error + rounding)
    how = (
        "each cosine interpolated along its direction, at most |c| (2 pi h)^2 / 8 each for cells "
        f"of width h in w x, and {float(rounding):.2g} for rounding"
    )
    return Construction(network, Certificate(bound, "proved", how))


def _range(w: Array, box: Box) -> tuple[float, float]:
    """The least interval of float64 that holds w x for all x of the box."""
    sides = zip(w.tolist(), box.low.tolist(), box.high.tolist(), strict=True)
    ends = [sorted(Fraction(v) * Fraction(x) for x in (a, b)) for v, a, b in sides]
    low, high = (sum((end[i] for end in ends), Fraction(0)) for i in (0, 1))
    return rounded_down(low), rounded_up(high)
