"""The maximum of several inputs, and bumps."""

import math
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array
from ..network import Network
from ..regions.maps import U
from .certificate import Certificate, Construction, exact, rounded_up
from .checks import numbers, positive, whole
from .piecewise import Hinges, deviation, hinges_through


def maximum(n: SupportsIndex) -> Construction:
    """The largest of n inputs: pairs by max(a, b) = relu(a - b) + relu(b) - relu(-b), then again.

    ceil(log2 n) hidden layers (depth one more), with 3 units for each pair and 2 that carry an odd
    one: 12, 6, 3 for n = 8, and 8, 5, 3 for n = 5. Weights are 0 and +-1: the function of the
    stored weights is the maximum; a forward pass rounds a - b. n = 1 is a linear network. Every
    continuous piecewise-linear function of d inputs needs at most ceil(log2(d + 1)) hidden layers
    (Arora et al. 2018).
    """
    n = whole(n, "n", 1, 1024)
    forms, weights = np.eye(n), []
    while len(forms) > 1:
        rows, sums = [], []
        for a, b in zip(forms[::2], forms[1::2], strict=False):
            sums.append((len(rows), (1.0, 1.0, -1.0)))
            rows += [a - b, b, -b]
        if len(forms) % 2:
            sums.append((len(rows), (1.0, -1.0)))
            rows += [forms[-1], -forms[-1]]
        forms = np.zeros((len(sums), len(rows)))
        for form, (at, signs) in zip(forms, sums, strict=True):
            form[at : at + len(signs)] = signs
        weights.append(np.stack(rows))
    network = Network([*weights, forms], None, ["relu"] * len(weights))
    return Construction(network, exact("max(a, b) = relu(a - b) + relu(b) - relu(-b)"))


def bump(
    low: ArrayLike | tuple,
    high: ArrayLike | tuple,
    margin: SupportsFloat,
    *,
    steepness: SupportsFloat | None = None,
) -> Construction:
    """1 in the box from low to high and 0 outside, but for points within `margin` of its faces.

    In one dimension a trapezoid of one hidden layer (depth 2) with 4 ReLU units; what it is between
    0 and 1 within the margin is not claimed. In d dimensions two hidden layers (depth 3) of 4 d and
    1 units, relu(sum of trapezoids - (d - 1)): no network of one hidden layer vanishes outside a
    bounded set of the plane, unless it is 0.

    With `steepness` k, in one dimension, two sigmoid units s(k (x - low)) - s(k (x - high)), which
    are within 2 e^(-k margin) of it (Nielsen 2015).
    """
    low, high = (np.atleast_1d(np.asarray(side)) for side in (low, high))
    low, high = numbers(low, "low", 1), numbers(high, "high", 1)
    margin = positive(margin, "margin")
    if low.shape != high.shape:
        raise InvalidInput(f"low has {len(low)} numbers and high has {len(high)}; they must agree.")
    if steepness is not None:
        return _sigmoids(low, high, margin, positive(steepness, "steepness"))
    with np.errstate(over="ignore"):
        leaves = (low + margin < high - margin).all()
    if not leaves:
        raise InvalidInput(
            f"a margin of {margin:g} on both sides leaves nothing of the box; choose less than "
            f"half of its least side, {(high - low).min():g}."
        )
    ramps = [_trapezoid(*sides, margin) for sides in zip(low, high, strict=True)]
    network = _one(ramps[0][0]) if len(ramps) == 1 else _all(ramps)
    gap = sum((of for _, of in ramps), Fraction(0))
    if gap == 0:
        return Construction(network, exact("at least the margin away from every face of the box"))
    how = (
        "at least the margin away from every face of the box; the deviation at the knots of the "
        "stored, rounded weights, in rational arithmetic"
    )
    return Construction(network, Certificate(rounded_up(gap), "proved", how))


def _trapezoid(low: float, high: float, margin: float) -> tuple[Hinges, Fraction]:
    t = np.array([low - margin, low + margin, high - margin, high + margin])
    v = np.array([0.0, 1.0, 1.0, 0.0])
    if (np.diff(t) <= 0).any():
        raise InvalidInput(f"a margin of {margin:g} is rounded away; choose a larger one.")
    hinges = hinges_through(t, v, right=0.0)
    # The slopes of the flat parts are s - s = 0 exactly, so that knots tell for the whole line.
    return hinges, deviation(hinges, t, v) + _shrunk(t, low, high, margin)


def _shrunk(t: Array, low: float, high: float, margin: float) -> Fraction:
    """By how much a knot that is rounded past the margin may change a value on the ramp."""
    sides = [(low, -1), (low, 1), (high, -1), (high, 1)]
    off = max(
        abs(Fraction(knot) - Fraction(side) - sign * Fraction(margin))
        for knot, (side, sign) in zip(t.tolist(), sides, strict=True)
    )
    a, b, c, e = map(Fraction, t.tolist())
    return off / min(b - a, e - c)


def _one(hinges: Hinges) -> Network:
    return hinges.network()


def _all(ramps: list[tuple[Hinges, Fraction]]) -> Network:
    d = len(ramps)
    W = np.repeat(np.eye(d), 4, axis=0)
    b = np.concatenate([-hinges.t for hinges, _ in ramps])
    a = np.concatenate([hinges.a for hinges, _ in ramps])
    return Network([W, a[None], [[1]]], [b, [1.0 - d], [0]], ["relu", "relu"])


def _sigmoids(low: Array, high: Array, margin: float, k: float) -> Construction:
    if len(low) != 1 or not low[0] < high[0]:
        raise InvalidInput(
            "steepness is for one dimension and low below high; use a ReLU bump in more."
        )
    with np.errstate(over="ignore"):
        b = -k * np.concatenate([low, high])
    if not np.isfinite(b).all():
        raise InvalidInput(f"a steepness of {k:g} is too large for float64; choose a smaller one.")
    rounding = U * float(np.abs(b).sum()) / 4 + 2**-1074  # slopes of s are at most 1/4
    bound = (2 * math.exp(-k * margin)) * (1 + 1e-15) + rounding
    how = f"1 - s(k margin) <= e^(-k margin) at both edges, from {margin:g} away from them on"
    network = Network([[[k], [k]], [[1, -1]]], [b, [0]], ["sigmoid"])
    return Construction(network, Certificate(bound, "proved", how))
