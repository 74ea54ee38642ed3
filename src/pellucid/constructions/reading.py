"""A network of one input and one output as a piecewise-linear function, in rational numbers."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import SupportsFloat, SupportsIndex

from .._errors import InvalidInput
from .._kernels.region_arrays import Pieces
from .._shapes import Array
from ..network import Network
from ..regions.chain import Chain, chain_of
from .certificate import as_fraction
from .checks import real, whole


@dataclass(frozen=True, repr=False)
class PiecewiseLinear:
    """A continuous piecewise-linear function on the whole line, in rational numbers.

    It takes `values` at the `knots`, is straight between them, and has the slopes `left_slope` and
    `right_slope` outside. A function without a kink has one knot, 0.
    """

    knots: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    left_slope: Fraction
    right_slope: Fraction

    @property
    def slopes(self) -> tuple[Fraction, ...]:
        """The slope of every piece from left to right, one more than knots."""
        runs = zip(pairwise(self.knots), pairwise(self.values), strict=True)
        inner = tuple((v - u) / (t - s) for (s, t), (u, v) in runs)
        return (self.left_slope, *inner, self.right_slope)

    @property
    def n_pieces(self) -> int:
        """Number of linear pieces on the whole line: one more than changes of slope."""
        return 1 + sum(s != t for s, t in pairwise(self.slopes))

    def pieces_on(self, low: SupportsFloat, high: SupportsFloat) -> int:
        """Number of linear pieces on [low, high]."""
        a, b = _exact(low, "low"), _exact(high, "high")
        if not a < b:
            raise InvalidInput(f"the interval is ({low}, {high}); low must be below high.")
        bends = zip(self.knots, pairwise(self.slopes), strict=True)
        return 1 + sum(a < t < b and s != r for t, (s, r) in bends)

    def __call__(self, x: SupportsFloat) -> Fraction:
        """The value at a float, an integer or a fraction, exactly."""
        x = _exact(x, "x")
        i = bisect_right(self.knots, x)
        if i == 0:
            return self.values[0] + self.left_slope * (x - self.knots[0])
        if i == len(self.knots):
            return self.values[-1] + self.right_slope * (x - self.knots[-1])
        (s, t), (u, v) = self.knots[i - 1 : i + 1], self.values[i - 1 : i + 1]
        return u + (v - u) * (x - s) / (t - s)

    def __repr__(self) -> str:
        n = self.n_pieces
        return f"PiecewiseLinear({n} piece{'s' if n > 1 else ''}, {len(self.knots)} knots)"


def _exact(x: SupportsFloat, name: str) -> Fraction:
    real(x, name)
    return as_fraction(x)


def to_piecewise_linear(network: Network, *, max_knots: SupportsIndex = 100_000) -> PiecewiseLinear:
    """The knots and values of a network of one input and one output: exactly, on the whole line.

    Every kink, value and slope is the rational number that the stored weights give; a knot is
    where the slope changes. Counting its pieces needs no box and no tolerance. The work is in
    Python's fractions: some microseconds for each unit and piece.

    Raises UnsupportedLayer for a smooth activation and InvalidInput for other numbers of inputs or
    outputs, and where a layer makes more than `max_knots` knots.
    """
    most = whole(max_knots, "max_knots", 1)
    if not isinstance(network, Network):
        raise InvalidInput(
            f"got a {type(network).__name__}; it must be a Network (a construction has .network)."
        )
    chain = chain_of(network)
    if (chain.d_in, chain.d_out) != (1, 1):
        raise InvalidInput(
            f"the network has {chain.d_in} inputs and {chain.d_out} outputs; a piecewise-linear "
            "function of one variable needs 1 and 1."
        )
    if len(chain.pieces) == 1:
        return _one_layer(chain)
    line = _Bundle([Fraction(0)], [[Fraction(0)]], [Fraction(1)], [Fraction(1)])
    for W, b, pieces in zip(chain.weights, chain.biases, chain.pieces, strict=True):
        line = line.affine(W, b).activated(pieces)
        if len(line.knots) > most:
            raise InvalidInput(
                f"the network has more than {most:,} knots; choose a larger max_knots, or read a "
                "part of it with linear_regions."
            )
    last = line.affine(chain.output_weight, chain.output_bias)
    return _without_idle_knots(last.knots, last.values[0], last.left[0], last.right[0])


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Several piecewise-linear functions with common knots."""

    knots: list[Fraction]
    values: list[list[Fraction]]  # one row for each function
    left: list[Fraction]  # slopes left of all knots
    right: list[Fraction]

    def affine(self, W: Array, b: Array) -> "_Bundle":
        rows = [[Fraction(w) for w in row] for row in W.tolist()]
        shifts = [Fraction(c) for c in b.tolist()]
        columns = list(zip(*self.values, strict=True))
        values = [
            [_dot(row, column) + c for column in columns]
            for row, c in zip(rows, shifts, strict=True)
        ]
        left, right = ([_dot(row, ends) for row in rows] for ends in (self.left, self.right))
        return _Bundle(self.knots, values, left, right)

    def activated(self, pieces: Pieces) -> "_Bundle":
        kinks = [Fraction(kink) for kink in pieces.kinks]
        knots = sorted({*self.knots, *self._crossings(kinks)})
        values, left, right = [], [], []
        for v, s, r in zip(self.values, self.left, self.right, strict=True):
            z = _resampled(self.knots, v, s, r, knots)
            values.append([_apply(pieces, kinks, u) for u in z])
            left.append(s * _slope(pieces, kinks, z[0], -s))
            right.append(r * _slope(pieces, kinks, z[-1], r))
        return _Bundle(knots, values, left, right)

    def _crossings(self, kinks: list[Fraction]) -> Iterable[Fraction]:
        t = self.knots
        for v, s, r in zip(self.values, self.left, self.right, strict=True):
            for kink in kinks:
                if s and (v[0] - kink) / s > 0:
                    yield t[0] - (v[0] - kink) / s
                if r and (v[-1] - kink) / r < 0:
                    yield t[-1] - (v[-1] - kink) / r
                for i in range(len(t) - 1):
                    a, b = v[i] - kink, v[i + 1] - kink
                    if (a < 0 < b) or (b < 0 < a):
                        yield t[i] + (t[i + 1] - t[i]) * a / (a - b)


