"""Shells around balls, and folded space."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, islice
from typing import SupportsFloat, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from ..regions.bounds import arrangement
from .certificate import Certificate, Construction, exact
from .checks import affordable, positive, whole

VERTICES = 2_000_000  # crossings of the last hyperplanes that are looked at
CHECKED = 1_000  # determinants of fractions: some milliseconds
ASSUMED = (
    ", assuming that the random hyperplanes of the last layer are in general position, which has "
    "probability 1"
)


def simplex_shell(
    d: SupportsIndex,
    *,
    inner: SupportsFloat = 1.0,
    outer: SupportsFloat | None = None,
) -> Construction:
    """Negative on the ball of radius `inner`, positive from radius `outer` on, in d dimensions.

    Depth 2: one hidden layer of d + 1 units, the least that can do it:
    sum_i relu(u_i x) - c, with u_i the corners of a regular simplex. On the unit sphere the sum is
    between sqrt((d + 1) / 2 d) and sqrt(k (d + 1 - k) / d), k = floor((d + 1) / 2), so the outer
    radius must be more than sqrt(2 k (d + 1 - k) / (d + 1)) inner ones: 2 / sqrt3 in the plane,
    sqrt2 in space. `outer` is a quarter more than that where it is not given.

    Raises InvalidInput for an outer radius that is too small, and says what is needed.
    """
    d, r = whole(d, "d", 1, 4096), positive(inner, "inner")
    k = (d + 1) // 2
    least, most = math.sqrt((d + 1) / (2 * d)), math.sqrt(k * (d + 1 - k) / d)
    R = 1.25 * r * most / least if outer is None else positive(outer, "outer")
    room = (R * least - r * most) / 2
    if not room > 1e-12 * d * R:
        raise InvalidInput(
            f"an outer radius of {R:g} is too small: {d + 1} units separate the ball of radius "
            f"{r:g} from radii above {r * most / least:.6g}."
        )
    W, b = [_simplex(d), np.ones((1, d + 1))], [np.zeros(d + 1), [-r * most - room]]
    how = (
        f"the sum is at most {most:.6g} |x| and at least {least:.6g} |x|, which leaves "
        f"{room:.3g} on both sides, far more than rounding takes"
    )
    return Construction(Network(W, b, ["relu"]), Certificate(0.0, "proved", how, 0.0))


def _simplex(d: int) -> Float64[Array, "corners d"]:
    """The corners of a regular simplex, of length 1 and with sum 0."""
    centered = np.eye(d + 1) - 1 / (d + 1)
    basis = np.linalg.qr(centered[:, :d])[0]  # of the vectors with sum 0
    corners = centered @ basis
    return corners / np.linalg.norm(corners, axis=1, keepdims=True)


def folding(
    n_0: SupportsIndex, widths: Sequence[SupportsIndex], *, seed: SupportsIndex = 0
) -> Construction:
    """A network that folds [0, 1]^n_0 onto itself and cuts it last: Montufar et al. (2014).

    Hidden layers of the given widths, at least n_0 each. All but the last fold every axis into
    p = floor(n / n_0) pieces, by p units for each axis; of the rest, the weights are 0. The last
    layer has its hyperplanes in general position, with all their crossings inside the cube. On the
    cube that makes exactly prod_(l < L) floor(n_l / n_0)^n_0 S(n_L, n_0) activation regions, the
    lower bound `regions.bounds.BOUNDS["montufar_2014"]`. Folds have whole numbers as weights.

    The last hyperplanes are random, in general position with probability 1. Where there are not too
    many, that and the place of their crossings are checked in rational arithmetic, and the
    certificate is "exact"; otherwise it is "proved" and names what it assumes.
    """
    d = whole(n_0, "n_0", 1)
    if not isinstance(widths, Sequence | np.ndarray) or not len(widths):
        raise InvalidInput(f"widths are {widths!r:.60}; folding needs a list of one or more.")
    sizes = [whole(n, f"widths[{i}]", d) for i, n in enumerate(widths)]
    affordable([d, *sizes, 1], "folding")
    coordinates = np.eye(d)  # of the folded space, as sums of the units so far
    weights, biases, count = [], [], 1
    for n in sizes[:-1]:
        W, b, fold = _fold(n, n // d, d)
        weights.append(W @ coordinates)
        biases.append(b)
        coordinates = fold
        count *= (n // d) ** d
    V, c = _hyperplanes(sizes[-1], d, np.random.default_rng(whole(seed, "seed", 0)))
    weights += [V @ coordinates, np.ones((1, len(V)))]
    biases += [-c, np.zeros(1)]
    how = f"{count * arrangement(sizes[-1], d):,} activation regions in the unit cube"
    known = _in_general_position(V, c)
    certificate = exact(f"{how}; {known}") if known else Certificate(0.0, "proved", how + ASSUMED)
    return Construction(Network(weights, biases, ["relu"] * len(sizes)), certificate)


def _fold(n: int, p: int, d: int) -> tuple[Array, Array, Array]:
    """n units that fold d axes into p pieces each, and the folded axes as sums of these units."""
    W, b, fold = np.zeros((n, d)), np.zeros(n), np.zeros((d, n))
    signs = np.where(np.arange(p) % 2, -2.0, 2.0)
    signs[0] = 1.0  # h -> p h - 2 relu(p h - 1) + 2 relu(p h - 2) - ...
    for axis in range(d):
        units = slice(axis * p, (axis + 1) * p)
        W[units, axis], b[units], fold[axis, units] = p, -np.arange(p), signs
    return W, b, fold


def _hyperplanes(n: int, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """V and c of n hyperplanes V x = c in general position, all of whose crossings are inside."""
    if d == 1:
        signs = np.where(np.arange(n) % 2, -1.0, 1.0)  # so that f bends at folds too
        return signs[:, None], signs * (np.arange(n) + 0.5) / n
    V, shift = rng.normal(size=(n, d)), rng.normal(size=n)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    return V, V @ np.full(d, 0.5) + shift * 0.375 / _farthest_crossing(V, shift)


def _in_general_position(V: Array, c: Array) -> str | None:
    """How it is known that V x = c are so, with all crossings inside the cube; None if it is not.

    Any d of them meet in one point inside, and no d + 1 have a point in common.
    """
    n, d = V.shape
    if d == 1:
        return "the cuts of the last layer are different points between 0 and 1"
    if math.comb(n, d) * (d + 1) + math.comb(n, d + 1) > CHECKED:
        return None
    rows = [[Fraction(v) for v in (*row, last)] for row, last in zip(V, c, strict=True)]
    for chosen in combinations(rows, d):
        below = determinant([row[:d] for row in chosen])
        tops = [determinant([_replaced(row, j) for row in chosen]) for j in range(d)]
        if below == 0 or not all(0 < top / below < 1 for top in tops):  # Cramer's rule
            return None
    if any(determinant(list(chosen)) == 0 for chosen in combinations(rows, d + 1)):
        return None
    return "general position of the last layer is checked in rational arithmetic"


def _replaced(row: list[Fraction], j: int) -> list[Fraction]:
    """The coefficients with the right-hand side in the place of number j."""
    return [*row[:j], row[-1], *row[j + 1 : -1]]


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By elimination, exactly."""
    rows, product = [list(row) for row in rows], Fraction(1)
    for i in range(len(rows)):
        pivot = next((k for k in range(i, len(rows)) if rows[k][i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            rows[i], rows[pivot], product = rows[pivot], rows[i], -product
        product *= rows[i][i]
        for below in rows[i + 1 :]:
            factor = below[i] / rows[i][i]
            below[i:] = [b - factor * a for a, b in zip(rows[i][i:], below[i:], strict=True)]
    return product


def _farthest_crossing(V: Array, c: Array) -> float:
    """The largest coordinate of a point in which d of the hyperplanes meet."""
    n, d = V.shape
    if math.comb(n, d) > VERTICES:
        raise InvalidInput(
            f"{n} hyperplanes in {d} dimensions meet in {math.comb(n, d):,} points; at most "
            f"{VERTICES:,} are looked at: choose a smaller last layer."
        )
    farthest, subsets = 0.0, combinations(range(n), d)
    while chunk := list(islice(subsets, 50_000)):
        index = np.array(chunk)
        points = np.linalg.solve(V[index], c[index][..., None])
        farthest = max(farthest, float(np.abs(points).max()))
    return farthest
