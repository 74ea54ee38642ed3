"""The box kernel's twin: cells are lists of inequalities, vertices come from all sets of d of them.

Slow and obviously right: the oracle for networks with a handful of units.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from .._shapes import Array
from .box_arrays import BoxRegions
from .reference_regions import Affine, exact_layers, exact_numbers, split_by_layers

Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class HalfSpace:
    """f >= 0, and what its boundary lies on (see BoxRegions.facets)."""

    f: Affine
    number: int

    def value(self, p: Point) -> Fraction:
        return value(self.f, p)


@dataclass(frozen=True)
class Polytope:
    """A cell: half-spaces, none of them needless, and its vertices."""

    half_spaces: tuple[HalfSpace, ...]
    vertices: tuple[Point, ...]

    def on(self, side: HalfSpace) -> frozenset[Point]:
        """The vertices on the boundary of a half-space."""
        return frozenset(p for p in self.vertices if side.value(p) == 0)


def value(f: Affine, p: Point) -> Fraction:
    """f at p."""
    return sum((a * x for a, x in zip(f, p, strict=False)), f[-1])


def solve(rows: list[Affine]) -> Point | None:
    """The one point in which d functions are zero, or None where there is none or many."""
    d = len(rows)
    matrix = [list(row) for row in rows]
    for j in range(d):
        pivot = next((i for i in range(j, d) if matrix[i][j] != 0), None)
        if pivot is None:
            return None
        matrix[j], matrix[pivot] = matrix[pivot], matrix[j]
        matrix[j] = [x / matrix[j][j] for x in matrix[j]]
        for i in range(d):
            if i != j and matrix[i][j] != 0:
                factor = matrix[i][j]
                matrix[i] = [x - factor * y for x, y in zip(matrix[i], matrix[j], strict=True)]
    return tuple(-row[-1] for row in matrix)


def polytope(half_spaces: tuple[HalfSpace, ...], d: int) -> Polytope:
    """The bounded cell inside all half-spaces; it must have an interior."""
    points = (solve([side.f for side in chosen]) for chosen in combinations(half_spaces, d))
    found = {p for p in points if p and all(side.value(p) >= 0 for side in half_spaces)}
    cell = Polytope(half_spaces, tuple(sorted(found)))
    # A face that lies in another one is no facet.
    faces = {side: cell.on(side) for side in half_spaces}
    facets = [
        side
        for side, on in faces.items()
        if on and not any(on <= other for key, other in faces.items() if key is not side)
    ]
    return Polytope(tuple(facets), cell.vertices)


def split(cell: Polytope, f: Affine, number: int) -> tuple[Polytope | None, Polytope | None]:
    """The parts of the cell on which f >= 0 and f <= 0; None for one without interior."""
    values = [value(f, p) for p in cell.vertices]
    if min(values) >= 0:
        return (cell, None) if max(values) > 0 else (None, cell)  # a tie is inactive
    if max(values) <= 0:
        return None, cell
    below = tuple(-a for a in f)
    d = len(f) - 1
    return (
        polytope((*cell.half_spaces, HalfSpace(f, number)), d),
        polytope((*cell.half_spaces, HalfSpace(below, number)), d),
    )


def iterate_cells(network, domain) -> Iterator[tuple[tuple[bool, ...], Polytope]]:
    """Pattern and cell of every region; domain: origin, axes, what is added to them, low, high."""
    origin, axes, rest, low, high = (exact_numbers(x) for x in domain)
    d = len(low)
    sides = []
    for i in range(d):
        unit = [Fraction(int(i == j)) for j in range(d)]
        sides.append(HalfSpace((*unit, -low[i]), -1 - 2 * i))
        sides.append(HalfSpace((*(-a for a in unit), high[i]), -2 - 2 * i))
    exact_axes = [
        [a + b for a, b in zip(*pair, strict=True)] for pair in zip(axes, rest, strict=True)
    ]
    inputs = tuple(zip(*exact_axes, origin, strict=True))
    box = polytope(tuple(sides), d)
    for pattern, cell, _ in split_by_layers(box, inputs, exact_layers(*network), split):
        yield pattern, cell


def reference_box(network, domain, limit: int, deadline: float | None) -> BoxRegions:
    """The twin as an engine of `subdivide_box`: rounded to arrays; limit 0 means none."""
    found, complete = [], True
    for region in iterate_cells(network, domain):
        late = deadline is not None and time.monotonic() > deadline
        if late or (limit and len(found) == limit):
            complete = False
            break
        found.append(region)
    d = len(domain[-1])
    if d == 1:
        found.sort(key=lambda region: region[1].vertices)
    n_switches = sum(len(b) * len(p.kinks) for b, p in zip(network[1], network[2], strict=True))
    bits = np.array([pattern for pattern, _ in found], bool).reshape(len(found), n_switches)
    cells = [cell for _, cell in found]
    points = np.array([[float(x) for x in p] for cell in cells for p in cell.vertices])
    words = max((len(cell.half_spaces) for cell in cells), default=1) // 64 + 1
    tight = [_tight(cell, words) for cell in cells]
    return BoxRegions(
        n=len(found),
        n_switches=n_switches,
        patterns=np.packbits(bits, axis=1, bitorder="little"),
        vertices=points.reshape(len(points), d),
        offsets=np.cumsum([0] + [len(cell.vertices) for cell in cells]),
        tight=np.concatenate(tight) if tight else np.empty((0, words), np.uint64),
        facets=np.array([side.number for cell in cells for side in cell.half_spaces], np.int32),
        facet_offsets=np.cumsum([0] + [len(cell.half_spaces) for cell in cells]),
        vertex_error=float(np.spacing(np.abs(points).max(initial=0.0))),
        by_filter=0,
        by_exact=0,
        undecided=0,
        complete=complete,
    )


def _tight(cell: Polytope, words: int) -> Array:
    bits = np.zeros((len(cell.vertices), 64 * words), bool)
    for j, side in enumerate(cell.half_spaces):
        bits[:, j] = [side.value(p) == 0 for p in cell.vertices]
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")
