"""`align`: bring one network's units into the order, scale and sign of another's."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int
from ..network import Network
from .table import symmetry_of
from .transforms import Editable

#: factors this near to 1 are 1, so that a pure permutation comes back bit for bit
EVEN_FACTOR = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The network b with its units in the order, scale and sign of a's: the same function as b.

    Place i of hidden layer l holds unit `orders[l][i]` of b, times `factors[l][i]` and with the
    sign `signs[l][i]`. `distance_before` and `distance_after` are the Euclidean distances of the
    parameters to those of a. `start` names the start of the search that won.
    """

    network: Network
    orders: tuple[Int[Array, " _"], ...]
    factors: tuple[Float64[Array, " _"], ...]
    signs: tuple[Float64[Array, " _"], ...]
    distance_before: float
    distance_after: float
    start: str

    def __repr__(self) -> str:
        return (
            f"Alignment(parameters {self.distance_before:.6g} apart before and "
            f"{self.distance_after:.6g} after, from the start {self.start!r})"
        )


def parameter_distance(a: Network, b: Network) -> float:
    """The Euclidean distance of the parameters of two networks of one architecture.

    It says nothing about the functions: `function_distance` does. Raises InvalidInput where widths
    or activations differ.
    """
    _same_architecture(a, b)
    gap = a.parameters().astype(np.float64) - b.parameters().astype(np.float64)
    return float(np.linalg.norm(gap))


def align(a: Network, b: Network, *, starts: SupportsIndex = 8, seed: int = 0) -> Alignment:
    """The network b with its units in the order, scale and sign of a's, as near as was found.

    Scales are made the same first: incoming weights and bias of every unit get the length 1, the
    outgoing weights take what was divided out. Then weight matching (Ainsworth, Hayase and
    Srinivasa 2022): layer after layer, the linear assignment of units with the largest inner
    products of incoming and outgoing weights under the present order of the layers around it, until
    nothing improves; signs where the activation passes them. This finds a local optimum, so it is
    done from several starts: b as it is ("identity"), units matched from the inputs on as canonical
    forms are ("canonical"), from the outputs back ("outputs"), and random orders; `starts` is their
    number. Units then get the incoming length of their partners. The nearest result wins, and b
    "unchanged" where none is nearer.

    Raises InvalidInput where widths or activations differ.
    """
    _same_architecture(a, b)
    try:
        n = operator.index(starts)
    except TypeError:
        n = 0
    if n < 1:
        raise InvalidInput(f"starts is {starts!r}; it must be a whole number above 0.")
    try:
        rng = np.random.default_rng(operator.index(seed))
    except (TypeError, ValueError):
        raise InvalidInput(f"seed is {seed!r}; it must be a whole number, 0 or more.") from None
    search = _Search(a, b)
    found: list[Alignment] = []
    for name, start in search.starts(n, rng):
        search.orders, search.signs = start()
        search.climb()
        found.append(search.result(name))
        if found[-1].distance_after <= 1e-14 * float(np.linalg.norm(a.parameters())):
            break
    found.append(search.unchanged())
    return min(found, key=lambda alignment: alignment.distance_after)


Start = tuple[list[Array], list[Array]]


