"""What a network of few pieces cannot do: how far it stays from the sawtooth, and how wide it must
be to come nearer.
"""

from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

from .._errors import InvalidInput
from ..regions.bounds import most_on_a_line
from .certificate import rounded_down
from .checks import real, whole


def sawtooth_distance_bound(k: SupportsIndex, pieces: SupportsIndex) -> float:
    """The least L1 distance on [0, 1] from the sawtooth tau^k to a function of so many pieces.

    A lower bound, (2^(k - 1) - p + 1)_+ / 2^(k + 1), for any p affine pieces, continuous or not:
    the p - 1 breaks spoil at most one each of the 2^(k - 1) teeth, and an affine function is at
    least a quarter of its base away from a whole tooth. For p <= 2^(k - 2) it is at least
    1/8 + 2^(-k - 1), twice the 1/16 that is often given.
    """
    k, p = whole(k, "k", 1), whole(pieces, "pieces", 1)
    return rounded_down(Fraction(max(0, 2 ** (k - 1) - p + 1), 2 ** (k + 1)))


def width_needed(k: SupportsIndex, L: SupportsIndex, distance: SupportsFloat | None = None) -> int:
    """The least width m of L hidden layers for which the sawtooth tau^k is not out of reach.

    A network of L hidden layers of m units has at most (m + 1)^L pieces on a line. Without
    `distance`, m is the least with (m + 1)^L > 2^(k - 2): below it, the L1 distance on [0, 1] is
    more than 1/16. With a `distance`, m is the least whose pieces `sawtooth_distance_bound` does
    not keep farther away; for 0 it needs all 2^k pieces. Necessary, not sufficient.
    """
    k, L = whole(k, "k", 1), whole(L, "L", 1)
    if distance is None:
        return _least_width(Fraction(2) ** (k - 2), L, strictly=True)
    gap = real(distance, "distance")
    if gap < 0:
        raise InvalidInput(f"distance is {gap:g}; it must be 0 or more.")
    if gap == 0:
        return _least_width(Fraction(2**k), L)
    return _least_width(2 ** (k - 1) + 1 - Fraction(gap) * 2 ** (k + 1), L)


def _least_width(pieces: Fraction, L: int, strictly: bool = False) -> int:
    """The least m >= 1 with (m + 1)^L at least (or more than) so many pieces."""

    def enough(m: int) -> bool:
        most = most_on_a_line([m] * L)
        return most > pieces if strictly else most >= pieces

    m = 1
    while not enough(m):
        m *= 2
    low = m // 2  # not enough, or 0
    while m - low > 1:
        middle = (low + m) // 2
        low, m = (low, middle) if enough(middle) else (middle, m)
    return m
