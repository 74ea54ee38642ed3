"""Networks that are affine whatever their parameters."""

from fractions import Fraction
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from ..wording import at_least
from .architecture import Architecture
from .found import Found
from .rows import Rows, link_of

DEPENDENT = 1e-6
"""A column whose part outside the others is this share of it, or less, counts as dependent."""
LARGEST_DENOMINATOR = 100
MOST_FRACTIONS = 1_000_000
PENALTIES = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)
MOST_WEIGHTS = 1500
USELESS = 0.1
"""A bound below this share of the constant's loss exceeds no tolerance: it is not looked for."""
"""Of the logistic regressions that are tried: where rows are nearly separable, a small penalty
keeps the weights at a clear optimum."""


def is_affine(rows: Rows, architecture: Architecture) -> bool:
    """No hidden layer, or the identity in all of them, and raw outputs."""
    linear = all(name == "identity" for name, _ in architecture.activations)
    return linear and link_of(rows, architecture) == "identity"


def find_affine(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """The least-squares residual, or the entropy of a dual point of logistic regression."""
    if not is_affine(rows, architecture):
        return None
    n, d = rows.X.shape
    k = 1 if rows.is_regression else len(np.unique(rows.y))
    if n <= d + 1 or n * ((d + 1.0) * k) ** 2 + 1000.0 * n * (d + 1.0) * k > 3 * work:
        return None
    span = independent_columns(rows.X)
    if span is None:
        return None
    A, evidence = span
    if rows.is_regression:
        Q = np.linalg.qr(A)[0]
        r = rows.u - Q @ (Q.T @ rows.u)
        r = r - Q @ (Q.T @ r)
        value = rows.least + float(r @ r) / (2 * n)
        what = "least squares"
    else:
        if A.shape[1] * (k - 1) > MOST_WEIGHTS:
            return None
        best = _best_dual_point(A, rows.y, k)
        if best is None:
            return None
        value, weights = best
        evidence = evidence | {"weights": weights.tolist()}
        what = "logistic regression"
    return Found(
        value,
        f"the network is affine in its inputs, whatever its parameters, and by {what} no affine "
        f"function has a training loss below {at_least(value)}",
        evidence,
    )


def independent_columns(X: Float64[Array, "n d"]) -> tuple[Array, dict[str, Any]] | None:
    """Scaled columns that span what all do, with the constant; None where that is not clear.

    Columns that depend on the others must do so exactly, with small fractions as coefficients,
    as the last of a set of indicators does.
    """
    from scipy.linalg import qr

    varying = np.flatnonzero((X[0] != X).any(axis=0))
    Z = (X[:, varying] - X[:, varying].mean(axis=0)) / X[:, varying].std(axis=0)
    if not np.isfinite(Z).all():
        return None
    kept = list(range(len(varying)))
    if len(varying) > 1:
        factors: Any = qr(Z / np.sqrt(len(Z)), mode="r", pivoting=True)
        R, pivots = factors
        size = np.abs(np.diag(R[: len(varying)]))
        kept = sorted(int(j) for j in pivots[size > DEPENDENT])
    combinations = []
    for j in sorted(set(range(len(varying))) - set(kept)):
        found = combination(X[:, varying], kept, j)
        if found is None:
            return None
        terms = [(int(varying[i]), q) for i, q in found[0]]
        combinations.append(describe_combination(int(varying[j]), terms, found[1]))
    A = np.column_stack([Z[:, kept], np.ones(len(X))])
    columns = [int(varying[j]) for j in kept]
    return A, {"columns": columns, "combinations": combinations}


def combination(
    X: Array, kept: list[int], j: int
) -> tuple[list[tuple[int, Fraction]], Fraction] | None:
    """Column j as constant + sum of fractions times kept columns, if that holds exactly."""
    B = np.column_stack([X[:, kept], np.ones(len(X))])
    scale = np.abs(B).max(axis=0)
    w = np.linalg.lstsq(B / scale, X[:, j], rcond=None)[0] / scale
    q = [Fraction(float(v)).limit_denominator(LARGEST_DENOMINATOR) for v in w]
    terms = [(i, f) for i, f in zip(kept, q, strict=False) if f]
    distinct = np.unique(X[:, [j, *(i for i, _ in terms)]], axis=0)
    if distinct.size > MOST_FRACTIONS:
        return None
    for row in distinct.tolist():
        total = q[-1] + sum(
            (f * Fraction(x) for (_, f), x in zip(terms, row[1:], strict=True)), Fraction()
        )
        if Fraction(row[0]) != total:
            return None
    return terms, q[-1]


def describe_combination(
    column: int, terms: list[tuple[int, Fraction]], constant: Fraction
) -> dict[str, Any]:
    """As evidence, fractions as pairs of whole numbers."""
    return {
        "column": column,
        "terms": [[j, [q.numerator, q.denominator]] for j, q in terms],
        "constant": [constant.numerator, constant.denominator],
    }


def _best_dual_point(A: Array, y: Array, k: int) -> tuple[float, Array] | None:
    """The highest dual value over a few penalties, with the weights that it comes from."""
    from scipy.optimize import minimize

    n, m = A.shape
    onehot = np.eye(k)[np.unique(y, return_inverse=True)[1]]
    shares = onehot.mean(axis=0)
    w, best = np.zeros(m * k), None
    for penalty in reversed(PENALTIES):

        def objective(w: Array, penalty: float = penalty) -> tuple[float, Array]:
            W = w.reshape(m, k)
            z = A @ W
            top = z.max(axis=1, keepdims=True)
            e = np.exp(z - top)
            total = e.sum(axis=1, keepdims=True)
            loss = float((np.log(total[:, 0]) + top[:, 0] - (z * onehot).sum(axis=1)).mean())
            G = A.T @ (e / total - onehot) / n + penalty * W
            return loss + penalty / 2 * float(w @ w), G.ravel()

        options = {"maxiter": 300, "ftol": 1e-15, "gtol": 1e-9}
        w = minimize(objective, w, jac=True, method="L-BFGS-B", options=options).x
        if objective(w)[0] < USELESS * -float((shares * np.log(shares)).sum()):
            return None  # the floor is below what this one loses
        value = dual_value(A, onehot, w.reshape(m, k))
        if value is not None and (best is None or value > best[0]):
            best = value, w.reshape(m, k)
    return best


def dual_value(A: Array, onehot: Array, W: Array) -> float | None:
    """Mean entropy of the probabilities of W, moved so that A'(p - onehot) = 0; None where far.

    One Newton step: p (1 + q - p . q), q = A delta with the last class as the origin.
    """
    n, m = A.shape
    z = A @ W
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    k = p.shape[1]
    free = p[:, : k - 1]
    B = (free[:, :, None] * A[:, None, :]).reshape(n, -1)
    H = -(B.T @ B)
    for a in range(k - 1):
        block = slice(a * m, (a + 1) * m)
        H[block, block] += A.T @ (free[:, a, None] * A)
    size = np.linalg.eigvalsh(H)
    if not size[0] > 1e-9 * size[-1]:
        return None
    g = (A.T @ (p - onehot))[:, : k - 1].T.ravel()
    delta = np.zeros((m, k))
    delta[:, : k - 1] = -np.linalg.solve(H, g).reshape(k - 1, m).T
    q = A @ delta
    if not np.abs(q).max() < 0.3:
        return None
    p = p * (1 + q - (p * q).sum(axis=1, keepdims=True))
    return -float((p * np.log(np.maximum(p, 1e-300))).sum()) / n
