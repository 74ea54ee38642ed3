"""Functional models of Keras that are no chain: as an affine graph."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._errors import InvalidFile, UnsupportedLayer
from ..._shapes import Array
from ..activations import Activation
from ..graph import AffineGraph
from .keras_layers import Layer, Value, apply
from .keras_links import Reference, config_of, inbound, input_shape, name_of, references
from .loaded import Loaded


@dataclass
class _Sum:
    """sum_j W_j h_j + b of numbered values, while no activation has followed."""

    terms: dict[int, Array]
    bias: Array

    @property
    def width(self) -> int:
        return len(self.bias)


@dataclass
class _Graph:
    """The inputs and nodes so far."""

    inputs: list[tuple[str, int]] = field(default_factory=list)
    nodes: list[tuple[list[tuple[int, Array]], Array, Activation]] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)
    dtypes: set[np.dtype] = field(default_factory=set)

    def node(self, z: _Sum, sigma: Activation) -> _Sum:
        self.nodes.append((list(z.terms.items()), z.bias, sigma))
        return _plain(len(self.inputs) + len(self.nodes) - 1, z.width)


def _plain(number: int, width: int) -> _Sum:
    return _Sum({number: np.eye(width)}, np.zeros(width))


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
        terms = {j: scale[:, None] * A for j, A in self.z.terms.items()}
        self.z = _Sum(terms, scale * self.z.bias + shift)
        self.graph.dtypes.add(dtype)
        self.graph.folded.append(what)

    def activation(self, sigma: Activation, where: str) -> None:
        if sigma.name != "identity":
            self.z = self.graph.node(self.z, sigma)


def read_graph(model: dict[str, Any], layers: list[dict[str, Any]], weights: Any) -> Loaded:
    """The graph of a functional model: every layer may be called several times."""
    graph = _Graph()
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
        ([(j, W.astype(dtype)) for j, W in terms], b.astype(dtype), sigma)
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
        return Value(_Branch(graph, _plain(number, graph.inputs[number][1])), shape)
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
    if len(sums) < 2 or any(value.head for value in given):
        raise UnsupportedLayer(
            f"layer {name} ({kind}) must join two values or more, and no softmax."
        )
    shapes = {value.shape for value in given}
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
    z = _Sum({}, np.zeros(sums[0].width))
    for factor, part in zip(factors, sums, strict=False):
        z.bias = z.bias + factor * part.bias
        for j, A in part.terms.items():
            z.terms[j] = z.terms.get(j, 0) + factor * A
    return Value(_Branch(graph, z), shapes.pop() if len(shapes) == 1 else (z.width,))


def _stacked(sums: list[_Sum]) -> _Sum:
    width = sum(z.width for z in sums)
    terms: dict[int, Array] = {}
    start = 0
    for z in sums:
        for j, A in z.terms.items():
            terms.setdefault(j, np.zeros((width, A.shape[1])))[start : start + z.width] += A
        start += z.width
    return _Sum(terms, np.concatenate([z.bias for z in sums]))


def _found(values: dict[Reference, Value], reference: Reference, layer: dict[str, Any]) -> Value:
    if reference not in values:
        raise InvalidFile(
            f"its layer {name_of(layer) or 'of the output'} refers to {reference[0]!r:.60}, which "
            "does not come before it."
        )
    return values[reference]
