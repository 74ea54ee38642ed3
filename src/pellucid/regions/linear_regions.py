"""`linear_regions`: the exact pieces of a piecewise-linear network on a domain."""

import os

from .._errors import InvalidInput
from .._kernels import subdivision
from ..network import Network
from .chain import Chain, chain_of
from .domains import Box, Domain, Plane, Segment
from .result import LinearRegions


def linear_regions(
    network: Network,
    domain: Domain,
    *,
    limit: int | None = None,
    seconds: float | None = None,
    threads: int | None = None,
    count_only: bool = False,
    exact: bool = True,
) -> LinearRegions:
    """All activation regions of a network on a `Segment`, `Plane` or `Box`, found exactly.

    The hidden activations are those with straight pieces: identity, relu, leaky_relu, prelu,
    hardtanh, abs; so is the output activation. Every sign on which a region depends is proved, in
    floating point or in exact numbers made of the weights as they are stored. ``exact=False`` takes
    the few that floating point does not prove as they come; the result then is not `certified`.

    At most ``limit`` regions come back, and none found after ``seconds``; `complete` says whether
    some were left out. ``count_only`` keeps no regions, in constant memory. ``threads`` (all by
    default) change nothing but the time.

    Raises UnsupportedLayer for a smooth activation, and InvalidInput for weights that are not
    finite and for a domain in another number of inputs than the network's.
    """
    if not isinstance(domain, Segment | Plane | Box):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; it must be a Segment, a Plane or a Box."
        )
    chain = chain_of(network)
    if domain.d_in != chain.d_in:
        raise InvalidInput(
            f"the network takes {chain.d_in} input{'s' if chain.d_in != 1 else ''} and the domain "
            f"has {domain.d_in}; they must agree (a Plane or Segment reaches into more inputs)."
        )
    limit = _positive(limit, "limit", int)
    seconds = _positive(seconds, "seconds", float)
    options = {
        "exact": exact,
        "count_only": count_only,
        "limit": limit,
        "seconds": seconds,
        "threads": _positive(threads, "threads", int) or len(os.sched_getaffinity(0)),
    }
    return _SUBDIVISIONS.get(domain.dimension, _in_box)(network, chain, domain, options)


def _on_plane(network: Network, chain: Chain, domain: Domain, options: dict) -> LinearRegions:
    found = subdivision.subdivide_plane(
        chain.weights,
        chain.biases,
        chain.pieces,
        domain.origin,
        domain.axes[0],
        domain.axes[1],
        domain.low,
        domain.high,
        **options,
    )
    return LinearRegions(
        network=network,
        domain=domain,
        n_activation_regions=found.n,
        packed_patterns=found.patterns,
        vertices=found.vertices,
        offsets=found.offsets,
        facets=found.edges,
        facet_offsets=found.offsets,
        vertex_error=found.vertex_error,
        by_filter=found.by_filter,
        by_exact=found.by_exact,
        undecided=found.undecided,
        complete=found.complete,
    )


def _on_segment(network: Network, chain: Chain, domain: Domain, options: dict) -> LinearRegions:
    raise InvalidInput("regions on a segment are not built yet; use a Plane or a Box in 2-D.")


def _in_box(network: Network, chain: Chain, domain: Domain, options: dict) -> LinearRegions:
    raise InvalidInput(
        f"regions in {domain.dimension} dimensions are not built yet; use a Plane or a Box in 2-D."
    )


_SUBDIVISIONS = {1: _on_segment, 2: _on_plane}


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
    return number
