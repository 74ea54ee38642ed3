"""Where regions are looked for: a segment, a rectangle in a plane, a box, the whole space.

Every domain is an affine image of a box: x = origin + sum_i p_i axes[i] for low <= p <= high. The
numbers p are the domain's coordinates, in which vertices and affine maps are given.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64


class _Affine:
    """What all domains share; `origin`, `axes`, `low` and `high` are theirs."""

    origin: Float64[Array, " d_in"]
    axes: Float64[Array, "d d_in"]
    low: Float64[Array, " d"]
    high: Float64[Array, " d"]

    @property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return len(self.low)

    @property
    def d_in(self) -> int:
        """Number of inputs of the space that the domain lies in."""
        return len(self.origin)

    @cached_property
    def scale(self) -> float:
        """Length, area or volume in the input space of a unit of the coordinates."""
        if self.is_coordinate:
            return 1.0
        return float(np.prod(np.linalg.svd(self.axes, compute_uv=False)))  # sqrt(det(A A^T))

    @property
    def volume(self) -> float:
        """Length, area or volume of the domain, in the input space."""
        return float(np.prod(self.high - self.low)) * self.scale

    @property
    def rest(self) -> Float64[Array, "d d_in"]:
        """What `axes` leaves out of the true axes by rounding."""
        return np.zeros_like(self.axes)

    @property
    def is_coordinate(self) -> bool:
        """Whether the coordinates are the inputs themselves."""
        return False

    @property
    def bounding_box(self) -> tuple[Float64[Array, " d_in"], Float64[Array, " d_in"]]:
        """(low, high) in the input space, around all points of the domain, to rounding."""
        if self.is_coordinate:
            return self.low, self.high
        ends = self.low[:, None] * self.axes, self.high[:, None] * self.axes
        low, high = np.minimum(*ends).sum(axis=0), np.maximum(*ends).sum(axis=0)
        return self.origin + low, self.origin + high

    def to_input(self, coordinates: ArrayLike | tuple) -> Float64[Array, "*n d_in"]:
        """The points of the input space with the given coordinates, (n, d) or (d,)."""
        p = _finite(coordinates, "coordinates")
        if p.ndim not in (1, 2) or p.shape[-1] != self.dimension:
            raise InvalidInput(
                f"coordinates have shape {p.shape}; this domain needs (n, {self.dimension})."
            )
        return p.copy() if self.is_coordinate else self.origin + p @ self.axes

    def to_coordinates(self, x: ArrayLike | tuple) -> Float64[Array, "*n d"]:
        """The coordinates of points x of the input space, (n, d_in) or (d_in,).

        A point off the plane or segment is projected onto it, orthogonally.
        """
        points = _finite(x, "x")
        if points.ndim not in (1, 2) or points.shape[-1] != self.d_in:
            raise InvalidInput(f"x has shape {points.shape}; this domain needs (n, {self.d_in}).")
        if self.is_coordinate:
            return points.copy()
        return (points - self.origin) @ np.linalg.pinv(self.axes)


def _keep(domain: object, **arrays: Array) -> None:
    for name, array in arrays.items():
        array.setflags(write=False)
        object.__setattr__(domain, name, array)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Segment(_Affine):
    """The straight line from a to b: x = a + s (b - a) for 0 <= s <= 1.

    Signs are decided with the exact difference b - a; `axes` holds it rounded to float64.
    """

    a: Float64[Array, " d_in"]
    b: Float64[Array, " d_in"]

    def __init__(self, a: ArrayLike | tuple, b: ArrayLike | tuple):
        a, b = _point(a, "a"), _point(b, "b")
        _same_length(a=a, b=b)
        with np.errstate(over="ignore"):
            u = b - a
        if not u.any():
            raise InvalidInput("a and b are the same point; a segment needs two different ones.")
        if not np.isfinite(u).all():
            raise InvalidInput("b - a is too large for float64; a segment needs nearer points.")
        _keep(self, a=a, b=b, origin=a, axes=u[None], low=np.zeros(1), high=np.ones(1))

    @property
    def rest(self) -> Float64[Array, "1 d_in"]:
        """What the rounded difference leaves out of b - a: exactly, by Knuth's TwoSum."""
        u = self.axes[0]
        shadow = u - self.b
        return ((self.b - (u - shadow)) - (self.a + shadow))[None]

    def __repr__(self) -> str:
        return f"Segment({_numbers(self.origin)} to {_numbers(self.b)})"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Plane(_Affine):
    """A rectangle in a plane of the input space: x = origin + s u + t v.

    `extent` is ((s_low, s_high), (t_low, t_high)), in units of u and v, or one number r for -r to r
    in both. The axes u and v need neither be orthogonal nor of length 1, but not parallel.
    """

    origin: Float64[Array, " d_in"]
    u: Float64[Array, " d_in"]
    v: Float64[Array, " d_in"]
    extent: Float64[Array, "2 2"]

    def __init__(
        self,
        origin: ArrayLike | tuple,
        u: ArrayLike | tuple,
        v: ArrayLike | tuple,
        extent: ArrayLike | tuple = 1.0,
    ):
        origin, u, v = _point(origin, "origin"), _point(u, "u"), _point(v, "v")
        _same_length(origin=origin, u=u, v=v)
        extent = _finite(extent, "extent")
        if extent.ndim == 0:
            extent = np.array([[-extent, extent]] * 2)
        if extent.shape != (2, 2):
            raise InvalidInput(
                f"extent has shape {extent.shape}; a plane needs ((s_low, s_high), "
                "(t_low, t_high)) or one number."
            )
        if _parallel(u, v):
            raise InvalidInput(
                f"u = {_numbers(u)} and v = {_numbers(v)} are parallel; a plane needs two axes in "
                "different directions."
            )
        low, high = extent[:, 0].copy(), extent[:, 1].copy()
        _check_order(low, high, "extent", ("s", "t"))
        axes = np.stack([u, v])
        _keep(self, origin=origin, u=u, v=v, extent=extent, axes=axes, low=low, high=high)

    @classmethod
    def through(
        cls,
        a: ArrayLike | tuple,
        b: ArrayLike | tuple,
        c: ArrayLike | tuple,
        margin: SupportsFloat = 0.25,
    ) -> "Plane":
        """The plane through three points, to scale: u and v are orthogonal and of length 1.

        a is the origin, b lies on the axis u, and c (to rounding) at t > 0. Around the three the
        rectangle leaves `margin` times its longer side. Raises InvalidInput for points on a line.
        """
        a, b, c = _point(a, "a"), _point(b, "b"), _point(c, "c")
        _same_length(a=a, b=b, c=c)
        with np.errstate(over="ignore"):
            ab, ac = _finite(b - a, "b - a"), _finite(c - a, "c - a")
        if _parallel(ab, ac):
            raise InvalidInput(
                f"{_numbers(a)}, {_numbers(b)} and {_numbers(c)} lie on one line; a plane needs "
                "three points that do not."
            )
        q, r = np.linalg.qr(np.stack([ab, ac], axis=1))
        sign = np.where(np.diag(r) < 0, -1.0, 1.0)
        (u, v) = (q * sign).T + 0.0  # no -0
        corners = np.column_stack([[0, 0], sign[:, None] * r])
        low, high = corners.min(axis=1), corners.max(axis=1)
        room = float(margin) * float((high - low).max())
        return cls(a, u, v, np.stack([low - room, high + room], axis=1))

    def __repr__(self) -> str:
        (s0, t0), (s1, t1) = self.low, self.high
        return f"Plane({self.d_in} inputs, s {s0:g} to {s1:g}, t {t0:g} to {t1:g})"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Box(_Affine):
    """All inputs x with low <= x <= high, in any number of dimensions.

    Its coordinates are the inputs. One number stands for a box of one dimension.
    """

    low: Float64[Array, " d"]
    high: Float64[Array, " d"]

    def __init__(self, low: ArrayLike | tuple, high: ArrayLike | tuple):
        low, high = _point(low, "low"), _point(high, "high")
        _same_length(low=low, high=high)
        _check_order(low, high, "box")
        _keep(self, low=low, high=high, origin=np.zeros(len(low)), axes=np.eye(len(low)))

    @property
    def is_coordinate(self) -> bool:
        """True."""
        return True

    def __repr__(self) -> str:
        return f"Box({_numbers(self.low)} to {_numbers(self.high)})"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Space(_Affine):
    """The whole input space, of any number of dimensions, for networks with kinks at 0.

    Regions of it have no list of vertices, as most are unbounded.
    """

    low: Float64[Array, " d"]
    high: Float64[Array, " d"]

    def __init__(self, dimension: int):
        if not (dimension == int(dimension) and dimension >= 1):
            raise InvalidInput(f"dimension is {dimension!r}; it must be a whole number above 0.")
        d = int(dimension)
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        _keep(self, low=low, high=high, origin=np.zeros(d), axes=np.eye(d))

    @property
    def is_coordinate(self) -> bool:
        """True."""
        return True

    def __repr__(self) -> str:
        return f"Space({self.dimension})"


