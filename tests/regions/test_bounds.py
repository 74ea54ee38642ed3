"""Bounds: published values, and above (or below) what is counted."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, Space, initialize, linear_regions
from pellucid.regions import bounds

# n_0, hidden: Montufar 2014 lower, Serra 2018 lower, Serra 2018 upper, Montufar 2017 upper
TABLE = [
    (1, (2, 2), 6, None, 9, 9),
    (1, (3, 3), 12, 16, 16, 16),
    (1, (4, 4, 4), 80, 125, 125, 125),
    (1, (2, 2, 2, 2, 2), 48, None, 243, 243),
    (1, (1, 1, 1), 2, None, 4, 8),
    (2, (24,), 301, 301, 301, 301),
    (2, (12, 12), 2844, 3871, 6241, 6241),
    (2, (8, 8, 8), 9472, 23125, 50653, 50653),
    (2, (4, 4), 44, None, 121, 121),
    (2, (4, 4, 4), 176, None, 1331, 1331),
    (2, (2, 2), 4, None, 11, 16),
    (2, (6, 6), 198, 352, 484, 484),
    (3, (6, 6), 336, None, 1764, 1764),
    (2, (8, 8), 592, 925, 1369, 1369),
    (4, (8, 8, 8), 41728, None, 4330747, 4330747),
    (2, (16, 16, 16), 561152, 898857, 2571353, 2571353),
    (10, (4, 4), None, None, 163, 256),
    (2, (8, 2, 8), 592, None, 2072, 5476),
    (784, (22,), None, None, 4194304, 4194304),
]
NAMES = ("montufar_2014", "serra_2018_lower", "serra_2018", "montufar_2017")
SQUARE = Box([-2, -2], [2, 2])


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_known_values(row):
    n_0, hidden, *expected = row
    assert [bounds.BOUNDS[name].value(n_0, hidden) for name in NAMES] == expected
    assert bounds.BOUNDS["patterns"].value(n_0, hidden) == 2 ** sum(hidden)


ARRANGEMENTS = {  # lines, dimensions: regions, bounded ones, regions of lines through the origin
    (1, 1): (2, 0, 2),
    (3, 2): (7, 1, 6),
    (4, 2): (11, 3, 8),
    (5, 2): (16, 6, 10),
    (5, 3): (26, 4, 22),
    (6, 3): (42, 10, 32),
    (24, 2): (301, 253, 48),
    (10, 4): (386, 126, 260),
}


def test_arrangements():
    for of, counts in ARRANGEMENTS.items():
        all_of_them = bounds.arrangement, bounds.bounded_arrangement, bounds.central_arrangement
        assert tuple(f(*of) for f in all_of_them) == counts
    assert bounds.arrangement(0, 3) == bounds.central_arrangement(0, 3) == 1
    with pytest.raises(InvalidInput, match="m is -1"):
        bounds.arrangement(-1, 2)


@pytest.mark.parametrize(
    ("n", "d", "count"), [(3, 2, 8), (4, 2, 14), (5, 2, 22), (6, 2, 32), (5, 3, 30), (7, 1, 14)]
)
def test_dichotomies(n, d, count):
    # labellings of random points by hyperplanes: regions of the arrangement of their duals
    assert bounds.dichotomies(n, d) == count
    X = np.column_stack([np.random.default_rng(n).normal(size=(n, d)), np.ones(n)])
    duals = Network([X, np.ones((1, n))], [np.zeros(n), [0]], ["relu"])
    assert len(linear_regions(duals, Box([-1] * (d + 1), [1] * (d + 1)))) == count


def test_growth_per_layer():
    known = {(3, 3): 4, (4, 4): 11, (4, 2): 11, (5, 5): 16, (8, 2): 37, (6, 6): 42}
    for of, factor in known.items():
        assert bounds.growth_per_layer(*of) == factor
    for n, ratio in ((3, 4.0663), (4, 11.0), (5, 16.264), (6, 42.0)):  # of 60 layers to 59
        deep, less = (bounds.BOUNDS["serra_2018"].value(n, [n] * L) for L in (60, 59))
        assert deep / less == pytest.approx(ratio, rel=1e-4)
    for n, factor in ((3, 8), (4, 16), (5, 32), (6, 64)):  # of Montufar (2017)
        assert bounds.arrangement(n, n) == factor


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
    assert bounds.expected_breaks(0, 1, 1, 0.5) == pytest.approx(0.35241638234956674)
    assert 2 * bounds.expected_breaks(0, 1, 1, 0.5) == pytest.approx(0.7048327646991335)
    assert bounds.expected_breaks(-1, 1, np.sqrt(2), 0.5) == pytest.approx(0.783653, abs=1e-6)
    with pytest.raises(InvalidInput, match="low < high"):
        bounds.expected_breaks(1, 0, 1, 1)


# hidden widths: mean number of kinks on [-1, 1] (He weights, biases of deviation 1/2) and its
# standard error over 1500 networks, and the Kac-Rice integral for each layer per unit
BREAKS = {
    (16,): (12.553333, 0.042451, [0.789]),
    (16, 16): (23.460667, 0.093039, [0.782, 0.679]),
    (16, 16, 16, 16): (42.104667, 0.208270, [0.785, 0.688, 0.614, 0.549]),
    (16,) * 8: (69.921333, 0.438079, [0.78, 0.682, 0.606, 0.546, 0.493, 0.451, 0.416, 0.386]),
    (32,): (25.096667, 0.060645, [0.779]),
    (32, 32): (47.475333, 0.130616, [0.784, 0.696]),
    (32, 32, 32, 32): (85.932, 0.287086, [0.784, 0.695, 0.631, 0.581]),
    (64,): (50.228, 0.085946, [0.79]),
    (64, 64): (94.652, 0.191049, [0.779, 0.698]),
    (8, 8, 8, 8): (19.608667, 0.139006, [0.787, 0.659, 0.558, 0.474]),
    (128,): (100.34, 0.118634, [0.789]),
}


def he_network(widths, rng, scale=2.0):
    W = [rng.normal(0, np.sqrt(scale / d), (n, d)) for d, n in pairwise(widths)]
    return Network(W, [rng.normal(0, 0.5, n) for n in widths[1:]], ["relu"] * (len(W) - 1))


@pytest.mark.parametrize("hidden", BREAKS, ids=str)
def test_sampled_breaks_agree_with_simulation(hidden):
    mean, error, per_unit = BREAKS[hidden]
    estimate = bounds.sampled_breaks(hidden, -1, 1, bias_sd=0.5, draws=3000)
    assert estimate / hidden[0] == pytest.approx(per_unit, rel=0.1)
    assert estimate.sum() == pytest.approx(mean, rel=0.04)
    rng, n = np.random.default_rng(0), 40
    segment = Box(-1, 1)
    counts = [
        len(linear_regions(he_network([1, *hidden, 1], rng), segment, count_only=True)) - 1
        for _ in range(n)
    ]
    assert np.mean(counts) == pytest.approx(mean, abs=5 * error * np.sqrt(1500 / n))


# mean, deviation and mean number of affine maps of 60 networks of 24 units on [-2, 2]^2
MEANS = {
    ("he", (24,)): (236.683, 19.833, 236.683),
    ("he", (12, 12)): (224.85, 45.977, 224.85),
    ("he", (8, 8, 8)): (176.917, 54.575, 174.967),
    ("torch", (24,)): (202.267, 22.648, 202.267),
    ("torch", (12, 12)): (153.933, 31.833, 153.933),
    ("torch", (8, 8, 8)): (102.983, 30.853, 102.483),
}


@pytest.mark.parametrize(("scheme", "hidden"), MEANS, ids=str)
def test_mean_counts_at_initialization(scheme, hidden):
    mean, deviation, maps = MEANS[scheme, hidden]
    rng, n = np.random.default_rng(0), 40
    widths, counts = [2, *hidden, 1], []
    for seed in range(n):
        network = (
            he_network(widths, rng) if scheme == "he" else initialize(widths, "relu", seed=seed)
        )
        regions = linear_regions(network, SQUARE)
        counts.append((regions.n_activation_regions, regions.n_affine_maps))
    error = 4 * deviation * np.sqrt(1 / n + 1 / 60)
    assert np.mean(counts, axis=0) == pytest.approx([mean, maps], abs=error)


# --- narrow networks on the line -----------------------------------------------------------------

W2, b2 = [[115 / 17, 49 / 11], [-276 / 17, -168 / 11]], [-19 / 3, 33 / 2]
W3, b3 = [[1.304, 0.947], [1.304, 0.947]], [-0.7067, -0.72]


def test_two_units_do_not_reach_the_product():
    # 3, 7 and 19 activation intervals at most, not 3, 9 and 27
    first = [[1], [-1]], [0, 1]
    for layers, intervals in (([], 3), ([(W2, b2)], 7), ([(W2, b2), (W3, b3)], 19)):
        weights, biases = zip(first, *layers, strict=True)
        output = [[1, 1]], [0]
        network = Network([*weights, output[0]], [*biases, output[1]], ["relu"] * len(weights))
        regions = linear_regions(network, Space(1))
        assert regions.n_activation_regions == intervals <= bounds.most_on_a_line(network.hidden)
    rng = np.random.default_rng(0)
    for _ in range(100):
        W = [rng.normal(size=size) for size in ((2, 1), (2, 2), (1, 2))]
        network = Network(W, [rng.normal(size=len(w)) for w in W], ["relu"] * 2)
        assert len(linear_regions(network, Box(-99, 99), count_only=True)) <= 7


@pytest.mark.usefixtures("as_users_run")
def test_layers_of_one_unit_have_one_interval_more_each():
    rng, most = np.random.default_rng(0), 0
    for _ in range(150):
        W = [rng.normal(size=(1, 1)) for _ in range(4)]
        network = Network(W, [rng.normal(size=1) for _ in W], ["relu"] * 3)
        regions = linear_regions(network, Box(-99, 99))
        assert regions.n_linear_regions <= 3
        most = max(most, regions.n_activation_regions)
    assert most == 4


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_run")  # a thousand networks: quicker without type checks
def test_pieces_of_random_narrow_networks():
    # the first chapter's 200 networks of k layers of two units on [0, 1]: mean and largest number
    # of activation intervals, and the mean number of linear pieces
    known = {
        2: (2.13, 5, 1.95),
        4: (2.465, 8, 1.82),
        6: (2.52, 8, 1.515),
        8: (2.625, 10, 1.3),
        10: (2.61, 11, 1.275),
    }
    rng = np.random.default_rng(0)
    for k, expected in known.items():
        counts = []
        for _ in range(200):
            W = [rng.normal(size=(2, 1)), *(rng.normal(size=(2, 2)) for _ in range(k - 1))]
            b = [rng.normal(scale=0.5, size=2) for _ in range(k)]
            network = Network([*W, np.eye(2)], [*b, [0, 0]], ["relu"] * k)
            regions = linear_regions(network, Box(0, 1))
            counts.append((regions.n_activation_regions, regions.n_linear_regions))
        n, pieces = np.array(counts).T
        assert (n.mean(), n.max(), pieces.mean()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "biases", "d", "patterns", "linear", "maps"),
    [
        # relu(x) - relu(-x) = x
        ([[[1], [-1]], [[1, -1]]], [[0, 0], [0]], 1, 2, 1, 1),
        # a later layer that is off everywhere
        ([[[1], [1]], [[-1, -1]], [[1]]], [[0, -0.5], [-1], [0]], 1, 3, 1, 1),
        # relu(min(x1, x2)): the L-shaped zero region is not convex
        (
            [[[1, -1], [1, 0], [-1, 0]], [[-1, 1, -1]], [[1]]],
            [[0, 0, 0], [0], [0]],
            2,
            5,
            3,
            3,
        ),
    ],
)
def test_patterns_and_linear_regions_differ(weights, biases, d, patterns, linear, maps):
    network = Network(weights, biases, ["relu"] * (len(weights) - 1))
    regions = linear_regions(network, Box([-1] * d, [1] * d))
    assert regions.n_activation_regions == patterns
    assert (regions.n_linear_regions, regions.n_affine_maps) == (linear, maps)
    if d == 2:
        zero = np.flatnonzero(~regions.slope.any(axis=(1, 2)))
        assert regions.volume[zero].sum() == pytest.approx(3)
        assert len(set(regions.linear_region[zero])) == 1