def _resampled(
    t: list[Fraction], v: list[Fraction], s: Fraction, r: Fraction, at: list[Fraction]
) -> list[Fraction]:
    found = PiecewiseLinear(tuple(t), tuple(v), s, r)
    known = dict(zip(t, v, strict=True))
    return [known[x] if x in known else found(x) for x in at]


def _apply(pieces: Pieces, kinks: list[Fraction], z: Fraction) -> Fraction:
    i = bisect_left(kinks, z)
    return Fraction(pieces.slopes[i]) * z + Fraction(pieces.intercepts[i])


def _slope(pieces: Pieces, kinks: list[Fraction], z: Fraction, outward: Fraction) -> Fraction:
    """The activation's slope as z goes on outward from here."""
    i = bisect_left(kinks, z) if outward <= 0 else bisect_right(kinks, z)
    return Fraction(pieces.slopes[i])


def _one_layer(chain: Chain) -> PiecewiseLinear:
    """c + sum_j a_j sigma(w_j x + b_j), by the changes of slope at the kinks of the units."""
    pieces = chain.pieces[0]
    kinks, heights = list(map(Fraction, pieces.kinks)), list(map(Fraction, pieces.slopes))
    bends: dict[Fraction, Fraction] = {}
    left = Fraction(0)
    origin = Fraction(chain.output_bias.tolist()[0])  # the value at 0
    columns = chain.weights[0][:, 0], chain.biases[0], chain.output_weight[0]
    for w, b, a in zip(*(map(Fraction, column.tolist()) for column in columns), strict=True):
        origin += a * _apply(pieces, kinks, b)
        left += a * w * heights[0 if w > 0 else -1]
        for kink, below, above in zip(kinks, heights[:-1], heights[1:], strict=True):
            if w:
                at = (kink - b) / w
                bends[at] = bends.get(at, Fraction(0)) + a * abs(w) * (above - below)
    knots = sorted(t for t, change in bends.items() if change)
    return _through_origin(knots, [bends[t] for t in knots], left, origin)


def _through_origin(
    knots: list[Fraction], bends: list[Fraction], left: Fraction, origin: Fraction
) -> PiecewiseLinear:
    if not knots:
        return PiecewiseLinear((Fraction(0),), (origin,), left, left)
    values, slope = [Fraction(0)], left
    for (s, t), bend in zip(pairwise(knots), bends, strict=False):
        slope += bend
        values.append(values[-1] + slope * (t - s))
    right = left + sum(bends)
    shifted = PiecewiseLinear(tuple(knots), tuple(values), left, right)
    shift = origin - shifted(Fraction(0))
    return PiecewiseLinear(tuple(knots), tuple(v + shift for v in values), left, right)


def _without_idle_knots(
    knots: Sequence[Fraction], values: Sequence[Fraction], left: Fraction, right: Fraction
) -> PiecewiseLinear:
    whole = PiecewiseLinear(tuple(knots), tuple(values), left, right)
    keep = [i for i, (s, r) in enumerate(pairwise(whole.slopes)) if s != r]
    if not keep:
        return PiecewiseLinear((Fraction(0),), (whole(Fraction(0)),), left, left)
    kept = tuple(knots[i] for i in keep), tuple(values[i] for i in keep)
    return PiecewiseLinear(*kept, left, right)


def _dot(row: list[Fraction], column: Sequence[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(row, column, strict=True) if w and v), Fraction(0))
