"""Interpolation on Kuhn's triangulation of a box, as a network.

The box is cut into equal cells, and each cell into d! simplices, one for each order of the
fractional parts of u = (x - low) / cell. On them the interpolant is the sum over the nodes v of
g(v) phi(u - v), with the hat phi(y) = relu(1 - max(0, y_1, ..., y_d) + min(0, y_1, ..., y_d)).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int
from ..network import Network
from ..regions import Box


@dataclass(frozen=True, eq=False)
class Grid:
    """Equal cells of a box: `cells[i]` of them along input i."""

    box: Box
    cells: tuple[int, ...]

    @property
    def n_nodes(self) -> int:
        """Number of corners of cells."""
        return math.prod(n + 1 for n in self.cells)

    @property
    def nodes(self) -> Int[Array, "nodes d"]:
        """The nodes in numbers of cells, the last input's fastest."""
        return np.array(list(product(*(range(n + 1) for n in self.cells))))

    @property
    def axes(self) -> list[Array]:
        """Where the nodes are along each input, rounded to float64."""
        return [
            np.linspace(low, high, n + 1)
            for low, high, n in zip(self.box.low, self.box.high, self.cells, strict=True)
        ]

    @property
    def points(self) -> Float64[Array, "nodes d"]:
        """The nodes as inputs."""
        mesh = np.meshgrid(*self.axes, indexing="ij")
        return np.stack([axis.ravel() for axis in mesh], axis=1)

    @property
    def sides(self) -> Float64[Array, " d"]:
        """Side lengths of a cell."""
        return (self.box.high - self.box.low) / np.array(self.cells)

    def interpolate(
        self, g: Float64[Array, " nodes"], x: Float64[Array, "n d"]
    ) -> Float64[Array, " n"]:
        """The interpolant at points of the box, without the network."""
        cells = np.array(self.cells)
        u = (x - self.box.low) / self.sides
        corner = np.clip(np.floor(u).astype(np.int64), 0, cells - 1)
        part = u - corner
        order = np.argsort(-part, axis=1)  # from the corner along the largest part first
        ordered = np.take_along_axis(part, order, axis=1)
        strides = np.append(np.cumprod((cells[1:] + 1)[::-1])[::-1], 1)
        at = corner @ strides
        total = g[at] * (1 - ordered[:, 0])
        for i in range(len(cells)):
            at = at + strides[order[:, i]]
            following = ordered[:, i + 1] if i + 1 < len(cells) else 0.0
            total = total + g[at] * (ordered[:, i] - following)
        return total


def least_units(cells: Sequence[int]) -> int:
    """Hidden units of the network on such a grid for d = 2; for more a lower bound, the nodes."""
    nodes = math.prod(n + 1 for n in cells)
    return 3 * nodes + sum(cells) + 3 if len(cells) == 2 else nodes


# --- the network ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A sum of units with whole coefficients, and a whole constant."""

    terms: tuple[tuple[int, int], ...] = ()  # (unit, coefficient), in ascending order of units
    constant: int = 0

    def plus(self, other: "Form", sign: int = 1) -> "Form":
        """The sum of both, or with sign -1 the difference."""
        sums = dict(self.terms)
        for unit, c in other.terms:
            sums[unit] = sums.get(unit, 0) + sign * c
        kept = tuple(sorted((unit, c) for unit, c in sums.items() if c))
        return Form(kept, self.constant + sign * other.constant)


ZERO = Form()


@dataclass(eq=False)
class Layer:
    """A hidden layer that is being built; equal units are made once."""

    units: dict[Form, int] = field(default_factory=dict)

    def relu(self, form: Form) -> Form:
        """A unit of this layer: the positive part of a form of the layer before."""
        return Form(((self.units.setdefault(form, len(self.units)), 1),))

    def keep(self, form: Form) -> Form:
        """A form of the layer before, carried on: its units are not negative."""
        total = Form((), form.constant)
        for unit, c in form.terms:
            kept = self.relu(Form(((unit, 1),))).terms[0][0]
            total = total.plus(Form(((kept, c),)))
        return total

    def larger(self, a: Form, b: Form) -> Form:
        """max(a, b) = b + relu(a - b), in this layer."""
        return self.keep(b).plus(self.relu(a.plus(b, -1)))

    def smaller(self, a: Form, b: Form) -> Form:
        """min(a, b) = a - relu(a - b), or -relu(-a) for b = 0, in this layer."""
        if b == ZERO:
            return ZERO.plus(self.relu(ZERO.plus(a, -1)), -1)
        return self.keep(a).plus(self.relu(a.plus(b, -1)), -1)

    def matrix(self, width: int) -> tuple[Array, Array]:
        """Weights over the units of the layer before, and biases."""
        W, b = np.zeros((len(self.units), width)), np.zeros(len(self.units))
        for row, form in enumerate(self.units):
            for unit, c in form.terms:
                W[row, unit] = c
            b[row] = form.constant
        return W, b


