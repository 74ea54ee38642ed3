"""Exact activation regions on a rectangle in a plane: the Python face of the compiled kernel.

Certified where `undecided` is 0: every sign was proved in floating point or computed in exact
numbers from the weights as they are stored.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np

from .._errors import InvalidInput, MissingDependency, PellucidWarning
from .._shapes import Array
from .reference_regions import reference_plane
from .region_arrays import PIECES, Numbers, Pieces, PlaneRegions

__all__ = ["PIECES", "Pieces", "PlaneRegions", "regions_module", "subdivide_plane"]

ENGINES = ("auto", "kernel", "reference")


@cache
def regions_module() -> ModuleType | None:
    """The compiled module, or None where no compiler built it."""
    try:
        return import_module("._regions", __package__)
    except ImportError:
        return None


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
    if not len(weights) == len(biases) == len(pieces):
        raise InvalidInput(
            f"{len(weights)} weights, {len(biases)} biases and {len(pieces)} activations; every "
            "hidden layer needs one of each."
        )
    network = [_float64(W) for W in weights], [_float64(b) for b in biases], pieces
    plane = tuple(_float64(x) for x in (origin, u, v, low, high))
    most = 0 if limit is None else int(limit)
    time_given = 0.0 if seconds is None else float(seconds)
    module = _choose(engine)
    if module is None:
        deadline = time.monotonic() + time_given if time_given else None
        regions = reference_plane(network, plane, most, deadline)
        nothing = dict.fromkeys(("patterns", "vertices", "offsets", "edges"))
        return replace(regions, **nothing) if count_only else regions
    return _run(module, network, plane, exact, count_only, most, time_given, threads)


def _run(
    module: ModuleType, network, plane, exact, count_only, limit, seconds, threads
) -> PlaneRegions:
    W, b, pieces = network
    origin, u, v, low, high = plane
    if not origin.shape == u.shape == v.shape:
        raise InvalidInput(
            f"origin, u and v have the shapes {origin.shape}, {u.shape} and {v.shape}; all need "
            "one number for each input of the network."
        )
    tables = [[getattr(p, name) for p in pieces] for name in ("kinks", "slopes", "intercepts")]
    axes = np.stack([u, v])
    try:
        n, n_switches, patterns, vertices, offsets, *others = module.subdivide_plane(
            *(W, b, *tables, origin, axes, low, high, exact, count_only),
            *(limit, seconds, max(1, int(threads))),
        )
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None
    if offsets is not None:
        offsets = offsets.view(np.int64)  # NumPy has two types of that size
    return PlaneRegions(n, n_switches, patterns, vertices, offsets, *others)


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
