"""Breadth-first search through facets, from region to region, in any number of dimensions.

Regions depend on x only through the first layer's pre-activations, so without a ball the search
runs in y, x = x_0 + B y, with the columns of B an orthonormal basis of the rows of the first weight
matrix. With a ball |x - x_0|_inf < r, y is x - x_0.

Facets that rays and projections find come first, to any depth; linear programs decide what is left
only where the search would end without them.
"""

import heapq
import time
from collections import deque
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64
from .chain import Chain
from .domains import Space
from .facets import Cell, one_of_each
from .locating import pattern_at
from .maps import switch_maps
from .witness import patterns_at

#: how often the step across a facet is shortened by 8
SHORTENINGS = 10


class View:
    """The network in coordinates y about x_0."""

    def __init__(self, chain: Chain, x: Float64[Array, " d_in"], radius: float):
        self.chain, self.x, self.radius = chain, x, radius
        self.basis, self.reduced = None, chain
        if chain.weights:
            W, b = chain.weights[0], chain.biases[0]
            if not np.isfinite(radius) and len(W) < len(x):
                self.basis = np.linalg.qr(W.T)[0]  # (d_in, width)
            first = W if self.basis is None else W @ self.basis
            self.reduced = replace(
                chain,
                weights=(np.ascontiguousarray(first), *chain.weights[1:]),
                biases=(W @ x + b, *chain.biases[1:]),
            )
        self.dimension = len(x) if self.basis is None else self.basis.shape[1]

    def to_input(self, y: Array) -> Float64[Array, "n d_in"]:
        """The points x."""
        return self.x + (y if self.basis is None else y @ self.basis.T)

    def bits(self, y: Array) -> Bool[Array, "n n_switches"]:
        """The patterns at points y, by a forward pass in float64."""
        packed = pattern_at(self.reduced, y)
        n = self.chain.n_switches
        return np.unpackbits(packed, axis=1, count=n, bitorder="little").astype(bool)

    def cell(self, bits: Array, y: Array) -> "Walls":
        """The region with this pattern around y."""
        packed = np.packbits(bits[None], axis=1, bitorder="little")
        maps = switch_maps(self.reduced, Space(self.dimension), packed)[0]
        A, c = maps[:, :-1], maps[:, -1]
        largest = np.abs(A).max(axis=1, initial=0)
        used = largest > 0  # others are constant
        if np.isfinite(self.radius):  # and these have no zero in the box
            used &= np.abs(c) <= self.radius * np.abs(A).sum(axis=1) * (1 + 1e-9)
        switch = np.flatnonzero(used)
        size = largest[switch] * np.where(bits[switch], 1.0, -1.0)
        G, c = A[switch] / size[:, None], c[switch] / size
        norm = np.linalg.norm(G, axis=1)
        G, c = G / norm[:, None], c / norm
        first = one_of_each(G, c, y)
        rows = np.flatnonzero(first == np.arange(len(first)))
        own = np.full(len(bits), -1)  # -1: constant in this region
        own[switch] = np.searchsorted(rows, first)
        return Walls(Cell(G[rows], c[rows], self.radius, y), switch[rows], own)


class Walls(NamedTuple):
    """A region, the first switch on each of its rows, and the row of each switch (-1: none)."""

    cell: Cell
    switch: Array
    row: Array


