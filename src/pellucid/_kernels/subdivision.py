"""Exact activation regions on a segment, in a plane or in a box: the face of the compiled kernels.

Certified where `undecided` is 0: every sign was proved in floating point or computed in exact
numbers from the weights as they are stored.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from .._errors import InvalidInput, MissingDependency, PellucidWarning
from .._shapes import Array
from ._regions_module import regions_module
from .box_arrays import BoxRegions, SegmentPieces
from .reference_box import reference_box
from .reference_regions import reference_plane
from .region_arrays import PIECES, Numbers, Pieces, PlaneRegions

__all__ = [
    "PIECES",
    "BoxRegions",
    "Pieces",
    "PlaneRegions",
    "SegmentPieces",
    "regions_module",
    "subdivide_box",
    "subdivide_plane",
    "subdivide_segment",
]

ENGINES = ("auto", "kernel", "reference")

COUNT, PATTERNS, VERTICES = range(3)  # what a subdivision has to find

#: takes batches of regions while the search goes on, and what it may raise ends the search
Sink = Callable[[PlaneRegions | BoxRegions], object]


@dataclass(frozen=True)
class _Options:
    exact: bool
    wanted: int
    limit: int
    seconds: float
    threads: int
    batch: int = 0
    ask: Callable[[], bool] | None = None

    @staticmethod
    def of(exact, wanted, limit, seconds, threads, batch=0, ask=None) -> "_Options":
        return _Options(
            exact=exact,
            wanted=wanted,
            limit=0 if limit is None else int(limit),
            seconds=0.0 if seconds is None else float(seconds),
            threads=max(1, int(threads)),
            batch=int(batch),
            ask=ask,
        )

    @property
    def deadline(self) -> float | None:
        return time.monotonic() + self.seconds if self.seconds else None

    def apply(self, function, arguments: tuple, give: Callable, sink: Sink | None) -> Any:
        """What a compiled function gives; the batches go to the sink before."""
        settings = self.exact, self.wanted, self.limit, self.seconds, self.threads
        receive = None if sink is None else lambda *batch: sink(give(*batch))
        return give(*_call(function, *arguments, *settings, receive, self.batch, self.ask))


def subdivide_plane(
    weights: Sequence[Array],
    biases: Sequence[Array],
    pieces: Sequence[Pieces],
    origin: Numbers = (0.0, 0.0),
    u: Numbers = (1.0, 0.0),
    v: Numbers = (0.0, 1.0),
    low: Numbers = (-1.0, -1.0),
    high: Numbers = (1.0, 1.0),
    *,
    exact: bool = True,
    count_only: bool = False,
    limit: int | None = None,
    seconds: float | None = None,
    threads: int = 1,
    engine: str = "auto",
    sink: Sink | None = None,
    batch: int = 100_000,
    ask: Callable[[], bool] | None = None,
) -> PlaneRegions:
    """All activation regions of the hidden layers (W, b, pieces) on a rectangle in a plane.

    The plane is x = origin + s u + t v with low <= (s, t) <= high; without origin, u, v the
    network has two inputs, and the plane is its input space. float32 and float64 weights are taken
    as the exact numbers that they are. ``exact=False`` takes signs that floating point does not
    prove as they come, and counts them as undecided. At most ``limit`` regions come back, and none
    found after ``seconds``; ``complete`` then says that some may be missing. The regions, their
    order and every bit are the same whatever the number of ``threads``.

    ``engine``: "kernel" (compiled), "reference" (the twin in exact rational numbers, for small
    networks) or "auto" (the kernel where it is built, else the twin with a warning). ``sink`` is
    called with every ``batch`` regions as they are found, on one thread and without limit; none
    are left for the result then. Where ``ask`` is given, it is called now and then, and True ends
    the search.

    Raises InvalidInput where shapes differ or a number is not finite, and MissingDependency for
    engine="kernel" where no compiler built the kernel.
    """
    network = _network(weights, biases, pieces)
    plane = tuple(_float64(x) for x in (origin, u, v, low, high))
    wanted = COUNT if count_only else VERTICES
    options = _Options.of(exact, wanted, limit, seconds, threads, batch, ask)
    module = _choose(engine)
    if module is None:
        return _reference(reference_plane, network, plane, options, sink)
    origin, u, v, low, high = plane
    if not origin.shape == u.shape == v.shape:
        raise InvalidInput(
            f"origin, u and v have the shapes {origin.shape}, {u.shape} and {v.shape}; all need "
            "one number for each input of the network."
        )
    arguments = *network, origin, np.array([u, v]), low, high
    return options.apply(module.subdivide_plane, arguments, _plane_regions, sink)


def _plane_regions(n, n_switches, patterns, vertices, offsets, *others) -> PlaneRegions:
    return PlaneRegions(n, n_switches, patterns, vertices, _int64(offsets), *others)


def subdivide_box(
    weights: Sequence[Array],
    biases: Sequence[Array],
    pieces: Sequence[Pieces],
    low: Numbers = (-1.0, -1.0, -1.0),
    high: Numbers = (1.0, 1.0, 1.0),
    origin: Numbers | None = None,
    axes: Numbers | None = None,
    *,
    rest: Array | None = None,
    exact: bool = True,
    count_only: bool = False,
    with_vertices: bool = True,
    limit: int | None = None,
    seconds: float | None = None,
    threads: int = 1,
    engine: str = "auto",
    sink: Sink | None = None,
    batch: int = 100_000,
    ask: Callable[[], bool] | None = None,
) -> BoxRegions:
    """All activation regions of the hidden layers (W, b, pieces) in a box of 1 to 15 dimensions.

    The box is low <= p <= high; without origin and axes, p is the network's input, else the input
    is x = origin + p_1 axes[0] + ... + p_d axes[d - 1]; ``rest``, of the shape of axes, is what
    rounding left out of them: axes + rest is meant exactly. Everything else is as in
    `subdivide_plane`, which is faster in two dimensions. Vertices multiply with d: some 8 for a
    region in three dimensions, 66 in six and 350 in eight.

    Raises InvalidInput where shapes differ, a number is not finite or a region has more than 1024
    facets, and MissingDependency for engine="kernel" where no compiler built the kernel.
    """
    network = _network(weights, biases, pieces)
    d = len(low)
    directions = np.eye(d) if axes is None else _float64(axes)
    if directions.ndim != 2 or len(directions) != d or len(high) != d:
        raise InvalidInput(
            f"low and high have {d} and {len(high)} numbers and axes the shape {directions.shape}; "
            "every axis needs a low, a high and one number for each input of the network."
        )
    start = np.zeros(directions.shape[1]) if origin is None else _float64(origin)
    shadow = np.zeros_like(directions) if rest is None else _float64(rest)
    domain = start, directions, shadow, _float64(low), _float64(high)
    without = PATTERNS if d > 1 else VERTICES  # the ends of a piece are its facets
    wanted = COUNT if count_only else VERTICES if with_vertices else without
    options = _Options.of(exact, wanted, limit, seconds, threads, batch, ask)
    return _box(network, domain, options, engine, sink)


def subdivide_segment(
    weights: Sequence[Array],
    biases: Sequence[Array],
    pieces: Sequence[Pieces],
    a: Numbers,
    b: Numbers,
    *,
    exact: bool = True,
    count_only: bool = False,
    limit: int | None = None,
    seconds: float | None = None,
    threads: int = 1,
    engine: str = "auto",
) -> SegmentPieces:
    """The pieces of x = a + t (b - a), 0 <= t <= 1, in order from a to b.

    b - a is taken exactly, not rounded. Options and errors are those of `subdivide_box`.
    """
    network = _network(weights, biases, pieces)
    start, end = _float64(a), _float64(b)
    if start.shape != end.shape or start.ndim != 1:
        raise InvalidInput(
            f"a and b have the shapes {start.shape} and {end.shape}; both need one number for each "
            "input of the network."
        )
    with np.errstate(all="ignore"):  # the kernel refuses what is not finite
        step = end - start
        shadow = step - end
        rest = (end - (step - shadow)) - (start + shadow)  # step + rest is exact (Knuth's TwoSum)
    if (start == end).all():
        raise InvalidInput("a and b are the same point; a segment needs two.")
    domain = start, step[None], rest[None], np.zeros(1), np.ones(1)
    wanted = COUNT if count_only else VERTICES
    options = _Options.of(exact, wanted, limit, seconds, threads)
    regions = _box(network, domain, options, engine, None)
    t = switches = None
    if regions.vertices is not None and regions.tight is not None and regions.facets is not None:
        ends = regions.vertices.reshape(-1, 2)
        # Rounded breakpoints in their true order: a running maximum keeps the proved bound.
        t = np.maximum.accumulate(np.append(ends[:, 0], ends[-1:, 1]))
        first = (regions.tight[::2, 0] != 1).astype(np.int64)  # the facet at the lower end
        switches = regions.facets[2 * np.arange(regions.n) + first][1:]
    return SegmentPieces(
        *(regions.n, regions.n_switches, regions.patterns, t, switches, regions.vertex_error),
        *(regions.by_filter, regions.by_exact, regions.undecided, regions.complete),
    )


def _box(network, domain, options: _Options, engine: str, sink: Sink | None) -> BoxRegions:
    module = _choose(engine)
    if module is None:
        return _reference(reference_box, network, domain, options, sink)
    return options.apply(module.subdivide_box, (*network, *domain), _box_regions, sink)


def _box_regions(n, n_switches, patterns, vertices, offsets, tight, facets, facet_offsets, *others):
    return BoxRegions(
        *(n, n_switches, patterns, vertices, _int64(offsets), tight, facets),
        *(_int64(facet_offsets), *others),
    )


def _reference(twin: Callable, network, domain, options: _Options, sink: Sink | None):
    regions = twin(network, domain, options.limit, options.deadline)
    if options.wanted == COUNT:
        return _only_counted(regions)
    if sink is None:
        return regions
    sink(regions)
    return replace(_only_counted(regions), n=0)


def _network(weights, biases, pieces) -> tuple[list[Array], list[Array], Sequence[Pieces]]:
    if not len(weights) == len(biases) == len(pieces):
        raise InvalidInput(
            f"{len(weights)} weights, {len(biases)} biases and {len(pieces)} activations; every "
            "hidden layer needs one of each."
        )
    return [_float64(W) for W in weights], [_float64(b) for b in biases], pieces


def _call(function, W, b, pieces, *arguments) -> tuple:
    try:
        return function(W, b, *_tables(tuple(pieces)), *arguments)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None


@lru_cache(256)
def _tables(pieces: tuple[Pieces, ...]) -> list[list[tuple[float, ...]]]:
    return [[getattr(p, name) for p in pieces] for name in ("kinks", "slopes", "intercepts")]


def _only_counted(regions):
    arrays = ("patterns", "vertices", "offsets", "edges", "tight", "facets", "facet_offsets")
    return replace(regions, **{name: None for name in arrays if hasattr(regions, name)})


def _int64(offsets: Array | None) -> Array | None:
    return None if offsets is None else offsets.view(np.int64)  # NumPy has two types of that size


def _float64(values: Numbers) -> Array:
    return np.ascontiguousarray(values, np.float64)


def _choose(engine: str) -> ModuleType | None:
    if engine not in ENGINES:
        raise InvalidInput(f"engine is {engine!r}; choose one of {', '.join(ENGINES)}.")
    if engine == "reference":
        return None
    module = regions_module()
    if module is None and engine == "kernel":
        raise MissingDependency(
            "the region kernel is not compiled; install Pellucid from a wheel or with a C++20 "
            "compiler."
        )
    if module is None:
        warnings.warn(
            "the region kernel is not compiled; its slow twin in rational numbers runs instead.",
            PellucidWarning,
            stacklevel=3,
        )
    return module
