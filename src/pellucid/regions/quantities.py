"""Exact numbers about a function from its regions: extrema, integrals, slopes, class volumes.

Nothing is sampled: an affine function is largest at a vertex, and its integral over a region is the
volume times the value at the centroid. What is left is the rounding of float64.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from .._kernels.region_arrays import next_in_polygon
from .._shapes import Array, Float64
from .domains import Domain
from .geometry import polytope_volumes

if TYPE_CHECKING:
    from .refining import Cells
    from .result import LinearRegions

Norm = int | float | str

#: the names of each norm
NORMS = {1: 1, 2: 2, np.inf: "inf", "1": 1, "2": 2, "inf": "inf"}


@dataclass(frozen=True, eq=False, repr=False)
class Extremum:
    """The least or largest value of an output, and one vertex and region where it is reached."""

    value: float
    point: Float64[Array, " d"]  # coordinates of the domain
    region: int

    def __repr__(self) -> str:
        place = ", ".join(f"{p:g}" for p in self.point[:4])
        more = ", ..." if len(self.point) > 4 else ""
        return f"Extremum({self.value:.6g} at [{place}{more}], region {self.region})"


def norm_named(norm: Norm) -> int | str:
    """1, 2 or "inf"; InvalidInput for anything else."""
    try:
        found = NORMS.get(norm)
    except TypeError:
        found = None
    if found is None:
        raise InvalidInput(f'norm is {norm!r}; choose 1, 2 or "inf".')
    return found


# --- values --------------------------------------------------------------------------------------


def corner_values(regions: "LinearRegions", k: int) -> Float64[Array, " corners"]:
    """Output k at every row of `vertices`."""
    which = np.repeat(np.arange(len(regions)), np.diff(regions._get("offsets")))
    p = regions._get("vertices")
    found = regions.intercept[which, k]
    for i in range(p.shape[1]):
        found += regions.slope[which, k, i] * p[:, i]
    return found


def extremum(regions: "LinearRegions", k: int, sign: float) -> Extremum:
    """The largest (sign 1) or least (-1) value of output k."""
    values = corner_values(regions, k)
    if not len(values):
        raise InvalidInput("the result holds no regions, so that no output has values.")
    row = int((sign * values).argmax())
    region = int(np.searchsorted(regions._get("offsets"), row, side="right")) - 1
    return Extremum(float(values[row]), regions._get("vertices")[row].copy(), region)


# --- integrals -----------------------------------------------------------------------------------


def integrals(regions: "LinearRegions") -> Float64[Array, " d_out"]:
    """The integral of every output over the regions found, in the input space."""
    d, d_out = regions.domain.dimension, regions.network.d_out
    center = regions.center
    at_center = np.einsum("nkd,nd->nk", regions.slope, center) + regions.intercept
    total = regions.volume @ at_center
    if d == 1 or not len(regions):
        return total
    which = np.repeat(np.arange(len(regions)), np.diff(regions._get("offsets")))
    p = regions._get("vertices") - center[which]
    if d == 2:
        moments = np.einsum("nkd,nd->k", regions.slope, _polygon_moments(regions))
    elif d_out <= d:
        moments = _moments(regions, np.einsum("nkd,nd->nk", regions.slope[which], p)).sum(axis=0)
    else:
        moments = np.einsum("nkd,nd->k", regions.slope, _moments(regions, p))
    return total + moments * regions.domain.scale


def _triangles(regions: "LinearRegions") -> tuple[Array, Array, Array, Array]:
    """Each polygon as triangles from its center: region, the two corners about it, area."""
    vertices, offsets = regions._get("vertices"), regions._get("offsets")
    which = np.repeat(np.arange(len(regions)), np.diff(offsets))
    p = vertices - regions.center[which]
    q = p[next_in_polygon(offsets)]
    return which, p, q, (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]) / 2


def _polygon_moments(regions: "LinearRegions") -> Float64[Array, "n 2"]:
    """The integral over each polygon of the coordinates, counted from its center."""
    _, p, q, area = _triangles(regions)
    return np.add.reduceat(area[:, None] * (p + q) / 3, regions._get("offsets")[:-1])


def _moments(regions: "LinearRegions", values: Array) -> Float64[Array, "n m"]:
    """The integral over each polytope of affine functions with these values (corners, m).

    The integral of a positive function is the volume below its graph, that of a prism of one
    dimension more: each vertex once at the height 0 and once at the function's value.
    """
    vertices, offsets = regions._get("vertices"), regions._get("offsets")
    volumes = polytope_volumes(vertices, offsets, regions.tight)
    which = np.repeat(np.arange(len(regions)), np.diff(offsets))
    order = np.argsort(np.concatenate([which, which]), kind="stable")
    tight = None if regions.tight is None else _prism_facets(regions.tight)[order]
    found = np.empty((len(regions), values.shape[1]))
    for i, f in enumerate(values.T):
        low, high = (ends.reduceat(f, offsets[:-1]) for ends in (np.minimum, np.maximum))
        reach = np.where(high > low, high - low, 1.0)
        lift = reach - low  # heights from `reach` to twice that
        height = np.concatenate([np.zeros(len(f)), f + lift[which]])[:, None]
        prism = np.concatenate([np.concatenate([vertices, vertices]), height], axis=1)[order]
        found[:, i] = polytope_volumes(prism, 2 * offsets, tight) - lift * volumes
    return found


def _prism_facets(tight: Array) -> Array:
    """Facets of prisms: those of the base, and in one more word the bottom and the top."""
    ends = np.repeat(np.array([1, 2], np.uint64), len(tight))[:, None]
    return np.concatenate([np.concatenate([tight, tight]), ends], axis=1)


def square_integral(regions: "LinearRegions") -> float:
    """The integral of the sum of squared outputs, on a domain of one or two dimensions.

    On a triangle with the values a, b, c: area / 6 (a^2 + b^2 + c^2 + ab + bc + ca). On an
    interval: length / 3 (a^2 + ab + b^2).
    """
    total = 0.0
    for k in range(regions.network.d_out):
        f = corner_values(regions, k)
        if regions.domain.dimension == 1:
            a, b = f.reshape(-1, 2).T
            total += float(regions.volume @ (a * a + a * b + b * b)) / 3
            continue
        which, _, _, area = _triangles(regions)
        g = f[next_in_polygon(regions._get("offsets"))]
        c = (np.einsum("nd,nd->n", regions.slope[:, k], regions.center) + regions.intercept[:, k])[
            which
        ]
        squares = f * f + g * g + c * c + f * g + g * c + c * f
        total += float(area @ squares) / 6 * regions.domain.scale
    return total


# --- slopes --------------------------------------------------------------------------------------


def lipschitz(regions: "LinearRegions", norm: Norm) -> float:
    """The largest operator norm of a region's slope, for lengths in the input space."""
    q, S = norm_named(norm), regions.slope
    if not S.size:
        return 0.0
    if regions.domain.is_coordinate and q != 2:
        return float(np.abs(S).sum(axis=1 if q == 1 else 2).max())
    if q == 2:
        R = np.linalg.qr(regions.domain.axes.T)[1]  # |p R^T| is the length of p in x
        return _spectral(S @ np.linalg.inv(R))
    directions = _unit_ball(regions.domain, q)
    values = np.abs(S @ directions.T)
    return float((values.sum(axis=1) if q == 1 else values.max(axis=1)).max())


