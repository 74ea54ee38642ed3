"""Functional models of Keras that are no chain: as an affine graph."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from ..._errors import InvalidFile, UnsupportedLayer
from ..._shapes import Array
from ..activations import Activation
from ..graph import AffineGraph, Matrix
from .contents import Budget
from .keras_layers import Layer, Value, apply
from .keras_links import Reference, config_of, inbound, input_shape, name_of, references
from .loaded import Loaded

MOST_SOURCES = 2  # a sum of more values becomes a node before a layer reads it
SPARSE_BELOW = 0.25  # share of entries up to which a matrix is kept sparse


@dataclass
class _Sum:
    """sum_j W_j h_j + b of numbered values, while no activation has followed.

    The matrices are dense, or sparse where they only pick, scale or add.
    """

    terms: dict[int, Matrix]
    bias: Array

    @property
    def width(self) -> int:
        return len(self.bias)


@dataclass
class _Graph:
    """The inputs and nodes so far, and how much memory they may still take."""

    budget: Budget
    inputs: list[tuple[str, int]] = field(default_factory=list)
    nodes: list[tuple[list[tuple[int, Matrix]], Array, Activation]] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)
    dtypes: set[np.dtype] = field(default_factory=set)

    def node(self, z: _Sum, sigma: Activation) -> _Sum:
        self.nodes.append((list(z.terms.items()), z.bias, sigma))
        return self.plain(len(self.inputs) + len(self.nodes) - 1, z.width)

    def plain(self, number: int, width: int) -> _Sum:
        """A value as it is."""
        self.budget.spend(32 * width)
        return _Sum({number: eye_array(width, format="csr")}, np.zeros(width))

    def spend(self, z: _Sum, times: int = 1) -> None:
        """Account for matrices as large as those of a sum."""
        entries = sum(A.size if isinstance(A, np.ndarray) else 2 * A.nnz for A in z.terms.values())
        self.budget.spend(8 * times * entries)


@dataclass
class _Branch:
    """Steps that start at one sum; the same calls as those of a chain."""

    graph: _Graph
    z: _Sum

    def affine(self, W: Array, b: Array | None, where: str) -> None:
        if W.shape[1] != self.z.width:
            raise UnsupportedLayer(
                f"{where} takes {W.shape[1]} values, and what stands before it gives "
                f"{self.z.width}."
            )
        self.graph.dtypes.add(W.dtype)
        if len(self.z.terms) > MOST_SOURCES:
            self.z = self.graph.node(self.z, Activation("identity"))
        self.graph.budget.spend(8 * len(W) * sum(A.shape[1] for A in self.z.terms.values()))
        wide = W.astype(np.float64)
        shift = wide @ self.z.bias + (0 if b is None else b)
        self.z = _Sum({j: wide @ A for j, A in self.z.terms.items()}, shift)

    def rescale(self, scale: Array, shift: Array, where: str, what: str, dtype: np.dtype) -> None:
        try:
            scale, shift = (np.broadcast_to(part, self.z.width) for part in (scale, shift))
        except ValueError:
            raise UnsupportedLayer(
                f"{where} takes {len(scale)} values, and what stands before it gives "
                f"{self.z.width}."
            ) from None
        self.graph.spend(self.z)
        terms = {j: _scaled(A, scale) for j, A in self.z.terms.items()}
        self.z = _Sum(terms, scale * self.z.bias + shift)
        self.graph.dtypes.add(dtype)
        self.graph.folded.append(what)

    def activation(self, sigma: Activation, where: str) -> None:
        if sigma.name != "identity":
            self.z = self.graph.node(self.z, sigma)

    def slopes(self, slopes: Array, where: str, what: str) -> None:
        n = self.z.width
        if len(slopes) != n:
            raise UnsupportedLayer(f"{where} has {len(slopes)} slopes for {n} values.")
        self.graph.spend(self.z, 2)
        both = _stacked([self.z, _times(self.z, -1.0)])
        (number,) = self.graph.node(both, Activation("relu")).terms
        columns = np.concatenate([np.arange(n), n + np.arange(n)])
        values = np.concatenate([np.ones(n), -slopes.astype(np.float64)])
        picked = csr_array((values, (np.tile(np.arange(n), 2), columns)), shape=(n, 2 * n))
        self.z = _Sum({number: picked}, np.zeros(n))
        self.graph.dtypes.add(np.dtype(np.float64))
        self.graph.folded.append(what)


def _scaled(A: Matrix, scale: Array) -> Matrix:
    """Every row times its factor."""
    if isinstance(A, np.ndarray):
        return scale[:, None] * A
    return csr_array(A.multiply(scale[:, None]))


def _times(z: _Sum, factor: float) -> _Sum:
    return _Sum({j: A * factor for j, A in z.terms.items()}, z.bias * factor)


def _added(z: _Sum, other: _Sum) -> _Sum:
    terms = dict(z.terms)
    for j, A in other.terms.items():
        terms[j] = terms[j] + A if j in terms else A
    return _Sum(terms, z.bias + other.bias)


def _stacked(sums: list[_Sum]) -> _Sum:
    """The entries of all sums, one after the other."""
    height, start, total = sum(z.width for z in sums), 0, None
    for z in sums:
        terms = {j: _at_row(A, start, height) for j, A in z.terms.items()}
        bias = np.zeros(height)
        bias[start : start + z.width] = z.bias
        part = _Sum(terms, bias)
        total = part if total is None else _added(total, part)
        start += z.width
    assert total is not None
    return total


def _at_row(A: Matrix, start: int, height: int) -> Matrix:
    """The matrix with rows of zeros above and below."""
    if isinstance(A, np.ndarray):
        full = np.zeros((height, A.shape[1]))
        full[start : start + len(A)] = A
        return full
    found = A.tocoo()
    row, column = found.coords
    return csr_array((found.data, (row + start, column)), shape=(height, A.shape[1]))


def _final(A: Matrix, dtype: type) -> Matrix:
    """The matrix as it is kept: sparse where most entries are zero."""
    if isinstance(A, np.ndarray):
        return A.astype(dtype)
    is_full = A.nnz >= SPARSE_BELOW * A.shape[0] * A.shape[1]
    return A.toarray().astype(dtype) if is_full else A.astype(dtype)


def read_graph(model: dict[str, Any], layers: list[dict[str, Any]], weights: Any) -> Loaded:
    """The graph of a functional model: every layer may be called several times."""
    graph = _Graph(Budget(weights.tree.size))
    for layer in layers:
        if layer.get("class_name") == "InputLayer":
            shape = input_shape(layer)
            if shape is None:
                raise UnsupportedLayer(f"its input {name_of(layer)} has no fixed size.")
            graph.inputs.append((name_of(layer), int(np.prod(shape, dtype=np.int64))))
    values: dict[Reference, Value] = {}
    for position, layer in enumerate(layers):
        calls = inbound(layer) or ([[]] if layer.get("class_name") == "InputLayer" else [])
        arrays = weights.of(position) if calls else []
        for number, sources in enumerate(calls):
            given = [_found(values, source, layer) for source in sources]
            made = _call(graph, layer, arrays, given, input_shape(layer))
            values[name_of(layer), number, 0] = made
    ends = references(config_of(model).get("output_layers"))
    if not ends:
        raise InvalidFile("its description of the model names no output.")
    outputs, heads = {}, {}
    for end in ends:
        value = _found(values, end, {})
        node = graph.node(value.steps.z, Activation("identity"))  # type: ignore[attr-defined]
        outputs[end[0]] = next(iter(node.terms))
        if value.head:
            heads[end[0]] = value.head
    dtype = np.float32 if graph.dtypes == {np.dtype(np.float32)} else np.float64
    nodes = [
        ([(j, _final(W, dtype)) for j, W in terms], b.astype(dtype), sigma)
        for terms, b, sigma in graph.nodes
    ]
    network = AffineGraph(dict(graph.inputs), nodes, outputs)
    return Loaded(network, folded=tuple(graph.folded), heads=heads)


def _call(
    graph: _Graph,
    layer: dict[str, Any],
    arrays: list[Array],
    given: list[Value],
    shape: tuple[int, ...] | None,
) -> Value:
    """What one call of a layer gives."""
    kind, name = str(layer.get("class_name", "")), name_of(layer)
    if kind == "InputLayer":
        number = [label for label, _ in graph.inputs].index(name)
        return Value(_Branch(graph, graph.plain(number, graph.inputs[number][1])), shape)
    if kind in _JOINS:
        return _joined(graph, kind, name, config_of(layer), given)
    if len(given) != 1:
        raise UnsupportedLayer(f"layer {name} ({kind}) has {len(given)} inputs; it takes one.")
    source = given[0]
    branch = _Branch(graph, source.steps.z)  # type: ignore[attr-defined]
    value = Value(branch, source.shape, source.head, source.head_of)
    apply(Layer(kind, name, config_of(layer), arrays), value)
    return value


_JOINS = ("Add", "Subtract", "Average", "Concatenate")


def _joined(
    graph: _Graph, kind: str, name: str, config: dict[str, Any], given: list[Value]
) -> Value:
    sums = [value.steps.z for value in given]  # type: ignore[attr-defined]
    too_many = kind == "Subtract" and len(sums) > 2
    if len(sums) < 2 or too_many or any(value.head for value in given):
        raise UnsupportedLayer(
            f"layer {name} ({kind}) must join two values or more, and no softmax."
        )
    shapes = {value.shape for value in given}
    for z in sums:
        graph.spend(z, len(sums) if kind == "Concatenate" else 1)
    if kind == "Concatenate":
        if config.get("axis", -1) not in (-1, 1) or any(len(v.shape or (0,)) > 1 for v in given):
            raise UnsupportedLayer(
                f"layer {name} joins along an axis that is not that of features."
            )
        z = _stacked(sums)
        return Value(_Branch(graph, z), (z.width,))
    if len({z.width for z in sums}) > 1:
        raise UnsupportedLayer(
            f"layer {name} ({kind}) has inputs of {', '.join(str(z.width) for z in sums)} values; "
            "they must be as many."
        )
    factors = [1.0] * len(sums) if kind == "Add" else [1.0, -1.0]
    if kind == "Average":
        factors = [1 / len(sums)] * len(sums)
    z = _times(sums[0], factors[0])
    for factor, part in zip(factors[1:], sums[1:], strict=False):
        z = _added(z, _times(part, factor))
    return Value(_Branch(graph, z), shapes.pop() if len(shapes) == 1 else (z.width,))


def _found(values: dict[Reference, Value], reference: Reference, layer: dict[str, Any]) -> Value:
    if reference not in values:
        raise InvalidFile(
            f"its layer {name_of(layer) or 'of the output'} refers to {reference[0]!r:.60}, which "
            "does not come before it."
        )
    return values[reference]
