"""How far two networks are apart as functions, exactly, on the regions that they have in common."""

import math
from dataclasses import dataclass

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Activation, AffineGraph, Network, as_activation
from .chain import Chain, chain_of, pieces_of
from .domains import Box, Domain, Space
from .graphs import on_domain
from .linear_regions import linear_regions
from .quantities import Norm, extremum, integrals, norm_named, square_integral
from .refining import above

IDENTITY = as_activation("identity")


def function_distance(
    network: Network | AffineGraph,
    other: Network | AffineGraph,
    domain: Domain,
    norm: Norm = 2,
) -> float:
    """The distance of two networks as functions on a domain, in a norm of f = network - other.

    norm 1: the integral of |f_1| + ... + |f_K|; norm 2: the square root of the integral of
    f_1^2 + ... + f_K^2, on a domain of one or two dimensions; norm "inf": the largest |f_k| that
    occurs. Integrals are in the input space. The networks may have different depths, widths and
    (piecewise linear) activations; their regions are cut by one another, and for norm 1 where an
    f_k changes its sign. Networks that are the same function are 0 apart, up to the rounding of
    float64. An `AffineGraph` is taken as in `linear_regions`.

    Raises UnsupportedLayer for a smooth activation, and InvalidInput where the networks differ in
    their numbers of inputs or outputs, and for a norm or a domain that is none of these.
    """
    q = norm_named(norm)
    for name, what in (("d_in", "inputs"), ("d_out", "outputs")):
        first, second = (getattr(one, name) for one in (network, other))
        if first != second:
            raise InvalidInput(f"the networks have {first} and {second} {what}; they must agree.")
    if not isinstance(domain, Domain) or isinstance(domain, Space):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; it must be a Segment, Plane or Box."
        )
    if domain.d_in != network.d_in:
        raise InvalidInput(
            f"the networks take {network.d_in} inputs and the domain has {domain.d_in}; they "
            "must agree."
        )
    chains = chain_of(on_domain(network, domain)), chain_of(on_domain(other, domain))
    if q == 2 and domain.dimension > 2:
        raise InvalidInput(
            f"the domain has {domain.dimension} dimensions; norm 2 needs 1 or 2: use a Plane, or "
            'norm 1 or "inf".'
        )
    joint, place, scale = difference(chains, domain, "abs" if q == 1 else "identity")
    regions = linear_regions(joint, place)
    if q == 1:
        return float(integrals(regions).sum()) * scale
    if q == 2:
        return math.sqrt(max(0.0, square_integral(regions)) * scale)
    return max(
        abs(extremum(regions, k, sign).value) for k in range(joint.d_out) for sign in (1.0, -1.0)
    )


def difference(
    chains: tuple[Chain, Chain], domain: Domain, activation: str
) -> tuple[Network, Domain, float]:
    """One network for the activation of f_k - g_k, a domain for it, and the volume of its unit.

    It takes the domain's inputs where both chains have the same activations. Where they differ, one
    waits while the other takes a step, and the input is the domain's coordinates, as they are few.
    """
    sides = tuple(_layers(chain) for chain in chains)
    place, scale = domain, 1.0
    if [a for *_, a in sides[0]] != [a for *_, a in sides[1]]:
        start = _start(domain)
        sides = tuple((*start, *side) for side in sides)
        place, scale = Box(domain.low, domain.high), domain.scale
    layers = _Joint(sides, place).layers
    K = chains[0].d_out
    eye, zeros = np.eye(K), np.zeros(K)
    layers.append((np.concatenate([eye, -eye], axis=1), zeros, as_activation(activation)))
    layers.append((eye, zeros, IDENTITY))
    W, b, activations = zip(*layers, strict=True)
    return Network(W, b, activations[:-1]), place, scale


Layer = tuple[Array, Array, Activation]


def _layers(chain: Chain) -> tuple[Layer, ...]:
    hidden = zip(chain.weights, chain.biases, chain.activations, strict=True)
    return (*hidden, (chain.output_weight, chain.output_bias, IDENTITY))


