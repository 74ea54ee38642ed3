"""What the subdivisions of a box of any dimension and of a segment give."""

from dataclasses import dataclass

import numpy as np

from .._errors import MissingDependency
from .._shapes import Array, Bool, Float64, Int
from ._regions_module import regions_module
from .region_arrays import SwitchPatterns


@dataclass(frozen=True)
class BoxRegions(SwitchPatterns):
    """Activation regions on low <= p <= high, where x = origin + p_1 axes[0] + ... + p_d axes[d-1].

    A region is a convex polytope: its vertices, its facets, and which vertices lie on which
    facets. Switches and patterns are those of PlaneRegions. The arrays are None where only a count
    was asked for.
    """

    n: int
    n_switches: int
    patterns: Array | None  # uint8 (n, bytes), as in PlaneRegions
    vertices: Array | None  # float64 (sum of corners, d)
    offsets: Array | None  # int64 (n + 1): region i has the vertices offsets[i] to offsets[i + 1]
    tight: (
        Array | None
    )  # uint64 (sum of corners, words): bit j: the vertex is on its region's facet j
    facets: Array | None  # int32: the switch whose zero plane holds the facet, or -1 - side;
    #                       side 2 i is p_i = low_i, side 2 i + 1 is p_i = high_i
    facet_offsets: Array | None  # int64 (n + 1): facets of region i, as offsets for vertices
    vertex_error: float  # every coordinate is at most this far from the true one (proved)
    by_filter: int  # signs that floating point proved
    by_exact: int  # signs that needed exact numbers
    undecided: int  # signs that were taken unproved (exact=False)
    complete: bool  # nothing was left out (see limit, seconds)

    def polytope(self, i: int) -> Float64[Array, "corners d"]:
        """The vertices of region i."""
        offsets = self._need(self.offsets)
        return self._need(self.vertices)[offsets[i] : offsets[i + 1]]

    def facets_of(self, i: int) -> Int[Array, " facets"]:
        """What the facets of region i lie on: a switch, or -1 - side."""
        offsets = self._need(self.facet_offsets)
        return self._need(self.facets)[offsets[i] : offsets[i + 1]]

    def incidence(self, i: int) -> Bool[Array, "corners facets"]:
        """Which vertices of region i lie on which of its facets."""
        offsets = self._need(self.offsets)
        words = np.ascontiguousarray(self._need(self.tight)[offsets[i] : offsets[i + 1]], "<u8")
        count = len(self.facets_of(i))
        return np.unpackbits(words.view(np.uint8), axis=1, count=count, bitorder="little") == 1

    def interior_points(self) -> Float64[Array, "n d"]:
        """The mean of every region's vertices."""
        offsets = self._need(self.offsets)
        sums = np.add.reduceat(self._need(self.vertices), offsets[:-1])
        return sums / np.diff(offsets)[:, None]

    def volumes(self) -> Float64[Array, " n"]:
        """Volume of every region in p, from simplices: the work grows like d! and more."""
        offsets = self._need(self.offsets)
        module = regions_module()
        if module is None:
            raise MissingDependency("volumes need the compiled region kernel.")
        return module.box_volumes(self._need(self.vertices), offsets, self._need(self.tight))


@dataclass(frozen=True)
class SegmentPieces(SwitchPatterns):
    """The pieces of x = a + t (b - a), 0 <= t <= 1, on which the network is affine, from a to b.

    Piece i is t[i] <= t <= t[i + 1]. Two neighbours differ in the switch that their breakpoint lies
    on, and in every other that is zero there and changes its sign. The order is exact, also where
    breakpoints are so close that their t are the same float.
    """

    n: int
    n_switches: int
    patterns: Array | None  # uint8 (n, bytes), as in PlaneRegions
    t: Array | None  # float64 (n + 1): 0, the breakpoints, 1
    switches: Array | None  # int32 (n - 1): a switch that is zero at each breakpoint
    t_error: float  # every breakpoint is at most this far from the true one (proved)
    by_filter: int
    by_exact: int
    undecided: int
    complete: bool

    def flips(self, i: int) -> Int[Array, " flips"]:
        """All switches in which piece i and piece i + 1 differ."""
        pair = self._need(self.patterns)[i : i + 2]
        changed = np.unpackbits(pair[0] ^ pair[1], count=self.n_switches, bitorder="little")
        return np.flatnonzero(changed)
