"""Bounds: published values, and above (or below) what is counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, linear_regions
from pellucid.regions import bounds

# n_0, hidden: Montufar 2014 lower, Serra 2018 lower, Serra 2018 upper, Montufar 2017 upper
TABLE = [
    (1, (2, 2), 6, None, 9, 9),
    (1, (3, 3), 12, 16, 16, 16),
    (1, (4, 4, 4), 80, 125, 125, 125),
    (1, (1, 1, 1), 2, None, 4, 8),
    (2, (24,), 301, 301, 301, 301),
    (2, (12, 12), 2844, 3871, 6241, 6241),
    (2, (8, 8, 8), 9472, 23125, 50653, 50653),
    (2, (2, 2), 4, None, 11, 16),
    (2, (8, 2, 8), 592, None, 2072, 5476),
    (3, (6, 6), 336, None, 1764, 1764),
    (2, (6, 6), 198, 352, 484, 484),
    (10, (4, 4), None, None, 163, 256),
]
NAMES = ("montufar_2014", "serra_2018_lower", "serra_2018", "montufar_2017")
SQUARE = Box([-2, -2], [2, 2])


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_known_values(row):
    n_0, hidden, *expected = row
    assert [bounds.BOUNDS[name].value(n_0, hidden) for name in NAMES] == expected


def test_arrangements():
    assert bounds.arrangement(24, 2) == 301
    assert bounds.bounded_arrangement(24, 2) == 253
    assert bounds.central_arrangement(24, 2) == 48
    assert [f(5, 3) for f in (bounds.arrangement, bounds.bounded_arrangement)] == [26, 4]
    assert bounds.central_arrangement(5, 3) == 22
    assert bounds.arrangement(0, 3) == bounds.central_arrangement(0, 3) == 1
    with pytest.raises(InvalidInput, match="m is -1"):
        bounds.arrangement(-1, 2)


def test_growth_per_layer():
    assert bounds.growth_per_layer(4, 4) == 11
    assert bounds.growth_per_layer(6, 6) == 42


def test_lines_of_an_integer_grid_meet_in_triple_points():
    W, b = [[1, 0], [0, 1], [1, 1], [1, 0], [0, 0], [2, 2]], [0, 0, 0, 5, 1, 0]
    assert bounds.lines_in_box(W, b, [-1, -1], [1, 1]) == 6
    with pytest.raises(InvalidInput, match=r"lines need \(m, 2\)"):
        bounds.lines_in_box([[1, 2, 3]], [0], [-1, -1], [1, 1])


@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans())
def test_one_layer_has_as_many_regions_as_its_lines_make(seed, m, integers):
    rng = np.random.default_rng(seed)
    W = rng.integers(-2, 3, (m, 2)) if integers else rng.normal(size=(m, 2))
    b = rng.integers(-2, 3, m) if integers else rng.normal(size=m)
    network = Network([W, np.ones((1, m))], [b, [0]], ["relu"])
    count = len(linear_regions(network, SQUARE))
    assert count == bounds.lines_in_box(W, b, [-2, -2], [2, 2])
    assert count <= bounds.arrangement(m, 2)


@given(
    st.integers(0, 10**6),
    st.sampled_from([(3,), (4, 3), (1, 5), (5, 1, 4), (3, 3, 3)]),
    st.integers(2, 4),
)
@settings(max_examples=40)
def test_upper_bounds_hold(seed, hidden, n_0):
    network = random_network([n_0, *hidden, 1], seed=seed)
    rng = np.random.default_rng(seed)
    domain = SQUARE if n_0 == 2 else _plane(rng, n_0)
    count = len(linear_regions(network, domain))
    for bound in bounds.BOUNDS.values():
        if bound.kind == "upper":
            assert count <= bound.value(2, hidden) <= bound.value(n_0, hidden)
    assert count <= bounds.upper_bound(network, 2) <= bounds.upper_bound(network)


def _plane(rng, d):
    from pellucid import Plane

    return Plane(rng.normal(size=d), rng.normal(size=d), rng.normal(size=d), 3)


@given(st.integers(0, 10**6), st.sampled_from(["abs", "hardtanh", "leaky_relu", "identity"]))
@settings(max_examples=40)
def test_upper_bounds_hold_for_other_activations(seed, activation):
    network = random_network([2, 3, 4, 1], activation, seed=seed)
    count = len(linear_regions(network, Box([-9, -9], [9, 9])))
    assert count <= bounds.upper_bound(network)


def test_a_folding_network_reaches_the_lower_bound():
    # |x| - 1/2 in both coordinates, by two units each, then five lines
    fold = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    angles = np.linspace(0.1, 2.9, 5)
    lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    W2 = np.stack([lines[:, 0], lines[:, 0], lines[:, 1], lines[:, 1]], axis=1)
    b2 = -lines @ [0.5, 0.5] + 0.02 * np.array([1, -1, 2, 0, -2])
    network = Network([fold, W2, np.ones((1, 5))], [np.zeros(4), b2, [0]], ["relu", "relu"])
    count = len(linear_regions(network, Box([-1, -1], [1, 1])))
    assert count == bounds.BOUNDS["montufar_2014"].value(2, (4, 5)) == 64


def test_upper_bound_of_a_linear_network():
    assert bounds.upper_bound(Network([[[1, 2]]], [[0]])) == 1
    assert bounds.most_on_a_line([]) == 1
    assert bounds.most_on_a_line([3, 3]) == 16


def test_expected_breaks_of_a_unit():
    assert bounds.expected_breaks(0, 1, 1, 0.5) == pytest.approx(0.35241638)
    assert bounds.expected_breaks(-1, 1, np.sqrt(2), 0.5) == pytest.approx(0.783653, abs=1e-6)
    with pytest.raises(InvalidInput, match="low < high"):
        bounds.expected_breaks(1, 0, 1, 1)


def test_sampled_breaks_agree_with_simulation():
    # 12.55 and 23.46 kinks were counted on average in 16 and 16, 16 units on [-1, 1]
    one = bounds.sampled_breaks([16], -1, 1, bias_sd=0.5, draws=4000)
    two = bounds.sampled_breaks([16, 16], -1, 1, bias_sd=0.5, draws=4000)
    assert one.sum() == pytest.approx(12.55, rel=0.03)
    assert two.sum() == pytest.approx(23.46, rel=0.04)


def test_mean_counts_at_initialization():
    # 236.7 regions on average for 24 units, He weights and biases of deviation 1/2
    counts = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        W = [rng.normal(size=(24, 2)), rng.normal(size=(1, 24)) / np.sqrt(12)]
        network = Network(W, [rng.normal(0, 0.5, 24), [0]], ["relu"])
        counts.append(linear_regions(network, SQUARE, count_only=True).n_activation_regions)
    assert np.mean(counts) == pytest.approx(236.7, abs=4 * 19.8 / np.sqrt(60))
