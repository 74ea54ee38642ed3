"""Exact activation regions on a rectangle in a plane: the Python face of the compiled kernel.

Certified where `undecided` is 0: every sign was proved in floating point or computed in exact
numbers from the weights as they are stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64, Int


@dataclass(frozen=True)
class Pieces:
    """A piecewise-linear activation: piece i is slopes[i] z + intercepts[i], up to kinks[i]."""

    kinks: tuple[float, ...] = ()
    slopes: tuple[float, ...] = (1.0,)
    intercepts: tuple[float, ...] = (0.0,)

    def __post_init__(self):
        if len(self.kinks) > 2 or list(self.kinks) != sorted(set(self.kinks)):
            raise InvalidInput(
                f"kinks are {self.kinks}; at most two are needed, the lower one first."
            )
        if not len(self.slopes) == len(self.intercepts) == len(self.kinks) + 1:
            raise InvalidInput(
                f"{len(self.kinks)} kinks need {len(self.kinks) + 1} slopes and intercepts; got "
                f"{len(self.slopes)} and {len(self.intercepts)}."
            )


#: activations that are piecewise linear: parameters as in pellucid.network -> Pieces
PIECES = {
    "identity": lambda: Pieces(),
    "relu": lambda: Pieces((0.0,), (0.0, 1.0), (0.0, 0.0)),
    "leaky_relu": lambda slope=0.01: Pieces((0.0,), (slope, 1.0), (0.0, 0.0)),
    "prelu": lambda slope=0.25: Pieces((0.0,), (slope, 1.0), (0.0, 0.0)),
    "abs": lambda: Pieces((0.0,), (-1.0, 1.0), (0.0, 0.0)),
    "hardtanh": lambda low=-1.0, high=1.0: Pieces((low, high), (0.0, 1.0, 0.0), (low, 0.0, high)),
}


@dataclass(frozen=True)
class PlaneRegions:
    """Activation regions of hidden layers on low <= (s, t) <= high, where x = origin + s u + t v.

    A region is a convex polygon. The switches (unit, kink) are numbered in layer, unit, kink order;
    a pattern has the bit 1 where z is above the kink on the region, and 0 where it is below or on it
    everywhere. The arrays are None where only a count was asked for.
    """

    n: int
    n_switches: int
    patterns: Array | None  # uint8 (n, bytes); switch i is bit i % 8 (from the lowest) of byte i // 8
    vertices: Array | None  # float64 (sum of corners, 2): (s, t), counterclockwise
    offsets: Array | None  # int64 (n + 1): region i has the vertices offsets[i] to offsets[i + 1]
    edges: Array | None  # int32: the switch that the edge to the next vertex lies on, or -1 - side;
    #                      sides: s = low, s = high, t = low, t = high
    vertex_error: float  # every coordinate is at most this far from the true one (proved)
    by_filter: int  # signs that floating point proved
    by_exact: int  # signs that needed exact numbers
    undecided: int  # signs that were taken unproved (exact=False)
    complete: bool  # nothing was left out (see limit, seconds)

    @property
    def certified(self) -> bool:
        """Whether every sign was proved, so that the regions found are right."""
        return self.undecided == 0

    def bits(self) -> Bool[Array, "n n_switches"]:
        """The patterns, one boolean for each switch."""
        packed = self._need(self.patterns)
        return np.unpackbits(packed, axis=1, count=self.n_switches, bitorder="little").astype(bool)

    def polygon(self, i: int) -> Float64[Array, "corners 2"]:
        """The corners of region i in (s, t), counterclockwise."""
        offsets = self._need(self.offsets)
        return self._need(self.vertices)[offsets[i] : offsets[i + 1]]

    def next_vertex(self) -> Int[Array, " corners"]:
        """For every row of `vertices` the row of the next one around the same region."""
        offsets = self._need(self.offsets)
        following = np.arange(1, offsets[-1] + 1)
        following[offsets[1:] - 1] = offsets[:-1]
        return following

    def areas(self) -> Float64[Array, " n"]:
        """Area of every region in (s, t), by the shoelace formula about its first corner."""
        offsets, vertices = self._need(self.offsets), self._need(self.vertices)
        first = np.repeat(vertices[offsets[:-1]], np.diff(offsets), axis=0)
        p = vertices - first
        q = vertices[self.next_vertex()] - first
        return np.add.reduceat(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], offsets[:-1]) / 2

    @staticmethod
    def _need(array: Array | None) -> Array:
        if array is None:
            raise InvalidInput("only a count was asked for; use count_only=False.")
        return array


@cache
def regions_module() -> ModuleType | None:
    """The compiled module, or None where it is not built."""
    try:
        return import_module("pellucid._kernels._regions")
    except ImportError:
        return None


_SQUARE = (np.zeros(2), np.eye(2))


def subdivide_plane(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike],
    pieces: Sequence[Pieces],
    origin: ArrayLike | None = None,
    u: ArrayLike | None = None,
    v: ArrayLike | None = None,
    low: ArrayLike = (-1.0, -1.0),
    high: ArrayLike = (1.0, 1.0),
    *,
    exact: bool = True,
    count_only: bool = False,
    limit: int | None = None,
    seconds: float | None = None,
    threads: int = 1,
) -> PlaneRegions:
    """All activation regions of the hidden layers (W, b, pieces) on a rectangle in a plane.

    Without origin, u, v the network has two inputs and the plane is its input space. float32 and
    float64 weights are taken as the exact numbers that they are. `exact=False` takes signs that
    floating point does not prove as they come, and counts them. At most `limit` regions are
    returned, and none after `seconds`; `complete` then says that some may be missing.
    The regions, their order and every bit are the same whatever the number of threads.
    Raises InvalidInput where shapes differ or numbers are not finite.
    """
    module = regions_module()
    if module is None:
        raise InvalidInput("the region kernel is not compiled; install Pellucid from its sources.")
    if not len(weights) == len(biases) == len(pieces):
        raise InvalidInput(
            f"{len(weights)} weights, {len(biases)} biases and {len(pieces)} activations; every "
            "hidden layer needs one of each."
        )
    if origin is None and u is None and v is None:
        start, axes = _SQUARE
    else:
        start, axes = _vector(origin), np.stack([_vector(u), _vector(v)])
    try:
        n, n_switches, *arrays, error, by_filter, by_exact, undecided, complete = module.subdivide_plane(
            [np.ascontiguousarray(W, np.float64) for W in weights],
            [np.ascontiguousarray(b, np.float64) for b in biases],
            [p.kinks for p in pieces],
            [p.slopes for p in pieces],
            [p.intercepts for p in pieces],
            start,
            axes,
            _vector(low),
            _vector(high),
            exact,
            count_only,
            0 if limit is None else int(limit),
            0.0 if seconds is None else float(seconds),
            max(1, int(threads)),
        )
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None
    return PlaneRegions(
        n, n_switches, *arrays, error, by_filter, by_exact, undecided, complete
    )


def _vector(values: ArrayLike | None) -> Any:
    if values is None:
        raise InvalidInput("a plane needs origin, u and v together.")
    return np.ascontiguousarray(values, np.float64)

