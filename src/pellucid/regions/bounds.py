"""How many regions there can be: counts of arrangements, published bounds, expected counts.

`BOUNDS` is the table of bounds on the most activation regions that a ReLU network of given widths
has, over all weights. A lower bound says that some weights reach it, not that a given network does.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array
from ..network import Network
from .chain import chain_of

__all__ = [
    "BOUNDS",
    "Bound",
    "arrangement",
    "bounded_arrangement",
    "central_arrangement",
    "dichotomies",
    "expected_breaks",
    "growth_per_layer",
    "lines_in_box",
    "most_on_a_line",
    "sampled_breaks",
    "upper_bound",
]

# --- arrangements of hyperplanes -----------------------------------------------------------------


def arrangement(m: int, d: int) -> int:
    """Regions of m hyperplanes in general position in d dimensions: sum of C(m, i) for i <= d.

    Zaslavsky (1975). No m hyperplanes make more.
    """
    _whole(m=m, d=d)
    return sum(math.comb(m, i) for i in range(d + 1))


def bounded_arrangement(m: int, d: int) -> int:
    """Those of them that are bounded: C(m - 1, d). Zaslavsky (1975)."""
    _whole(m=m, d=d)
    return math.comb(m - 1, d) if m else int(d == 0)


def central_arrangement(m: int, d: int) -> int:
    """Regions of m hyperplanes through one point, else in general position.

    2 sum of C(m - 1, i) for i < d; a ReLU layer without biases. Zaslavsky (1975).
    """
    _whole(m=m, d=d)
    return 2 * sum(math.comb(m - 1, i) for i in range(d)) if m and d else 1


def dichotomies(n: int, d: int) -> int:
    """Ways to give n points in general position in d dimensions two labels by a hyperplane.

    2 sum of C(n - 1, i) for i <= d. Each point is a hyperplane w x + b = 0 through the origin of
    the space of (w, b), and the regions of that arrangement are the labellings. Cover (1965).
    """
    return central_arrangement(n, d + 1)


def lines_in_box(
    W: ArrayLike | tuple, b: ArrayLike | tuple, low: ArrayLike | tuple, high: ArrayLike | tuple
) -> int:
    """Regions that the lines W x + b = 0 make of a rectangle: exactly, in rational numbers.

    1 + (lines that cross it) + (for each crossing inside, the lines through it less one). W is
    (m, 2); a row of zeros is no line, and equal lines are one.
    """
    sides = [Fraction(float(v)) for v in (*np.ravel(low), *np.ravel(high))]
    rows = np.asarray(W, np.float64), np.asarray(b, np.float64)
    if rows[0].ndim != 2 or rows[0].shape[1] != 2 or rows[1].shape != rows[0].shape[:1]:
        raise InvalidInput(
            f"W has shape {rows[0].shape} and b has shape {rows[1].shape}; lines need (m, 2), (m,)."
        )
    lines = {
        _normal_form(row[0], row[1], c)
        for row, c in zip(rows[0].tolist(), rows[1].tolist(), strict=True)
    }
    lines = [line for line in lines if line is not None and _crosses(line, sides)]
    through: dict[tuple, set] = {}
    for p, q in combinations(lines, 2):
        point = _meeting(p, q)
        if point and sides[0] < point[0] < sides[2] and sides[1] < point[1] < sides[3]:
            through.setdefault(point, set()).update((p, q))
    return 1 + len(lines) + sum(len(of) - 1 for of in through.values())


def _normal_form(x: float, y: float, c: float) -> tuple[Fraction, ...] | None:
    row = [Fraction(v) for v in (x, y, c)]
    first = row[0] or row[1]
    return tuple(v / first for v in row) if first else None


def _crosses(line: tuple, sides: list[Fraction]) -> bool:
    """Whether the line meets the inside of the rectangle: corners on both sides of it."""
    values = [line[0] * x + line[1] * y + line[2] for x in sides[::2] for y in sides[1::2]]
    return min(values) < 0 < max(values)


def _meeting(p: tuple, q: tuple) -> tuple[Fraction, Fraction] | None:
    det = p[0] * q[1] - p[1] * q[0]
    if det == 0:
        return None
    return (p[1] * q[2] - q[1] * p[2]) / det, (p[2] * q[0] - q[2] * p[0]) / det


# --- bounds for networks -------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """One bound: `value(n_0, hidden)` is None where its conditions are not met."""

    name: str
    kind: str  # "upper" or "lower", on the most regions that such a network can have
    value: Callable[[int, Sequence[int]], int | None]
    formula: str
    source: str


def _every_pattern(n_0: int, hidden: Sequence[int]) -> int:
    return 2 ** sum(hidden)


def _montufar_2017(n_0: int, hidden: Sequence[int]) -> int:
    least, product = n_0, 1
    for n in hidden:
        least = min(least, n)
        product *= arrangement(n, least)
    return product


def _serra_2018(n_0: int, hidden: Sequence[int]) -> int:
    @cache
    def R(layer: int, d: int) -> int:
        if layer == len(hidden):
            return 1
        n = hidden[layer]
        return sum(math.comb(n, j) * R(layer + 1, min(d, n - j)) for j in range(min(d, n) + 1))

    return R(0, n_0)


def _montufar_2014(n_0: int, hidden: Sequence[int]) -> int | None:
    if not hidden or min(hidden) < n_0:
        return None
    folds = math.prod((n // n_0) ** n_0 for n in hidden[:-1])
    return folds * arrangement(hidden[-1], n_0)


def _serra_2018_lower(n_0: int, hidden: Sequence[int]) -> int | None:
    if not hidden or min(hidden) < 3 * n_0:
        return None
    folds = math.prod((n // n_0 + 1) ** n_0 for n in hidden[:-1])
    return folds * arrangement(hidden[-1], n_0)


#: S(m, d) is `arrangement(m, d)`, and n_l the width of hidden layer l = 1, ..., L
BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Bound("patterns", "upper", _every_pattern, "2^(n_1 + ... + n_L)", "every pattern once"),
        Bound(
            "montufar_2017",
            "upper",
            _montufar_2017,
            "prod_l S(n_l, min(n_0, ..., n_l))",
            "Montufar 2017 (also Raghu et al. 2017, as an order of growth)",
        ),
        Bound(
            "serra_2018",
            "upper",
            _serra_2018,
            "R(l, d) = sum_(j <= min(d, n_l)) C(n_l, j) R(l + 1, min(d, n_l - j)) from d = n_0",
            "Serra, Tjandraatmadja and Ramalingam 2018",
        ),
        Bound(
            "montufar_2014",
            "lower",
            _montufar_2014,
            "prod_(l < L) floor(n_l / n_0)^n_0 S(n_L, n_0), for n_l >= n_0",
            "Montufar, Pascanu, Cho and Bengio 2014",
        ),
        Bound(
            "serra_2018_lower",
            "lower",
            _serra_2018_lower,
            "prod_(l < L) (floor(n_l / n_0) + 1)^n_0 S(n_L, n_0), for n_l >= 3 n_0",
            "Serra, Tjandraatmadja and Ramalingam 2018",
        ),
    )
}


def most_on_a_line(hidden: Sequence[int]) -> int:
    """At most this many pieces on a line: the product of n_l + 1, (m + 1)^L for equal widths.

    Each unit has at most one zero on every piece of the layers before. Reached if all n_l are 3 or
    more (Serra et al. 2018), by `constructions.zigzag`; for widths (2, 2) the most is 7, not 9, for
    (2, 2, 2) it is 19, not 27, and L layers of one unit have at most L + 1 activation intervals.
    """
    _whole(**{f"hidden[{i}]": n for i, n in enumerate(hidden)})
    return math.prod(int(n) + 1 for n in hidden)


def growth_per_layer(n: int, n_0: int) -> int:
    """By what factor another layer of n units multiplies the bound of Serra et al. (2018) at most.

    The largest S(n, min(d, n - d)) for d <= min(n_0, n) (Hinz and van de Geer 2019).
    """
    _whole(n=n, n_0=n_0)
    return max(arrangement(n, min(d, n - d)) for d in range(min(n_0, n) + 1))


def upper_bound(network: Network, dimension: int | None = None) -> int:
    """The least of the upper bounds that hold for this network's widths and activations.

    `dimension` is that of the domain: 2 on a plane. Without it, the number of inputs. A layer whose
    units have two kinks (hardtanh) makes at most sum of C(n, i) 2^i regions, i up to the dimension.
    """
    chain = chain_of(network)
    d = chain.d_in if dimension is None else dimension
    _whole(dimension=d)
    least, product = min(d, chain.d_in), 1
    for b, pieces in zip(chain.biases, chain.pieces, strict=True):
        n, kinks = len(b), len(pieces.kinks)
        least = min(least, n)
        product *= sum(math.comb(n, i) * kinks**i for i in range(least + 1))
    if all(p.kinks == (0.0,) and p.slopes == (0.0, 1.0) for p in chain.pieces):
        hidden = [len(b) for b in chain.biases]
        return min(product, _serra_2018(min(d, chain.d_in), hidden))
    return product


# --- expected counts at initialization -----------------------------------------------------------


def expected_breaks(low: float, high: float, weight_sd: float, bias_sd: float) -> float:
    """Probability that one unit w x + b, w and b normal about 0, has its kink in [low, high].

    The density of the kink at x is s_w s_b / (pi (s_b^2 + s_w^2 x^2)); times the units, this is
    the expected number of kinks that a first layer has there.
    """
    if not (low < high and weight_sd > 0 and bias_sd > 0):
        raise InvalidInput(
            f"got low {low}, high {high}, weight_sd {weight_sd}, bias_sd {bias_sd}; it needs "
            "low < high and positive standard deviations."
        )
    ratio = weight_sd / bias_sd
    return (math.atan(ratio * high) - math.atan(ratio * low)) / math.pi


def sampled_breaks(
    hidden: Sequence[int],
    low: float,
    high: float,
    *,
    bias_sd: float,
    draws: int = 2000,
    seed: int = 0,
) -> Array:
    """Expected number of kinks in each hidden layer of a 1-D ReLU network, estimated by sampling.

    The Kac-Rice formula of Hanin and Rolnick (2019): for each unit the integral over [low, high] of
    E |dz/dx| rho_b(-(z - b)), with rho_b the density of its bias. The expectation is sampled over
    `draws` networks with weights normal with variance 2 / fan_in and biases normal with `bias_sd`,
    each at a point drawn uniformly; an estimate, with an error of order 1 / sqrt(draws).
    """
    rng = np.random.default_rng(seed)
    h, slope = rng.uniform(low, high, (draws, 1)), np.ones((draws, 1))
    found = []
    for n in hidden:
        W = rng.normal(0, math.sqrt(2 / h.shape[1]), (draws, n, h.shape[1]))
        a = np.einsum("knj,kj->kn", W, h)  # z - b
        dz = np.einsum("knj,kj->kn", W, slope)
        density = np.exp(-((a / bias_sd) ** 2) / 2) / (bias_sd * math.sqrt(2 * math.pi))
        found.append((high - low) * (np.abs(dz) * density).sum(axis=1).mean())
        z = a + rng.normal(0, bias_sd, a.shape)
        h, slope = np.maximum(z, 0), dz * (z > 0)
    return np.array(found)


def _whole(**numbers: int) -> None:
    for name, value in numbers.items():
        if value != int(value) or value < 0:
            raise InvalidInput(f"{name} is {value!r}; it must be a whole number, 0 or more.")
