"""The layers that were read as a network: a chain where they are one, else a graph."""

import numpy as np
from scipy.sparse import csr_array

from ...._errors import InvalidFile
from ...._shapes import Array
from ...activations import Activation
from ...graph import AffineGraph, Matrix, dense
from ...network import Network
from .maps import Affine, Rows, final, n_entries
from .work import FREE_ENTRIES, Layer, Work

LARGEST_FLOAT32 = 1e30  # where values may be larger, the network is computed in float64
MOST_DENSE = 4  # a layer is made dense where that takes at most so many times its entries
SMALL = 2**20  # entries of a layer that may be dense in any case


def built(
    work: Work, outputs: list[tuple[str, Affine]], held: int
) -> tuple[Network | AffineGraph, tuple[str, ...]]:
    """The network of the layers that the outputs need, and what was folded into them."""
    numbers = [(name, _output_value(work, z)) for name, z in outputs]
    keep = _needed(work, [value for _, value in numbers])
    d = len(work.inputs)
    new = {value: i for i, value in enumerate((*range(d), *(d + k for k in keep)))}
    layers = [_renumbered(work, work.layers[k], new) for k in keep]
    total = sum(sum(map(n_entries, layer.terms.values())) + layer.size for layer in layers)
    if total > FREE_ENTRIES + held:
        raise InvalidFile(
            f"uses its weights again and again: {total:,} parameters of a file of {held:,} bytes."
        )
    _check_finite(layers)
    dtype = _dtype(layers)
    nodes = [
        (
            [(j, final(M, dtype)) for j, M in layer.terms.items()],
            np.zeros(layer.size, dtype) if layer.bias is None else layer.bias,
            layer.activation,
        )
        for layer in layers
    ]
    outlets = [(name, new[value]) for name, value in numbers]
    notes = tuple(dict.fromkeys(note for layer in layers for note in layer.notes))
    network = _as_network(work, nodes, outlets) or AffineGraph(work.inputs, nodes, outlets)
    if may_overflow(network):
        note = "weights so large that float32 could overflow: the network is float64"
        return network.astype(np.float64), (*notes, note)
    return network, notes


def _output_value(work: Work, z: Affine) -> int:
    value = z.pure()
    if value is not None and value >= len(work.inputs):
        return value
    made = work.layer(z, Activation("identity"))
    result = made.pure()
    assert result is not None
    return result


def _needed(work: Work, values: list[int]) -> list[int]:
    """Numbers of the layers that the values depend on, in order."""
    d, seen = len(work.inputs), set()
    waiting = list(values)
    while waiting:
        k = waiting.pop() - d
        if k >= 0 and k not in seen:
            seen.add(k)
            waiting.extend(work.layers[k].terms)
    return sorted(seen)


def _renumbered(work: Work, layer: Layer, new: dict[int, int]) -> Layer:
    """The layer with the new numbers of the values; a constant one reads nothing of input 0."""
    terms = {new[value]: M for value, M in layer.terms.items()}
    terms = terms or {0: csr_array((layer.size, work.inputs[0][1]), dtype=np.float32)}
    return Layer(terms, layer.bias, layer.activation, layer.size, layer.notes)


def _dtype(layers: list[Layer]) -> type:
    """float32, unless some number was computed or stored in float64."""
    arrays = [
        array
        for layer in layers
        for array in (layer.bias, *layer.terms.values())
        if array is not None and not isinstance(array, Rows)
    ]
    return np.float32 if all(array.dtype == np.float32 for array in arrays) else np.float64


def _check_finite(layers: list[Layer]) -> None:
    """Stored numbers are finite; those that were computed of them may be too large."""
    for layer in layers:
        for part in (layer.bias, *layer.terms.values()):
            if part is None or isinstance(part, Rows) or part.dtype == np.float32:
                continue
            if not np.isfinite(part if isinstance(part, np.ndarray) else part.data).all():
                raise InvalidFile(
                    "weights or biases that are computed from its numbers are too large for a "
                    "float, or undefined."
                )


def _as_network(work: Work, nodes: list[tuple], outputs: list[tuple[str, int]]) -> Network | None:
    """The layers as a chain; None where they are none, or dense ones would be much larger."""
    is_chain = (
        len(work.inputs) == 1
        and all([j for j, _ in terms] == [i] for i, (terms, _, _) in enumerate(nodes))
        and [value for _, value in outputs] == [len(nodes)]
    )
    matrices = [W for terms, _, _ in nodes for _, W in terms]
    if not is_chain or not all(map(_may_be_dense, matrices)):
        return None
    biases = [bias for _, bias, _ in nodes]
    sigmas = [activation for _, _, activation in nodes]
    return Network([dense(W) for W in matrices], biases, sigmas[:-1], sigmas[-1])


def _may_be_dense(W: Matrix) -> bool:
    size = W.shape[0] * W.shape[1]
    return isinstance(W, np.ndarray) or size <= max(MOST_DENSE * W.nnz, SMALL)


def may_overflow(network: Network | AffineGraph) -> bool:
    """Whether values may leave the range of float32 although every weight is in it."""
    if network.dtype != np.float32:
        return False
    if isinstance(network, Network):
        layers = [([W], b) for W, b, _ in network.layers]
    else:
        layers = [([W for _, W in node.terms], node.bias) for node in network.nodes]
    bound = 1.0
    for matrices, b in layers:
        norms = [_norm(part if isinstance(part, np.ndarray) else part.data) for part in matrices]
        bound = max(bound, 1.0) * sum(norms) + _norm(b)
        if not bound < LARGEST_FLOAT32:
            return True
    return False


def _norm(array: Array) -> float:
    """The root of the sum of squares; infinite or NaN where float32 does not hold it."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.vdot(array, array)))
