"""Networks that give n points their n labels."""

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate
from typing import Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from ..regions.exact import Dyadic
from .certificate import Certificate, Construction, exact, rounded_up
from .checks import choice, numbers, whole
from .piecewise import Hinges, hinges_through

DIRECTIONS = 64  # random directions from which the best one is taken


def memorise(
    X: ArrayLike | tuple,
    y: ArrayLike | tuple,
    *,
    method: Literal["line", "groups"] = "line",
    seed: SupportsIndex = 0,
) -> Construction:
    """A network with f(x_i) = y_i for n different points, X (n, d), and any real labels, y (n,).

    Depth 2, one hidden layer. "line": n - 1 units and the output bias. The points are put on a line
    by a direction in which they are well apart (the best of several random ones) and interpolated
    there. "groups": 4 ceil(n / d) units, for points in general position: a hyperplane through each
    d of them, and on it an affine function between two steps (Bubeck et al. 2020).

    The certificate gives the largest |f(x_i) - y_i| of the stored weights, in rational arithmetic:
    points that lie close together have steep slopes between them, and then rounding shows.
    Points that come twice count once.

    Raises InvalidInput where one point has two labels, and for groups without general position.
    """
    X, y = numbers(X, "X", 2), numbers(y, "y", 1)
    rng = np.random.default_rng(whole(seed, "seed", 0))
    if len(X) != len(y):
        raise InvalidInput(f"X has {len(X)} rows and y has {len(y)}; they must agree.")
    choice(method, "method", ("line", "groups"))
    X, y = _different(X, y)
    if len(X) == 1:
        network = Network([np.zeros((1, X.shape[1]))], [y])
        return Construction(network, exact("one point: a constant"))
    if method == "groups":
        return _by_groups(X, y, rng)
    w = _direction(X, rng)
    order = np.argsort(X @ w, kind="stable")
    X, y, t = X[order], y[order], (X @ w)[order]
    if (np.diff(t) <= 0).any():
        raise InvalidInput("two of the points are too close together to be told apart in float64.")
    hinges = hinges_through(t, y)
    W, a = np.repeat(w[None], len(hinges.t), axis=0), hinges.a[None]
    network = Network([W, a], [-hinges.t, [hinges.c]], ["relu"])
    how = f"interpolation of {len(X)} points on a line"
    return Construction(network, _certificate(_gap_on_line(hinges, w, X, y), how))


def _different(X: Array, y: Array) -> tuple[Array, Array]:
    _, first, which = np.unique(X + 0.0, axis=0, return_index=True, return_inverse=True)
    first_of = first[which.ravel()]
    wrong = np.flatnonzero(y != y[first_of])
    if len(wrong):
        i, j = int(first_of[wrong[0]]), int(wrong[0])
        raise InvalidInput(
            f"rows {min(i, j)} and {max(i, j)} of X are the same point with the labels {y[i]:g} "
            f"and {y[j]:g}; no function has both."
        )
    keep = np.sort(first)
    return X[keep], y[keep]


def _direction(X: Array, rng: np.random.Generator) -> Float64[Array, " d"]:
    """The direction with the largest least gap, as a share of the range."""
    d = X.shape[1]
    if d == 1:
        return np.ones(1)
    scale = np.abs(X - X.mean(axis=0)).max(axis=0)
    each = 1 / np.where(scale > 0, scale, 1)
    tried = [row * each for row in (*np.eye(d), *rng.normal(size=(DIRECTIONS, d)))]

    def least_gap(w: Array) -> float:
        t = np.sort(X @ w)
        return float(np.diff(t).min()) / float(max(np.abs(t).max(), 1e-300))

    return max(tried, key=least_gap)


def _certificate(gap: Fraction, how: str) -> Certificate:
    if gap == 0:
        return exact(f"{how}; in rational arithmetic the stored weights give every label")
    bound = rounded_up(gap)
    how += (
        "; the largest error of the stored, rounded weights at the points, in rational arithmetic"
    )
    return Certificate(bound, "proved", how, bound)


