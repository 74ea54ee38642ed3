"""Networks with one hidden layer, decided exactly and in polynomial time.

An activation with straight pieces is sigma(z) = p z + q + sum_i (jump_i / 2) |z - kink_i|. The |.|
of different hyperplanes and the affine functions are linearly independent, so that a function is
determined by the coefficient of each hyperplane, whichever its sign, and by one affine part. On a
box the hyperplanes that do not cross it belong to the affine part.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ..regions.domains import Domain, Space
from ..regions.exact import Dyadic
from .exact_layers import ExactLayers, Point, compose, fractions

Row = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Hinges:
    """f(p) = affine (p, 1) + sum over rows [u, t] of coefficients |u p + t|."""

    coefficients: dict[Row, list[Fraction]]  # of each output; no common divisor, first above 0
    affine: list[list[Fraction]]  # (d_out, d + 1)

    def minus(self, other: "Hinges") -> "Hinges":
        """f - g, without the hyperplanes on which both have the same kinks."""
        left = {row: list(c) for row, c in self.coefficients.items()}
        for row, c in other.coefficients.items():
            before = left.get(row, [Fraction(0)] * len(c))
            left[row] = [x - y for x, y in zip(before, c, strict=True)]
        affine = [
            [x - y for x, y in zip(*rows, strict=True)]
            for rows in zip(self.affine, other.affine, strict=True)
        ]
        return Hinges({row: c for row, c in left.items() if any(c)}, affine)

    def within(self, low: Point, high: Point) -> "Hinges":
        """The same function on a box, with only the hyperplanes that cross the inside of it."""
        kept, affine = {}, [list(row) for row in self.affine]
        for row, c in self.coefficients.items():
            least, most = _range(row, low, high)
            if least < 0 < most:
                kept[row] = c
                continue
            side = 1 if most > 0 else -1
            for k, value in enumerate(c):
                for i, u in enumerate(row):
                    affine[k][i] += side * value * u
        return Hinges(kept, affine)

    @property
    def is_zero(self) -> bool:
        """Whether this is 0 everywhere (on the box, after `within`)."""
        return not self.coefficients and not any(map(any, self.affine))


def hinges_of(layers: ExactLayers) -> Hinges:
    """A network with at most one hidden layer, as hinges."""
    out = layers.tables[-1]
    if not layers.activations:
        return Hinges({}, _fractions(out))
    first, pieces = layers.tables[0], layers.pieces[0]
    kinks, slopes = map(fractions, (np.array(pieces.kinks), np.array(pieces.slopes)))
    jumps = [b - a for a, b in pairwise(slopes)]
    last = fractions(np.array(pieces.intercepts))[-1]
    p = (slopes[0] + slopes[-1]) / 2
    q = last + sum((j * k for j, k in zip(jumps, kinks, strict=True)), Fraction(0)) / 2
    affine = _fractions(_affine_part(out, first, p, q))
    found: dict[Row, list[Fraction]] = {}
    weights = out.numbers[:, :-1].T.tolist()
    for kink, jump in zip(kinks, jumps, strict=True):
        rows = first
        if kink:
            shift = np.zeros((1, first.numbers.shape[1]))
            shift[0, -1] = -float(kink)
            rows = first + Dyadic.of(shift)
        unit = jump / 2 / Fraction(2) ** (rows.shift + out.shift)
        for row, a in zip(rows.numbers.tolist(), weights, strict=True):
            if not any(a):
                continue
            if not any(row[:-1]):
                for k, value in enumerate(a):
                    affine[k][-1] += unit * value * abs(row[-1])
                continue
            key, divisor = primitive(row)
            c = found.setdefault(key, [Fraction(0)] * len(a))
            for k, value in enumerate(a):
                c[k] += unit * (value * divisor)
    return Hinges({row: c for row, c in found.items() if any(c)}, affine)


def primitive(row: list[int]) -> tuple[Row, int]:
    """The row without a common divisor and with its first number above 0; the divisor."""
    divisor = math.gcd(*row)
    sign = next(1 if v > 0 else -1 for v in row if v)
    return tuple(sign * v // divisor for v in row), divisor


def _affine_part(out: Dyadic, first: Dyadic, p: Fraction, q: Fraction) -> Dyadic:
    """W2 (p (W1 x + b1) + q) + b2."""
    shift = np.zeros((1, first.numbers.shape[1]), int).astype(object)
    shift[0, -1] = q.numerator
    straight = _times(first, p) + Dyadic(shift, q.denominator.bit_length() - 1)
    return compose(out, straight)


def _times(table: Dyadic, factor: Fraction) -> Dyadic:
    """A table times a fraction whose denominator is a power of two."""
    return Dyadic(
        table.numbers * factor.numerator, table.shift + factor.denominator.bit_length() - 1
    )


def _fractions(table: Dyadic) -> list[list[Fraction]]:
    unit = Fraction(2) ** table.shift
    return [[v / unit for v in map(Fraction, row)] for row in table.numbers.tolist()]


def _range(row: Row, low: Point, high: Point) -> tuple[Fraction, Fraction]:
    """The least and the largest value of u p + t on a box."""
    ends = [sorted((u * a, u * b)) for u, a, b in zip(row, low, high, strict=False)]
    return tuple(sum((end[i] for end in ends), Fraction(row[-1])) for i in (0, 1))  # pyright: ignore[reportReturnType]  # two of them


# --- a point where the difference is not 0 -----------------------------------------------------


def candidates(difference: Hinges, domain: Domain, seed: int) -> Iterator[Point]:
    """Points of the inside of the domain, one of which shows that a difference is not 0."""
    rng = np.random.default_rng(seed)
    d = domain.dimension
    row = next(iter(difference.coefficients), None)
    low, high = _bounds(domain, row)
    middle = tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
    if row is None:  # affine, and not 0: not at all of these points
        yield middle
        for i in range(d):
            yield (*middle[:i], (middle[i] + high[i]) / 2, *middle[i + 1 :])
        return
    while True:
        start, end = (_beside(rng, row, low, high, corner) for corner in _corners(row, low, high))
        yield from _beside_kink(difference, row, start, end)


def _bounds(domain: Domain, row: Row | None) -> tuple[Point, Point]:
    if not isinstance(domain, Space):
        return fractions(domain.low), fractions(domain.high)
    reach = Fraction(1)
    if row is not None:  # far enough to cross the hyperplane
        reach += 2 * abs(Fraction(row[-1], max(map(abs, row[:-1]))))
    return (-reach,) * domain.dimension, (reach,) * domain.dimension


def _corners(row: Row, low: Point, high: Point) -> Iterator[list[Fraction | None]]:
    """The corners where u p + t is least and largest; None where it does not matter."""
    for sign in (-1, 1):
        yield [
            None if not u else (b if sign * u > 0 else a)
            for u, a, b in zip(row, low, high, strict=False)
        ]


def _beside(
    rng: np.random.Generator, row: Row, low: Point, high: Point, corner: list[Fraction | None]
) -> Point:
    """A random point inside, drawn to a corner until it is on the corner's side of u p + t = 0."""
    share = [Fraction(int(n), 2**20) for n in rng.integers(1, 2**20, len(low) + 1)]
    inside = [a + (b - a) * s for a, b, s in zip(low, high, share, strict=False)]
    ends = [p if c is None else c for p, c in zip(inside, corner, strict=True)]
    there, here = _value(row, tuple(ends)), _value(row, tuple(inside))
    most = there / (there - here) if there * here < 0 else Fraction(1)
    s = most * share[-1]
    return tuple(c + s * (p - c) for c, p in zip(ends, inside, strict=True))


def _value(row: Row, p: Point) -> Fraction:
    return sum((u * x for u, x in zip(row, p, strict=False)), Fraction(row[-1]))


def _beside_kink(difference: Hinges, row: Row, start: Point, end: Point) -> Iterator[Point]:
    """On the line from start to end: where it crosses the hyperplane, and before and after that.

    Between the kinks next to it the difference is affine on both sides, with different slopes
    unless another hyperplane passes the same point.
    """
    kinks = set()
    for other in difference.coefficients:
        a, b = _value(other, start), _value(other, end)
        if a != b:
            kinks.add(a / (a - b))
    a, b = _value(row, start), _value(row, end)
    s = a / (a - b)
    before = max((k for k in kinks if 0 < k < s), default=Fraction(0))
    after = min((k for k in kinks if s < k < 1), default=Fraction(1))
    for at in (s, (before + s) / 2, (s + after) / 2):
        yield tuple(x + at * (y - x) for x, y in zip(start, end, strict=True))
