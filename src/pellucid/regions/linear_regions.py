"""`linear_regions`: the exact pieces of a piecewise-linear network on a domain."""

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._kernels import subdivision
from .._kernels.subdivision import BoxRegions, PlaneRegions
from ..network import AffineGraph, Network
from .chain import Chain, chain_of
from .domains import Domain, Space
from .graphs import on_domain
from .result import Corners, LinearRegions
from .scaling import common_scale, scaled, unscaled
from .whole import regions_of_space

MOST_THREADS = 4096
MOST_DIMENSIONS = 15  # of a domain: of the kernel


def linear_regions(
    network: Network | AffineGraph,
    domain: Domain,
    *,
    limit: SupportsIndex | None = None,
    seconds: SupportsFloat | None = None,
    threads: SupportsIndex | None = None,
    count_only: bool = False,
    exact: bool = True,
) -> LinearRegions:
    """All activation regions of a network on a `Segment`, `Plane`, `Box` or `Space`, exactly.

    The hidden activations are those with straight pieces: identity, relu, leaky_relu, prelu,
    hardtanh, abs; so is the output activation. Every sign on which a region depends is proved, in
    floating point or in exact numbers made of the weights as they are stored. ``exact=False`` takes
    the few that floating point does not prove as they come; the result then is not `certified`.

    At most ``limit`` regions come back, and none found after ``seconds``; `complete` says whether
    some were left out. ``count_only`` keeps no regions, in constant memory (on a `Space` it holds
    every pattern while it counts). ``threads`` (all by
    default) change nothing but the time.

    An `AffineGraph` is taken as a chain that is equal to it on the domain (see its `to_network`):
    the result's `network` is that chain, whose patterns have a constant bit for each carried value.

    Raises UnsupportedLayer for a smooth activation, and InvalidInput for weights that are not
    finite, for a domain in another number of inputs than the network's, and for a `Space` where a
    graph carries values.
    """
    network, chain = _checked(network, domain)
    limit = _positive(limit, "limit", int)
    seconds = _positive(seconds, "seconds", float)
    options = {
        "exact": exact,
        "count_only": count_only,
        "limit": limit,
        "seconds": seconds,
        "threads": _positive(threads, "threads", int) or len(os.sched_getaffinity(0)),
    }
    if isinstance(domain, Space):
        return regions_of_space(network, chain, domain, options)
    return _search(network, chain, domain, options)


def _checked(network: Network | AffineGraph, domain: Domain) -> tuple[Network, Chain]:
    """The network, as a chain on the domain where it is a graph, and its layers."""
    if not isinstance(domain, Domain):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; it must be a Segment, Plane, Box or Space."
        )
    if domain.d_in != network.d_in:
        raise InvalidInput(
            f"the network takes {network.d_in} input{'s' if network.d_in != 1 else ''} and the "
            f"domain has {domain.d_in}; they must agree (a Plane or Segment reaches into more "
            f"inputs)."
        )
    if domain.dimension > MOST_DIMENSIONS:
        raise InvalidInput(
            f"the domain has {domain.dimension} dimensions; regions are listed in at most "
            f"{MOST_DIMENSIONS}: take a Plane or a Segment through that space, or local_regions "
            "around a point."
        )
    network = on_domain(network, domain)
    return network, chain_of(network)


def iter_linear_regions(
    network: Network | AffineGraph,
    domain: Domain,
    *,
    batch: SupportsIndex = 100_000,
    exact: bool = True,
) -> Iterator[LinearRegions]:
    """The regions of `linear_regions` in batches, while they are being found, on one thread.

    Each batch is a LinearRegions of at most about ``batch`` regions, so that memory does not grow
    with their number; no region comes twice. A batch is a part: its `complete` is False, and its
    counts of linear regions and affine maps, adjacency and boundaries are those within it. Signs
    decided are told from the beginning of the search on. To stop early, leave the loop.

    Raises as `linear_regions` does.
    """
    network, chain = _checked(network, domain)
    if isinstance(domain, Space):
        raise InvalidInput("the regions of a Space do not come in batches; use a Box.")
    size = _positive(batch, "batch", int) or 100_000
    return _batches(network, chain, domain, {"exact": exact, "seconds": None, "batch": size})


def _batches(network: Network, chain: Chain, domain: Domain, options: dict) -> Iterator:
    """Run the search on a thread of its own, two batches ahead at most."""
    ready: queue.Queue = queue.Queue(maxsize=2)
    closed = threading.Event()

    def nobody_waits() -> bool:
        return closed.is_set() or not threading.main_thread().is_alive()

    def put(item: object) -> None:
        while not nobody_waits():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue
        raise _Closed

    def search() -> None:
        with suppress(_Closed):
            try:
                _search(network, chain, domain, options | {"sink": put, "ask": nobody_waits})
                put(None)
            except Exception as error:  # it is raised again where the batches are awaited
                put(error)

    thread = threading.Thread(target=search, name="iter_linear_regions")
    thread.start()
    try:
        while isinstance(item := ready.get(), LinearRegions):
            yield item
        if item is not None:
            raise item
    finally:
        closed.set()
        thread.join()


