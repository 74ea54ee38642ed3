"""What `linear_regions` returns."""

import operator
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64, Int
from ..network import Network
from .chain import output_index
from .domains import Domain, Space
from .geometry import MOST_DIMENSIONS
from .maps import Maps, compose
from .switched import Switched

if TYPE_CHECKING:
    from .boundaries import DecisionBoundary
    from .quantities import Extremum
    from .refining import Cells
    from .topology import BettiNumbers


@dataclass(frozen=True, eq=False, repr=False)
class LinearRegion:
    """One activation region: where it is and what the network does there.

    On it f = slope p + intercept, with p the coordinates of the domain.
    """

    index: int
    pattern: Bool[Array, " n_switches"]
    vertices: Float64[Array, "corners d"]
    slope: Float64[Array, "d_out d"]
    intercept: Float64[Array, " d_out"]
    volume: float | None  # None above six dimensions, where it would take long

    def __repr__(self) -> str:
        size = "" if self.volume is None else f" volume {self.volume:.4g},"
        return (
            f"LinearRegion({self.index}: {len(self.vertices)} vertices,{size} "
            f"{int(self.pattern.sum())} of {len(self.pattern)} bits set)"
        )


@dataclass(frozen=True, eq=False)
class Corners:
    """The vertices of regions, as `LinearRegions` has them."""

    vertices: Array  # float64 (corners, d)
    offsets: Array  # int64 (n + 1)
    vertex_error: float
    tight: Array | None = None  # uint64 (corners, words), above two dimensions


