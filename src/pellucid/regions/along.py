"""Pieces along a path through any input space, and counts along a sequence of networks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Bool, Float64, Int
from ..network import AffineGraph, Network
from .domains import Domain, Segment
from .graphs import on_box
from .linear_regions import linear_regions
from .switched import Switched


@dataclass(frozen=True, eq=False, repr=False)
class PiecesAlong(Switched):
    """The pieces of a network along straight lines from corner to corner.

    A position is the number of a leg, counted from 0, and how far along it: 2.5 is the middle of
    the third leg. Piece i goes from `positions[i]` to `positions[i + 1]` and has one activation
    pattern; one that goes on through a corner counts once, and one that the path leaves and enters
    again counts twice. Neighbouring pieces belong to one linear piece where the network, as a
    function of the position, has the same slope and intercept on both, exactly; at a corner, where
    they are one activation piece.
    """

    network: Network
    corners: Float64[Array, "corners d_in"]
    positions: Float64[Array, " n1"]
    packed_patterns: Array  # uint8 (n, bytes), bit i % 8 of byte i // 8
    linear_piece: Int[Array, " n"]
    by_filter: int
    by_exact: int
    undecided: int

    @property
    def n_activation_pieces(self) -> int:
        """Number of pieces with one activation pattern."""
        return len(self.packed_patterns)

    @property
    def n_linear_pieces(self) -> int:
        """Number of pieces on which the network does not bend."""
        return int(self.linear_piece.max()) + 1

    @property
    def n_patterns(self) -> int:
        """Number of different activation patterns; fewer than pieces where some come again."""
        return len(np.unique(self.packed_patterns, axis=0))

    @property
    def certified(self) -> bool:
        """Whether every sign was proved, so that all counts are right."""
        return self.undecided == 0

    @property
    def breakpoints(self) -> Float64[Array, " n_less_1"]:
        """Positions at which the pattern changes."""
        return self.positions[1:-1]

    def to_input(self, positions: ArrayLike | tuple) -> Float64[Array, "m d_in"]:
        """The points of the input space at the given positions (m,)."""
        p = np.asarray(positions, np.float64)
        leg = np.clip(np.floor(p), 0, len(self.corners) - 2).astype(int)
        a, b = self.corners[leg], self.corners[leg + 1]
        return a + (p - leg)[:, None] * (b - a)

    @cached_property
    def length(self) -> Float64[Array, " n"]:
        """Length of every piece, in the input space."""
        legs = np.linalg.norm(np.diff(self.corners, axis=0), axis=1)
        so_far = np.append(0.0, np.cumsum(legs))
        return np.diff(np.interp(self.positions, np.arange(len(so_far)), so_far))

    def __len__(self) -> int:
        return self.n_activation_pieces

    def to_frame(self) -> Any:
        """Return one row per piece as a polars DataFrame.

        Columns: piece, linear_piece, begin and end (positions), length, active (bits set).
        """
        import polars as pl

        return pl.DataFrame(
            {
                "piece": np.arange(len(self)),
                "linear_piece": self.linear_piece,
                "begin": self.positions[:-1],
                "end": self.positions[1:],
                "length": self.length,
                "active": np.bitwise_count(self.packed_patterns).sum(axis=1, dtype=np.int64),
            }
        )

    def __repr__(self) -> str:
        sure = "certified" if self.certified else f"{self.undecided} signs undecided"
        legs = len(self.corners) - 1
        return (
            f"PiecesAlong({self.n_activation_pieces} activation pieces, {self.n_linear_pieces} "
            f"linear, on {legs} leg{'s' if legs != 1 else ''}, {sure})"
        )


def count_along(network: Network | AffineGraph, points: ArrayLike | tuple) -> PiecesAlong:
    """The pieces of a network along the straight lines between points (corners, d_in), in order.

    Each leg is an exact `linear_regions` on a `Segment`. Raises what that raises, and InvalidInput
    where fewer than two points are given or two in a row are the same. An `AffineGraph` is taken as
    a chain that is equal to it on the box around the points, which is the result's `network`.
    """
    corners = _corners(points, network.d_in)
    network = on_box(network, corners.min(axis=0), corners.max(axis=0))
    legs = [linear_regions(network, Segment(a, b)) for a, b in pairwise(corners)]
    positions, patterns, labels = [np.zeros(1)], [], []
    for number, leg in enumerate(legs):
        packed, label = leg._get("packed_patterns"), leg.linear_region
        ends = number + leg._get("vertices")[1::2, 0]
        label = np.append(0, np.cumsum(np.diff(label) != 0))
        if patterns and (patterns[-1][-1] == packed[0]).all():
            positions[-1] = positions[-1][:-1]  # this piece goes on
            packed, label = packed[1:], label + labels[-1][-1]
            labels.append(label[1:])
        else:
            labels.append(label + (labels[-1][-1] + 1 if labels else 0))
        positions.append(ends)
        patterns.append(packed)
        if not len(packed):  # the whole leg belongs to the piece before
            patterns.pop()
            labels.pop()
    return PiecesAlong(
        network=network,
        corners=corners,
        positions=np.concatenate(positions),
        packed_patterns=np.concatenate(patterns),
        linear_piece=np.concatenate(labels),
        **{name: sum(getattr(leg, name) for leg in legs) for name in _COUNTERS},
    )


_COUNTERS = ("by_filter", "by_exact", "undecided")


def _corners(points: ArrayLike | tuple, d_in: int) -> Float64[Array, "corners d_in"]:
    try:
        corners = np.array(points, np.float64)
    except (TypeError, ValueError):
        corners = np.empty(0)
    if corners.ndim != 2 or len(corners) < 2 or corners.shape[-1] != d_in:
        raise InvalidInput(
            f"points have shape {corners.shape}; count_along needs two or more points of {d_in} "
            f"inputs: (corners, {d_in})."
        )
    if not np.isfinite(corners).all():
        raise InvalidInput("points hold a number that is not finite; every corner needs numbers.")
    same = np.flatnonzero((corners[1:] == corners[:-1]).all(axis=1))
    if len(same):
        raise InvalidInput(
            f"points {same[0]} and {same[0] + 1} are the same; leave one of them out."
        )
    return corners


@dataclass(frozen=True, eq=False, repr=False)
class RegionsAlong:
    """Exact counts on one domain for networks in a row, such as the states of one training."""

    domain: Domain
    labels: tuple  # of the networks: training steps, or 0, 1, ...
    n_activation_regions: Int[Array, " networks"]
    n_linear_regions: Int[Array, " networks"]
    n_affine_maps: Int[Array, " networks"]
    certified: Bool[Array, " networks"]
    complete: Bool[Array, " networks"]

    def __len__(self) -> int:
        return len(self.labels)

    def to_frame(self) -> Any:
        """Return one row per network as a polars DataFrame; the columns are the fields."""
        import polars as pl

        return pl.DataFrame({"label": list(self.labels)} | {n: getattr(self, n) for n in _COUNTED})

    def __repr__(self) -> str:
        n = self.n_activation_regions
        span = f"{n.min()} to {n.max()} activation regions" if len(n) else "none"
        return f"RegionsAlong({len(self)} networks on {self.domain!r}: {span})"


_COUNTED = ("n_activation_regions", "n_linear_regions", "n_affine_maps", "certified", "complete")


def linear_regions_along(
    networks: Iterable[Network | AffineGraph] | Mapping[Any, Network | AffineGraph],
    domain: Domain,
    **options: Any,
) -> RegionsAlong:
    """Count the regions of every network on one domain, with `linear_regions` and its options.

    A mapping {step: network} gives the labels; other networks are numbered from 0. Only one
    network's regions are in memory at a time.
    """
    items = list(networks.items() if isinstance(networks, Mapping) else enumerate(networks))
    kinds = Network, AffineGraph
    wrong = next((type(net).__name__ for _, net in items if not isinstance(net, kinds)), None)
    if wrong or not items:
        got = f"a {wrong} among the networks" if wrong else "no networks"
        raise InvalidInput(f"got {got}; linear_regions_along needs networks, or a dict of them.")
    rows = [_counts(linear_regions(network, domain, **options)) for _, network in items]
    columns = dict(zip(_COUNTED, map(np.array, zip(*rows, strict=True)), strict=True))
    return RegionsAlong(domain=domain, labels=tuple(label for label, _ in items), **columns)


def _counts(regions: Any) -> tuple:
    return tuple(getattr(regions, name) for name in _COUNTED)