class _Closed(BaseException):
    """Nobody waits for the next batch."""


def corners_of(regions: LinearRegions) -> Corners:
    """The vertices of regions that were found without: the same search again."""
    options = {
        "exact": True,
        "limit": len(regions),
        "threads": len(os.sched_getaffinity(0)),
    }
    if not len(regions):
        d = regions.domain.dimension
        return Corners(np.empty((0, d)), np.zeros(1, np.int64), 0.0, np.empty((0, 1), np.uint64))
    found = _in_scale(_subdivide_box, regions._chain, regions.domain, options)
    return Corners(
        found.get("vertices"), found.get("offsets"), found.vertex_error, found.get("tight")
    )


def _search(network: Network, chain: Chain, domain: Domain, options: dict) -> LinearRegions:
    """Search by the kernel for the domain's dimension; a sink gets batches as LinearRegions."""
    subdivide, read = _KERNELS.get(domain.dimension, (_subdivide_in_n, _in_box))

    def result(found: PlaneRegions | BoxRegions) -> LinearRegions:
        arrays = {} if found.patterns is None else read(found)
        return LinearRegions(
            network=network,
            domain=domain,
            n_activation_regions=found.n,
            packed_patterns=found.patterns,
            facets=arrays.get("facets"),
            facet_offsets=arrays.get("facet_offsets"),
            **{name: getattr(found, name) for name in _DECISIONS},
            corners=arrays.get("corners"),
        )

    sink = options.get("sink")
    if sink is not None:
        options = options | {"sink": lambda found: sink(result(found))}
    return result(_in_scale(subdivide, chain, domain, options))


def _in_scale(subdivide: Callable, chain: Chain, domain: Domain, options: dict) -> Any:
    """What the kernel finds where no coordinate is much longer than another, in the domain's."""
    scale = common_scale(domain)
    if scale is None:
        return subdivide(chain, domain, options)
    sink = options.get("sink")
    if sink is not None:
        options = options | {"sink": lambda found: sink(unscaled(found, scale))}
    return unscaled(subdivide(chain, scaled(domain, scale), options), scale)


_DECISIONS = ("by_filter", "by_exact", "undecided", "complete")


def _on_plane(found: PlaneRegions) -> dict:
    corners = Corners(found.get("vertices"), found.get("offsets"), found.vertex_error)
    return {"corners": corners, "facets": found.edges, "facet_offsets": found.offsets}


def _on_line(found: BoxRegions) -> dict:
    """Regions in order; facet j of a region is its vertex j."""
    second = found.get("tight")[:, 0] == 2  # of the two facets, the one this vertex lies on
    facets = found.get("facets")[2 * (np.arange(len(second)) // 2) + second]
    # Breakpoints may round to the same float, and must not change places.
    ends = np.maximum.accumulate(found.get("vertices"), axis=0)
    corners = Corners(ends, found.get("offsets"), found.vertex_error)
    return {"corners": corners, "facets": facets, "facet_offsets": found.facet_offsets}


def _in_box(found: BoxRegions) -> dict:
    corners = None
    if found.vertices is not None and found.offsets is not None:
        corners = Corners(found.vertices, found.offsets, found.vertex_error, found.tight)
    return {"corners": corners, "facets": found.facets, "facet_offsets": found.facet_offsets}


def _subdivide_plane(chain: Chain, domain: Domain, options: dict) -> PlaneRegions:
    layers = chain.weights, chain.biases, chain.pieces
    u, v = domain.axes
    plane = domain.origin, u, v, domain.low, domain.high
    return subdivision.subdivide_plane(*layers, *plane, **options)


def _subdivide_box(chain: Chain, domain: Domain, options: dict) -> BoxRegions:
    layers = chain.weights, chain.biases, chain.pieces
    box = domain.low, domain.high, domain.origin, domain.axes
    return subdivision.subdivide_box(*layers, *box, rest=domain.rest, **options)


def _subdivide_in_n(chain: Chain, domain: Domain, options: dict) -> BoxRegions:
    """Without vertices, where the same search can find them later."""
    again = options["exact"] and options["seconds"] is None and "sink" not in options
    return _subdivide_box(chain, domain, options | {"with_vertices": not again})


_KERNELS = {1: (_subdivide_box, _on_line), 2: (_subdivide_plane, _on_plane)}


def _positive(value, name: str, kind: type):
    """None, or a number above 0 (NumPy's too)."""
    if value is None:
        return None
    try:
        number = kind(value)
    except (TypeError, ValueError):
        number = 0
    if not number > 0 or number != value:
        whole = "a whole number" if kind is int else "a number"
        raise InvalidInput(f"{name} is {value!r}; it must be {whole} above 0, or None.")
    most = MOST_THREADS if name == "threads" else 2**63 - 1
    if kind is int and number > most:
        raise InvalidInput(f"{name} is {value!r:.40}; it must be at most {most:,}.")
    return number
