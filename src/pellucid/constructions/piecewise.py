"""Piecewise-linear functions of one variable: as networks, and back."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsFloat

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from ..regions.exact import Dyadic
from .certificate import Certificate, Construction, as_fraction, exact, rounded_up
from .checks import numbers, real
from .reading import PiecewiseLinear, to_piecewise_linear

__all__ = ["PiecewiseLinear", "from_piecewise_linear", "to_piecewise_linear"]


@dataclass(frozen=True, eq=False)
class Hinges:
    """f(x) = c + sum_j a_j relu(x - t_j), and left of t_0 the slope `left`."""

    t: Float64[Array, " width"]
    a: Float64[Array, " width"]
    c: float
    left: float = 0.0

    def network(self) -> Network:
        """One hidden layer: a unit for each hinge, one more where the left slope is not 0."""
        w, b, a = np.ones(len(self.t)), -self.t, self.a
        if self.left:  # relu(t_0 - x) falls with slope -1 left of t_0 and is 0 right of it
            w, b, a = np.append(w, -1.0), np.append(b, self.t[0]), np.append(a, -self.left)
        return Network([w[:, None], a[None]], [b + 0.0, [self.c]], ["relu"])


def hinges_through(
    t: Float64[Array, " n"], v: Float64[Array, " n"], left: float = 0.0, right: float | None = None
) -> Hinges:
    """The hinges whose sum interpolates v at the knots t; on the right the last slope goes on.

    a_0 = s_0 and a_j = s_j - s_(j-1), with s_j the slope of the cell right of t_j.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        s = np.diff(v) / np.diff(t)
        if right is not None:
            s = np.append(s, right)
        a = np.append(s[:1], np.diff(s))
    if not np.isfinite(a).all():
        raise InvalidInput("the slopes between the knots are too large for float64.")
    return Hinges(t[: len(a)], a, float(v[0]), left)


def deviation(hinges: Hinges, t: Float64[Array, " n"], v: Float64[Array, " n"]) -> Fraction:
    """The largest |f(t_i) - v_i| of the hinges as they are stored, exactly.

    Between the knots both sides are straight, so that it is the largest deviation there too.
    """
    A, T = Dyadic.of(hinges.a), Dyadic.of(t)
    slopes = np.cumsum(A.numbers)[: len(t) - 1]
    climbs = np.cumsum(slopes * np.diff(T.numbers))
    wanted = Dyadic.of(v)
    zero = np.zeros(1, object)
    found = Dyadic(np.concatenate([zero, climbs]), A.shift + T.shift)
    start = Dyadic.of(np.array([hinges.c]))
    gap = found + start + Dyadic(-wanted.numbers, wanted.shift)
    most = max(abs(int(number)) for number in gap.numbers)
    return Fraction(most) / Fraction(2) ** gap.shift


def from_piecewise_linear(
    knots: Array | Sequence,
    values: Array | Sequence,
    *,
    left_slope: SupportsFloat = 0.0,
    right_slope: SupportsFloat | None = None,
) -> Construction:
    """The network of one hidden layer that is piecewise linear between given knots and values.

    Depth 2 (one hidden layer). N + 1 knots need N units: one for each knot but the last. Left of
    the first knot the function is constant, right of the last one it goes on with its last slope;
    another `left_slope` or a given `right_slope` need one unit more each. Numbers may be fractions.

    The certificate compares the function of the stored weights with the given numbers on
    [first knot, last knot] in rational arithmetic; it is exact where nothing had to be rounded, and
    then holds outside as well.

    Raises InvalidInput where the knots do not ascend.
    """
    t, v = numbers(knots, "knots", 1), numbers(values, "values", 1)
    left = real(left_slope, "left_slope")
    right = None if right_slope is None else real(right_slope, "right_slope")
    if t.shape != v.shape:
        raise InvalidInput(f"got {len(t)} knots and {len(v)} values; each knot needs one value.")
    if (np.diff(t) <= 0).any():
        i = int(np.flatnonzero(np.diff(t) <= 0)[0])
        raise InvalidInput(f"knots {i} and {i + 1} are {t[i]:g}, {t[i + 1]:g}; they must ascend.")
    if len(t) == 1 and right is None:
        raise InvalidInput("got one knot; give two or more, or a right_slope.")
    hinges = hinges_through(t, v, left, right)
    network = hinges.network()
    given = [as_fraction(k) for k in knots], [as_fraction(u) for u in values]
    slopes = as_fraction(left_slope), None if right_slope is None else as_fraction(right_slope)
    stored = [list(map(Fraction, array.tolist())) for array in (t, v)]
    if [*given] == stored:
        gap = deviation(hinges, t, v)
    else:
        wanted = PiecewiseLinear(tuple(given[0]), tuple(given[1]), Fraction(0), Fraction(0))
        gap = _largest_gap(to_piecewise_linear(network), wanted)
    return Construction(network, _certificate(gap, hinges, slopes))


def _certificate(gap: Fraction, hinges: Hinges, slopes: tuple) -> Certificate:
    ends = Fraction(hinges.left) == slopes[0] and (
        slopes[1] is None or sum(map(Fraction, hinges.a.tolist())) == slopes[1]
    )
    if gap == 0 and ends:
        return exact("in rational arithmetic the stored weights give the values at all knots")
    bound = rounded_up(gap)
    how = "largest deviation at the knots of the stored, rounded weights, in rational arithmetic"
    return Certificate(bound, "proved", how, bound)


def _largest_gap(f: PiecewiseLinear, g: PiecewiseLinear) -> Fraction:
    """The largest |f - g| between the first and the last knot of g."""
    low, high = g.knots[0], g.knots[-1]
    inner = f.knots[bisect_left(f.knots, low) :]
    points = {*g.knots, *(t for t in inner if t <= high)}
    return max(abs(f(t) - g(t)) for t in points)
