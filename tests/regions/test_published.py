"""Published facts: counts that others found, and sawtooth maps, whose counts are known."""

import numpy as np
import pytest
from regions.networks import DATA, stored_network

from pellucid import Box, Network, Segment, Space, linear_regions

PUBLISHED = DATA.with_name("published")


def tent(k):
    """The k-fold tent map: tent(x) = 2 relu(x) - 4 relu(x - 1/2) on [0, 1]."""
    first, later = np.ones((2, 1)), np.array([[2.0, -4.0], [2.0, -4.0]])
    W = [first, *[later] * (k - 1), later[:1]]
    return Network(W, [*[[0, -0.5]] * k, [0]], ["relu"] * k)


def test_thirty_polyhedra_in_the_plane_and_their_neighbours():
    network = stored_network("demo_8_nodes", PUBLISHED)
    regions = linear_regions(network, Space(2))
    assert len(regions) == 30
    assert regions.certified
    assert regions.complete
    neighbours = np.bincount(regions.adjacency.ravel())
    assert np.bincount(neighbours).tolist() == [0, 0, 3, 12, 15]
    near = linear_regions(network, Box([-3, -3], [3, 3]))
    assert len(near) == 26
    assert near.certified


def test_sixty_eight_polyhedra_in_space():
    network = stored_network("demo_8_nodes_2", PUBLISHED)
    regions = linear_regions(network, Space(3))
    assert len(regions) == 68
    assert regions.certified
    assert regions.complete
    # Every polyhedron is reached from every other, as space is connected.
    assert len(set(regions.adjacency.ravel().tolist())) == 68
    assert len(linear_regions(network, Box([-1] * 3, [1] * 3))) == 35
    box = linear_regions(network, Box([-1e4] * 3, [1e4] * 3))
    assert {p.tobytes() for p in box.packed_patterns} == {
        p.tobytes() for p in regions.packed_patterns
    }


@pytest.mark.parametrize("k", [1, 2, 5, 10, 14, 16])
def test_the_tent_map_has_two_to_the_k_pieces(k):
    regions = linear_regions(tent(k), Box(0, 1))
    assert regions.n_activation_regions == 2**k
    assert regions.certified
    steps = np.sort(regions.slope.ravel())
    assert (steps == np.repeat([-(2.0**k), 2.0**k], 2 ** (k - 1))).all()
    np.testing.assert_allclose(regions.volume, 2.0**-k, rtol=1e-9)


@pytest.mark.parametrize("k", [3, 12])
def test_the_pieces_of_the_tent_map_are_linear_regions(k):
    regions = linear_regions(tent(k), Segment([0], [1]))
    assert regions.n_linear_regions == regions.n_affine_maps == 2**k


def test_a_quarter_of_a_million_pieces_are_counted():
    """benchmarks/regions.py goes on to the 20-fold map."""
    regions = linear_regions(tent(18), Box(0, 1), count_only=True)
    assert regions.n_activation_regions == 2**18
    assert regions.certified


def test_a_line_is_its_own_space():
    # Kinks at 0, 1 and 3/2, one of them so far out that no box would be large enough to guess.
    network = Network([[[1], [1], [-2], [1e-9]], np.ones((1, 4))], [[0, -1, 3, 1], [0]], ["relu"])
    regions = linear_regions(network, Space(1))
    assert len(regions) == 5
    assert regions.n_linear_regions == regions.n_affine_maps == 5
    assert len(regions.adjacency) == 4
    assert np.bincount(np.bincount(regions.adjacency.ravel())).tolist() == [0, 2, 3]
