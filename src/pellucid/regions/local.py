"""`local_regions`: the activation regions around a point, in any number of dimensions."""

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int
from ..network import AffineGraph, Network
from .chain import chain_of
from .crossing import Search, View
from .domains import Space, one_point
from .explain import Explanation, explain
from .graphs import on_box
from .linear_regions import _positive
from .maps import Maps, compose
from .switched import Switched


@dataclass(frozen=True, eq=False, repr=False)
class LocalRegions(Switched):
    """Activation regions around a point x, each found by crossing a facet of one found before.

    Region 0 is that of x. `points[i]` is a point for which it is proved that it lies inside
    region i: in floating point with a bound on its error, or in whole numbers. So every region
    listed occurs, and no two are the same.

    That none is missing is not proved, but rests on floating point: within `exhaustive_steps`
    crossings every facet was either crossed, or excluded by least squares or a linear program with
    a relative residual below 1e-10. Regions thinner than that can be missed. `complete` says that
    this covers all that was asked for; False means that `limit`, `seconds` or rounding left
    something out. `steps` and `adjacency` are those of the facets that were crossed.

    Of an `AffineGraph` (`graph`, else None) `network` is a chain that is equal to it on the ball,
    and the patterns have a constant bit for each value that this carries.
    """

    network: Network
    x: Float64[Array, " d_in"]
    radius: float  # of the ball |x' - x|_inf < radius; inf without one
    packed_patterns: Array  # uint8 (n, bytes), bit i % 8 of byte i // 8
    points: Float64[Array, "n d_in"]
    steps: Int[Array, " n"]  # fewest crossings from region 0, through facets that were found
    crossed: Int[Array, " n"]  # the switch on the facet through which it was found; -1 for region 0
    adjacency: Int[Array, "pairs 2"]  # pairs i < j that are known to share a facet
    by_filter: int  # signs proved in floating point
    by_exact: int  # signs decided in whole numbers
    exhaustive_steps: int
    complete: bool
    graph: AffineGraph | None = None

    @property
    def certified(self) -> bool:
        """True: a region without a proved point inside it is never listed."""
        return True

    @property
    def n_activation_regions(self) -> int:
        """Number of regions found: a lower bound where not `complete`."""
        return len(self.packed_patterns)

    @property
    def slope(self) -> Float64[Array, "n d_out d_in"]:
        """Slope of every region's map: f = slope x + intercept."""
        return self._maps.slope

    @property
    def intercept(self) -> Float64[Array, "n d_out"]:
        """Intercept of every region's map."""
        return self._maps.intercept

    @cached_property
    def distance(self) -> Float64[Array, " n"]:
        """Largest coordinate of points - x: the region is at most so far, in the inf-norm."""
        return np.abs(self.points - self.x).max(axis=1)

    def __len__(self) -> int:
        return self.n_activation_regions

    def __getitem__(self, i: SupportsIndex) -> Explanation:
        """What the network does at the point of region i."""
        n, k = len(self), operator.index(i)
        if not -n <= k < n:
            raise IndexError(f"region {k} of {n}")
        return explain(self.graph or self.network, self.points[k])

    def to_frame(self) -> Any:
        """Return one row per region as a polars DataFrame.

        Columns: region, steps, distance, layer, unit and kink of the facet through which it was
        found (-1 for region 0), active (bits set).
        """
        import polars as pl

        none = np.full((1, 3), -1)
        facet = np.concatenate([self.switches, none])[self.crossed]
        return pl.DataFrame(
            {
                "region": np.arange(len(self)),
                "steps": self.steps,
                "distance": self.distance,
                **{name: facet[:, k] for k, name in enumerate(("layer", "unit", "kink"))},
                "active": np.bitwise_count(self.packed_patterns).sum(axis=1, dtype=np.int64),
            }
        )

    def to_networkx(self) -> Any:
        """Return the graph of regions that share a facet; nodes have `steps` and `distance`."""
        from .graph import region_graph

        attributes = {"steps": self.steps, "distance": self.distance}
        return region_graph(len(self), self.adjacency, attributes)

    def __repr__(self) -> str:
        n, far = self.n_activation_regions, int(self.steps.max())
        told = "" if self.complete else ", incomplete"
        ball = "" if np.isinf(self.radius) else f" and radius {self.radius:g}"
        return (
            f"LocalRegions({n} activation region{'s' if n != 1 else ''} within {far} "
            f"crossing{'s' if far != 1 else ''}{ball}, certified{told}, exhaustive within "
            f"{self.exhaustive_steps})"
        )

    @cached_property
    def _maps(self) -> Maps:
        return compose(self._chain, Space(len(self.x)), self.packed_patterns)