@dataclass(frozen=True, eq=False)
class Face(_Affine):
    """x = origin + sum_i p_i axes[i] for low <= p <= high, in any number of dimensions."""

    origin: Float64[Array, " d_in"]
    axes: Float64[Array, "d d_in"]
    low: Float64[Array, " d"]
    high: Float64[Array, " d"]


Domain = Segment | Plane | Box | Space | Face


def _finite(values: ArrayLike | tuple, name: str) -> Array:
    try:
        array = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is {values!r}; it must be an array of numbers.") from None
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} holds {array[~np.isfinite(array)][0]}; it must be finite.")
    return array


def _point(values: ArrayLike | tuple, name: str) -> Float64[Array, " d"]:
    array = np.atleast_1d(_finite(values, name))
    if array.ndim != 1 or not len(array):
        raise InvalidInput(f"{name} has shape {array.shape}; it must be one point: (d,).")
    return array


def one_point(x: ArrayLike | tuple, d_in: int, asked_by: str) -> Float64[Array, " d_in"]:
    """A point of the input space, as a copy; `InvalidInput` where it is none."""
    try:
        point = np.array(x, np.float64)
    except (TypeError, ValueError):
        point = np.empty(0)
    if point.shape != (d_in,) or not np.isfinite(point).all():
        raise InvalidInput(
            f"x is {_described(point)}; {asked_by} needs one point of {d_in} finite numbers."
        )
    return point


