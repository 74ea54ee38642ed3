"""Every order in which a linear form can put points of the plane, exactly."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cmp_to_key

from ..._shapes import Array, Float64

Point = tuple[int, int]


def whole(x: Float64[Array, " m"]) -> list[int]:
    """The numbers as whole multiples of a common power of two: exact."""
    exact = [Fraction(v) for v in x.tolist()]
    scale = max(f.denominator for f in exact)
    return [f.numerator * (scale // f.denominator) for f in exact]


def plane_orders(points: list[Point]) -> Iterator[list[int]]:
    """Orders of distinct points by a . x, one for each generic direction a up to sign.

    Between two neighbouring directions in which some pair of points ties, the order stays; one
    direction of each such interval is taken, and all signs are decided in whole numbers.
    """
    ties = _tie_directions(points)
    if not ties:
        yield list(range(len(points)))
        return
    following = [*ties[1:], (-ties[0][0], -ties[0][1])]
    for (a0, a1), (b0, b1) in zip(ties, following, strict=True):
        u0, u1 = a0 + b0, a1 + b1
        if (u0, u1) == (0, 0):  # a single tie: the half-plane on its left
            u0, u1 = -a1, a0
        keys = [u0 * x + u1 * y for x, y in points]
        yield sorted(range(len(points)), key=keys.__getitem__)


def _tie_directions(points: list[Point]) -> list[Point]:
    """Directions a with a . (x_i - x_j) = 0, without repetition, by angle in [0, pi)."""
    from math import gcd

    found: set[Point] = set()
    for i, (x, y) in enumerate(points):
        for p, q in points[:i]:
            a, b = y - q, p - x
            if b < 0 or (b == 0 and a < 0):
                a, b = -a, -b
            g = gcd(a, b)
            found.add((a // g, b // g))
    return sorted(found, key=cmp_to_key(lambda a, b: a[1] * b[0] - a[0] * b[1]))
