"""Affine expressions of values: what every tensor of a model is, until an activation bends it.

A matrix is one of three: `Rows` (every row picks one feature, or nothing), a dense array, or a
sparse `csr_array`. What only moves numbers keeps them bit for bit; what computes does so in
float64.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...._shapes import Array

DENSE_FROM = 0.25  # share of entries from which a matrix is kept dense


@dataclass(frozen=True, eq=False)
class Rows:
    """The matrix whose row i has a single 1, in column index[i]; no 1 where that is -1."""

    index: Array
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.index), self.columns

    @cached_property
    def is_identity(self) -> bool:
        """Whether nothing is moved."""
        n = self.columns
        return len(self.index) == n and bool((self.index == np.arange(n)).all())

    def __getitem__(self, rows: Array) -> "Rows":
        return Rows(self.index[rows], self.columns)

    def sparse(self) -> Any:
        """The same matrix as a sparse one of float32 ones, which are exact in any product."""
        used = self.index >= 0
        starts = np.concatenate([[0], np.cumsum(used)])
        ones = np.ones(int(starts[-1]), np.float32)
        return csr_array((ones, self.index[used], starts), shape=self.shape)


Sparse = Any  # a scipy.sparse.csr_array, of which scipy tells no types
Matrix = Rows | Array | Sparse


def n_entries(M: Matrix) -> int:
    """Stored numbers of a matrix; `Rows` has none."""
    if isinstance(M, Rows):
        return 0
    return M.size if isinstance(M, np.ndarray) else M.nnz


def is_light(M: Matrix) -> bool:
    """Whether a product with it costs no more entries than the other factor has, or twice as many.

    Such a matrix picks, scales or pairs features; anything else is a layer of its own.
    """
    return isinstance(M, Rows) or (not isinstance(M, np.ndarray) and M.nnz <= 2 * M.shape[0])


def _n_read(M: Matrix) -> int:
    """Entries that are not zero."""
    return int(np.count_nonzero(M.index >= 0)) if isinstance(M, Rows) else n_entries(M)


def product(W: Array | Sparse, M: Matrix) -> Array | Sparse:
    """W M; exact (moved numbers in their dtype) where M is `Rows` without repeats."""
    wide = M.shape[1] > M.shape[0] / DENSE_FROM  # most columns of a dense product would be zero
    if not isinstance(M, Rows):
        return (csr_array(W) if wide else W).astype(np.float64) @ M
    if M.is_identity:
        return W
    used = M.index[M.index >= 0]
    if len(np.unique(used)) < len(used):  # columns that are added
        return product(W, M.sparse())
    if wide or not isinstance(W, np.ndarray):
        return csr_array(W) @ M.sparse()
    moved = np.zeros((len(W), M.columns), W.dtype)
    moved[:, used] = W[:, M.index >= 0]
    return moved


def added(A: Matrix, B: Matrix) -> Matrix:
    """A + B."""
    total = _computable(A) + _computable(B)
    return total if isinstance(total, np.ndarray) else csr_array(total)


def _computable(M: Matrix) -> Any:
    return (M.sparse() if isinstance(M, Rows) else M).astype(np.float64)


def scaled(M: Matrix, factors: Array) -> Matrix:
    """Every row of M times its factor; signs alone keep the dtype."""
    result: Any = M.sparse() if isinstance(M, Rows) else M
    if (np.abs(factors) == 1).all():
        factors = factors.astype(result.dtype)
    else:
        result = result.astype(np.float64)
    if isinstance(result, np.ndarray):
        return result * factors[:, None]
    result = result.copy()
    result.data = result.data * np.repeat(factors, np.diff(result.indptr))
    return result


def picked(M: Matrix, rows: Array) -> Matrix:
    """The rows of M with these numbers; -1 stands for a row of zeros."""
    if isinstance(M, Rows):
        return Rows(np.where(rows >= 0, M.index[rows], -1), M.columns)
    if len(rows) == M.shape[0] and (rows == np.arange(len(rows))).all():
        return M
    if (rows >= 0).all():
        return M[rows]
    return csr_array(Rows(rows, M.shape[0]).sparse() @ csr_array(M)).astype(M.dtype)


def final(M: Matrix, dtype: np.dtype | type) -> Array | Sparse:
    """The matrix as it is kept: dense, or sparse where few entries are not zero."""
    if isinstance(M, np.ndarray):
        return M
    if isinstance(M, Rows):
        used = np.flatnonzero(M.index >= 0)
        if len(used) < DENSE_FROM * M.shape[0] * M.shape[1]:
            return M.sparse().astype(dtype)
        picked = np.zeros(M.shape, dtype)
        picked[used, M.index[used]] = 1
        return picked
    kept = M
    kept.sum_duplicates()
    return kept.toarray() if kept.nnz >= DENSE_FROM * kept.shape[0] * kept.shape[1] else kept


@dataclass(eq=False)
class Affine:
    """A tensor that is affine in values of the graph: sum over j of terms[j] h_j, plus a bias.

    Entries are in C order of `shape`. `origin` is (tensor, a, c) where this one is a r + c of
    another tensor r with numbers a and c: a formula of r and of this is one of r alone. `notes` say
    what was folded into it.
    """

    shape: tuple[int, ...]
    terms: dict[int, Any]  # matrices
    bias: Array | None = None
    origin: "tuple[Affine, float, float] | None" = None
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def is_light(self) -> bool:
        """Whether a linear map of it can be taken without making a layer of it first.

        Nothing grows where every entry reads two entries of values at most.
        """
        if not all(is_light(M) for M in self.terms.values()):
            return False
        return len(self.terms) < 3 or sum(map(_n_read, self.terms.values())) <= 2 * self.size

    def pure(self) -> int | None:
        """The value that this tensor is, entry for entry; None if it is something else."""
        if self.bias is not None or len(self.terms) != 1:
            return None
        ((value, M),) = self.terms.items()
        return value if isinstance(M, Rows) and M.is_identity else None

    def entries(self) -> int:
        """Stored numbers."""
        return sum(map(n_entries, self.terms.values())) + (
            0 if self.bias is None else len(self.bias)
        )

    def noted(self, note: str) -> "Affine":
        """The tensor with another note."""
        return Affine(self.shape, self.terms, self.bias, self.origin, (*self.notes, note))

    # ---- what only moves entries

    def moved(self, move: Callable[[Array], Array], fill: float = 0.0) -> "Affine":
        """The tensor whose entries are moved as `move` moves an array; -1 there becomes `fill`."""
        index = move(np.arange(self.size).reshape(self.shape))
        return self.pick(index, fill)

    def pick(self, index: Array, fill: float = 0.0) -> "Affine":
        """The tensor of the shape of `index` with these entries (numbers in C order)."""
        rows = index.ravel()
        if len(rows) == self.size and (rows == np.arange(len(rows))).all():
            return self.reshaped(index.shape)
        terms = {value: picked(M, rows) for value, M in self.terms.items()}
        bias = self.bias
        bias = None if bias is None else np.where(rows >= 0, bias[rows], bias.dtype.type(0))
        if fill and (rows < 0).any():
            bias = np.zeros(len(rows)) if bias is None else bias
            bias = np.where(rows < 0, fill, bias)
        return Affine(index.shape, terms, bias, notes=self.notes)

    def reshaped(self, shape: tuple[int, ...]) -> "Affine":
        """The same entries in another shape."""
        return Affine(tuple(shape), self.terms, self.bias, notes=self.notes)

    def broadcast(self, shape: tuple[int, ...]) -> "Affine":
        """The tensor, repeated along axes as NumPy does."""
        if tuple(shape) == self.shape:
            return self
        return self.moved(lambda index: np.broadcast_to(index, shape))

    # ---- sums and multiples

    def plus(self, other: "Affine") -> "Affine":
        """The sum of two tensors of one shape."""
        terms = dict(self.terms)
        for value, M in other.terms.items():
            terms[value] = added(terms[value], M) if value in terms else M
        return Affine(
            self.shape, terms, _sum(self.bias, other.bias), notes=self.notes + other.notes
        )

    def shifted(self, c: Array) -> "Affine":
        """The tensor plus constants; zeros change nothing, not even the dtype."""
        if not c.any():
            return self
        origin = (self, 1.0, float(c[0])) if (c == c[0]).all() else None
        return Affine(self.shape, self.terms, _sum(self.bias, c), origin, self.notes)

    def times(self, factors: Array) -> "Affine":
        """The tensor times constants, one for each entry."""
        if (factors == 1).all():
            return self
        origin = (self, float(factors[0]), 0.0) if (factors == factors[0]).all() else None
        terms = {value: scaled(M, factors) for value, M in self.terms.items()}
        bias = self.bias
        if bias is not None:
            keep = (np.abs(factors) == 1).all()
            bias = bias * (factors.astype(bias.dtype) if keep else factors)
        return Affine(self.shape, terms, bias, origin, self.notes)

    def mapped(self, W: Array | Sparse, shape: tuple[int, ...]) -> "Affine":
        """W times the tensor, as a tensor of that shape."""
        terms = {value: product(W, M) for value, M in self.terms.items()}
        bias = None if self.bias is None else W.astype(np.float64) @ self.bias
        return Affine(shape, terms, bias, notes=self.notes)


def _sum(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return a.astype(np.float64) + b


def stacked(parts: list[Affine], shape: tuple[int, ...]) -> Affine:
    """The entries of all parts, one part after the other."""
    total = sum(part.size for part in parts)
    result = Affine((total,), {}, None)
    start = 0
    for part in parts:
        rows = np.full(total, -1)
        rows[start : start + part.size] = np.arange(part.size)
        result = _laid_over(result, part, rows, slice(start, start + part.size))
        start += part.size
    return result.reshaped(shape)


def _laid_over(result: Affine, part: Affine, rows: Array, where: slice) -> Affine:
    """Put a part into rows of the result that are zero so far."""
    terms = dict(result.terms)
    for value, M in part.terms.items():
        terms[value] = _put(terms[value], M, where) if value in terms else picked(M, rows)
    bias = result.bias
    if part.bias is not None:
        dtype = part.bias.dtype if bias is None else np.result_type(bias, part.bias)
        bias = np.zeros(result.size, dtype) if bias is None else bias.astype(dtype)
        bias[where] = part.bias
    return Affine(result.shape, terms, bias, notes=result.notes + part.notes)


def _put(old: Matrix, M: Matrix, where: slice) -> Matrix:
    """The matrix with the rows `where`, zero so far, replaced by those of M."""
    if isinstance(old, Rows) and isinstance(M, Rows):
        index = old.index.copy()
        index[where] = M.index
        return Rows(index, old.columns)
    rows = np.full(old.shape[0], -1)
    rows[where] = np.arange(M.shape[0])
    return csr_array(_sparse(old) + _sparse(picked(M, rows)))  # no entry is in both


def _sparse(M: Matrix) -> Any:
    return M.sparse() if isinstance(M, Rows) else csr_array(M)