def _described(point: Array) -> str:
    if point.size and not np.isfinite(point).all():
        return f"not finite (it holds {point[~np.isfinite(point)][0]})"
    return f"of shape {point.shape}"


def _same_length(**points: Array) -> None:
    if len({len(point) for point in points.values()}) > 1:
        told = ", ".join(f"{name} {len(point)}" for name, point in points.items())
        raise InvalidInput(f"the points have different numbers of coordinates ({told}).")


def _check_order(low: Array, high: Array, what: str, names: tuple[str, ...] = ()) -> None:
    wrong = np.flatnonzero(low >= high)
    if len(wrong):
        i = int(wrong[0])
        axis = f"in {names[i]}" if names else f"in coordinate {i}"
        state = "empty" if low[i] == high[i] else "reversed"
        raise InvalidInput(
            f"the {what} is {state} {axis}: from {low[i]:g} to {high[i]:g}; low must be below high."
        )
    with np.errstate(over="ignore"):
        size = high - low
    if not np.isfinite(size).all():
        raise InvalidInput(f"the {what} is too large for float64; choose smaller numbers.")


def _parallel(u: Array, v: Array) -> bool:
    """Whether u and v are linearly dependent: exactly, in rational numbers."""
    p = int(np.abs(u).argmax())
    rows = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(u, v, strict=True)]
    a, b = rows[p]
    return a == 0 or all(x * b == y * a for x, y in rows)


def _numbers(point: Array) -> str:
    shown = ", ".join(f"{value:g}" for value in point[:4])
    return f"[{shown}{', ...' if len(point) > 4 else ''}]"
