"""Changes of the parameters that leave the function as it is, and what breaks it: averaging."""

import math
import operator
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array
from ..network import Activation, Network
from .table import symmetry_of


@dataclass
class Editable:
    """A network's arrays in float64, to be changed; `network()` gives them back in its dtype."""

    W: list[Array]
    b: list[Array]
    activations: list[Activation]
    source: Network

    @staticmethod
    def of(network: Network) -> "Editable":
        """Copies of the arrays."""
        checked_network(network)
        W = [np.array(W, np.float64) for W in network.weights]
        b = [np.array(b, np.float64) for b in network.biases]
        return Editable(W, b, list(network.activations), network)

    def order(self, layer: int, order: Array) -> None:
        """Keep the units of a hidden layer that are named, in the order in which they are."""
        self.W[layer], self.b[layer] = self.W[layer][order], self.b[layer][order]
        self.W[layer + 1] = self.W[layer + 1][:, order]

    def scale(self, layer: int, factors: Array) -> None:
        """Incoming weights and biases times c, outgoing weights divided by c."""
        with np.errstate(over="ignore"):  # network() looks at what came out
            self.W[layer] = self.W[layer] * factors[:, None]
            self.b[layer] = self.b[layer] * factors
            self.W[layer + 1] = self.W[layer + 1] / factors

    def flip(self, layer: int, signs: Array) -> None:
        """Change the signs of z, by sigma(-z) = factor sigma(z) + shift."""
        rule = symmetry_of(self.activations[layer]).flip
        if rule is None:
            raise ValueError(f"{self.activations[layer]} has no flip")
        turned = signs < 0
        self.W[layer] = self.W[layer] * signs[:, None]
        self.b[layer] = self.b[layer] * signs
        columns = self.W[layer + 1]
        # a sigma(z) = a factor (sigma(-z) - shift), as the factor is 1 or -1
        turned_columns = rule.factor * columns[:, turned]
        self.b[layer + 1] = self.b[layer + 1] - rule.shift * turned_columns.sum(axis=1)
        self.W[layer + 1] = columns.copy()
        self.W[layer + 1][:, turned] = turned_columns

    def network(self) -> Network:
        """The network, in the dtype of the one that it came from."""
        dtype = self.source.dtype
        with np.errstate(over="ignore"):
            W, b = [W.astype(dtype) for W in self.W], [b.astype(dtype) for b in self.b]
        given = (*self.source.weights, *self.source.biases)
        finite = (np.isfinite(part).all() for part in (*W, *b))
        if not all(finite) and all(np.isfinite(part).all() for part in given):
            raise InvalidInput(f"parameters become too large for {dtype}; give smaller ones.")
        return Network(W, b, self.activations, self.source.output_activation)


def permute(network: Network, layer: SupportsIndex, order: ArrayLike) -> Network:
    """The same function with the units of a hidden layer in another order.

    `layer` counts hidden layers from 0. Unit `order[i]` comes to place i: rows of the layer's
    weights and biases, and columns of the next layer's weights. Raises InvalidInput for a layer
    that the network does not have, and where `order` does not name every unit once.
    """
    k = hidden_layer(network, layer)
    width, given = network.hidden[k], np.asarray(order)
    if given.dtype.kind not in "iu" or not np.array_equal(np.sort(given, axis=None), range(width)):
        raise InvalidInput(
            f"order is {np.array2string(given, threshold=8)}; it must hold each of the numbers 0 "
            f"to {width - 1} once, the units of hidden layer {k}."
        )
    changed = Editable.of(network)
    changed.order(k, given.reshape(width))
    return changed.network()


