"""Exact activation regions on a segment, in a plane or in a box: the face of the compiled kernels.

Certified where `undecided` is 0: every sign was proved in floating point or computed in exact
numbers from the weights as they are stored.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

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
) -> PlaneRegions:
    """All activation regions of the hidden layers (W, b, pieces) on a rectangle in a plane.

    The plane is x = origin + s u + t v with low <= (s, t) <= high; without origin, u, v the
    network has two inputs, and the plane is its input space. float32 and float64 weights are taken
    as the exact numbers that they are. ``exact=False`` takes signs that floating point does not
    prove as they come, and counts them as undecided. At most ``limit`` regions come back, and none
    found after ``seconds``; ``complete`` then says that some may be missing. The regions, their
    order and every bit are the same whatever the number of ``threads``.

    ``engine``: "kernel" (compiled), "reference" (the twin in exact rational numbers, for small
    networks) or "auto" (the kernel where it is built, else the twin with a warning).

    Raises InvalidInput where shapes differ or a number is not finite, and MissingDependency for
    engine="kernel" where no compiler built the kernel.
    """
    network = _network(weights, biases, pieces)
    plane = tuple(_float64(x) for x in (origin, u, v, low, high))
    most = 0 if limit is None else int(limit)
    time_given = 0.0 if seconds is None else float(seconds)
    module = _choose(engine)
    if module is None:
        deadline = time.monotonic() + time_given if time_given else None
        regions = reference_plane(network, plane, most, deadline)
        return _only_counted(regions) if count_only else regions
    return _run(module, network, plane, exact, count_only, most, time_given, threads)


def _run(
    module: ModuleType, network, plane, exact, count_only, limit, seconds, threads
) -> PlaneRegions:
    origin, u, v, low, high = plane
    if not origin.shape == u.shape == v.shape:
        raise InvalidInput(
            f"origin, u and v have the shapes {origin.shape}, {u.shape} and {v.shape}; all need "
            "one number for each input of the network."
        )
    axes = np.stack([u, v])
    n, n_switches, patterns, vertices, offsets, *others = _call(
        module.subdivide_plane,
        network,
        origin,
        axes,
        low,
        high,
        exact,
        count_only,
        limit,
        seconds,
        max(1, int(threads)),
    )
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
    limit: int | None = None,
    seconds: float | None = None,
    threads: int = 1,
    engine: str = "auto",
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
    return _box(network, domain, exact, count_only, limit, seconds, threads, engine)


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
    regions = _box(network, domain, exact, count_only, limit, seconds, threads, engine)
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


def _box(network, domain, exact, count_only, limit, seconds, threads, engine) -> BoxRegions:
    most = 0 if limit is None else int(limit)
    time_given = 0.0 if seconds is None else float(seconds)
    module = _choose(engine)
    if module is None:
        deadline = time.monotonic() + time_given if time_given else None
        regions = reference_box(network, domain, most, deadline)
        return _only_counted(regions) if count_only else regions
    n, n_switches, patterns, vertices, offsets, tight, facets, facet_offsets, *others = _call(
        module.subdivide_box,
        network,
        *domain,
        exact,
        count_only,
        most,
        time_given,
        max(1, int(threads)),
    )
    return BoxRegions(
        *(n, n_switches, patterns, vertices, _int64(offsets), tight, facets),
        *(_int64(facet_offsets), *others),
    )


def _network(weights, biases, pieces) -> tuple[list[Array], list[Array], Sequence[Pieces]]:
    if not len(weights) == len(biases) == len(pieces):
        raise InvalidInput(
            f"{len(weights)} weights, {len(biases)} biases and {len(pieces)} activations; every "
            "hidden layer needs one of each."
        )
    return [_float64(W) for W in weights], [_float64(b) for b in biases], pieces


def _call(function, network, *arguments) -> tuple:
    W, b, pieces = network
    tables = [[getattr(p, name) for p in pieces] for name in ("kinks", "slopes", "intercepts")]
    try:
        return function(W, b, *tables, *arguments)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None


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