def _spectral(S: Array) -> float:
    """The largest spectral norm of matrices (n, d_out, d).

    None is larger than its Frobenius norm, so that few singular values are computed.
    """
    bound = np.sqrt(np.square(S).sum(axis=(1, 2)))
    if min(S.shape[1:]) == 1:
        return float(bound.max())
    least = float(np.linalg.norm(S[bound.argmax()], 2))
    return float(np.linalg.svd(S[bound > least], compute_uv=False).max(initial=least))


def _unit_ball(domain: Domain, q: int | str) -> Float64[Array, "m d"]:
    """Corners of the set of steps p in the domain with a 1-norm or largest entry of 1 in x.

    The norm of p axes has straight pieces between the directions in which an entry is 0 (norm 1),
    or two of the largest entries are equal in size (inf).
    """
    axes = domain.axes
    if domain.dimension == 1:
        return 1.0 / np.linalg.norm(axes, 1 if q == 1 else np.inf, axis=1, keepdims=True)
    a = axes[:, axes.any(axis=0)].T  # one row for each input that the plane moves
    turned = a
    if q == "inf":
        from scipy.spatial import ConvexHull

        rows = np.concatenate([a, -a])
        corners = rows[ConvexHull(rows).vertices]
        turned = np.roll(corners, -1, axis=0) - corners
    p = np.stack([-turned[:, 1], turned[:, 0]], axis=1)
    return p / np.linalg.norm(p @ axes, 1 if q == 1 else np.inf, axis=1, keepdims=True)


# --- classes -------------------------------------------------------------------------------------


def class_volumes(cells: "Cells") -> Float64[Array, " n_classes"]:
    """The volume of each class in the input space."""
    known = cells.owner >= 0
    return np.bincount(cells.label[known], cells.regions.volume[known], cells.n_classes)