def _gap_on_line(hinges: Hinges, w: Array, X: Array, y: Array) -> Fraction:
    """The largest |f(x_i) - y_i|, exactly; f = c + sum of a_j (w x - t_j) over t_j < w x."""
    at = Dyadic.of(X) @ Dyadic.of(w[:, None])
    T, A, Y = Dyadic.of(hinges.t), Dyadic.of(hinges.a), Dyadic.of(np.append(y, hinges.c))
    fine = max(at.shift, T.shift)
    points = [int(p) << (fine - at.shift) for p in at.numbers[:, 0]]
    knots = [int(t) << (fine - T.shift) for t in T.numbers]
    heights = list(map(int, A.numbers))
    slopes = list(accumulate(heights, initial=0))
    starts = list(accumulate((a * t for a, t in zip(heights, knots, strict=True)), initial=0))
    unit, label = Fraction(2) ** -(fine + A.shift), Fraction(2) ** -Y.shift
    c, most = int(Y.numbers[-1]), Fraction(0)
    for p, wanted in zip(points, Y.numbers[:-1], strict=True):
        j = bisect_left(knots, p)
        most = max(most, abs((slopes[j] * p - starts[j]) * unit + (c - int(wanted)) * label))
    return most


# --- groups of d points --------------------------------------------------------------------------


def _by_groups(X: Array, y: Array, rng: np.random.Generator) -> Construction:
    n, d = X.shape
    best, widest = None, 0.0
    for _ in range(DIRECTIONS):
        order = np.argsort(X @ rng.normal(size=d), kind="stable")
        groups = [order[i : i + d] for i in range(0, n, d)]
        planes = [_plane(X[group], rng) for group in groups]
        room = min(
            (_room(X, group, *plane) for group, plane in zip(groups, planes, strict=True)),
            default=1.0,
        )
        if room > widest:
            best, widest = (groups, planes), room
    if best is None or widest < 1e-9:
        raise InvalidInput(
            f"more than {d} of the points lie on one hyperplane, or nearly; the groups need "
            'general position: use method="line".'
        )
    parts = [_strip(X, y, g, *plane) for g, plane in zip(*best, strict=True)]
    W, b, a = (np.concatenate(part) for part in zip(*parts, strict=True))
    network = Network([W, a[None]], [b, [0]], ["relu"])
    how = f"{len(parts)} hyperplanes through up to {d} points each"
    return Construction(network, _certificate(_gap(network, X, y), how))


def _plane(P: Array, rng: np.random.Generator) -> tuple[Array, float]:
    """A unit normal u and offset b of a hyperplane through up to d points."""
    center = P.mean(axis=0)
    rank = len(P) - 1
    free = np.linalg.svd(P - center)[2][rank:]  # directions in which the points do not extend
    u = rng.normal(size=len(free)) @ free
    u /= np.linalg.norm(u)
    return u, float(u @ center)


def _room(X: Array, group: Array, u: Array, b: float) -> float:
    """Distance of the nearest other point to the hyperplane."""
    others = np.delete(np.abs(X @ u - b), group)
    return float(others.min(initial=np.inf))


def _strip(X: Array, y: Array, group: Array, u: Array, b: float) -> tuple[Array, Array, Array]:
    """Four units: l(x) where |u x - b| is small, 0 at all other points; l(x_i) = y_i in the group.

    (relu(s + g + e l) - relu(s + g) - relu(s - g + e l) + relu(s - g)) / e with s = u x - b.
    """
    P = np.column_stack([X[group], np.ones(len(group))])
    *v, c = np.linalg.lstsq(P, y[group])[0]
    gap = min(_room(X, group, u, b), 1.0) / 2
    size = float(np.abs(X @ v + c).max())
    e = 2.0 ** np.floor(np.log2(gap / (2 * size))) if size else 1.0
    v, c = e * np.array(v), e * c
    W = np.stack([u + v, u, u + v, u])
    offsets = np.array([gap - b + c, gap - b, -gap - b + c, -gap - b])
    return W, offsets, np.array([1.0, -1.0, -1.0, 1.0]) / e


def _gap(network: Network, X: Array, y: Array) -> Fraction:
    """The largest |f(x_i) - y_i| of one hidden layer, in whole numbers."""
    (W, a), (b, c) = network.weights, network.biases
    z = Dyadic.of(X) @ Dyadic.of(W.T) + Dyadic.of(np.repeat(b[None], len(X), axis=0))
    h = Dyadic(np.maximum(z.numbers, 0), z.shift)
    off = h @ Dyadic.of(a.T) + Dyadic.of(np.full((len(X), 1), c[0]))
    off = off + Dyadic.of(-y[:, None])
    return Fraction(max(abs(int(number)) for number in off.numbers[:, 0])) / 2**off.shift