def rescale(network: Network, layer: SupportsIndex, factors: ArrayLike) -> Network:
    """The same function with units scaled: incoming weights and bias times c, outgoing over c.

    For activations with sigma(c z) = c sigma(z) for c > 0: relu, leaky_relu, prelu, abs, identity.
    `factors` holds one positive number per unit of the hidden layer, or one for all. Powers of two
    change nothing but exponents; other factors round, so that the function is the same to rounding
    only. Raises InvalidInput for other activations, and for factors that are not positive.
    """
    k = hidden_layer(network, layer)
    c = _per_unit(network, k, factors, "factors")
    if not symmetry_of(network.activations[k]).scales:
        raise InvalidInput(
            f"hidden layer {k} has the activation {network.activations[k]}, which does not pass "
            "a factor unchanged; rescale needs relu, leaky_relu, prelu, abs or identity."
        )
    if not ((c > 0) & np.isfinite(c)).all():
        raise InvalidInput(
            f"factors hold {c[~((c > 0) & np.isfinite(c))][0]}; all must be above 0."
        )
    changed = Editable.of(network)
    changed.scale(k, c)
    return changed.network()


def flip(network: Network, layer: SupportsIndex, signs: ArrayLike) -> Network:
    """The same function with the signs of some units' pre-activations changed.

    For odd activations (tanh, softsign, identity, hardtanh with low = -high) the outgoing weights
    change their signs too; for sigmoid, sigma(-z) = 1 - sigma(z), the next biases take up what is
    left; for abs the outgoing weights stay. `signs` holds 1 or -1 for each unit of the hidden
    layer. Raises InvalidInput for other activations and other numbers.
    """
    k = hidden_layer(network, layer)
    s = _per_unit(network, k, signs, "signs")
    if not (np.abs(s) == 1).all():
        raise InvalidInput(f"signs hold {s[np.abs(s) != 1][0]:g}; each must be 1 or -1.")
    if symmetry_of(network.activations[k]).flip is None:
        raise InvalidInput(
            f"hidden layer {k} has the activation {network.activations[k]}, which does not pass a "
            "change of sign; flip needs tanh, softsign, sigmoid, abs, identity, or hardtanh with "
            "low = -high."
        )
    changed = Editable.of(network)
    changed.flip(k, s)
    return changed.network()


def n_copies(network: Network) -> int:
    """How many parameter settings permutations and changes of sign make of this one.

    The product over hidden layers of width!, times 2^width where the activation passes a change
    of sign; if no two units of a layer are copies of each other and none is 0. For tanh this is
    the whole group (Sussmann 1992); for relu and its like scaling adds a continuum.
    """
    checked_network(network)
    signs = (2 if symmetry_of(a).flip is not None else 1 for a in network.activations)
    return math.prod(math.factorial(n) * s**n for n, s in zip(network.hidden, signs, strict=True))


def permutation_average(network: Network) -> Network:
    """The mean of the parameters over all permutations of all hidden layers.

    In it all units of a layer are the same, so that each layer acts as a single unit. If the loss
    were convex, the average of a minimum would be one too.
    """
    changed = Editable.of(network)
    for k in range(len(network.hidden)):
        rows = changed.W[k].mean(axis=0, keepdims=True)
        changed.W[k] = np.broadcast_to(rows, changed.W[k].shape).copy()
        changed.b[k] = np.full(len(changed.b[k]), changed.b[k].mean())
        columns = changed.W[k + 1].mean(axis=1, keepdims=True)
        changed.W[k + 1] = np.broadcast_to(columns, changed.W[k + 1].shape).copy()
    return changed.network()


def checked_network(network: Network, name: str = "the network") -> Network:
    """The network, or InvalidInput where it is none."""
    if not isinstance(network, Network):
        raise InvalidInput(
            f"{name} is a {type(network).__name__}; it must be a Network (a construction has "
            ".network)."
        )
    return network


def hidden_layer(network: Network, layer: SupportsIndex) -> int:
    """The index of a hidden layer from 0, or InvalidInput."""
    checked_network(network)
    n = len(network.hidden)
    try:
        k = operator.index(layer)
    except TypeError:
        k = n
    if not -n <= k < n:
        has = f"the hidden layers 0 to {n - 1}" if n else "no hidden layers"
        raise InvalidInput(f"layer is {layer!r}; the network has {has}.")
    return k % n


def _per_unit(network: Network, k: int, values: ArrayLike, name: str) -> Array:
    width = network.hidden[k]
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be numbers, one for each unit.") from None
    if array.shape not in ((), (width,)):
        raise InvalidInput(
            f"{name} has shape {array.shape}; hidden layer {k} needs ({width},), or one number."
        )
    return np.broadcast_to(array, (width,)).copy()
