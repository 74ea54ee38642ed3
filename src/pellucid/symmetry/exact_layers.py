"""Networks in whole numbers: layers as tables [W | b], composed and evaluated without rounding."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._kernels.region_arrays import PIECES, Pieces
from .._shapes import Array
from ..network import Activation, Network
from ..regions.domains import Domain
from ..regions.exact import Dyadic, coordinates_to_input

Point = tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class ExactLayers:
    """Tables [W | b], the output's last, and the activations between them.

    Layers with the identity are multiplied into the next, so that no activation is one.
    """

    tables: tuple[Dyadic, ...]
    activations: tuple[Activation, ...]

    @property
    def pieces(self) -> list[Pieces]:
        """The straight pieces of the activations."""
        return [PIECES[a.name](*a.parameters) for a in self.activations]

    def __call__(self, x: Sequence[Fraction]) -> Point:
        """The outputs at a rational point: exactly. The activations must have straight pieces."""
        q = math.lcm(*(v.denominator for v in x))
        H = Dyadic(np.array([[v.numerator * (q // v.denominator)] for v in x], object), 0)  # q h
        for table, pieces in zip(self.tables, self.pieces, strict=False):
            H = activated(_affine(table, H, q), pieces, q)
        out = _affine(self.tables[-1], H, q)
        unit = q * Fraction(2) ** out.shift
        return tuple(Fraction(v) / unit for v in out.numbers.ravel().tolist())


def exact_layers(network: Network, domain: Domain | None = None) -> ExactLayers:
    """The layers as stored, in coordinates of a domain; an output activation is one more layer."""
    tables = [
        _joined(W.astype(np.float64), b.astype(np.float64))
        for W, b in zip(network.weights, network.biases, strict=True)
    ]
    activations = list(network.activations)
    if network.output_activation.name != "identity":
        activations.append(network.output_activation)
        tables.append(_joined(np.eye(network.d_out), np.zeros(network.d_out)))
    if domain is not None and not domain.is_coordinate:
        tables[0] = compose(tables[0], coordinates_to_input(domain))
    i = 0
    while i < len(activations):
        if activations[i].name == "identity":
            tables[i : i + 2] = [compose(tables[i + 1], tables[i])]
            del activations[i]
        else:
            i += 1
    return ExactLayers(tuple(tables), tuple(activations))


def to_input(domain: Domain | None, p: Sequence[Fraction]) -> Point:
    """The point of the input space with rational coordinates p: exactly."""
    if domain is None or domain.is_coordinate:
        return tuple(p)
    table = coordinates_to_input(domain)
    return ExactLayers((table,), ())(p)


def compose(after: Dyadic, before: Dyadic) -> Dyadic:
    """[W2 W1 | W2 b1 + b2]."""
    product = Dyadic(after.numbers[:, :-1], after.shift) @ before
    last = np.zeros(product.numbers.shape, int).astype(object)
    last[:, -1] = after.numbers[:, -1]
    return product + Dyadic(last, after.shift)


def activated(Z: Dyadic, pieces: Pieces, q: int = 1) -> Dyadic:
    """q sigma(z), from q z in a column: exactly."""
    number = np.zeros(len(Z.numbers), np.int64)
    for kink in pieces.kinks:
        s = Z.numbers if not kink else (Z + _constants([-kink], q)).numbers
        number += np.array([v > 0 for v in s.ravel().tolist()], bool)
    H = Dyadic.of(np.array(pieces.slopes)[number][:, None]) * Z
    return H + _constants(np.array(pieces.intercepts)[number], q) if any(pieces.intercepts) else H


def fractions(values: Array) -> Point:
    """Floats as the rational numbers that they are."""
    return tuple(Fraction(v) for v in np.asarray(values, np.float64).tolist())


def _joined(W: Array, b: Array) -> Dyadic:
    return Dyadic.of(np.concatenate([W, b[:, None]], axis=1))


def _affine(table: Dyadic, H: Dyadic, q: int) -> Dyadic:
    """Q (W h + b), from q h."""
    product = Dyadic(table.numbers[:, :-1], table.shift) @ H
    return product + Dyadic(table.numbers[:, -1:] * q, table.shift)


def _constants(values: Array | list, q: int) -> Dyadic:
    column = Dyadic.of(np.asarray(values, np.float64)[:, None])
    return Dyadic(column.numbers * q, column.shift)
