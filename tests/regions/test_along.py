"""Pieces along paths, and counts along a training."""

import numpy as np
import pytest
from regions.networks import random_network

from pellucid import (
    Box,
    InvalidInput,
    Network,
    Segment,
    count_along,
    linear_regions,
    linear_regions_along,
)


def tent():
    """|x| on the first input, in a plane."""
    return Network([[[1, 0], [-1, 0]], [[1, 1]]], [[0, 0], [0]], ["relu"])


def test_a_path_by_hand():
    path = count_along(tent(), [[-1, 0], [1, 0], [1, 5], [-3, 5]])
    assert path.positions.tolist() == [0, 0.5, 2.25, 3]
    assert path.breakpoints.tolist() == [0.5, 2.25]
    assert path.patterns.tolist() == [[False, True], [True, False], [False, True]]
    assert (path.n_activation_pieces, path.n_linear_pieces, path.n_patterns) == (3, 3, 2)
    assert path.length.tolist() == [1, 1 + 5 + 1, 3]
    assert path.to_input([0.5, 1.5, 3]).tolist() == [[0, 0], [1, 2.5], [-3, 5]]
    assert repr(path) == ("PiecesAlong(3 activation pieces, 3 linear, on 3 legs, certified)")
    assert path.to_frame()["end"].to_list() == [0.5, 2.25, 3]


def test_a_kink_that_cancels_is_no_linear_piece():
    straight = Network([[[1], [-1]], [[1, -1]]], [[0, 0], [0]], ["relu"])
    path = count_along(straight, [[-1], [1], [2]])
    assert (path.n_activation_pieces, path.n_linear_pieces) == (2, 1)


def test_a_path_that_stays_in_one_region_is_one_piece():
    path = count_along(tent(), [[1, 0], [2, 0], [2, 1], [3, 1]])
    assert path.positions.tolist() == [0, 3]
    assert path.linear_piece.tolist() == [0]


def test_corners_on_a_straight_line_change_nothing():
    network = random_network([6, 8, 8, 1], seed=1)
    a, b = np.random.default_rng(0).normal(size=(2, 6)) * 3
    whole = linear_regions(network, Segment(a, b))
    middle = a + 0.375 * (b - a)
    path = count_along(network, [a, middle, b])
    assert path.n_activation_pieces == whole.n_activation_regions > 3
    first = path.positions.clip(max=1) * 0.375
    assert np.allclose(
        first + (path.positions - 1).clip(min=0) * 0.625, [0, *whole.vertices[1::2, 0]]
    )


def test_patterns_are_those_of_the_forward_pass():
    network = random_network([6, 8, 8, 1], seed=1)
    path = count_along(network, np.random.default_rng(0).normal(size=(6, 6)) * 3)
    assert path.certified
    x = path.to_input((path.positions[1:] + path.positions[:-1]) / 2)
    z = network.forward(x).z
    assert (path.patterns == (np.concatenate(z[:-1], axis=1) > 0)).all()
    assert (path.patterns[1:] != path.patterns[:-1]).any(axis=1).all()


def test_paths_that_cannot_be():
    for points, text in (
        ([[0, 0]], "two or more"),
        ([[0, 0], [0, np.inf]], "not finite"),
        ([[0, 0], [1, 1], [1, 1]], "points 1 and 2 are the same"),
        ([[0], [1]], "2 inputs"),
    ):
        with pytest.raises(InvalidInput, match=text):
            count_along(tent(), points)


def test_counts_along_networks():
    networks = [random_network([2, 6, 1], seed=seed) for seed in range(3)]
    box = Box([-1, -1], [1, 1])
    along = linear_regions_along(networks, box)
    each = [linear_regions(network, box) for network in networks]
    assert along.labels == (0, 1, 2)
    for name in ("n_activation_regions", "n_linear_regions", "n_affine_maps"):
        assert getattr(along, name).tolist() == [getattr(r, name) for r in each]
    assert along.certified.all()
    assert along.complete.all()
    named = linear_regions_along({100: networks[0]}, box, limit=1)
    assert named.labels == (100,)
    assert named.complete.tolist() == [False]
    assert named.to_frame()["label"].to_list() == [100]
    for wrong in ([], ()):
        with pytest.raises(InvalidInput, match="needs networks"):
            linear_regions_along(wrong, box)
