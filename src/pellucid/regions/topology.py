"""Betti numbers of sublevel sets in two dimensions, through GUDHI.

The regions are the cells of a complex: where a switch changes its sign along an edge, the regions
on both sides of the edge end there, so edges match from corner to corner. Each polygon is cut into
triangles at one corner, on which an output is affine. The set of points with f <= level can then
be shrunk onto the triangles, edges and corners all of whose corners have f <= level (Edelsbrunner
and Harer 2010, section VI.3): no polygon needs to be cut at the level.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput, MissingDependency
from .._kernels.region_arrays import next_in_polygon
from .._shapes import Array, Bool, Float64, Int
from .adjacency import facet_pairs
from .exact import ExactMaps
from .maps import U

if TYPE_CHECKING:
    from .result import LinearRegions


@dataclass(frozen=True)
class BettiNumbers:
    """Topology of the points of a domain with f <= level: how many parts, and how many holes."""

    level: float
    output: int
    components: int  # b_0
    holes: int  # b_1
    euler_characteristic: int  # b_0 - b_1, counted from the cells
    by_exact: int  # corners compared with the level in exact numbers


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles of all regions, corners numbered across regions."""

    corner: Int[Array, " rows"]  # the number of each row of regions.vertices
    triangles: Int[Array, "triangles 3"]
    n_corners: int

    @property
    def edges(self) -> Int[Array, "edges 2"]:
        """Every edge once."""
        t = self.triangles
        return np.unique(np.sort(np.concatenate([t[:, :2], t[:, 1:], t[:, ::2]]), axis=1), axis=0)


def betti_numbers(regions: "LinearRegions", level: float, output: int) -> BettiNumbers:
    """`LinearRegions.betti_numbers`."""
    try:
        import gudhi
    except ImportError:
        raise MissingDependency(
            'GUDHI is needed and not installed: pip install "pellucid[topology]".'
        ) from None
    if not np.isfinite(level):
        raise InvalidInput(f"level is {level}; it must be a finite number.")
    if not 0 <= output < regions.network.d_out:
        raise InvalidInput(f"output is {output}; the network has {regions.network.d_out}.")
    mesh = triangulate(regions)
    below, by_exact = corners_below(regions, mesh, level, output)
    tree = gudhi.SimplexTree()
    kept = [np.flatnonzero(below)[:, None], mesh.edges, mesh.triangles]
    kept = [simplices[below[simplices].all(axis=1)] for simplices in kept]
    for simplices in kept:
        tree.insert_batch(np.ascontiguousarray(simplices.T), np.zeros(len(simplices)))
    tree.compute_persistence(persistence_dim_max=True)
    b = [*tree.betti_numbers(), 0, 0]
    euler = len(kept[0]) - len(kept[1]) + len(kept[2])
    return BettiNumbers(level, output, b[0], b[1], euler, by_exact)


def triangulate(regions: "LinearRegions") -> Mesh:
    """The regions as triangles; corners are the same where regions share an edge, not by distance.

    Regions around a corner share edges one after the other, so edges tell all.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    vertices, offsets = _polygons(regions)
    n = len(vertices)
    following = next_in_polygon(offsets)
    a, b = facet_pairs(regions).T  # facet j is the edge that begins at corner j
    # The edge from a to its next corner is that from b to its, the other way round.
    left, right = np.concatenate([a, following[a]]), np.concatenate([following[b], b])
    links = coo_array((np.ones(len(left)), (left, right)), shape=(n, n))
    n_corners, corner = connected_components(links, directed=False)
    first = np.repeat(offsets[:-1], np.diff(offsets))
    rows = np.arange(n)
    middle = (rows != first) & (following != first)
    triangles = np.stack([first, rows, following], axis=1)[middle]
    return Mesh(corner.astype(np.int64), corner[triangles].astype(np.int64), n_corners)


def _polygons(regions: "LinearRegions") -> tuple[Array, Array]:
    if regions.domain.dimension != 2 or not np.isfinite(regions.domain.low).all():
        raise InvalidInput(
            f"the domain is {regions.domain!r}; Betti numbers need a Plane or a Box with two "
            "inputs."
        )
    if not regions.complete:
        raise InvalidInput("regions are missing (complete is False); Betti numbers need all.")
    return regions._get("vertices"), regions._get("offsets")


def corners_below(
    regions: "LinearRegions", mesh: Mesh, level: float, output: int
) -> tuple[Bool[Array, " corners"], int]:
    """Which corners have f <= level, exactly; and how many floating point did not tell."""
    row = np.zeros(mesh.n_corners, np.int64)
    row[mesh.corner] = np.arange(len(mesh.corner))  # one of the rows of each corner
    offsets = regions._get("offsets")
    region = np.searchsorted(offsets, row, side="right") - 1
    p = regions._get("vertices")[row]
    A, c = regions.slope[region, output], regions.intercept[region, output]
    gap = (A * p).sum(axis=1) + c - level
    error = _error_of_values(regions, region, p, A, level)
    unsure = np.flatnonzero(~(np.abs(gap) > error))
    below = gap <= 0
    exact = ExactMaps(regions._chain, regions.domain)
    for k in unsure:
        below[k] = _exactly_below(regions, exact, int(region[k]), int(row[k]), level, output)
    return below, len(unsure)


def _error_of_values(
    regions: "LinearRegions", region: Array, p: Array, A: Array, level: float
) -> Float64[Array, " corners"]:
    """A bound on what rounding of maps and vertices does to A p + c - level."""
    from .maps import rounding

    of_map = rounding(regions._chain, regions.domain, regions._maps.norms)[region]
    size = np.abs(A).sum(axis=1)
    reach = np.abs(p).sum(axis=1) + 1
    of_vertex = regions.vertex_error * (size + 2 * of_map)
    return 1.001 * (of_map * reach + of_vertex + 8 * U * (size * reach + abs(level))) + 1e-290


def _exactly_below(
    regions: "LinearRegions", exact: ExactMaps, i: int, row: int, level: float, output: int
) -> bool:
    """f <= level at a corner: the solution of two linear equations, in whole numbers."""
    offsets, facets = regions._get("offsets"), regions._get("facets")
    before = row - 1 if row > offsets[i] else int(offsets[i + 1]) - 1
    packed = regions._get("packed_patterns")[i]
    rows = exact.switch_rows(packed)
    (a, b, e), (c, d, f) = (_line(regions, rows, int(facets[k])) for k in (before, row))
    # p = (b f - d e, c e - a f) / (a d - b c)
    x, y, w = b * f - d * e, c * e - a * f, a * d - b * c
    value = exact.output_row(packed, output, level)
    u = value[0] * x + value[1] * y + value[2] * w
    return u <= 0 if w > 0 else u >= 0


def _line(regions: "LinearRegions", rows: list, facet: int) -> tuple[int, int, int]:
    """The whole numbers (a, b, e) of the line a p_0 + b p_1 + e = 0 that an edge lies on."""
    if facet >= 0:
        a, b, e = rows[facet]
        return a, b, e
    side = -1 - facet
    end = regions.domain.low if side % 2 == 0 else regions.domain.high
    numerator, denominator = float(end[side // 2]).as_integer_ratio()
    if side // 2 == 0:
        return denominator, 0, -numerator
    return 0, denominator, -numerator
