"""Affine graphs where exact regions need a chain: a chain that is equal to the graph on a box."""

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput, UnsupportedLayer
from .._kernels.region_arrays import PIECES
from .._shapes import Array, Int
from ..network import AffineGraph, Network
from ..network.carrying import Carried, carried
from .chain import Chain, pieces_of
from .domains import Domain, Space


def on_domain(network: Network | AffineGraph, domain: Domain) -> Network:
    """The network; a graph as a chain that is equal to it on the domain."""
    box = (None, None) if isinstance(domain, Space) else domain.bounding_box
    return on_box(network, *box)


def on_box(
    network: Network | AffineGraph, low: ArrayLike | None, high: ArrayLike | None
) -> Network:
    """The network; a graph as a chain that is equal to it for low <= x <= high."""
    return network if isinstance(network, Network) else carried_on(network, low, high).network


def carried_on(graph: AffineGraph, low: ArrayLike | None, high: ArrayLike | None) -> Carried:
    """The chain and where the graph's units are in it; `UnsupportedLayer` names a smooth node."""
    for i, node in enumerate(graph.nodes):
        arrays = (node.bias, *(W if isinstance(W, np.ndarray) else W.data for _, W in node.terms))
        if not all(np.isfinite(array).all() for array in arrays):
            raise InvalidInput(
                f"node {i} has weights or biases that are not finite; exact linear regions need "
                "finite ones."
            )
        if node.activation.name not in PIECES:
            raise UnsupportedLayer(
                f"node {i} of {len(graph.nodes)} has the activation {node.activation}; exact "
                f"linear regions need one of {', '.join(PIECES)}: a smooth activation bends "
                "everywhere."
            )
    return carried(graph, low, high)


def switches_of(
    graph: AffineGraph, found: Carried, chain: Chain
) -> tuple[Int[Array, "n_switches 3"], Int[Array, " n_switches"]]:
    """(node, unit, kink) of the graph's own switches in order, and their numbers in the chain."""
    firsts: dict[int, int] = {}
    for layer, nodes in enumerate(found.units[: len(chain.pieces)]):
        kinks = len(chain.pieces[layer].kinks)
        for node, start in nodes:
            firsts.setdefault(node, chain.first[layer] + start * kinks)
    rows, numbers = [np.empty((0, 3), np.int64)], [np.empty(0, np.int64)]
    for i, first in sorted(firsts.items()):
        node = graph.nodes[i]
        kinks = len(pieces_of(node.activation).kinks)
        units, which = np.divmod(np.arange(node.width * kinks), max(kinks, 1))
        rows.append(np.stack([np.full(len(units), i), units, which], axis=1))
        numbers.append(first + np.arange(len(units)))
    return np.concatenate(rows), np.concatenate(numbers)
