"""Graphs of regions, and Betti numbers."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from region_networks import random_layers
from regions.networks import random_network

from pellucid import Box, InvalidInput, MissingDependency, Network, Plane, Segment, linear_regions
from pellucid.regions.topology import corners_below, triangulate


def ring(box=((-3, -3), (3, 3))):
    """Regions of | |x| + |y| - 1.5 | - 0.5."""
    network = Network([np.eye(2), [[1, 1]], [[1]]], [[0, 0], [-1.5], [-0.5]], ["abs", "abs"])
    return linear_regions(network, Box(*box))


# ---- graph


@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_a_region_has_at_most_2_d_neighbours_on_average(seed, d):
    network = random_network([d, 7, 5, 1], seed=seed)
    graph = linear_regions(network, Box([-2] * d, [2] * d)).to_networkx()
    n = graph.number_of_nodes()
    assert 2 * graph.number_of_edges() / n <= 2 * d


def test_the_graph_is_the_adjacency():
    import networkx

    regions = linear_regions(random_network([2, 8, 8, 1], seed=0), Box([-2, -2], [2, 2]))
    graph = regions.to_networkx()
    assert sorted(map(sorted, graph.edges)) == regions.adjacency.tolist()
    assert networkx.is_connected(graph)
    assert [graph.nodes[i]["linear_region"] for i in range(3)] == regions.linear_region[:3].tolist()


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("networkx", lambda r: r.to_networkx(), "graphs"),
        ("gudhi", lambda r: r.betti_numbers(), "topology"),
    ],
)
def test_what_is_not_installed_is_named(module, call, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match=rf'pip install "pellucid\[{extra}\]"'):
        call(ring())


# ---- Betti numbers


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (-0.6, (0, 0)),  # below the least value
        (-0.5, (1, 1)),  # the circle |x| + |y| = 1.5 itself
        (0, (1, 1)),
        (0.999, (1, 1)),
        (1.0, (1, 0)),  # the origin closes the hole
        (10, (1, 0)),
    ],
)
def test_a_ring_has_a_hole(level, expected):
    found = ring().betti_numbers(level)
    assert (found.components, found.holes) == expected
    assert found.euler_characteristic == expected[0] - expected[1]


def test_levels_that_corners_reach_are_compared_exactly():
    # 0.1 and 0.2 and 0.3 are not what they say: only exact numbers tell on which side the corner is
    network = Network([np.eye(2), [[1, 1]]], [[-0.1, -0.2], [0]], ["abs"])
    regions = linear_regions(network, Box([-1, -1], [1, 1]))
    assert regions.betti_numbers(0.0).components == 1  # just the corner (0.1, 0.2)
    assert regions.betti_numbers(0.0).by_exact >= 1
    assert regions.betti_numbers(-1e-30).components == 0
    assert regions.betti_numbers(1e-30).components == 1


def test_parts_and_outputs():
    # output 0: min(|x - 1|, |x + 1|) = | |x| - 1 |: two bands around x = -1, 1; output 1: minus it
    network = Network([[[1, 0]], [[1]], [[1], [-1]]], [[0], [-1], [0, 0]], ["abs", "abs"])
    regions = linear_regions(network, Box([-3, -3], [3, 3]))
    below, above = regions.betti_numbers(0.5), regions.betti_numbers(-0.5, output=1)
    assert (below.components, below.holes) == (2, 0)
    assert (above.components, above.holes) == (3, 0)


def test_a_plane_through_more_inputs():
    network = random_network([5, 8, 8, 1], seed=0)
    regions = linear_regions(network, Plane(np.zeros(5), np.eye(5)[0], np.ones(5), 2.0))
    median = float(np.median(network(regions.points)))
    found = regions.betti_numbers(median)
    assert found.components - found.holes == found.euler_characteristic
    assert found.components >= 1


@settings(max_examples=30)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["generic", "integer", "no biases", "duplicates", "wide scales"]),
)
def test_the_triangles_make_up_the_square(seed, kind):
    """Euler's formula, and b_0 - b_1 from the number of cells, whatever the ties."""
    rng = np.random.default_rng(seed)
    W, b, _ = random_layers(rng, kind)
    network = Network([*W, np.ones((1, len(W[-1])))], [*b, [0]], ["relu"] * len(W))
    regions = linear_regions(network, Box([-1, -1], [1, 1]))
    mesh = triangulate(regions)
    assert mesh.n_corners - len(mesh.edges) + len(mesh.triangles) == 1
    found = regions.betti_numbers(0.0)
    assert found.components - found.holes == found.euler_characteristic
    assert corners_below(regions, mesh, 1e300, 0)[0].all()


def test_what_has_no_betti_numbers_here():
    line = linear_regions(random_network([2, 3, 1]), Segment([0, 0], [1, 1]))
    with pytest.raises(InvalidInput, match="two inputs"):
        line.betti_numbers()
    some = linear_regions(random_network([2, 8, 1]), Box([-1, -1], [1, 1]), limit=1)
    with pytest.raises(InvalidInput, match="need all"):
        some.betti_numbers()
    with pytest.raises(InvalidInput, match="output is 1"):
        ring().betti_numbers(output=1)
    with pytest.raises(InvalidInput, match="level is nan"):
        ring().betti_numbers(np.nan)
