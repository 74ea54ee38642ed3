"""Networks that are affine, whatever their parameters: least squares and logistic regression.

Both bounds are values of a dual problem. They need a basis of what the columns and the constant
span; what rounding does to that basis is bounded and subtracted.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from .formulas import GAUSSIAN_CONSTANT
from .result import Refused
from .rows import Shape, TrainingRows, read_numbers

UNIT = 2.0**-53
MOST_FRACTIONS = 2_000_000
MOST_WEIGHTS = 2000
WORST = 1e-6
"""Beyond this error of the basis nothing is proved."""


def affine_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """A lower bound on the loss of every affine function of the columns."""
    if not shape.raw_outputs or any(name != "identity" for name, _ in shape.activations):
        raise Refused("the architecture is not affine")
    fields = {"columns", "combinations"}
    if set(evidence) != fields | (set() if rows.likelihood == "gaussian" else {"weights"}):
        raise Refused("the evidence does not have the fields of its kind")
    A = _independent_columns(rows.X, evidence)
    if rows.likelihood == "gaussian":
        basis = orthonormal_basis(A)
        return GAUSSIAN_CONSTANT + _least_squares(basis, rows.standardised) / 2
    return _logistic(A, rows.y, read_numbers(evidence["weights"], "weights"))


# ---- the span of the columns


def _independent_columns(X: Array, evidence: dict[str, Any]) -> Float64[Array, "n k"]:
    """The named columns, shifted and scaled, and the constant."""
    check_columns(X, evidence)
    columns = [(x - x.mean()) / x.std() for x in X[:, evidence["columns"]].T]
    return np.column_stack([*columns, np.ones(len(X))])


def check_columns(X: Array, evidence: dict[str, Any]) -> None:
    """Every column is constant, one of the named ones, or a combination of those."""
    kept, combinations = evidence["columns"], evidence["combinations"]
    if type(kept) is not list or type(combinations) is not list:
        raise Refused("the columns of the evidence are no list")
    left = [combination["column"] for combination in combinations]
    varying = [j for j in range(X.shape[1]) if (X[:, j] != X[0, j]).any()]
    if sorted([*kept, *left]) != varying or not all(type(j) is int for j in (*kept, *left)):
        raise Refused("the columns of the evidence are not those that vary")
    for combination in combinations:
        check_combination(X, set(kept), combination)


def check_combination(X: Array, kept: set[int], combination: dict[str, Any]) -> None:
    """column = constant + sum of coefficient * kept column, exactly, in every row."""
    terms = [(j, _fraction(q)) for j, q in combination["terms"]]
    constant = _fraction(combination["constant"])
    if not all(type(j) is int and j in kept for j, _ in terms):
        raise Refused("a column is said to be a combination of columns that are not kept")
    distinct = np.unique(X[:, [combination["column"], *(j for j, _ in terms)]], axis=0)
    if distinct.size > MOST_FRACTIONS:
        raise Refused("a combination of columns has too many distinct rows to be checked")
    for row in distinct.tolist():
        parts = zip(terms, row[1:], strict=True)
        if Fraction(row[0]) != constant + sum((q * Fraction(x) for (_, q), x in parts), Fraction()):
            raise Refused("a column is not the combination of others that it is said to be")


def _fraction(value: Any) -> Fraction:
    if type(value) is not list or len(value) != 2 or not all(type(q) is int for q in value):
        raise Refused("a coefficient of the evidence is no fraction of whole numbers")
    return Fraction(*value)


@dataclass(frozen=True)
class Basis:
    """Nearly orthonormal columns; the exact span is within `error` of theirs (as projections)."""

    Q: Float64[Array, "n k"]
    defect: float  # |Q'Q - I|
    error: float


def orthonormal_basis(A: Float64[Array, "n k"]) -> Basis:
    """A basis of the span of A, by Cholesky factors of Gram matrices, twice.

    With T = R1^-1 R2^-1 the exact product A T spans what A does, and Q differs from it by at most
    about k u |A| |T| (Higham 2002, section 3.5); projections onto the spans differ by at most that
    over the least singular value.
    """
    n, k = A.shape
    if n <= k:
        raise Refused("there are no more rows than parameters")
    A = A / math.sqrt(n)
    T = np.linalg.inv(np.linalg.cholesky(A.T @ A)).T
    for _ in range(2):
        Q = A @ T
        T = T @ np.linalg.inv(np.linalg.cholesky(Q.T @ Q)).T
    Q = A @ T
    gram_error = 4 * n * UNIT * k
    defect = float(np.linalg.norm(Q.T @ Q - np.eye(k))) + gram_error
    rounding = 4 * (k + 2) * UNIT * float(np.linalg.norm(np.abs(A) @ np.abs(T)))
    error = rounding / (1 - defect - rounding) if defect + rounding < 0.5 else math.inf
    if not error + defect < WORST:
        raise Refused("the columns are too nearly dependent to bound what they can do")
    return Basis(Q, defect, error)


# ---- numbers


def _least_squares(basis: Basis, u: Float64[Array, " n"]) -> float:
    """mean (u - best affine function)^2 >= (|u|^2 - |Q'u|^2) / n, less what rounding may do."""
    squares, fitted = float(u @ u), float(((basis.Q.T @ u) ** 2).sum())
    rest = squares * (1 - 1e-12) - fitted * (1 + 1e-12) / (1 - basis.defect)
    length = math.sqrt(max(rest, 0.0)) - basis.error * math.sqrt(squares)
    return max(length, 0.0) ** 2 / len(u) - 1e-12


# ---- labels


def _logistic(A: Array, y: Array, weights: Array) -> float:
    """mean loss >= mean entropy of any probabilities p with A'(p - onehot) = 0.

    The convex dual of multinomial logistic regression (Lebanon and Lafferty 2002): for every z,
    logsumexp(z) - z_y >= (p - onehot) . z + entropy(p), and the linear part adds up to 0. The
    softmax of the weights is moved onto that constraint by p (1 + q - p . q) with q = A delta,
    which keeps small probabilities positive. Rounding leaves the constraint off by e; the exact
    delta is within |e| / (least eigenvalue) of the one used.
    """
    labels, y = np.unique(y, return_inverse=True)
    n, m = A.shape
    k = len(labels)
    if weights.shape != (m, k) or k < 2 or m * (k - 1) > MOST_WEIGHTS:
        raise Refused("the weights of the evidence do not fit the columns and classes")
    onehot = np.eye(k)[y]
    z = A @ weights
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    H = np.empty((k - 1, m, k - 1, m))
    for a in range(1, k):
        for b in range(1, k):
            share = p[:, a] * (float(a == b) - p[:, b])
            H[a - 1, :, b - 1, :] = A.T @ (share[:, None] * A)
    H = H.reshape((k - 1) * m, (k - 1) * m)
    least = float(np.linalg.eigvalsh(H)[0]) - 1e-12 * float(np.trace(H))
    if not least > 0:
        raise Refused("the weights of the evidence are no clear optimum")
    delta = np.zeros((m, k))
    delta[:, 1:] = np.linalg.solve(H, -(A.T @ (p - onehot))[:, 1:].T.ravel()).reshape(k - 1, m).T
    q = A @ delta
    if not np.abs(q).max() < 0.4:
        raise Refused("the weights of the evidence are too far from the optimum")
    p = p * (1 + q - (p * q).sum(axis=1, keepdims=True))
    R = p - onehot
    length = float(np.sqrt((A * A).sum(axis=1)).max())
    rounding = 8 * (n + m + k) * UNIT * float(np.linalg.norm(A)) * float(np.linalg.norm(R))
    off = float(np.linalg.norm(A.T @ R)) + rounding
    relative = 10 * length * off / least  # by which the exact probabilities differ from p
    if not relative < WORST:
        raise Refused("the probabilities of the evidence cannot be made feasible safely")
    entropy = -float((p * np.log(np.where(p > 0, p, 1.0))).sum()) / n
    return entropy - relative * (1 + entropy) - 1e-12
