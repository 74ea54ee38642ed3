"""Networks of one hidden layer that interpolate a function of one variable."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsFloat, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from .certificate import SAFE, Certificate, Construction, off_chord, rounded_up
from .checks import choice, interval_of, positive, real, values_of, whole
from .piecewise import deviation, hinges_through

SAMPLES = 15  # points in a cell at which its error is looked at
CHUNK = 2**16  # cells at a time
DENSE = 2001  # points in the worst cells, for the certificate
ENDLESS = 10.0**15  # more units than there can be

#: a bound on |f''|: everywhere, or between low and high
SecondDerivativeBound = SupportsFloat | Callable[[float, float], SupportsFloat]


def interpolate(
    f: Callable,
    interval: Sequence[SupportsFloat] | Array,
    tolerance: SupportsFloat | None = None,
    *,
    n_units: SupportsIndex | None = None,
    second_derivative_bound: SecondDerivativeBound | None = None,
    knots: Literal["equal", "balanced"] = "equal",
    max_units: SupportsIndex = 1_000_000,
) -> Construction:
    """A ReLU network that interpolates f linearly at N + 1 knots of [low, high].

    Depth 2: one hidden layer of N units, f_N(x) = f(t_0) + sum_j a_j relu(x - t_j). Give either
    `n_units`, N, or a `tolerance` for the largest error, for which N is chosen. f may take an
    array of points or one point.

    With `second_derivative_bound`, M >= |f''|, the error is proved: at most M h^2 / 8 on cells of
    width h, so N = ceil((high - low) sqrt(M / (8 tolerance))) units do. The bound may also be a
    function of (low, high) that bounds |f''| between them. Without it, errors are sampled, and the
    certificate says so.

    `knots="balanced"` moves the knots until all cells have the same error, so that N^2 error tends
    to (integral of sqrt|f''|)^2 / 8 (de Boor 1973). It is the errors that are balanced: equal
    integrals of sqrt|f''| between knots give 2 / sqrt3 times that where f'' has simple zeros at
    knots. It needs errors that differ: a bound that is a function, or none.

    Raises InvalidInput where more than `max_units` units are needed, and says how many.
    """
    low, high = interval_of(interval)
    most = whole(max_units, "max_units", 1)
    target = _Target(f, low, high, second_derivative_bound)
    choice(knots, "knots", ("equal", "balanced"))
    if (tolerance is None) == (n_units is None):
        raise InvalidInput("give either a tolerance or n_units, and not both.")
    if knots == "balanced" and isinstance(target.bound, float):
        raise InvalidInput(
            "one bound on |f''| for the whole interval is best used with equal knots; for balanced "
            "knots give a function of (low, high) that bounds |f''| between them, or no bound."
        )
    place = target.equal if knots == "equal" else target.balanced
    if n_units is not None:
        N = whole(n_units, "n_units", 1, most)
        return target.construction(place(N))
    return _within(target, place, positive(tolerance, "tolerance"), most)


@dataclass(frozen=True, eq=False)
class _Target:
    """A function on an interval, and what is known of its second derivative."""

    f: Callable
    low: float
    high: float
    bound: float | Callable | None

    def __init__(self, f: Callable, low: float, high: float, bound: SecondDerivativeBound | None):
        if bound is not None and not callable(bound):
            bound = real(bound, "second_derivative_bound")
            if bound < 0:
                raise InvalidInput(f"second_derivative_bound is {bound:g}; it must be 0 or more.")
        for name, value in (("f", f), ("low", low), ("high", high), ("bound", bound)):
            object.__setattr__(self, name, value)

    # ---- errors of the cells

    def errors(self, t: Float64[Array, " n"]) -> Float64[Array, " cells"]:
        """The error on every cell: bounded where |f''| is, else sampled."""
        h = np.diff(t)
        if self.bound is None:
            v = values_of(self.f, t)
            parts = [slice(i, i + CHUNK) for i in range(0, len(h), CHUNK)]
            return np.concatenate([self._sampled(t[:-1][p], h[p], v, p) for p in parts])
        return off_chord(self._curvature(t), h)

    def _curvature(self, t: Array) -> Array | float:
        if not callable(self.bound):
            return self.bound  # pyright: ignore[reportReturnType]  # a float: errors() has seen to it
        cells = zip(t[:-1].tolist(), t[1:].tolist(), strict=True)
        M = np.array([real(self.bound(a, b), "second_derivative_bound") for a, b in cells])
        if (M < 0).any():
            raise InvalidInput("second_derivative_bound is negative; it bounds |f''| from above.")
        return M

    def _sampled(self, t: Array, h: Array, v: Array, part: slice) -> Array:
        """The largest |f - chord| of each cell, between the points by a parabola."""
        theta = np.arange(1, SAMPLES + 1) / (SAMPLES + 1)
        a, b = v[part.start : part.start + len(t)], v[part.start + 1 : part.start + len(t) + 1]
        x = t[:, None] + h[:, None] * theta
        chord = a[:, None] + (b - a)[:, None] * theta
        e = np.zeros((len(t), SAMPLES + 2))
        e[:, 1:-1] = values_of(self.f, x.ravel()).reshape(x.shape) - chord
        rows, k = np.arange(len(t)), np.abs(e[:, 1:-1]).argmax(axis=1) + 1
        before, at, after = e[rows, k - 1], e[rows, k], e[rows, k + 1]
        bend = 2 * at - before - after
        rise = np.divide((before - after) ** 2, 8 * bend, out=np.zeros(len(t)), where=bend != 0)
        return np.abs(np.where(np.abs(rise) < np.abs(at), at + rise, at))

    # ---- knots

    def equal(self, N: int) -> Float64[Array, " n"]:
        """N + 1 equally spaced knots."""
        return np.linspace(self.low, self.high, N + 1)

    def balanced(self, N: int) -> Float64[Array, " n"]:
        """N + 1 knots whose cells have nearly equal errors.

        The square root of a cell's error is nearly proportional to its width; knots are put where
        these add up to equal parts, again and again. The best knots met are kept.
        """
        t = best = self.equal(N)
        least = math.inf
        for _ in range(200):
            e = self.errors(t)
            if e.max() < least:
                best, least = t, e.max()
            if e.min() >= 0.9995 * e.max():
                break
            mass = np.append(0.0, np.cumsum(np.sqrt(e) + 1e-9 * math.sqrt(e.max())))
            t = np.interp(np.linspace(0, mass[-1], N + 1), mass, t)
            t[0], t[-1] = self.low, self.high
            if (np.diff(t) <= 0).any():
                break
        return best

    # ---- the network

    def construction(self, t: Float64[Array, " n"], tolerance: float = math.inf) -> Construction:
        """The interpolating network at the knots t, with its certificate.

        Raises InvalidInput where rounding alone takes half of the tolerance.
        """
        if (np.diff(t) <= 0).any():
            raise InvalidInput(
                f"{len(t) - 1:,} cells of [{self.low:g}, {self.high:g}] are too narrow for float64."
            )
        v = values_of(self.f, t)
        hinges = hinges_through(t, v)
        rounding = rounded_up(deviation(hinges, t, v))
        if rounding > tolerance / 2:
            raise InvalidInput(
                f"a tolerance of {tolerance:g} is below what weights in float64 hold for values of "
                f"size {np.abs(v).max():g}; choose a larger one."
            )
        error = self._largest(t, v)
        bound = (error + rounding) * SAFE if rounding else error
        kind = "sampled" if self.bound is None else "proved"
        how = self._how(len(t) - 1) + (
            f"; rounding of the weights moves it by at most {rounding:.2g} (counted exactly); "
            "the values of f at the knots are taken as exact"
        )
        return Construction(hinges.network(), Certificate(bound, kind, how))

    def _how(self, N: int) -> str:
        if self.bound is None:
            return f"largest error at {SAMPLES} points of each of {N} cells, {DENSE} of the worst"
        if callable(self.bound):
            return "on a cell of width h with |f''| <= M (the given function) at most M h^2 / 8"
        return f"with |f''| <= {self.bound:g} (given), at most {self.bound:g} h^2 / 8 on each cell"

    def _largest(self, t: Array, v: Array) -> float:
        e = self.errors(t)
        if self.bound is not None:
            return float(e.max())
        theta, seen = np.linspace(0, 1, DENSE), 0.0
        for i in np.argsort(e)[-4:]:
            x = t[i] + (t[i + 1] - t[i]) * theta
            chord = v[i] + (v[i + 1] - v[i]) * theta
            seen = max(seen, float(np.abs(values_of(self.f, x) - chord).max()))
        return seen


def _within(target: _Target, place: Callable, tolerance: float, most: int) -> Construction:
    """The fewest units, or nearly, whose errors are within the tolerance."""
    N = _first_guess(target, place, tolerance)

    def attempt(N: int) -> tuple[Construction, float]:
        if most < N:
            raise _too_many(target, N, tolerance, most)
        built = target.construction(place(N), tolerance)
        return built, built.certificate.bound / tolerance

    below, (built, over) = 0, attempt(N)
    while over > 1:
        below, N = N, max(N + 1, _ceil(N * math.sqrt(over)))
        built, over = attempt(N)
    if isinstance(target.bound, float):
        return built  # the guess was the least
    while N - below > 1:
        near = int(N * math.sqrt(over) * 0.999)
        middle = min(max(near, below + 1, (below + N) // 2), N - 1)
        fewer, ratio = attempt(middle)
        if ratio <= 1:
            N, built, over = middle, fewer, ratio
        else:
            below = middle
    return built


def _first_guess(target: _Target, place: Callable, tolerance: float) -> int:
    if isinstance(target.bound, float):
        width = target.high - target.low
        return _ceil(width * math.sqrt(target.bound / (8 * tolerance)) * (1 - 1e-12))
    e = target.errors(target.equal(256))
    balanced = place == target.balanced
    size = np.sqrt(e).sum() if balanced else 256 * math.sqrt(e.max())
    return _ceil(size / math.sqrt(tolerance))


def _ceil(n: float) -> int:
    return max(1, math.ceil(min(n, ENDLESS)))


def _too_many(target: _Target, N: int, tolerance: float, most: int) -> InvalidInput:
    about = "" if isinstance(target.bound, float) else "about "
    units = f"{about}{N:,}" if N < ENDLESS else "more than 10^15"
    return InvalidInput(
        f"a tolerance of {tolerance:g} needs {units} units, and at most {most:,} are allowed; "
        "choose a larger tolerance or a larger max_units."
    )
