"""Deep networks, decided on the cells that the regions of both have in common.

Both networks run side by side in one, whose outputs are f - g; its certified regions are the common
refinement. On each cell f - g is affine, composed in whole numbers: f = g if all are 0. If one is
not 0, the exact corners of its cell give a point that shows it.

On the whole space the joint network becomes homogeneous, with one more input t that multiplies the
biases, and is looked at on the surface of a cube: F(x, t) = t f(x / t).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..network import Network
from ..regions import LinearRegions, linear_regions
from ..regions.chain import chain_of
from ..regions.domains import Domain, Space
from ..regions.exact import ExactMaps
from ..regions.function_distance import difference
from ..regions.maps import compose, rounding
from ..regions.whole import faces, homogeneous
from .exact_layers import Point, to_input
from .side_by_side import difference_in_space
from .zero_maps import zero_maps


@dataclass(frozen=True)
class Refinement:
    """What the cells say: `equal` (proved on all of them), and where to look if not."""

    equal: bool
    n_cells: int
    points: Iterator[Point]  # of the domain's coordinates; one of them shows a difference


def refine(a: Network, b: Network, domain: Domain, limit: int) -> Refinement:
    """Compare f and g on at most `limit` cells. Raises InvalidInput where sizes overflow."""
    n = 0
    for joint, place in _joints(a, b, domain):
        if n >= limit:
            return Refinement(False, n, iter(()))
        regions = linear_regions(joint, place, limit=limit - n)
        n += len(regions)
        row = _first_nonzero(regions)
        if row is not None:
            return Refinement(False, n, _points(regions, row, isinstance(domain, Space)))
        if not (regions.complete and regions.certified):
            return Refinement(False, n, iter(()))
    return Refinement(True, n, iter(()))


def _joints(a: Network, b: Network, domain: Domain) -> Iterator[tuple[Network, Domain]]:
    chains = chain_of(a), chain_of(b)
    if not isinstance(domain, Space):
        yield difference(chains, domain, "identity")[:2]
        return
    joint = chain_of(difference_in_space(*chains))
    for face in faces(domain.dimension, 0):
        yield homogeneous(joint), face


# --- cells -------------------------------------------------------------------------------------


def _first_nonzero(regions: LinearRegions) -> int | None:
    """A region on which the outputs are not all 0: one that floating point proves, or the first."""
    packed, chain, domain = regions._get("packed_patterns"), regions._chain, regions.domain
    if not len(packed):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        maps = compose(chain, domain, packed)
        size = np.maximum(np.abs(maps.slope).max(axis=(1, 2)), np.abs(maps.intercept).max(axis=1))
        error = rounding(chain, domain, maps.norms)
    clear = np.flatnonzero(size > 2 * error)
    if len(clear):
        return int(clear[np.argmax(size[clear])])
    begin = 0
    for zero in zero_maps(chain, domain, packed):
        if not zero.all():
            return begin + int(zero.argmin())
        begin += len(zero)
    return None


def _points(regions: LinearRegions, row: int, in_space: bool) -> Iterator[Point]:
    """Points inside a region, one of which shows that an affine function is not 0 on it.

    If it is 0 in the middle m and in all (m + corner) / 2, then it is 0 in all corners.
    """
    exact = ExactMaps(regions._chain, regions.domain)

    def place(p: Point) -> Point:
        if not in_space:
            return p
        *x, t = to_input(regions.domain, p)  # inside a region t is above 0
        return tuple(value / t for value in x)

    if not in_space:
        for p in (regions.center[row], *regions.polytope(row)):
            inside = np.clip(p, regions.domain.low, regions.domain.high)
            yield tuple(map(Fraction, inside.tolist()))
    corners = _corners(regions, exact, row)
    if not corners:
        return
    middle = tuple(sum(column, Fraction(0)) / len(corners) for column in zip(*corners, strict=True))
    yield place(middle)
    for corner in corners:
        yield place(tuple((a + b) / 2 for a, b in zip(middle, corner, strict=True)))


def _corners(regions: LinearRegions, exact: ExactMaps, row: int) -> list[Point]:
    """The exact corners of a region, each as the point that its facets have in common."""
    facets, packed = regions.facets_of(row), regions._get("packed_patterns")[row]
    switches = facets[facets >= 0].tolist()
    rows = dict(zip(switches, exact.switch_rows(packed, switches), strict=True))
    d, domain = regions.domain.dimension, regions.domain
    for facet in facets[facets < 0].tolist():
        k, high = divmod(-1 - facet, 2)
        end = Fraction(float((domain.high if high else domain.low)[k]))
        rows[facet] = [int(i == k) * end.denominator for i in range(d)] + [-end.numerator]
    found = (_meeting([rows[f] for f in of], d) for of in _facets_by_corner(regions, row))
    return [corner for corner in found if corner is not None]


def _facets_by_corner(regions: LinearRegions, row: int) -> Iterator[list[int]]:
    facets = regions.facets_of(row).tolist()
    if regions.domain.dimension == 1:
        yield from ([facet] for facet in facets)
    elif regions.domain.dimension == 2:
        yield from ([facets[j - 1], facets[j]] for j in range(len(facets)))
    else:
        offsets, tight = regions._get("offsets"), regions._get("tight")
        for words in tight[offsets[row] : offsets[row + 1]].tolist():
            yield [f for j, f in enumerate(facets) if words[j // 64] >> (j % 64) & 1]


def _meeting(rows: list[list[int]], d: int) -> Point | None:
    """The only solution of row (p, 1) = 0 for all rows: by elimination in rational numbers."""
    left = [[Fraction(v) for v in row] for row in rows]
    for k in range(d):
        pivot = next((row for row in left[k:] if row[k]), None)
        if pivot is None:
            return None
        left.remove(pivot)
        pivot = [v / pivot[k] for v in pivot]
        left = [[v - row[k] * p for v, p in zip(row, pivot, strict=True)] for row in left]
        left.insert(k, pivot)
    return tuple(-row[-1] for row in left[:d])
