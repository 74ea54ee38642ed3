"""Groups of d + 2 rows of which no function of one linear form can be right, in any dimension.

Radon (1921): d + 2 points fall into two parts whose convex hulls meet. Along any linear form
neither part then lies wholly above the other, so a function that follows the form, up or down, has
max f(A) >= min f(B) and max f(B) >= min f(A).
"""

from fractions import Fraction

import numpy as np

from ..._shapes import Array, Bool, Float64

DRAWS = 200_000
MOST_COLUMNS = 8
ROUNDS = 4


def radon_groups(
    columns: Float64[Array, "n k"], u: Float64[Array, " n"], labels: bool, work: float
) -> list[list[int]]:
    """Disjoint groups of rows that cost something, found by drawing many and keeping the worst."""
    n, k = columns.shape
    size = k + 2
    draws = int(min(DRAWS, work / (200.0 * size**3)))
    if n < size or draws < 100 or k > MOST_COLUMNS:
        return []
    rng = np.random.default_rng(0)
    Z = np.column_stack([columns - columns.mean(axis=0), np.ones(n)])
    Z = Z / np.abs(Z).max(axis=0)
    left, groups = np.arange(n), []
    for _ in range(ROUNDS):
        if len(left) < size:
            break
        drawn = left[_draw(rng, len(left), size, draws)]
        cost = _costs(Z[drawn], u[drawn], labels)
        used = np.zeros(n, dtype=bool)
        for i in np.argsort(-cost, kind="stable"):
            if not cost[i] > 1e-6:
                break
            if not used[drawn[i]].any():
                used[drawn[i]] = True
                groups.append(sorted(int(r) for r in drawn[i]))
        left = left[~used[left]]
    return [g for g in groups if exact_cost(columns[g], u[g], labels) > 0]


def _draw(rng: np.random.Generator, n: int, size: int, draws: int) -> Array:
    """That many draws of `size` distinct numbers below n (those with repetition are left out)."""
    drawn = np.sort(rng.integers(0, n, (draws, size)), axis=1)
    return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]


def _costs(Z: Float64[Array, "m s k"], u: Float64[Array, "m s"], labels: bool) -> Array:
    """The cost of each group by the signs of the null vector of its points, in float64."""
    a = np.linalg.svd(np.swapaxes(Z, 1, 2))[2][:, -1, :]
    clear = np.abs(a).min(axis=1) > 1e-6
    return np.where(clear, split_cost(u, a > 0, labels), 0.0)


def split_cost(u: Float64[Array, "m s"], part: Bool[Array, "m s"], labels: bool) -> Array:
    """What one part wholly above the other costs at least, for numbers in squares."""
    inf = np.inf
    low = [np.where(p, u, inf).min(axis=1) for p in (part, ~part)]
    high = [np.where(p, u, -inf).max(axis=1) for p in (part, ~part)]
    gap = np.maximum(low[0] - high[1], low[1] - high[0])
    if labels:
        return np.where(gap > 0, 2 * np.log(2), 0.0)
    return np.maximum(gap, 0.0) ** 2 / 2


def exact_cost(points: Array, u: Array, labels: bool) -> float:
    """The same with the signs decided in fractions."""
    a = null_vector(points)
    if a is None:
        return 0.0
    part = np.array([[q > 0 for q in a]])
    return float(split_cost(np.asarray(u, dtype=np.float64)[None, :], part, labels)[0])


def null_vector(points: Array) -> list[Fraction] | None:
    """Coefficients, none of them 0, with sum a_i x_i = 0 and sum a_i = 0; None where unclear."""
    rows = [[Fraction(v) for v in x] for x in points.T.tolist()]
    rows.append([Fraction(1)] * len(points))
    m = len(points)
    for c in range(m - 1):
        pivot = next((r for r in range(c, len(rows)) if rows[r][c]), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for r in range(len(rows)):
            if r != c and rows[r][c]:
                f = rows[r][c]
                rows[r] = [v - f * w for v, w in zip(rows[r], rows[c], strict=True)]
    a = [-rows[c][m - 1] for c in range(m - 1)] + [Fraction(1)]
    return a if all(a) else None
