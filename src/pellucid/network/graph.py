"""A network that is no chain: affine maps and activations with skips, branches and several inputs.

Values are numbered: the inputs first, then the nodes in order. Node i computes

    z = sum_j W_j h_j + b,   h = sigma(z)

from values h_j with lower numbers. Everything affine between two activations is one sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .._errors import InvalidInput, UnsupportedLayer
from .._shapes import Array, Float
from .activations import Activation, as_activation
from .network import Network, float_dtype

Matrix = Array | Any  # dense, or a scipy.sparse.csr_array (of which scipy tells no types)
MOST_ENTRIES = 2**27  # of one dense layer that `to_network` makes


@dataclass(frozen=True, eq=False)
class Node:
    """One sum of affine maps with its activation: h = sigma(sum_j W_j h_j + b).

    `terms` has a pair (number of a value, matrix) for each value that enters; the matrices are
    dense or `scipy.sparse.csr_array`, all with as many rows as `bias` has entries.
    """

    terms: tuple[tuple[int, Matrix], ...]
    bias: Array
    activation: Activation

    @property
    def width(self) -> int:
        """Number of units."""
        return len(self.bias)

    @property
    def sources(self) -> tuple[int, ...]:
        """Numbers of the values that enter."""
        return tuple(j for j, _ in self.terms)


@dataclass(frozen=True)
class GraphPass:
    """Everything that a forward pass computes: `z[i]` and `h[i]` of node i, one example per row."""

    x: Float[Array, "n d_in"]
    z: tuple[Float[Array, "n _"], ...]
    h: tuple[Float[Array, "n _"], ...]
    outputs: Float[Array, "n d_out"]

    def __repr__(self) -> str:
        n, d_in = self.x.shape
        return f"GraphPass({n} rows, {d_in} inputs, {len(self.z)} nodes)"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class AffineGraph:
    """A network whose layers may read several values: residual adds, branches, several inputs.

    `inputs` maps the name of each input to its number of features. `nodes` are `Node`s, or tuples
    (terms, bias, activation); a bias None stands for zeros. `outputs` maps the name of each output
    to the number of its value. Arrays are copied and read-only; float32 and float64 are kept, a
    mixture becomes float64.

    `InvalidInput` is raised where sizes do not agree, or a node reads a value that comes later.
    """

    inputs: tuple[tuple[str, int], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, int], ...]

    def __init__(
        self,
        inputs: Mapping[str, int] | Iterable[tuple[str, int]],
        nodes: Iterable[Node | tuple],
        outputs: Mapping[str, int] | Iterable[tuple[str, int]],
    ):
        inputs, outputs = _pairs(inputs, "inputs"), _pairs(outputs, "outputs")
        given = [node if isinstance(node, Node) else _node(*node) for node in nodes]
        _check(inputs, given, outputs)
        dtype = _common_dtype(given)
        set_field = object.__setattr__
        set_field(self, "inputs", inputs)
        set_field(self, "nodes", tuple(_frozen(node, dtype) for node in given))
        set_field(self, "outputs", outputs)

    # ---- what it is

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of features of every value: inputs, then nodes."""
        return (*(size for _, size in self.inputs), *(node.width for node in self.nodes))

    @property
    def widths(self) -> tuple[int, ...]:
        """(d_in, width of node 0, width of node 1, ...)."""
        return (self.d_in, *(node.width for node in self.nodes))

    @property
    def d_in(self) -> int:
        """Number of inputs, those of all named inputs together."""
        return sum(size for _, size in self.inputs)

    @property
    def d_out(self) -> int:
        """Number of outputs, those of all named outputs together."""
        return sum(self.sizes[value] for _, value in self.outputs)

    @property
    def n_parameters(self) -> int:
        """Entries of the matrices (of sparse ones, those that are stored) and biases together."""
        return sum(node.width + sum(_n_entries(W) for _, W in node.terms) for node in self.nodes)

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return self.nodes[0].bias.dtype

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether every activation consists of straight pieces."""
        return all(node.activation.is_piecewise_linear for node in self.nodes)

    def __repr__(self) -> str:
        inputs = "+".join(str(size) for _, size in self.inputs)
        outputs = "+".join(str(self.sizes[value]) for _, value in self.outputs)
        sigmas = ", ".join(dict.fromkeys(str(node.activation) for node in self.nodes))
        return (
            f"AffineGraph({inputs} inputs, {len(self.nodes)} nodes ({sigmas}), {outputs} outputs, "
            f"{self.n_parameters:,} parameters)"
        )

    # ---- what it computes

    def __call__(self, x: ArrayLike | tuple) -> Float[Array, "*n d_out"]:
        """The outputs side by side: (n, d_out) for rows (n, d_in), (d_out,) for a single input.

        Several inputs come side by side in `x`, too, or as a tuple with an array for each.
        """
        rows, single = self._rows(x)
        outputs = self.forward(rows).outputs
        return outputs[0] if single else outputs

    def forward(self, x: ArrayLike | tuple) -> GraphPass:
        """The outputs with every pre-activation and activation; one input is one row."""
        rows, _ = self._rows(x)
        ends = np.cumsum([size for _, size in self.inputs])[:-1]
        values, zs = np.split(rows, ends, axis=1), []
        for node in self.nodes:
            z = np.zeros((len(rows), node.width), self.dtype) + node.bias
            for j, W in node.terms:
                z += values[j] @ W.T  # z = sum_j W_j h_j + b
            zs.append(z)
            values.append(node.activation(z))
        outputs = np.concatenate([values[value] for _, value in self.outputs], axis=1)
        return GraphPass(rows, tuple(zs), tuple(values[len(self.inputs) :]), outputs)

    def named_outputs(self, x: ArrayLike | tuple) -> dict[str, Float[Array, "*n _"]]:
        """The outputs by name."""
        y = self(x)
        ends = np.cumsum([self.sizes[value] for _, value in self.outputs])[:-1]
        names = [name for name, _ in self.outputs]
        return dict(zip(names, np.split(y, ends, axis=-1), strict=True))

    def _rows(self, x: ArrayLike | tuple) -> tuple[Float[Array, "n d_in"], bool]:
        """The inputs as rows side by side, and whether a single one was given."""
        sizes = [size for _, size in self.inputs]
        parts = x if isinstance(x, tuple) and len(sizes) > 1 and len(x) == len(sizes) else None
        try:
            if parts is not None:
                x = np.concatenate([np.asarray(part, self.dtype) for part in parts], axis=-1)
            rows = np.asarray(x, dtype=self.dtype)
        except (TypeError, ValueError):
            raise InvalidInput(
                "x must be an array of numbers with rows of equal length, or a tuple with one "
                "such array for each input."
            ) from None
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.d_in:
            takes = " + ".join(f"{size} ({name})" for name, size in self.inputs)
            raise InvalidInput(
                f"x has shape {rows.shape}; this network takes {takes} inputs side by side: "
                f"(n, {self.d_in}) or ({self.d_in},)."
            )
        return (rows, False) if rows.ndim == 2 else (rows[None], True)

    # ---- other forms of it

    def astype(self, dtype: DTypeLike) -> "AffineGraph":
        """The graph with its parameters rounded to float32, or exactly, in float64."""
        dtype = float_dtype(dtype)
        nodes = [
            (
                [(j, W.astype(dtype)) for j, W in node.terms],
                node.bias.astype(dtype),
                node.activation,
            )
            for node in self.nodes
        ]
        return AffineGraph(self.inputs, nodes, self.outputs)

    @property
    def is_chain(self) -> bool:
        """Whether every node reads the value right before it, and the last one is the output."""
        return (
            len(self.inputs) == 1
            and all(node.sources == (i,) for i, node in enumerate(self.nodes))
            and [value for _, value in self.outputs] == [len(self.nodes)]
        )

    def to_network(self, low: ArrayLike | None = None, high: ArrayLike | None = None) -> Network:
        """The same function as a `Network`, all inputs and all outputs side by side.

        A chain comes back layer for layer, in its dtype. Otherwise the layers also carry the values
        that are used further on, and that is exact for low <= x <= high: a relu layer carries v as
        relu(v + B), where B is so large that the unit is active on the whole box. Such units bend
        nowhere on the box; the network is float64, and outside the box it is another function.

        `UnsupportedLayer` is raised where a value must pass a smooth activation, `InvalidInput`
        where values are carried and no box is given.
        """
        from .carrying import carried  # it imports this module

        return carried(self, low, high).network


def as_chain(graph: AffineGraph) -> Network:
    """A graph that is a chain, layer for layer."""
    sigmas = [node.activation for node in graph.nodes]
    return Network(
        [dense(node.terms[0][1]) for node in graph.nodes],
        [node.bias for node in graph.nodes],
        sigmas[:-1],
        sigmas[-1],
    )


def dense(W: Matrix) -> Array:
    """The matrix as an array."""
    return W if isinstance(W, np.ndarray) else W.toarray()


def check_dense(nodes: Sequence[Node]) -> None:
    """`UnsupportedLayer` where a sparse matrix is too large to be a dense layer."""
    for i, node in enumerate(nodes):
        for _, W in node.terms:
            if W.shape[0] * W.shape[1] > MOST_ENTRIES:
                raise UnsupportedLayer(
                    f"node {i} has a sparse matrix of {W.shape[0]:,} x {W.shape[1]:,}; as a dense "
                    f"layer it would have more than {MOST_ENTRIES:,} entries: keep the graph."
                )


def _n_entries(W: Matrix) -> int:
    return W.size if isinstance(W, np.ndarray) else W.nnz


# ---- checks


def _pairs(
    names: Mapping[str, int] | Iterable[tuple[str, int]], kind: str
) -> tuple[tuple[str, int], ...]:
    pairs = names.items() if isinstance(names, Mapping) else names
    try:
        pairs = tuple((str(name), int(number)) for name, number in pairs)
    except (TypeError, ValueError):
        raise InvalidInput(f"{kind} must be pairs of a name and a number.") from None
    if not pairs or len(dict(pairs)) != len(pairs):
        raise InvalidInput(f"got {len(pairs)} {kind}; at least one is needed, with unique names.")
    return pairs


def _node(
    terms: Iterable[tuple[int, Matrix]], bias: ArrayLike | None, activation: str | Activation
) -> Node:
    from scipy.sparse import csr_array, issparse

    matrices: tuple[tuple[int, Any], ...] = tuple(
        (int(j), csr_array(W) if issparse(W) else np.asarray(W)) for j, W in terms
    )
    if not matrices:
        raise InvalidInput("a node has no terms; it needs at least one pair of value and matrix.")
    if bias is None:
        bias = np.zeros(matrices[0][1].shape[0], matrices[0][1].dtype)
    return Node(matrices, np.asarray(bias), as_activation(activation))


def _check(
    inputs: tuple[tuple[str, int], ...], nodes: list[Node], outputs: tuple[tuple[str, int], ...]
) -> None:
    """Every node reads values before it, in their sizes; every output is a value."""
    if not nodes:
        raise InvalidInput("got no nodes; a network needs at least one.")
    sizes = [size for _, size in inputs]
    if min(sizes) < 1:
        raise InvalidInput(f"the inputs have the sizes {sizes}; each needs at least 1 feature.")
    for i, node in enumerate(nodes):
        if node.bias.ndim != 1:
            raise InvalidInput(
                f"the bias of node {i} has shape {node.bias.shape}; it needs 1 axis."
            )
        for j, W in node.terms:
            if not 0 <= j < len(sizes):
                raise InvalidInput(
                    f"node {i} reads value {j}; it can read 0 to {len(sizes) - 1}: the "
                    f"{len(inputs)} inputs, then the nodes before it."
                )
            if W.ndim != 2 or W.shape != (node.width, sizes[j]):
                raise InvalidInput(
                    f"node {i} has {node.width} biases and a matrix of shape {W.shape} for value "
                    f"{j}, which has {sizes[j]} features; it needs {(node.width, sizes[j])}."
                )
        sizes.append(node.width)
    for name, value in outputs:
        if not 0 <= value < len(sizes):
            raise InvalidInput(
                f"output {name!r} is value {value}; the values are 0 to {len(sizes) - 1}."
            )


def _common_dtype(nodes: list[Node]) -> np.dtype:
    arrays = [array for node in nodes for array in (node.bias, *(W for _, W in node.terms))]
    is_single = all(array.dtype == np.float32 for array in arrays)
    return np.dtype(np.float32) if is_single else np.dtype(np.float64)


def _frozen(node: Node, dtype: np.dtype) -> Node:
    terms = tuple((j, _read_only(W, dtype)) for j, W in node.terms)
    return Node(terms, _read_only(node.bias, dtype), node.activation)


def _read_only(array: Matrix, dtype: np.dtype) -> Any:
    try:
        if isinstance(array, np.ndarray):
            copy = np.array(array, dtype=dtype, order="C", copy=True)
            parts = (copy,)
        else:
            copy = array.astype(dtype)
            copy.sum_duplicates()
            parts = (copy.data, copy.indices, copy.indptr)
    except (TypeError, ValueError):
        raise InvalidInput("the matrices and biases must hold numbers.") from None
    for part in parts:
        part.setflags(write=False)
    return copy
