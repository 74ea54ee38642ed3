"""L-BFGS with a line search for the strong Wolfe conditions: the twin of ``isa/lbfgs.hpp``.

Nocedal (1980); Nocedal and Wright (2006), algorithms 3.5, 3.6 and 7.4. Trial steps, constants and
safeguards are torch's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._shapes import Array, Float

FLAT_GRADIENT = 1e-7
"""The largest entry of the gradient at which L-BFGS has converged."""
C1, C2, SHORTEST, MOST_TRIALS = 1e-4, 0.9, 1e-9, 25

#: from parameters to the objective and its gradient
Objective = Callable[[Array], tuple[float, Array]]


@dataclass
class Memory:
    """The last m steps and the changes of the gradient that they made; pair i in row i % m."""

    s: Float[Array, "m p"]
    y: Float[Array, "m p"]
    sy: Float[Array, " m"]
    pairs: int = 0
    scale: float = 1.0

    @classmethod
    def empty(cls, m: int, p: int, dtype: Any) -> "Memory":
        """Room for m pairs; 0 where the optimizer is another."""
        return cls(np.zeros((m, p), dtype), np.zeros((m, p), dtype), np.zeros(m))

    def direction(self, gradient: Float[Array, " p"]) -> Float[Array, " p"]:
        """-H g, by the two loops over the pairs: newest to oldest, and back."""
        m, d, alpha = len(self.s), -gradient, {}
        rows = [i % m for i in range(max(self.pairs - m, 0), self.pairs)]
        for row in reversed(rows):
            alpha[row] = dot(self.s[row], d) / self.sy[row]
            d = d - d.dtype.type(alpha[row]) * self.y[row]
        d = d * d.dtype.type(self.scale)
        for row in rows:
            beta = dot(self.y[row], d) / self.sy[row]
            d = d + d.dtype.type(alpha[row] - beta) * self.s[row]
        return d

    def add(self, s: Float[Array, " p"], y: Float[Array, " p"]) -> None:
        """Keep a pair that shows curvature."""
        sy, row = dot(s, y), self.pairs % len(self.s)
        if sy > 1e-10:
            self.s[row], self.y[row], self.sy[row] = s, y, sy
            self.scale = sy / dot(y, y)
            self.pairs += 1


def dot(a: Float[Array, " p"], b: Float[Array, " p"]) -> float:
    """In float64."""
    return float(np.dot(a.astype(np.float64), b.astype(np.float64)))


def status_at(f: float, steepest: float) -> str:
    """How an objective f ends a run, or "finished" where the run may go on from it.

    ``steepest`` is the largest entry of its gradient.
    """
    if not (math.isfinite(f) and math.isfinite(steepest)):
        return "diverged"
    return "converged" if steepest <= FLAT_GRADIENT else "finished"


@dataclass(frozen=True)
class Point:
    """The objective f and its derivative along the direction, t directions from the start."""

    t: float
    f: float
    slope: float


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points, with their slopes, is lowest between low and high.

    The middle where that is nowhere.
    """
    left, right = (a, b) if a.t <= b.t else (b, a)
    with np.errstate(all="ignore"):
        d1 = a.slope + b.slope - 3 * np.divide(a.f - b.f, a.t - b.t)
        d2 = np.sqrt(d1 * d1 - a.slope * b.slope)
        share = np.divide(right.slope + d2 - d1, right.slope - left.slope + 2 * d2)
        t = float(right.t - (right.t - left.t) * share)
    return min(max(t, low), high) if math.isfinite(t) else (low + high) / 2


@dataclass
class LineSearch:
    """Algorithms 3.5 (widen until a bracket is found) and 3.6 (narrow it)."""

    at: Callable[[float], Point]
    origin: Point
    largest_change: float
    trials: int = 0

    def too_high(self, p: Point) -> bool:
        """Also where f is not finite."""
        return not p.f <= self.origin.f + C1 * p.t * self.origin.slope

    def flat(self, p: Point) -> bool:
        """The condition on the curvature."""
        return abs(p.slope) <= -C2 * self.origin.slope

    def start(self, t: float) -> Point:
        """The point to go to, from the first trial step."""
        before, now = self.origin, self.at(t)
        while self.trials < MOST_TRIALS:
            if self.too_high(now) or (self.trials > 1 and now.f >= before.f):
                return self.narrow(before, now)
            if self.flat(now):
                return now
            if now.slope >= 0:
                return self.narrow(before, now)
            step = cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t), 10 * now.t)
            before, now = now, self.at(step)
            self.trials += 1
        return now if now.f < self.origin.f else self.origin

    def narrow(self, a: Point, b: Point) -> Point:
        """Between two points."""
        low, high = (b, a) if b.f < a.f else (a, b)
        near_an_end = False
        while self.trials < MOST_TRIALS and abs(high.t - low.t) * self.largest_change >= SHORTEST:
            left, right = sorted((low.t, high.t))
            t, margin = cubic_minimum(low, high, left, right), 0.1 * (right - left)
            close = min(right - t, t - left) < margin
            again = near_an_end or t >= right or t <= left
            near_an_end = close and not again
            if close and again:  # a tenth of the way in
                t = right - margin if right - t < t - left else left + margin
            now = self.at(t)
            self.trials += 1
            if self.too_high(now) or now.f >= low.f:
                high = now
                if high.f < low.f:
                    low, high = high, low
                continue
            if self.flat(now):
                return now
            if now.slope * (high.t - low.t) >= 0:
                high = low
            low = now
        return low


def lbfgs_step(
    memory: Memory,
    learning_rate: float,
    start: Float[Array, " p"],
    f: float,
    g: Float[Array, " p"],
    objective: Objective,
) -> Float[Array, " p"] | None:
    """The parameters of the next iteration.

    None where no step along the direction, nor one straight down, is lower.
    """
    while True:
        d, gradients = memory.direction(g), {}

        def at(t: float, d: Array = d, gradients: dict[float, Array] = gradients) -> Point:
            value, gradient = objective(start + start.dtype.type(t) * d)
            gradients[t] = gradient
            return Point(t, value, dot(gradient, d))

        size = 1.0 if memory.pairs else float(np.abs(g.astype(np.float64)).sum())
        origin = Point(0.0, f, dot(g, d))
        if origin.slope < 0:
            search = LineSearch(at, origin, float(np.abs(d).max()))
            found = search.start(learning_rate * min(1.0, 1.0 / size))
            if found.t > 0 and found.f < f:
                t = start.dtype.type(found.t)
                memory.add(t * d, gradients[found.t] - g)
                return start + t * d
        if memory.pairs == 0:
            return None
        memory.pairs, memory.scale = 0, 1.0
