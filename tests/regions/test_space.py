"""Regions of the whole input space."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, Space, linear_regions
from pellucid.regions import bounds
from pellucid.regions.whole import faces


def one_layer(m, seed=0, biases=True):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=m) if biases else np.zeros(m)
    return Network([rng.normal(size=(m, 2)), rng.normal(size=(1, m))], [b, [0]], ["relu"])


@pytest.mark.parametrize("m", [1, 2, 5, 24])
def test_lines_in_general_position(m):
    regions = linear_regions(one_layer(m), Space(2))
    assert regions.n_activation_regions == bounds.arrangement(m, 2)
    assert regions.certified
    assert regions.complete
    # Each line is cut into m pieces.
    assert len(regions.adjacency) == m * m
    assert regions.n_linear_regions == regions.n_affine_maps == len(regions)


def test_lines_through_one_point():
    regions = linear_regions(one_layer(7, biases=False), Space(2))
    assert len(regions) == bounds.central_arrangement(7, 2)
    assert len(regions.adjacency) == 14


def test_parallel_lines_far_out():
    W, b = [[1, 0], [1, 0], [-2, 0]], [0, -1e12, -1e30]
    regions = linear_regions(Network([W, [[1, 1, 1]]], [b, [0]], ["relu"]), Space(2))
    assert len(regions) == 4
    assert len(regions.adjacency) == 3


@given(st.integers(0, 10**6), st.sampled_from(["relu", "abs", "leaky_relu"]))
@settings(max_examples=25)
def test_a_large_box_holds_the_same_regions(seed, activation):
    network = random_network([2, 5, 4, 1], activation, seed)
    space, box = (linear_regions(network, of) for of in (Space(2), Box([-1e7] * 2, [1e7] * 2)))
    assert {p.tobytes() for p in space.packed_patterns} >= {
        p.tobytes() for p in box.packed_patterns
    }
    if len(space) == len(box):  # all crossings are in the box
        assert len(space.adjacency) == len(box.adjacency)
        assert space.n_linear_regions == box.n_linear_regions
    found = space.locate(box.center)
    assert (space.packed_patterns[found] == box.packed_patterns).all()


def test_a_facet_on_the_cubes_own_edges_is_found():
    # The lines x = r_x, x = y r_x / r_y of the first cube
    r = faces(2, 0)[0].high
    W, b = [[1, 0], [r[1], -r[0]]], [-r[0], 0]
    regions = linear_regions(Network([W, [[1, 1]]], [b, [0]], ["relu"]), Space(2))
    assert len(regions) == 4
    assert len(regions.adjacency) == 4


def test_counting_and_limits():
    network = one_layer(24)
    assert linear_regions(network, Space(2), count_only=True).n_activation_regions == 301
    some = linear_regions(network, Space(2), limit=100)
    assert (len(some), some.complete) == (100, False)
    assert repr(linear_regions(network, Space(2))) == (
        "LinearRegions(301 activation regions on Space(2), certified)"
    )


def test_what_the_whole_space_does_not_have():
    regions = linear_regions(one_layer(3), Space(2))
    with pytest.raises(InvalidInput, match="have no list of vertices; use a Box"):
        regions.volume  # noqa: B018
    network = random_network([2, 3, 1], "hardtanh")
    with pytest.raises(InvalidInput, match="layer 1 has a kink that is not at 0"):
        linear_regions(network, Space(2))
    with pytest.raises(InvalidInput, match="whole number above 0"):
        Space(0)
