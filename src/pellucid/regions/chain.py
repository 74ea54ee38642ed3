"""A network as exact regions need it: float64 layers with the pieces of their activations."""

import operator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import SupportsIndex
from weakref import finalize

import numpy as np

from .._errors import InvalidInput, UnsupportedLayer
from .._kernels.region_arrays import PIECES, Pieces
from .._shapes import Array, Int
from ..network import Activation, Network


@dataclass(frozen=True, eq=False)
class Chain:
    """Layers with kinks (W, b, pieces), and the affine output layer after them.

    An output activation with kinks makes the output layer one of the former; what follows is then
    the identity. The switches (unit, kink) are numbered in layer, unit, kink order.
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    pieces: tuple[Pieces, ...]
    output_weight: Array  # (d_out, width of the last of `weights`)
    output_bias: Array
    activations: tuple[Activation, ...]  # of the layers with kinks

    @property
    def d_in(self) -> int:
        """Number of inputs."""
        return (self.weights or (self.output_weight,))[0].shape[1]

    @property
    def d_out(self) -> int:
        """Number of outputs."""
        return len(self.output_bias)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """Number of the first switch of each layer, and at the end the number of switches."""
        counts = [len(b) * len(p.kinks) for b, p in zip(self.biases, self.pieces, strict=True)]
        return (0, *np.cumsum(counts, dtype=int).tolist())

    @cached_property
    def spectral(self) -> tuple[float, ...]:
        """A bound on the spectral norm of every layer's weights, the output's last."""
        norms = (np.linalg.norm(W, 2) for W in (*self.weights, self.output_weight))
        return tuple(float(norm) * (1 + 1e-9) + 1e-290 for norm in norms)

    @property
    def n_switches(self) -> int:
        """Number of (unit, kink) pairs."""
        return self.first[-1]

    @cached_property
    def switches(self) -> Int[Array, "n_switches 3"]:
        """(layer, unit, kink) of every switch, counted from 0."""
        rows = [
            (layer, unit, kink)
            for layer, (b, p) in enumerate(zip(self.biases, self.pieces, strict=True))
            for unit in range(len(b))
            for kink in range(len(p.kinks))
        ]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 3)


_chains: dict[int, Chain] = {}  # by id, as equality reads all weights; networks never change


def chain_of(network: Network) -> Chain:
    """The network's layers in float64; UnsupportedLayer or InvalidInput where regions end."""
    chain = _chains.get(id(network))
    if chain is None:
        chain = _chains[id(network)] = _make_chain(network)
        # two threads may come here for one network, and then the second finds nothing to pop
        finalize(network, _chains.pop, id(network), None).atexit = False
    return chain


def _make_chain(network: Network) -> Chain:
    layers = network.layers
    pieces = []
    for i, (W, b, activation) in enumerate(layers):
        pieces.append(_pieces(activation, i, len(layers)))
        for name, array in (("weights", W), ("biases", b)):
            if not np.isfinite(array).all():
                raise _not_finite(name, i, array)
    weights = [np.ascontiguousarray(W, np.float64) for W in network.weights]
    biases = [np.ascontiguousarray(b, np.float64) for b in network.biases]
    activations = network.activations
    if network.output_activation.name != "identity":
        activations = (*activations, network.output_activation)
        weights.append(np.eye(network.d_out))
        biases.append(np.zeros(network.d_out))
        pieces.append(PIECES["identity"]())
    return Chain(
        tuple(weights[:-1]),
        tuple(biases[:-1]),
        tuple(pieces[:-1]),
        weights[-1],
        biases[-1],
        activations,
    )


def output_index(output: SupportsIndex, d_out: int) -> int:
    """The output as an index from 0, or InvalidInput."""
    try:
        k = operator.index(output)
    except TypeError:
        k = d_out
    if not -d_out <= k < d_out:
        raise InvalidInput(f"output is {output!r}; the network has the outputs 0 to {d_out - 1}.")
    return k % d_out


def pieces_of(activation: Activation) -> Pieces:
    """The straight pieces of an activation that has such."""
    return PIECES[activation.name](*activation.parameters)


@cache
def _pieces(activation: Activation, i: int, n_layers: int) -> Pieces:
    if activation.name in PIECES:
        return pieces_of(activation)
    output = i == n_layers - 1
    hint = (
        'Read the logits instead: the same network with output_activation="identity".'
        if output
        else "A smooth activation bends everywhere: sample_patterns looks at points instead."
    )
    raise UnsupportedLayer(
        f"layer {i + 1} of {n_layers} {'(the output) ' if output else ''}has the activation "
        f"{activation}; exact linear regions need one of {', '.join(PIECES)}. {hint}"
    )


def _not_finite(name: str, i: int, array: Array) -> InvalidInput:
    index = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
    place = ", ".join(map(str, index))
    return InvalidInput(
        f"{name}[{i}][{place}] of the network is {array[index]}; exact linear regions need finite "
        "weights and biases."
    )