class _Search:
    """Orders and signs of b's units, to be improved one layer at a time."""

    def __init__(self, a: Network, b: Network):
        self.a, self.b = a, b
        self.A, self.B = (_normalised(network) for network in (a, b))
        self.n = len(a.hidden)
        self.orders = [np.arange(width) for width in a.hidden]
        self.signs = [np.ones(width) for width in a.hidden]

    def starts(self, n: int, rng: np.random.Generator) -> list[tuple[str, Callable[[], Start]]]:
        """Names, and functions that give orders and signs."""
        named: list[tuple[str, Callable[[], Start]]] = [
            ("canonical", self._from_inputs),
            ("identity", self._as_it_is),
            ("outputs", self._from_outputs),
        ]
        named += [(f"random {i + 1}", lambda: self._random(rng)) for i in range(n - 3)]
        return named[:n]

    def _as_it_is(self) -> Start:
        return [np.arange(w) for w in self.a.hidden], [np.ones(w) for w in self.a.hidden]

    def _random(self, rng: np.random.Generator) -> Start:
        return [rng.permutation(w) for w in self.a.hidden], [np.ones(w) for w in self.a.hidden]

    def _from_inputs(self) -> Start:
        self.orders, self.signs = self._as_it_is()
        for k in range(self.n):
            self._assign(k, self._incoming(k), 0.0)
        return self.orders, self.signs

    def _from_outputs(self) -> Start:
        self.orders, self.signs = self._as_it_is()
        for k in reversed(range(self.n)):
            self._assign(k, 0.0, self._outgoing(k))
        return self.orders, self.signs

    def climb(self) -> None:
        """Assign layer after layer until the inner product with a no longer grows."""
        best = -np.inf
        while (value := self._value()) > best + 1e-12 * abs(value):
            best = value
            for k in range(self.n):
                self._assign(k, self._incoming(k), self._outgoing(k))

    def _before(self, k: int) -> Array:
        """Weights of layer k of b, columns in the present order of the layer before."""
        W = self.B.W[k]
        if not k:
            return W
        return W[:, self.orders[k - 1]] * self._out_signs(k - 1)

    def _out_signs(self, k: int) -> Array:
        rule = symmetry_of(self.a.activations[k]).flip
        return (
            self.signs[k] if rule is not None and rule.factor < 0 else np.ones(len(self.signs[k]))
        )

    def _incoming(self, k: int) -> Float64[Array, "width width"]:
        """Inner products of incoming weights and biases: unit of a by unit of b."""
        return self.A.W[k] @ self._before(k).T + np.outer(self.A.b[k], self.B.b[k])

    def _outgoing(self, k: int) -> Float64[Array, "width width"]:
        W = self.B.W[k + 1]
        if k + 1 < self.n:
            W = W[self.orders[k + 1]] * self.signs[k + 1][:, None]
        return self.A.W[k + 1].T @ W

    def _assign(self, k: int, incoming: Array | float, outgoing: Array | float) -> None:
        from scipy.optimize import linear_sum_assignment

        rule = symmetry_of(self.a.activations[k]).flip
        plain = np.asarray(incoming + outgoing)
        # the same with the sign of z changed: odd activations change that of what goes out too
        turned = (
            plain if rule is None else -np.asarray(incoming) + rule.factor * np.asarray(outgoing)
        )
        _, order = linear_sum_assignment(np.maximum(plain, turned), maximize=True)
        here = np.arange(len(order)), order
        self.orders[k], self.signs[k] = order, np.where(turned[here] > plain[here], -1.0, 1.0)

    def _value(self) -> float:
        """The inner product of all parameters with those of a."""
        total = 0.0
        for k in range(self.n + 1):
            W, b = self._before(k), self.B.b[k]
            if k < self.n:
                W, b = (x[self.orders[k]] for x in (W, b))
                W, b = W * self.signs[k][:, None], b * self.signs[k]
            total += float((self.A.W[k] * W).sum() + self.A.b[k] @ b)
        return total

    def unchanged(self) -> Alignment:
        """The original b as it is: making lengths the same may lead away from a."""
        gap = parameter_distance(self.a, self.b)
        orders, signs = self._as_it_is()
        factors = tuple(np.ones(w) for w in self.a.hidden)
        return Alignment(self.b, tuple(orders), factors, tuple(signs), gap, gap, "unchanged")

    def result(self, name: str) -> Alignment:
        """The original b in these orders and signs, with the incoming lengths of a."""
        changed, factors = Editable.of(self.b), []
        for k, (order, signs) in enumerate(zip(self.orders, self.signs, strict=True)):
            changed.order(k, order)
            if (signs < 0).any():
                changed.flip(k, signs)
            c = np.ones(len(order))
            if symmetry_of(self.a.activations[k]).scales:
                wanted, has = _lengths(self.a, k), _lengths_of(changed.W[k], changed.b[k])
                usable = (wanted > 0) & (has > 0)
                c[usable] = wanted[usable] / has[usable]
                c[np.abs(c - 1) <= EVEN_FACTOR] = 1.0
                changed.scale(k, c)
            factors.append(c)
        network = changed.network()
        return Alignment(
            network=network,
            orders=tuple(order.copy() for order in self.orders),
            factors=tuple(factors),
            signs=tuple(signs.copy() for signs in self.signs),
            distance_before=parameter_distance(self.a, self.b),
            distance_after=parameter_distance(self.a, network),
            start=name,
        )


def _normalised(network: Network) -> Editable:
    """Incoming weights and biases of length 1, where the activation passes a factor."""
    form = Editable.of(network)
    for k, activation in enumerate(network.activations):
        if symmetry_of(activation).scales:
            length = _lengths_of(form.W[k], form.b[k])
            form.scale(k, 1.0 / np.where(length > 0, length, 1.0))
    return form


def _lengths(network: Network, k: int) -> Float64[Array, " width"]:
    return _lengths_of(network.weights[k].astype(np.float64), network.biases[k].astype(np.float64))


def _lengths_of(W: Array, b: Array) -> Float64[Array, " width"]:
    return np.linalg.norm(np.column_stack([W, b]), axis=1)


def _same_architecture(a: Network, b: Network) -> None:
    for network, name in ((a, "a"), (b, "b")):
        if not isinstance(network, Network):
            raise InvalidInput(f"{name} is a {type(network).__name__}; it must be a Network.")
    if a.widths != b.widths:
        raise InvalidInput(
            f"the networks have the widths {a.widths} and {b.widths}; parameters can be compared "
            "only where they agree (function_distance compares any two functions)."
        )
    if (a.activations, a.output_activation) != (b.activations, b.output_activation):
        raise InvalidInput("the networks have different activations; they must agree.")
