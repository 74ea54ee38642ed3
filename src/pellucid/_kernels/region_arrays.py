"""What the region kernel and its twin take and give: piecewise-linear activations, and regions."""

from dataclasses import dataclass

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64, Int

#: a few numbers, as an array or written out
Numbers = Array | tuple | list


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


class SwitchPatterns:
    """What all kinds of regions have in common: patterns, and how their signs were decided."""

    n_switches: int
    patterns: Array | None
    undecided: int

    @property
    def certified(self) -> bool:
        """Whether every sign was proved, so that the regions found are right."""
        return self.undecided == 0

    def bits(self) -> Bool[Array, "n n_switches"]:
        """The patterns, one boolean for each switch."""
        packed = self._need(self.patterns)
        return np.unpackbits(packed, axis=1, count=self.n_switches, bitorder="little").astype(bool)

    def get(self, name: str) -> Array:
        """The array of that name; InvalidInput where it was not asked for."""
        return self._need(getattr(self, name))

    @staticmethod
    def _need(array: Array | None) -> Array:
        if array is None:
            raise InvalidInput(
                "these arrays were not asked for; use count_only=False and with_vertices=True."
            )
        return array


@dataclass(frozen=True)
class PlaneRegions(SwitchPatterns):
    """Activation regions of hidden layers on low <= (s, t) <= high, where x = origin + s u + t v.

    A region is a convex polygon. The switches (unit, kink) are numbered in layer, unit, kink order.
    A pattern has the bit 1 where z is above the kink on the region, and 0 where it is below, or on
    the kink everywhere. The arrays are None where only a count was asked for.
    """

    n: int
    n_switches: int
    patterns: (
        Array | None
    )  # uint8 (n, bytes); switch i is bit i % 8 (from the lowest) of byte i // 8
    vertices: Array | None  # float64 (sum of corners, 2): (s, t), counterclockwise
    offsets: Array | None  # int64 (n + 1): region i has the vertices offsets[i] to offsets[i + 1]
    edges: Array | None  # int32: the switch that the edge to the next vertex lies on, or -1 - side;
    #                      sides: s = low, s = high, t = low, t = high
    vertex_error: float  # every coordinate is at most this far from the true one (proved)
    by_filter: int  # signs that floating point proved
    by_exact: int  # signs that needed exact numbers
    undecided: int  # signs that were taken unproved (exact=False)
    complete: bool  # nothing was left out (see limit, seconds)

    def polygon(self, i: int) -> Float64[Array, "corners 2"]:
        """The corners of region i in (s, t), counterclockwise."""
        offsets = self._need(self.offsets)
        return self._need(self.vertices)[offsets[i] : offsets[i + 1]]

    def next_vertex(self) -> Int[Array, " corners"]:
        """For every row of `vertices` the row of the next one around the same region."""
        return next_in_polygon(self._need(self.offsets))

    def areas(self) -> Float64[Array, " n"]:
        """Area of every region in (s, t)."""
        return polygon_areas(self._need(self.vertices), self._need(self.offsets))


def next_in_polygon(offsets: Int[Array, " n1"]) -> Int[Array, " corners"]:
    """For every corner of polygons in a row, that of the next one around the same polygon."""
    following = np.arange(1, offsets[-1] + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    return following


def polygon_areas(
    vertices: Float64[Array, "corners 2"], offsets: Int[Array, " n1"]
) -> Float64[Array, " n"]:
    """Areas of polygons by the shoelace formula about their first corners."""
    p = vertices - np.repeat(vertices[offsets[:-1]], np.diff(offsets), axis=0)
    q = p[next_in_polygon(offsets)]
    return np.add.reduceat(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], offsets[:-1]) / 2