class Search:
    """Regions found so far, and what is left to do; `run` fills it."""

    def __init__(self, view: View, steps: float, limit: float, seconds: float | None):
        self.view, self.steps, self.limit = view, steps, limit
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.number: dict[bytes, int] = {}
        self.bits: list[Array] = []
        self.centers: list[Array] = []  # in y
        self.points: list[Array] = []  # in x, proved to lie inside
        self.depth: list[int] = []
        self.crossed: list[int] = []  # the switch on the facet through which it was found
        self.neighbours: list[set[int]] = []
        self.by_filter = self.by_exact = 0
        self.full = False
        self.undecided: dict[int, Array] = {}  # region -> switches known to be facets
        self.failed: set[int] = set()
        self.queue: list[tuple[int, int]] = []

    # ---- the search

    def run(self) -> None:
        """Search until nothing is left, or time or the limit ends it."""
        y, bits, x = start(self.view)
        self._add(bits, y, x, 0, -1)
        expanded: set[int] = set()
        while not self._over():
            i = self._next(expanded)
            if i is not None:
                expanded.add(i)
                self._expand(i)
                continue
            open_ = [i for i in self.undecided if self.depth[i] < self.steps]
            if not open_:
                break
            self._decide(min(open_, key=lambda i: (self.depth[i], i)))
        waiting = set(range(len(self.bits))) - expanded
        self.failed |= {i for i in waiting if self.depth[i] < self.steps}

    def _next(self, expanded: set[int]) -> int | None:
        while self.queue:
            depth, i = heapq.heappop(self.queue)
            if depth == self.depth[i] and depth < self.steps and i not in expanded:
                return i
        return None

    def _over(self) -> bool:
        return self.full or (self.deadline is not None and time.monotonic() > self.deadline)

    def exhaustive_steps(self) -> int:
        """All regions within so many crossings are known, unless a linear program was wrong."""
        left = self.left()
        reached = max(self.depth) if not np.isfinite(self.steps) else int(self.steps)
        return min([reached, *(self.depth[i] for i in left)])

    def left(self) -> set[int]:
        """Regions within the steps that may have a neighbour that was not found."""
        return {i for i in self.failed | set(self.undecided) if self.depth[i] < self.steps}

    # ---- one region

    def _expand(self, i: int) -> None:
        """Cross the facets that rays and projections find."""
        walls = self.view.cell(self.bits[i], self.centers[i])
        cell = walls.cell
        if not (cell.heights(cell.center) > 0).all():
            self.failed.add(i)  # thinner than rounding
            return
        cell.shoot()
        cell.project()
        self.centers[i] = cell.center
        self._cross(i, walls, list(cell.points))
        if len(cell.open_rows):
            self.undecided[i] = walls.switch[list(cell.points)]

    def _decide(self, i: int) -> None:
        """Decide the rest of a region's facets, and cross them."""
        walls = self.view.cell(self.bits[i], self.centers[i])
        cell, known = walls.cell, np.isin(walls.switch, self.undecided[i])
        cell.points = dict.fromkeys(np.flatnonzero(known).tolist(), cell.center)
        kept, found = np.ones(len(known), bool), []
        for row in cell.open_rows.tolist():
            if self._over():
                return
            facet = cell.decide(row, kept)
            kept[row] = facet is not False
            if facet:
                found.append(row)
            elif facet is None:
                self.failed.add(i)
        self._cross(i, walls, found)
        del self.undecided[i]

    def _cross(self, i: int, walls: Walls, rows: list[int]) -> None:
        """Enter the regions beyond the facets `rows`, the nearest first."""
        d, order = self.view.dimension, np.inf if self.view.basis is None else 2
        P = np.array([walls.cell.points[row] for row in rows]).reshape(len(rows), d)
        nearest = np.argsort(np.linalg.norm(P, ord=order, axis=1), kind="stable")
        across = np.array(rows, int)[nearest]
        Y, found = self._beyond(self.bits[i], walls, across, P[nearest])
        if not found.all():
            self.failed.add(i)
        Y, crossed = Y[found], walls.switch[across[found]].tolist()
        bits = self.view.bits(Y)
        points = self._prove(bits, Y)
        for y, b, s in zip(Y, bits, crossed, strict=True):
            key = b.tobytes()
            if key not in self.number:
                point = points[key]
                if point is None:
                    self.failed.add(i)
                    continue
                if len(self.bits) >= self.limit:
                    self.full = True
                    self.failed.add(i)
                    return
                self._add(b, y, point, self.depth[i] + 1, s)
            self._connect(i, self.number[key])

    def _prove(self, bits: Array, Y: Array) -> dict[bytes, Array | None]:
        """For every pattern that is new a point proved to lie inside its region, or None."""
        keys = [b.tobytes() for b in bits]
        new = np.array([key not in self.number for key in keys], bool)
        x = self.view.to_input(Y[new])
        seen = patterns_at(self.view.chain, x)
        self.by_filter += seen.by_filter
        self.by_exact += seen.by_exact
        ball = (np.abs(x - self.view.x) < self.view.radius * (1 - 1e-15)).all(axis=1)
        good = seen.proved & (seen.bits == bits[new]).all(axis=1) & ball
        found: dict[bytes, Array | None] = {}
        for k, point, sure in zip(np.flatnonzero(new), x, good, strict=True):
            if found.get(keys[k]) is None:
                found[keys[k]] = point if sure else None
        return found

    def _beyond(self, bits: Array, walls: Walls, rows: Array, P: Array) -> tuple[Array, Array]:
        """A point just across each facet from P, and whether it is in the region across."""
        cell, each = walls.cell, np.arange(len(rows))
        # The first switch on a facet flips, others on it may (adjacency.py); switches that are
        # constant in this region may be anything beyond.
        wanted, free = bits ^ np.zeros((len(rows), 1), bool), walls.row == rows[:, None]
        free |= walls.row < 0
        wanted[each, walls.switch[rows]] ^= True
        free[each, walls.switch[rows]] = False
        H = cell.heights(P)
        H[each, rows] = np.inf
        step = np.minimum(H.min(axis=1, initial=np.inf), cell.heights(cell.center)[rows]) / 2
        Y, found = P.copy(), np.zeros(len(rows), bool)
        for _ in range(SHORTENINGS):
            left = np.flatnonzero(~found)
            if not len(left):
                break
            Y[left] = P[left] - step[left, None] * cell.G[rows[left]]
            right = (self.view.bits(Y[left]) == wanted[left]) | free[left]
            found[left] = right.all(axis=1) & (np.abs(Y[left]) < self.view.radius).all(axis=1)
            step /= 8
        return Y, found

    # ---- the graph

    def _add(self, bits: Array, y: Array, x: Array, depth: int, switch: int) -> None:
        i = len(self.bits)
        self.number[bits.tobytes()] = i
        self.bits.append(bits)
        self.centers.append(y)
        self.points.append(x)
        self.depth.append(depth)
        self.crossed.append(switch)
        self.neighbours.append(set())
        heapq.heappush(self.queue, (depth, i))

    def _connect(self, i: int, j: int) -> None:
        """Note that i and j share a facet, and any shorter way that this opens."""
        self.neighbours[i].add(j)
        self.neighbours[j].add(i)
        todo = deque([(i, j), (j, i)])
        while todo:
            a, b = todo.popleft()
            if self.depth[b] > self.depth[a] + 1:
                self.depth[b] = self.depth[a] + 1
                heapq.heappush(self.queue, (self.depth[b], b))
                todo.extend((b, c) for c in self.neighbours[b])


def start(view: View) -> tuple[Array, Array, Array]:
    """(y, bits, x) of a proved point in the region of x_0, or beside it where it is on a kink."""
    rng = np.random.default_rng(0)
    size = 2.0**-40 * max(1.0, float(np.abs(view.x).max()))
    y = np.zeros((1, view.dimension))
    for _ in range(12):
        x = view.to_input(y)
        seen = patterns_at(view.chain, x)
        good = seen.proved & (np.abs(y) < view.radius).all(axis=1)
        if good.any():
            k = int(good.argmax())
            return y[k], seen.bits[k], x[k]
        y = size * rng.uniform(-1, 1, (8, view.dimension))
        size *= 2
    raise InvalidInput(
        "x lies on a kink, and no region beside it is wide enough for a point in float64; choose "
        "another x."
    )
