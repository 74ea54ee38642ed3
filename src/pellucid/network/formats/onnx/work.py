"""The network that grows while a model is read: values, layers, and how much memory they take."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array
from ...activations import Activation
from .maps import Affine, Matrix, Rows, Sparse, is_light, n_entries
from .values import Constant, Formula, Head, Value, recognized

FREE_ENTRIES = 2**24  # numbers that any file may make the reader compute
FREE_VISITS = 2**27  # entries of all tensors that the operators of a model read and give
ENTRIES_PER_BYTE, VISITS_PER_BYTE = 2, 16  # more of both for each byte of the file
MOST_TERMS = 4  # values in a sum; one of more, as of many skips in a row, becomes a layer
PER_INPUT = 16  # numbers that an input counts for, since all that follows has its size


class RowsMixed(Exception):
    """An operator does not treat the rows of a batch one by one."""


@dataclass(eq=False)
class Layer:
    """A node of the graph to be: sum of terms plus bias, then the activation."""

    terms: dict[int, Matrix]
    bias: Array | None
    activation: Activation
    size: int
    notes: tuple[str, ...] = ()


@dataclass(eq=False)
class Work:
    """Reads one model: `left` is the number of entries that may still be computed, `visits_left`
    that of entries that operators may still read or give. Larger files are granted more.

    `rows` is the number of rows of a batch of fixed size, where the rows are read one by one.
    """

    rows: int | None = None
    left: int = FREE_ENTRIES
    visits_left: int = FREE_VISITS
    has_open_batch: bool = False  # the first axis of some input has no fixed size
    inputs: list[tuple[str, int]] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    made: dict[int, tuple[Affine, Affine]] = field(default_factory=dict)
    checked: set[int] = field(default_factory=set)
    checked_arrays: list[Array] = field(default_factory=list)

    def grant(self, n_bytes: int) -> None:
        """Account for bytes of the file that were read: there is more to compute."""
        self.left += ENTRIES_PER_BYTE * n_bytes
        self.visits_left += VISITS_PER_BYTE * n_bytes

    def spend(self, entries: int) -> None:
        """Account for numbers that are about to be computed; `InvalidFile` where it is too much."""
        if entries > self.left:
            raise InvalidFile(
                f"needs {entries:,} numbers more; a network may take {FREE_ENTRIES:,} numbers "
                f"and {ENTRIES_PER_BYTE} for each byte of its file."
            )
        self.left -= int(entries)

    def visit(self, shapes: Iterable[tuple[int, ...]]) -> None:
        """Account for the time of an operator with tensors of these shapes."""
        self.visits_left -= sum(math.prod(shape) for shape in shapes)
        if self.visits_left < 0:
            raise InvalidFile("is one operator too many: all of them together take too long.")

    def spend_shape(self, shape: Iterable[int]) -> None:
        """Account for a tensor; an axis without entries counts as one with a single one."""
        self.spend(math.prod(max(d, 1) for d in shape))

    def mixes_rows(self, value: Value | None = None) -> None:
        """Say that an operator works across the rows of the batch; a constant has none."""
        if self.rows is not None and not isinstance(value, Constant):
            raise RowsMixed

    # ---- layers

    def input(self, name: str, shape: tuple[int, ...]) -> Affine:
        """A new input."""
        size = math.prod(shape)
        self.spend(PER_INPUT * size)
        self.inputs.append((name, size))
        return Affine(shape, {len(self.inputs) - 1: Rows(np.arange(size), size)})

    def layer(self, z: Affine, activation: Activation) -> Affine:
        """The activation of an affine tensor as a new value."""
        if not z.size:
            raise UnsupportedLayer("works on a tensor without entries.")
        self.spend(z.size)
        self.layers.append(Layer(dict(z.terms), z.bias, activation, z.size, z.notes))
        value = len(self.inputs) + len(self.layers) - 1
        return Affine(z.shape, {value: Rows(np.arange(z.size), z.size)})

    def as_value(self, z: Affine) -> Affine:
        """The tensor as a value of its own: a layer without activation, made once."""
        if z.pure() is not None:
            return z
        if id(z) not in self.made:
            self.made[id(z)] = z, self.layer(z, Activation("identity"))
        return self.made[id(z)][1].reshaped(z.shape)

    def affine(self, value: Value) -> Affine:
        """The tensor as an affine expression; a formula becomes the layer that it is."""
        if isinstance(value, Affine):
            return value
        if isinstance(value, Constant):
            array = self.finite(value)
            return Affine(array.shape, {}, array.ravel())
        if isinstance(value, Head):
            raise UnsupportedLayer(
                f"reads a {value.kind.replace('_', '-')}; one can only stand at the very end of a "
                "network, where it is left off."
            )
        if value.kept is None:
            value.kept = self._layer_of(value)
        return value.kept

    def _layer_of(self, formula: Formula) -> Affine:
        if formula.direct is not None:
            return self.layer(*formula.direct)
        if formula.refusal is not None:
            raise UnsupportedLayer(formula.refusal)
        if formula.affine is not None:
            try:
                return formula.affine()
            except UnsupportedLayer:
                pass  # it may still be a known activation as a whole
        found = recognized(formula)
        if found is None:
            formula.refusal = (
                f"the formula of one value that {formula.place} ends is none of the activations, "
                f"and a product of two values that depend on the inputs is not piecewise linear."
            )
            raise UnsupportedLayer(formula.refusal)
        activation, s = found
        z = formula.root.times(np.full(formula.root.size, s))
        return self.layer(z, activation).times(np.full(z.size, 1 / s))

    # ---- operations that may take memory

    def finite(self, constant: Constant) -> Array:
        """Its numbers, all finite; `InvalidFile` names the first that is not."""
        array = constant.array
        if array.dtype == bool:
            raise UnsupportedLayer(f"computes with the truth values of {constant.name!r:.80}.")
        if id(array) not in self.checked:
            check_finite(array, constant.name)
            self.checked.add(id(array))
            self.checked_arrays.append(array)  # so that no other array takes its id
        return array if array.dtype.kind == "f" else array.astype(np.float64)

    def pick(self, z: Affine, index: Array, fill: float = 0.0) -> Affine:
        """`z.pick`, accounted for."""
        rows = index.ravel()
        if not (rows.size == z.size and (rows == np.arange(z.size)).all()):
            self.spend(rows.size + sum(_entries(M, rows) for M in z.terms.values()))
        return z.pick(index, fill)

    def broadcast(self, z: Affine, shape: tuple[int, ...]) -> Affine:
        """`z.broadcast`, accounted for."""
        if tuple(shape) == z.shape:
            return z
        self.spend_shape(shape)
        return self.pick(z, np.broadcast_to(np.arange(z.size).reshape(z.shape), shape))

    def mapped(self, z: Affine, W: Array | Sparse, shape: tuple[int, ...]) -> Affine:
        """A linear map of a tensor; where that is itself a dense layer, this is the next one."""
        if not z.is_light:
            z = self.as_value(z)
        moved = z.pure() is None
        self.spend(4 * n_entries(W) * len(z.terms) if moved else 0)
        return z.mapped(W, shape)

    def combined(self, z: Affine, W: Sparse, shape: tuple[int, ...]) -> Affine:
        """A sparse map of a tensor, in one layer with it unless that takes more entries."""
        heavy = [M for M in z.terms.values() if not is_light(M)]
        if any(isinstance(M, np.ndarray) for M in heavy):
            return self.mapped(z, W, shape)
        apart = W.nnz + sum(map(n_entries, heavy))
        if heavy and sum(_product_bound(W, M) for M in z.terms.values()) > apart:
            return self.mapped(z, W, shape)
        self.spend(2 * apart)
        return z.mapped(W, shape)

    def plus(self, a: Affine, b: Affine) -> Affine:
        """The sum of two tensors of one shape, accounted for."""
        both = a.terms.keys() & b.terms.keys()
        self.spend(sum(_shape_or_nnz(z.terms[value]) for z in (a, b) for value in both))
        total = a.plus(b)
        return total if len(total.terms) <= MOST_TERMS else self.as_value(total)

    def times(self, z: Affine, factors: Array) -> Affine:
        """The entries times constants, accounted for."""
        self.spend(z.entries() + z.size)
        return z.times(factors)

    def moved(self, value: Value, move: Callable[[Array], Array]) -> Value:
        """A tensor with its entries moved as `move` moves an array; nothing else happens."""
        if isinstance(value, Constant):
            return Constant(np.asarray(move(value.array)), value.name)
        if isinstance(value, Head):
            moved = self.moved(value.logits, move)
            if not isinstance(moved, Affine) or not _same_order(value.logits, move):
                raise UnsupportedLayer("moves the entries of a softmax, which must be at the end.")
            return Head(moved, value.kind)
        z = self.affine(value)
        return self.pick(z, move(np.arange(z.size).reshape(z.shape)))


def _same_order(z: Affine, move: Callable[[Array], Array]) -> bool:
    index = move(np.arange(z.size).reshape(z.shape)).ravel()
    return index.size == z.size and bool((index == np.arange(z.size)).all())


def check_finite(array: Array, name: str) -> None:
    """`InvalidFile` names the tensor and the place of the first number that is not finite."""
    if array.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        if np.isfinite(array.sum()):
            return
    finite = np.isfinite(array)
    if finite.all():  # the sum only was too large
        return
    place = tuple(int(k) for k in np.argwhere(~finite)[0])
    raise InvalidFile(
        f"the tensor {name!r:.80} holds {array[place]} at {list(place)}; weights and biases must "
        f"be finite numbers."
    )


def _entries(M: Matrix, rows: Array) -> int:
    """Entries of the picked rows."""
    if isinstance(M, Rows):
        return 0
    if isinstance(M, np.ndarray):
        return len(rows) * M.shape[1]
    return int(np.diff(M.indptr)[rows].sum(dtype=np.int64))


def _shape_or_nnz(M: Matrix) -> int:
    return M.shape[0] if isinstance(M, Rows) else n_entries(M)


def _product_bound(W: Sparse, M: Matrix) -> int:
    """At most so many entries has W M."""
    if isinstance(M, Rows):
        return W.nnz
    assert not isinstance(M, np.ndarray)
    return int(np.diff(M.indptr)[W.indices].sum(dtype=np.int64))
