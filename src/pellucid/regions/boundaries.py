"""Where the class changes, or an output crosses a level: exact pieces, joined to polylines."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64, Int
from .chain import output_index
from .domains import Domain
from .geometry import polytope_volumes
from .refining import Cells, cells_by_level

if TYPE_CHECKING:
    from .result import LinearRegions


@dataclass(frozen=True, eq=False, repr=False)
class Polyline:
    """Pieces of a boundary of a plane, end to end, with the lower class on their left.

    Piece i goes from points[i] to points[i + 1], in region regions[i]; a closed line ends with its
    first point again.
    """

    points: Float64[Array, "m 2"]  # coordinates of the domain
    regions: Int[Array, " pieces"]
    pair: tuple[int, int]
    closed: bool

    def __repr__(self) -> str:
        kind = "closed, " if self.closed else ""
        low, high = self.pair
        return f"Polyline({kind}{len(self.regions)} pieces between classes {low} and {high})"


@dataclass(frozen=True, eq=False, repr=False)
class DecisionBoundary:
    """The set on which the class changes, or an output passes a level, in convex pieces.

    Piece i is the convex hull of the rows `offsets[i]` to `offsets[i + 1]` of `vertices`, which are
    in coordinates of the domain: a point on a line, a segment in a plane, a polygon in order in
    three dimensions. It lies between the classes `pair[i]`, the lower one first; those of a level
    set are 0, not above, and 1, above. `region[i]` is the region on the side of `pair[i, 0]`, which
    holds the piece, if it does not lie on a kink, on the other side too.

    A piece has classes that differ on its two sides. So a region on which two outputs agree
    everywhere belongs to the lower index, one that is on the level everywhere is not above, and
    only the rim of either may be boundary; where an output touches a level from one side there is
    no boundary, unless from above on a whole region.

    In a plane a segment has the lower class on its left, and `joints` numbers its two ends: equal
    numbers are the same point, as the search knows without comparing coordinates.
    """

    domain: Domain
    kind: str  # "classes" or "level"
    vertices: Float64[Array, "corners d"]
    offsets: Int[Array, " pieces1"]
    region: Int[Array, " pieces"]
    pair: Int[Array, "pieces 2"]
    joints: Int[Array, "pieces 2"] | None  # in two dimensions
    certified: bool
    complete: bool
    _tight: Array | None = field(default=None)

    # ---- each piece

    def __len__(self) -> int:
        return len(self.region)

    @property
    def points(self) -> Float64[Array, "corners d_in"]:
        """The vertices in the input space."""
        return self.domain.to_input(self.vertices)

    @cached_property
    def measure(self) -> Float64[Array, " pieces"]:
        """Length (in a plane) or area of every piece, in the input space; 1 for a point."""
        d = self.domain.dimension
        if d == 1 or not len(self):
            return np.ones(len(self))
        if d == 2:
            ends = self.vertices.reshape(-1, 2, 2)
            return np.linalg.norm((ends[:, 1] - ends[:, 0]) @ self.domain.axes, axis=1)
        # A facet's shadows along the axes have the areas |n_i| area, where |n| = 1.
        shadows = [
            polytope_volumes(np.delete(self.vertices, i, axis=1), self.offsets, self._tight)
            for i in range(d)
        ]
        return np.sqrt(np.square(shadows).sum(axis=0))

    # ---- all together

    @cached_property
    def polylines(self) -> tuple[Polyline, ...]:
        """The segments of a plane joined end to end, each line between two classes.

        A line ends at the rim of the domain, and where more than two pieces between the same
        classes, or other classes, meet so that its continuation is not unique.
        """
        if self.joints is None:
            raise InvalidInput(
                f"the domain has {self.domain.dimension} dimensions; polylines need 2."
            )
        ends = self.vertices.reshape(-1, 2, 2)
        return tuple(self._polyline(ends, *chain) for chain in _chains(self.joints, self.pair))

    def distance(self, points: ArrayLike | tuple) -> Float64[Array, " points"]:
        """Distance in the input space from points to the boundary within the domain.

        `points` are coordinates, (n, d) or (d,), of a domain of one or two dimensions. The boundary
        may come nearer outside the domain. inf where the domain has none.
        """
        from .distances import to_points, to_segments

        d = self.domain.dimension
        if d > 2:
            raise InvalidInput(
                f"the domain has {d} dimensions; distances to the boundary are found in 1 or 2: "
                "take the regions of a Segment or a Plane."
            )
        self.domain.to_input(points)  # refuses other shapes
        p = np.atleast_2d(np.asarray(points, np.float64))
        isometry = np.linalg.qr(self.domain.axes.T)[1].T  # |p isometry| is a length in x
        measure = to_points if d == 1 else to_segments
        return measure(p @ isometry, (self.vertices @ isometry).reshape(-1, d, d))

    def to_frame(self) -> Any:
        """Return one row per piece as a polars DataFrame.

        Columns: piece, region, below, above (the two classes), measure, the mean of the vertices
        (p_0, ...), and in a plane its ends (start_0, start_1, end_0, end_1).
        """
        import polars as pl

        columns: dict[str, Array] = {"piece": np.arange(len(self)), "region": self.region}
        columns |= {"below": self.pair[:, 0], "above": self.pair[:, 1], "measure": self.measure}
        d, counts = self.domain.dimension, np.diff(self.offsets)[:, None]
        starts = self.offsets[:-1]
        middle = np.add.reduceat(self.vertices, starts) / counts if len(self) else self.vertices
        columns |= {f"p_{i}": middle[:, i] for i in range(d)}
        if d == 2:
            ends = self.vertices.reshape(-1, 4)
            names = ("start_0", "start_1", "end_0", "end_1")
            columns |= {name: ends[:, i] for i, name in enumerate(names)}
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        n, what = len(self), "between classes" if self.kind == "classes" else "of a level set"
        parts = [f"{n} piece{'s' if n != 1 else ''} {what} on {self.domain!r}"]
        if not self.complete:
            parts.append("incomplete")
        if not self.certified:
            parts.append("not certified")
        return f"DecisionBoundary({', '.join(parts)})"

    # ---- inside

    def _polyline(self, ends: Array, pieces: Array, closed: bool) -> Polyline:
        line = np.concatenate([ends[pieces, 0], ends[pieces[-1:], 1]])
        if closed:
            line[-1] = line[0]
        low, high = self.pair[pieces[0]].tolist()
        return Polyline(line, self.region[pieces], (low, high), closed)


def decision_boundary(
    regions: "LinearRegions",
    output: SupportsIndex | None = None,
    level: SupportsFloat | None = None,
) -> DecisionBoundary:
    """`LinearRegions.decision_boundary`."""
    d_out = regions.network.d_out
    if output is None and level is None and d_out > 1:
        return _between(regions._cells, regions, "classes")
    if output is None and d_out > 1:
        raise InvalidInput(f"level is {level!r} for {d_out} outputs; it needs output=, an index.")
    k = output_index(output or 0, d_out)
    number = _level(level)
    by_sign = d_out == 1 and number == 0
    cells = regions._cells if by_sign else cells_by_level(regions, k, number)
    return _between(cells, regions, "level")


def _level(level: SupportsFloat | None) -> float:
    try:
        number = float(0.0 if level is None else level)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InvalidInput(f"level is {level!r}; it must be a finite number.")
    return number


def _between(cells: Cells, regions: "LinearRegions", kind: str) -> DecisionBoundary:
    """The facets between cells of different classes, seen from the lower class."""
    d = regions.domain.dimension
    facets = cells.facet_pairs
    owners = cells.owner_of_facets[facets]
    labels = cells.label[owners]
    differ = labels[:, 0] != labels[:, 1]
    facets, owners, labels = facets[differ], owners[differ], labels[differ]
    swap = labels[:, 0] > labels[:, 1]
    for table in (facets, owners, labels):
        table[swap] = table[swap][:, ::-1]
    rows, counts = _corners_of(cells.regions, facets[:, 0], owners[:, 0])
    tight = cells.regions.tight
    vertices = cells.regions._get("vertices")[rows]
    offsets = np.append(0, np.cumsum(counts))
    if d == 3:
        order = _around(vertices, offsets)
        rows, vertices = rows[order], vertices[order]
    return DecisionBoundary(
        domain=regions.domain,
        kind=kind,
        vertices=vertices,
        offsets=offsets,
        region=cells.owner[owners[:, 0]],
        pair=labels,
        joints=_joints(cells, rows.reshape(-1, 2)) if d == 2 else None,
        certified=regions.certified and cells.regions.certified,
        complete=regions.complete,
        _tight=None if tight is None else tight[rows],
    )


def _corners_of(cut: "LinearRegions", facet: Array, cell: Array) -> tuple[Array, Array]:
    """Rows of the vertices of given facets, one facet after the other, and how many each has."""
    offsets, d = cut._get("offsets"), cut.domain.dimension
    if d == 1:  # facet j is vertex j
        return facet, np.ones(len(facet), np.int64)
    if d == 2:  # facet j is the edge from vertex j
        return np.stack([facet, _next(offsets, facet, cell)], axis=1).ravel(), np.full(
            len(facet), 2
        )
    counts = np.diff(offsets)[cell]
    starts = np.repeat(offsets[cell] - np.append(0, np.cumsum(counts))[:-1], counts)
    rows = starts + np.arange(len(starts))
    j = np.repeat(facet - cut._get("facet_offsets")[cell], counts)
    on = cut._get("tight")[rows, j >> 6] >> (j & 63).astype(np.uint64) & np.uint64(1) == 1
    which = np.repeat(np.arange(len(facet)), counts)
    return rows[on], np.bincount(which[on], minlength=len(facet))


def _next(offsets: Array, vertex: Array, cell: Array) -> Array:
    """The next vertex around the same polygon."""
    after = vertex + 1
    return np.where(after == offsets[cell + 1], offsets[cell], after)


def _around(vertices: Array, offsets: Array) -> Int[Array, " corners"]:
    """The order of each polygon's vertices in space around its middle."""
    n = np.diff(offsets)
    if not len(n):
        return np.arange(0)
    piece = np.repeat(np.arange(len(n)), n)
    middle = np.add.reduceat(vertices, offsets[:-1]) / n[:, None]
    r = vertices - middle[piece]
    first = r[offsets[:-1]]
    normals = np.cross(first[piece], r)
    size = np.square(normals).sum(axis=1)
    longest = np.lexsort((size, piece))[offsets[1:] - 1]  # the best determined of each
    second = np.cross(normals[longest], first)
    lengths = (np.linalg.norm(v, axis=1, keepdims=True) for v in (first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        e1, e2 = (v / m for v, m in zip((first, second), lengths, strict=True))
        angle = np.arctan2((r * e2[piece]).sum(axis=1), (r * e1[piece]).sum(axis=1))
    return np.lexsort((angle, piece))


# --- joining -------------------------------------------------------------------------------------


def _joints(cells: Cells, corners: Array) -> Int[Array, "pieces 2"]:
    """A number for each corner, the same for all cells' corners at one point.

    The cells around a point are walked through the facets that they share, both ways around.
    """
    offsets = cells.regions._get("offsets")
    cell_of = cells.owner_of_facets  # facet j is the edge from vertex j
    partner = np.full(len(cell_of), -1)
    pairs = cells.facet_pairs
    partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    before = np.empty_like(partner)
    before[_next(offsets, np.arange(len(partner)), cell_of)] = np.arange(len(partner))
    start = corners.ravel()
    least = start.copy()
    for clockwise in (True, False):
        at, here = start.copy(), np.arange(len(start))  # corners still being walked
        while len(here):
            if clockwise:  # through the edge that leaves the corner
                edge = partner[at]
                at = np.where(edge >= 0, _next(offsets, edge, cell_of[edge]), -1)
            else:  # through the edge that arrives
                at = partner[before[at]]
            going = (at >= 0) & (at != start[here])
            at, here = at[going], here[going]
            least[here] = np.minimum(least[here], at)
    return least.reshape(-1, 2)


def _chains(joints: Array, pair: Array) -> list[tuple[Array, bool]]:
    """Pieces end to end, and whether they close; open chains first."""
    n = len(joints)
    if not n:
        return []
    keys = np.unique(pair, axis=0, return_inverse=True)[1].reshape(-1, 1) + joints * n
    names, number = np.unique(keys, return_inverse=True)
    number = number.reshape(-1, 2)
    leaving, arriving = (np.bincount(number[:, i], minlength=len(names)) for i in (0, 1))
    through: Bool[Array, " names"] = (leaving == 1) & (arriving == 1)
    starts = np.full(len(names), -1)
    starts[number[:, 0]] = np.arange(n)
    after = np.where(through[number[:, 1]], starts[number[:, 1]], -1).tolist()
    first = np.flatnonzero(~through[number[:, 0]]).tolist()
    seen = np.zeros(n, bool)
    chains = [(_follow(after, i, seen), False) for i in first]
    chains += [(_follow(after, i, seen), True) for i in range(n) if not seen[i]]
    return chains


def _follow(after: list[int], i: int, seen: Array) -> Int[Array, " pieces"]:
    """The numbers from i on, each after the one before."""
    found = []
    while i >= 0 and not seen[i]:
        seen[i] = True
        found.append(i)
        i = after[i]
    return np.array(found)
