"""`linear_regions`: the exact pieces of a piecewise-linear network on a domain."""

import os
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np

from .._errors import InvalidInput
from .._kernels import subdivision
from .._kernels.box_arrays import BoxRegions
from .._shapes import Array
from ..network import Network
from .chain import Chain, chain_of
from .domains import Domain, Space
from .result import LinearRegions
from .whole import regions_of_space


def linear_regions(
    network: Network,
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
    some were left out. ``count_only`` keeps no regions, in constant memory. ``threads`` (all by
    default) change nothing but the time.

    Raises UnsupportedLayer for a smooth activation, and InvalidInput for weights that are not
    finite and for a domain in another number of inputs than the network's.
    """
    if not isinstance(domain, Domain):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; it must be a Segment, Plane, Box or Space."
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
    if isinstance(domain, Space):
        return regions_of_space(network, chain, domain, options)
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
    arrays = {"offsets": found.offsets, "facets": found.edges, "facet_offsets": found.offsets}
    return _result(network, domain, found, vertices=found.vertices, **arrays)


def _on_line(network: Network, chain: Chain, domain: Domain, options: dict) -> LinearRegions:
    """Regions in order; facet j of a region is its vertex j."""
    found = _subdivide(chain, domain, options)
    if found.vertices is None:
        return _result(network, domain, found)
    second = found.tight[:, 0] == 2  # of the two facets, the one that this vertex lies on
    facets = found.facets[2 * (np.arange(len(second)) // 2) + second]
    # Breakpoints may round to the same float, and must not change places.
    ends = np.maximum.accumulate(found.vertices, axis=0)
    arrays = {"offsets": found.offsets, "facets": facets, "facet_offsets": found.facet_offsets}
    return _result(network, domain, found, vertices=ends, **arrays)


def _in_box(network: Network, chain: Chain, domain: Domain, options: dict) -> LinearRegions:
    found = _subdivide(chain, domain, options)
    arrays = ("vertices", "offsets", "facets", "facet_offsets", "tight")
    return _result(network, domain, found, **{name: getattr(found, name) for name in arrays})


_SUBDIVISIONS = {1: _on_line, 2: _on_plane}


def _subdivide(chain: Chain, domain: Domain, options: dict) -> BoxRegions:
    layers = chain.weights, chain.biases, chain.pieces
    box = domain.low, domain.high, domain.origin, domain.axes
    return subdivision.subdivide_box(*layers, *box, rest=domain.rest, **options)


def _result(network: Network, domain: Domain, found: Any, **arrays: Array | None) -> LinearRegions:
    names = ("vertex_error", "by_filter", "by_exact", "undecided", "complete")
    return LinearRegions(
        network=network,
        domain=domain,
        n_activation_regions=found.n,
        packed_patterns=found.patterns,
        **{name: arrays.get(name) for name in ("vertices", "offsets", "facets", "facet_offsets")},
        tight=arrays.get("tight"),
        **{name: getattr(found, name) for name in names},
    )


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