@dataclass(frozen=True, eq=False, repr=False)
class LinearRegions(Switched):
    """The activation regions of a network on a domain, and the linear regions that they make up.

    Regions are numbered as they were found. `vertices` are in coordinates of the domain; region i
    has the rows `offsets[i]` to `offsets[i + 1]`, in two dimensions counterclockwise. `facets`
    names what each facet of a region lies on, rows `facet_offsets[i]` to `facet_offsets[i + 1]`: a
    switch, or -1 - side, where sides 2 k and 2 k + 1 are low and high of coordinate k. In two
    dimensions facet j is the edge from vertex j to the next, in one dimension it is vertex j, and
    above two bit j of a vertex's words in `tight` says that it lies on facet j of its region. A
    coordinate of a vertex is at most `vertex_error` off. Above two dimensions, where vertices take
    most of the time and memory, they are found at first access.

    The switches are the (unit, kink) pairs of all layers, `switches` names them. Bit i of a
    region's pattern is 1 where switch i is above its kink, and 0 where it is below, or on it
    everywhere.

    `complete` is False where `limit` or `seconds` ended the search: some regions are missing then,
    and the number of activation regions is a lower bound. Signs were decided `by_filter` (proved in
    floating point), `by_exact` (in exact numbers) or not at all (`undecided`). Arrays are None
    after count_only=True.
    """

    network: Network
    domain: Domain
    n_activation_regions: int
    packed_patterns: Array | None  # uint8 (n, bytes), bit i % 8 of byte i // 8
    facets: Array | None  # int32 (facets)
    facet_offsets: Array | None  # int64 (n + 1)
    by_filter: int
    by_exact: int
    undecided: int
    complete: bool
    corners: Corners | None = None  # None: not known yet, or there are none

    # ---- how sure it is

    @property
    def certified(self) -> bool:
        """Whether every sign was proved, so that the regions found are right."""
        return self.undecided == 0

    # ---- counts

    @cached_property
    def n_linear_regions(self) -> int:
        """Maximal sets of regions, connected through facets, with one affine map: exact."""
        return int(self.linear_region.max(initial=-1)) + 1

    @cached_property
    def n_affine_maps(self) -> int:
        """Different affine maps that the network applies on the domain: exact."""
        return int(self.affine_map.max(initial=-1)) + 1

    # ---- each region

    @property
    def vertices(self) -> Float64[Array, "corners d"] | None:
        """The vertices of all regions, in coordinates of the domain."""
        return None if self._corners is None else self._corners.vertices

    @property
    def offsets(self) -> Int[Array, " n1"] | None:
        """Where the vertices of each region begin, and where the last one's end."""
        return None if self._corners is None else self._corners.offsets

    @property
    def tight(self) -> Array | None:
        """For each vertex the bits of its region's facets that it lies on; above two dimensions."""
        return None if self._corners is None else self._corners.tight

    @property
    def vertex_error(self) -> float:
        """How far a coordinate of a vertex may be off: proved."""
        return 0.0 if self._corners is None else self._corners.vertex_error

    @property
    def points(self) -> Float64[Array, "corners d_in"]:
        """The vertices in the input space."""
        return self.domain.to_input(self._get("vertices"))

    @property
    def slope(self) -> Float64[Array, "n d_out d"]:
        """Slope of every region's map, by coordinates of the domain: f = slope p + intercept."""
        return self._maps.slope

    @property
    def intercept(self) -> Float64[Array, "n d_out"]:
        """Intercept of every region's map."""
        return self._maps.intercept

    @cached_property
    def volume(self) -> Float64[Array, " n"]:
        """Length, area or volume of every region, in the input space."""
        from .geometry import volumes

        return volumes(self) * self.domain.scale

    @cached_property
    def center(self) -> Float64[Array, "n d"]:
        """The mean of every region's vertices: a point inside it, in coordinates of the domain."""
        vertices, offsets = self._get("vertices"), self._get("offsets")
        if not len(self):
            return np.empty((0, self.domain.dimension))
        return np.add.reduceat(vertices, offsets[:-1]) / np.diff(offsets)[:, None]

    def polytope(self, i: SupportsIndex) -> Float64[Array, "corners d"]:
        """The vertices of region i, in coordinates of the domain."""
        offsets, k = self._get("offsets"), self._index(i)
        return self._get("vertices")[offsets[k] : offsets[k + 1]]

    def facets_of(self, i: SupportsIndex) -> Int[Array, " facets"]:
        """What the facets of region i lie on: switches, or -1 - side."""
        offsets, k = self._get("facet_offsets"), self._index(i)
        return self._get("facets")[offsets[k] : offsets[k + 1]]

    # ---- how they lie together

    @cached_property
    def adjacency(self) -> Int[Array, "pairs 2"]:
        """Pairs of regions (i < j) that share a facet, in ascending order."""
        from .adjacency import adjacent_pairs
        from .whole import pairs_in_space

        in_space = isinstance(self.domain, Space)
        return pairs_in_space(self) if in_space else adjacent_pairs(self)

    @cached_property
    def linear_region(self) -> Int[Array, " n"]:
        """The linear region that each activation region belongs to, numbered from 0."""
        from .merging import linear_regions_of

        return linear_regions_of(self)

    @cached_property
    def affine_map(self) -> Int[Array, " n"]:
        """A number for the affine map of each region; equal numbers are equal maps, exactly."""
        from .merging import affine_maps_of

        return affine_maps_of(self)

    def locate(self, coordinates: ArrayLike | tuple) -> Int[Array, " points"]:
        """The region that holds each point, (m, d) or (d,) in coordinates of the domain; -1: none.

        A point on a boundary belongs to the region with the bit 0 there, as a tie is inactive.
        Within rounding of a boundary the answer is a region whose closure holds the point to
        rounding. -1 outside the domain, and in what an incomplete result left out.
        """
        from .locating import locate

        return locate(self, coordinates)

    # ---- classes and levels

    def decision_boundary(
        self, *, output: SupportsIndex | None = None, level: SupportsFloat | None = None
    ) -> "DecisionBoundary":
        """Where the class changes, or an output crosses a level: exactly.

        The class is the largest output, the lower index where some are equal; with one output it is
        1 where that is above 0. `output` and `level` ask for a level set instead: where this output
        passes the level (0). The regions are cut along it by the search that found them.

        Raises InvalidInput in the whole space, and for an output that the network does not have.
        """
        from .boundaries import decision_boundary

        return decision_boundary(self, output, level)

    @cached_property
    def class_volume(self) -> Float64[Array, " n_classes"]:
        """Length, area or volume of each class in the input space; with one output, of its signs.

        With one output class 1 is where it is above 0, and 0 is the rest.
        """
        from .quantities import class_volumes

        return class_volumes(self._cells)

    # ---- exact quantities

    def minimum(self, output: SupportsIndex = 0) -> "Extremum":
        """The least value of an output on the regions found, and where it is."""
        from .quantities import extremum

        return extremum(self, output_index(output, self.network.d_out), -1.0)

    def maximum(self, output: SupportsIndex = 0) -> "Extremum":
        """The largest value of an output on the regions found, and where it is."""
        from .quantities import extremum

        return extremum(self, output_index(output, self.network.d_out), 1.0)

    def integral(self, output: SupportsIndex | None = None) -> Float64[Array, " outputs"]:
        """The integral of every output (or of one) over the regions found, in the input space."""
        if output is not None:
            k = output_index(output, self.network.d_out)
            return self._integrals[k : k + 1].copy()
        return self._integrals.copy()

    def mean(self, output: SupportsIndex | None = None) -> Float64[Array, " outputs"]:
        """The mean of every output (or of one) over the regions found."""
        return self.integral(output) / self.volume.sum()

    def lipschitz(self, norm: int | float | str = 2) -> float:
        """The Lipschitz constant of the network on the domain, in the norm 1, 2 or "inf".

        The least L with |f(x) - f(y)| <= L |x - y| for all x and y of the domain, both sides in
        this norm: the largest operator norm of the regions' slopes. Lengths are those of the input
        space, whatever the axes of a plane. For an incomplete result it is a lower bound.
        """
        from .quantities import lipschitz

        return lipschitz(self, norm)

    def to_networkx(self) -> Any:
        """Return the graph of regions that share a facet; nodes have `linear_region`."""
        from .graph import region_graph

        return region_graph(len(self), self.adjacency, {"linear_region": self.linear_region})

    def betti_numbers(self, level: float = 0.0, output: int = 0) -> "BettiNumbers":
        """Parts and holes of the set with f[output] <= level, in two dimensions, through GUDHI."""
        from .topology import betti_numbers

        return betti_numbers(self, float(level), operator.index(output))

    # ---- as a sequence and as a table

    def __len__(self) -> int:
        return self.n_activation_regions

    def __getitem__(self, i: SupportsIndex) -> LinearRegion:
        k = self._index(i)
        packed = self._get("packed_patterns")[k]
        pattern = np.unpackbits(packed, count=self.n_switches, bitorder="little").astype(bool)
        return LinearRegion(
            index=k,
            pattern=pattern,
            vertices=self.polytope(k),
            slope=self.slope[k],
            intercept=self.intercept[k],
            volume=float(self.volume[k]) if self.domain.dimension <= MOST_DIMENSIONS else None,
        )

    def __iter__(self) -> Iterator[LinearRegion]:
        return (self[i] for i in range(len(self)))

    def to_frame(self) -> Any:
        """Return one row per activation region as a polars DataFrame.

        Columns: region, linear_region, volume (null above six dimensions), vertices (how many),
        active (bits set), the center (p_0, ...), slope_k_i and intercept_k of output k by
        coordinate i.
        """
        from .export import to_frame

        return to_frame(self)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file: whole, or not at all.

        One object with the counts, the `domain`, the `switches`, the `adjacency`, and under
        `regions` one object for each: its pattern (a letter 0 or 1 for each switch), linear_region,
        slope, intercept, volume (null above six dimensions), vertices and facets. Numbers are read
        back bit for bit. Raises InvalidFile where the file cannot be written, InvalidInput for
        regions without vertices.
        """
        from .export import to_json

        to_json(self, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `to_frame` to a Parquet file: whole, or not at all.

        Four columns more: pattern (bytes, bit i % 8 of byte i // 8), and lists of the corners,
        facets and neighbours of each region. The file's metadata say under "pellucid-regions" what
        all have in common. Raises as `to_json` does.
        """
        from .export import to_parquet

        to_parquet(self, path)

    def __repr__(self) -> str:
        n = self.n_activation_regions
        parts = [f"{n} activation region{'s' if n != 1 else ''} on {self.domain!r}"]
        if not self.complete:
            parts.append("incomplete")
        parts.append("certified" if self.certified else f"{self.undecided} signs undecided")
        return f"LinearRegions({', '.join(parts)})"

    # ---- inside

    @cached_property
    def _corners(self) -> Corners | None:
        if self.corners is not None or self.facets is None:
            return self.corners
        from .linear_regions import corners_of

        return corners_of(self)

    @cached_property
    def _cells(self) -> "Cells":
        from .refining import cells_by_class

        return cells_by_class(self)

    @cached_property
    def _integrals(self) -> Array:
        from .quantities import integrals

        return integrals(self)

    @cached_property
    def _maps(self) -> Maps:
        return compose(self._chain, self.domain, self._get("packed_patterns"))

    @cached_property
    def _bounding_boxes(self) -> tuple[Array, Array]:
        if isinstance(self.domain, Space):
            shape = len(self), self.domain.dimension
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        if not len(self):
            return np.empty((0, self.domain.dimension)), np.empty((0, self.domain.dimension))
        vertices, starts = self._get("vertices"), self._get("offsets")[:-1]
        return np.minimum.reduceat(vertices, starts), np.maximum.reduceat(vertices, starts)

    def _get(self, name: str) -> Array:
        array = getattr(self, name)
        if array is not None:
            return array
        if isinstance(self.domain, Space) and self.packed_patterns is not None:
            raise InvalidInput(
                f"{name}: regions of the whole space have no list of vertices; use a Box."
            )
        raise InvalidInput("only a count was asked for; use count_only=False.")

    def _index(self, i: SupportsIndex) -> int:
        n, k = len(self), operator.index(i)
        if not -n <= k < n:
            raise IndexError(f"region {k} of {n}")
        return k % n