def _start(domain: Domain) -> list[Layer]:
    """From coordinates to inputs: x = origin + p (axes + rest), without rounding the sum."""
    if domain.is_coordinate:
        return []
    rest, eye = domain.rest, np.eye(domain.dimension)
    if not rest.any():
        return [(domain.axes.T, domain.origin, IDENTITY)]
    twice = np.concatenate([eye, eye])
    joint = np.concatenate([domain.axes, rest]).T
    return [(twice, np.zeros(len(twice)), IDENTITY), (joint, domain.origin, IDENTITY)]


@dataclass
class _Side:
    """One network on its way through the layers: what is left, and the size of its units."""

    left: list[Layer]
    size: Float64[Array, " width"]  # no unit is larger than this in size on the domain

    def step(self) -> tuple[Array, Array]:
        W, b, activation = self.left.pop(0)
        pieces = pieces_of(activation)
        steepest, highest = (max(map(abs, x)) for x in (pieces.slopes, pieces.intercepts))
        with np.errstate(over="ignore"):
            self.size = steepest * (np.abs(W) @ self.size + np.abs(b)) + highest
        return W, b


class _Joint:
    """The layers of two networks side by side."""

    def __init__(self, sides: tuple, place: Domain):
        reach = np.maximum(np.abs(place.low), np.abs(place.high)) @ np.abs(place.axes)
        size = np.abs(place.origin) + reach
        self.sides = [_Side(list(side), size) for side in sides]
        self.layers: list[Layer] = []
        while any(side.left for side in self.sides):
            self._layer()

    def _layer(self) -> None:
        """The next layer of both sides, or of the one that has more of them left."""
        a, b = (side.left for side in self.sides)
        together = len(a) == len(b) and a[0][2] == b[0][2]
        first = 0 if len(a) >= len(b) else 1
        activation = self.sides[first].left[0][2]
        steps, back = [], []
        for i, side in enumerate(self.sides):
            if together or i == first:
                W, c = side.step()
                steps.append((W, c))
                back.append((np.eye(len(c)), np.zeros(len(c))))
            else:
                scale, shift = room(activation, float(side.size.max(initial=0.0)))
                eye, ones = np.eye(len(side.size)), np.ones(len(side.size))
                steps.append((scale * eye, shift * ones))
                back.append((eye / scale, -shift / scale * ones))
        self._append(steps, activation)
        if not together and activation.name != "identity":
            self._append(back, IDENTITY)

    def _append(self, parts: list[tuple[Array, Array]], activation: Activation) -> None:
        (W, b), (V, c) = parts
        if self.layers:
            joint = np.zeros((len(W) + len(V), W.shape[1] + V.shape[1]))
            joint[: len(W), : W.shape[1]], joint[len(W) :, W.shape[1] :] = W, V
        else:  # both take the same input
            joint = np.concatenate([W, V])
        self.layers.append((joint, np.concatenate([b, c]), activation))


def room(activation: Activation, bound: float) -> tuple[float, float]:
    """A scale and a shift with which |z| <= bound passes an activation unchanged.

    scale z + shift lies on the second piece, which is the identity for all of them. The scale is a
    power of two, so that dividing it out again is exact.
    """
    kinks, power = pieces_of(activation).kinks, above(bound)
    if len(kinks) < 2:  # a kink is at 0
        return 1.0, power if kinks else 0.0
    low, high = kinks
    middle = low + (high - low) / 2
    least = min(middle - low, high - middle)  # `middle` is rounded, and may be one of the ends
    scale = 0.0
    if 0 < least < math.inf:
        scale = min(2.0 ** (math.frexp(least)[1] - 2) / power, 1.0)
    if scale < 1e-300:
        raise InvalidInput(
            f"the ends of {activation} lie too close together, or too far apart, for the values of "
            "another network to pass between them; use networks with the same activations."
        )
    return scale, middle