def hat_layers(grid: Grid) -> list[Layer]:
    """The hidden layers, over u, whose last one has a hat for each node."""
    d = len(grid.cells)
    trees = [
        [(leaf, leaf) for leaf in (*(Form(((i, 1),), -int(v[i])) for i in range(d)), ZERO)]
        for v in grid.nodes
    ]
    layers: list[Layer] = []
    while len(trees[0]) > 1:
        layers.append(Layer())
        trees = [_halved(layers[-1], tree) for tree in trees]
    layers.append(Layer())
    for ((most, least),) in trees:
        layers[-1].relu(Form((), 1).plus(most, -1).plus(least))
    return layers


def _halved(layer: Layer, tree: list[tuple[Form, Form]]) -> list[tuple[Form, Form]]:
    """Maximum and minimum of every two neighbours; an odd one is carried."""
    halved = [
        (layer.larger(a, b), layer.smaller(p, q))
        for (a, p), (b, q) in zip(tree[::2], tree[1::2], strict=False)
    ]
    if len(tree) % 2:
        halved.append((layer.keep(tree[-1][0]), layer.keep(tree[-1][1])))
    return halved


def kuhn_network(
    grid: Grid, g: Float64[Array, " nodes"], layers: list[Layer]
) -> tuple[Network, Fraction]:
    """The interpolant with the values g at the nodes, and how far rounding moves it at most."""
    d, weights, biases = len(grid.cells), [], []
    width = d
    for layer in layers:
        W, b = layer.matrix(width)
        weights.append(W)
        biases.append(b)
        width = len(b)
    scale = np.array(grid.cells) / (grid.box.high - grid.box.low)
    rows, constants = weights[0], biases[0]
    weights[0] = rows * scale
    biases[0] = constants - weights[0] @ grid.box.low + 0.0
    off = _first_layer_error(grid, rows, constants, weights[0], biases[0])
    network = Network([*weights, g[None]], [*biases, [0]], ["relu"] * len(layers))
    # Forms of the k-th layer are off by 2 3^(k - 1) `off` at most, a hat by two of them. A hat is
    # not 0, as it is or should be, only where its node is within 1 + off of u along every input.
    off = off * 4 * 3 ** (len(layers) - 2)
    hats = min((3 + math.floor(2 * off)) ** d, grid.n_nodes)
    return network, off * hats * Fraction(float(np.abs(g).max()))


def moved_nodes(grid: Grid, g: Float64[Array, " nodes"], M: float) -> Fraction:
    """How far values of f may be from those at the true nodes, as the points are rounded.

    Somewhere on an edge of a cell df/dx_i is the slope of g along it, and near its ends no more
    than M times the length of two diagonals away from that.
    """
    total, spread = Fraction(0), Fraction(float(g.max())) - Fraction(float(g.min()))
    bend = 2 * Fraction(M) * Fraction(float(grid.sides.sum()))
    for n, axis in zip(grid.cells, grid.axes, strict=True):
        low, high = Fraction(float(axis[0])), Fraction(float(axis[-1]))
        side = (high - low) / n
        moved = max(abs(Fraction(x) - low - k * side) for k, x in enumerate(axis.tolist()))
        if not 2 * moved < side:
            raise InvalidInput(f"{n:,} cells from {axis[0]:g} to {axis[-1]:g} are too narrow.")
        total += moved * (spread / (side - 2 * moved) + bend)
    return total


def _first_layer_error(grid: Grid, rows: Array, constants: Array, W: Array, b: Array) -> Fraction:
    """How far a pre-activation is from its sum of u_i = (x_i - low_i) N_i / side_i, on the box."""
    low = [Fraction(v) for v in grid.box.low.tolist()]
    high = [Fraction(v) for v in grid.box.high.tolist()]
    exact = [n / (h - a) for n, a, h in zip(grid.cells, low, high, strict=True)]
    worst = Fraction(0)
    for coefficients, constant, stored, bias in zip(
        rows.tolist(), constants.tolist(), W.tolist(), b.tolist(), strict=True
    ):
        slopes = [
            Fraction(w) - int(c) * s for w, c, s in zip(stored, coefficients, exact, strict=True)
        ]
        start = (
            Fraction(bias)
            - int(constant)
            + sum(
                (int(c) * s * a for c, s, a in zip(coefficients, exact, low, strict=True)),
                Fraction(0),
            )
        )
        # start + slopes x is affine in x: largest in size at a corner of the box
        ends = [sorted((e * a, e * h)) for e, a, h in zip(slopes, low, high, strict=True)]
        worst = max(
            worst,
            abs(start + sum((e[0] for e in ends), Fraction(0))),
            abs(start + sum((e[1] for e in ends), Fraction(0))),
        )
    return worst
