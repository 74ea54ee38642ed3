"""`linear_regions` on every stored network: the known count, certified, and what must then hold."""

import json

import numpy as np
import pytest
from regions.networks import DATA, outputs_by_maps, stored_network

from pellucid import Box, Segment, linear_regions

COUNTS = {
    name: of["activation_regions"]
    for file in ("counts.json", "larger.json")
    for name, of in json.loads((DATA / file).read_text()).items()
    if "activation_regions" in of
}
HIGH = ("_6in_", "_8in_", "_10in_")
#: few enough, in few enough dimensions, for the volume of each region
WHOLE = [name for name in COUNTS if COUNTS[name] < 5000 and not any(d in name for d in HIGH)]
COUNTED = [name for name in COUNTS if name not in WHOLE]
DEGENERATE = [name for name in COUNTS if name.startswith("g_")]


def domain_of(name, network):
    if name.startswith("b_"):
        return Segment(*np.load(DATA / "b_seg_10.npz")["p"])
    side = 1 if name.startswith("c_") else 2
    return Box([-side] * network.d_in, [side] * network.d_in)


def clear_bits(network, x):
    """Which units are above 0 at the points, and for which rounding leaves no doubt."""
    z = np.concatenate(network.astype("float64").forward(x).z[:-1], axis=1)
    return z > 0, np.abs(z) > 1e-9


@pytest.mark.parametrize("name", WHOLE)
def test_the_regions_are_a_partition_into_the_patterns_of_the_forward_pass(name):
    network = stored_network(name)
    domain = domain_of(name, network)
    regions = linear_regions(network, domain)
    assert len(regions) == COUNTS[name]
    assert regions.certified
    assert regions.complete
    assert abs(regions.volume.sum() - domain.volume) <= 1e-12 * domain.volume
    # Every facet that is not on the domain's own boundary has a region on both sides.
    assert 2 * len(regions.adjacency) == (regions.facets >= 0).sum()
    bits, clear = clear_bits(network, domain.to_input(regions.center))
    assert (bits == regions.patterns)[clear].all()
    assert clear.mean() > 0.5
    assert len(np.unique(regions.packed_patterns, axis=0)) == len(regions)
    truth = network.astype("float64")(domain.to_input(regions.center))
    assert np.abs(outputs_by_maps(regions) - truth).max() <= 1e-12 * max(1, np.abs(truth).max())


@pytest.mark.parametrize("name", COUNTED)
def test_larger_networks_have_their_counts(name):
    network = stored_network(name)
    regions = linear_regions(network, domain_of(name, network), count_only=True)
    assert regions.n_activation_regions == COUNTS[name]
    assert regions.certified
    assert regions.complete


@pytest.mark.parametrize("name", [name for name in WHOLE if name not in DEGENERATE])
def test_a_region_has_on_average_at_most_two_neighbours_per_dimension(name):
    network = stored_network(name)
    regions = linear_regions(network, domain_of(name, network))
    assert regions.by_exact == 0  # generic
    assert 1 < 2 * len(regions.adjacency) / len(regions) <= 2 * regions.domain.dimension


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_networks_need_exact_numbers_and_say_so_without(name):
    network = stored_network(name)
    domain = domain_of(name, network)
    assert linear_regions(network, domain).by_exact > 0
    for count_only in (False, True):
        unproved = linear_regions(network, domain, exact=False, count_only=count_only)
        assert unproved.undecided > 0
        assert unproved.by_exact == 0
        assert not unproved.certified