def local_regions(
    network: Network | AffineGraph,
    x: ArrayLike | tuple,
    *,
    radius: SupportsFloat | None = None,
    steps: SupportsIndex | None = None,
    limit: SupportsIndex | None = None,
    seconds: SupportsFloat | None = None,
) -> LocalRegions:
    """Activation regions around x (d_in,), in any number of dimensions, through their facets.

    ``radius``: only regions that meet the open ball |x' - x|_inf < radius, reached inside it.
    ``steps``: only those at most so many crossings away. At most ``limit`` regions come back, and
    the search ends after ``seconds``; one of the four must be given. Where x is on a kink, region 0
    is one of those that it touches.

    Every region that comes back is proved to occur. Facets that rays and projections find are
    crossed first, breadth first, the nearest of each region first; the facets that need more work
    (least squares, or HiGHS in a ball in many dimensions) only where these do not reach ``limit``.

    An `AffineGraph` needs a radius: it is taken as a chain that is equal to it on the ball.

    Raises UnsupportedLayer for a smooth activation, and InvalidInput for weights or an x that are
    not finite, and where no bound is given.
    """
    from threadpoolctl import threadpool_limits

    point = one_point(x, network.d_in, "local_regions")
    far: Any = _positive(radius, "radius", float)
    graph = network if isinstance(network, AffineGraph) else None
    network = _around(network, point, far)
    chain = chain_of(network)
    budget: Any = _positive(seconds, "seconds", float)
    crossings: Any = _positive(steps, "steps", int)
    most: Any = _positive(limit, "limit", int)
    if far is crossings is most is budget is None:
        raise InvalidInput(
            "local_regions was given no radius, steps, limit or seconds; it needs at least one, as "
            "the whole space has too many regions."
        )
    with threadpool_limits(limits=1, user_api="blas"):  # matrices are small
        view = View(chain, point, far or np.inf)
        search = Search(view, crossings or np.inf, most or np.inf, budget)
        search.run()
    pairs = [(i, j) for i, near in enumerate(search.neighbours) for j in near if i < j]
    return LocalRegions(
        network=network,
        x=point,
        radius=view.radius,
        packed_patterns=np.packbits(np.array(search.bits), axis=1, bitorder="little"),
        points=np.array(search.points),
        steps=np.array(search.depth),
        crossed=np.array(search.crossed),
        adjacency=np.array(sorted(pairs), np.int64).reshape(len(pairs), 2),
        by_filter=search.by_filter,
        by_exact=search.by_exact,
        exhaustive_steps=search.exhaustive_steps(),
        complete=not search.left(),
        graph=graph,
    )


def _around(network: Network | AffineGraph, x: Array, radius: float | None) -> Network:
    """The network; a graph as a chain that is equal to it on the ball."""
    if isinstance(network, Network) or network.is_chain:
        return on_box(network, None, None)
    if radius is None:
        raise InvalidInput(
            "local_regions was given a graph that is no chain of layers, and no radius; give one, "
            "because a graph is read exactly only within bounds of its inputs."
        )
    return on_box(network, x - radius, x + radius)
