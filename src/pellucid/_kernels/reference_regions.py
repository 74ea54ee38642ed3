"""The region kernel's twin: the textbook recursion in exact rational numbers.

Slow and obviously right: the oracle of the kernel's tests on small networks.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._shapes import Array
from .region_arrays import Numbers, Pieces, PlaneRegions

Affine = tuple[Fraction, ...]  # (a, b, ..., c): a s + b t + ... + c


@dataclass(frozen=True)
class Corner:
    """A corner of a cell, and what the edge to the next one lies on (see PlaneRegions.edges)."""

    s: Fraction
    t: Fraction
    edge: int

    def value(self, f: Affine) -> Fraction:
        return f[0] * self.s + f[1] * self.t + f[2]


Cell = tuple[Corner, ...]  # convex, counterclockwise


@dataclass(frozen=True)
class ReferenceRegion:
    """One activation region: its pattern in layer, unit, kink order and its exact polygon."""

    pattern: tuple[bool, ...]
    cell: Cell
    outputs: tuple[Affine, ...]  # of the last hidden layer

    @property
    def area(self) -> Fraction:
        corners = zip(self.cell, self.cell[1:] + self.cell[:1], strict=True)
        return sum((p.s * q.t - p.t * q.s for p, q in corners), Fraction(0)) / 2


def split(cell: Cell, f: Affine, edge: int) -> tuple[Cell | None, Cell | None]:
    """The parts of the cell on which f >= 0 and f <= 0; None for one without interior."""
    values = [corner.value(f) for corner in cell]
    if min(values) >= 0:
        return (cell, None) if max(values) > 0 else (None, cell)  # a tie is inactive
    if max(values) <= 0:
        return None, cell
    above, below = [], []
    for i, p in enumerate(cell):
        q = cell[(i + 1) % len(cell)]
        a, b = values[i], values[(i + 1) % len(cell)]
        if a >= 0:
            above.append(Corner(p.s, p.t, edge if a == 0 and b < 0 else p.edge))
        if a <= 0:
            below.append(Corner(p.s, p.t, edge if a == 0 and b > 0 else p.edge))
        if a * b < 0:
            r = a / (a - b)
            s, t = p.s + r * (q.s - p.s), p.t + r * (q.t - p.t)
            above.append(Corner(s, t, edge if a > 0 else p.edge))
            below.append(Corner(s, t, p.edge if a > 0 else edge))
    return tuple(above), tuple(below)


def reference_regions(
    weights: Sequence[Array],
    biases: Sequence[Array],
    pieces: Sequence[Pieces],
    origin: Numbers = (0.0, 0.0),
    u: Numbers = (1.0, 0.0),
    v: Numbers = (0.0, 1.0),
    low: Numbers = (-1.0, -1.0),
    high: Numbers = (1.0, 1.0),
) -> list[ReferenceRegion]:
    """What `subdivide_plane` finds, in some order; arguments as there."""
    return list(iterate_regions(weights, biases, pieces, origin, u, v, low, high))


def iterate_regions(weights, biases, pieces, origin, u, v, low, high) -> Iterator[ReferenceRegion]:
    """`reference_regions`, one after the other."""
    layers = exact_layers(weights, biases, pieces)
    (s0, t0), (s1, t1) = exact_numbers(low), exact_numbers(high)
    square = (Corner(s0, t0, -3), Corner(s1, t0, -2), Corner(s1, t1, -4), Corner(s0, t1, -1))
    inputs = tuple(zip(exact_numbers(u), exact_numbers(v), exact_numbers(origin), strict=True))
    for pattern, cell, outputs in split_by_layers(square, inputs, layers, split):
        yield ReferenceRegion(pattern, cell, outputs)


def reference_plane(network, plane, limit: int, deadline: float | None) -> PlaneRegions:
    """The twin as an engine of `subdivide_plane`: rounded to arrays; limit 0 means none."""
    found, complete = [], True
    for region in iterate_regions(*network, *plane):
        late = deadline is not None and time.monotonic() > deadline
        if late or (limit and len(found) == limit):
            complete = False
            break
        found.append(region)
    n_switches = sum(len(b) * len(p.kinks) for b, p in zip(network[1], network[2], strict=True))
    bits = np.array([region.pattern for region in found], bool).reshape(len(found), n_switches)
    corners = [corner for region in found for corner in region.cell]
    points = np.array([(float(p.s), float(p.t)) for p in corners]).reshape(len(corners), 2)
    return PlaneRegions(
        n=len(found),
        n_switches=n_switches,
        patterns=np.packbits(bits, axis=1, bitorder="little"),
        vertices=points,
        offsets=np.cumsum([0] + [len(region.cell) for region in found]),
        edges=np.array([p.edge for p in corners], np.int32),
        vertex_error=float(np.spacing(np.abs(points).max(initial=0.0))),
        by_filter=0,
        by_exact=0,
        undecided=0,
        complete=complete,
    )


def exact_numbers(values: Numbers) -> list:
    """The stored numbers as fractions, in lists of the same shape."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim == 1:
        return [Fraction(value) for value in numbers.tolist()]
    return [[Fraction(value) for value in row] for row in numbers.tolist()]


def exact_layers(weights, biases, pieces) -> list:
    """(W, b, activation) of each hidden layer in fractions."""
    return [
        (exact_numbers(W), exact_numbers(b), activation)
        for W, b, activation in zip(weights, biases, pieces, strict=True)
    ]


def split_by_layers(cell, h, layers, split, pattern=(), number=0) -> Iterator[tuple]:
    """(pattern, cell, outputs) of all parts of a cell on which h is affine, split by `layers`.

    split(cell, f, number) gives the parts on which f >= 0 and f <= 0, or None for one without
    interior; number is that of the switch whose zero set is cut along.
    """
    if not layers:
        yield pattern, cell, h
        return
    (W, b, activation), *later = layers
    z = [_combine(row, h, constant) for row, constant in zip(W, b, strict=True)]
    width = len(z) * len(activation.kinks)
    for part, bits in _split_by_units(cell, z, activation, split, number):
        chosen = tuple(
            _piece(f, activation, sum(bits[i * len(activation.kinks) :][: len(activation.kinks)]))
            for i, f in enumerate(z)
        )
        yield from split_by_layers(part, chosen, later, split, pattern + bits, number + width)


def _split_by_units(cell, z, activation, split, number) -> Iterator[tuple]:
    parts = [(cell, ())]
    for *slopes, constant in z:
        for kink in activation.kinks:
            f = (*slopes, constant - Fraction(kink))
            halves = []
            for part, bits in parts:
                above, below = split(part, f, number)
                halves += [(above, (*bits, True))] if above else []
                halves += [(below, (*bits, False))] if below else []
            parts = halves
            number += 1
    yield from parts


def _combine(row: list[Fraction], h: tuple[Affine, ...], constant: Fraction) -> Affine:
    *slopes, c = (
        sum((w * a for w, a in zip(row, column, strict=True)), Fraction(0))
        for column in zip(*h, strict=True)
    )
    return (*slopes, c + constant)


def _piece(f: Affine, activation: Pieces, piece: int) -> Affine:
    slope, intercept = Fraction(activation.slopes[piece]), Fraction(activation.intercepts[piece])
    *slopes, c = (slope * a for a in f)
    return (*slopes, c + intercept)
