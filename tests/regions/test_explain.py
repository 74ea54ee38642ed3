"""What a network does at one point."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import InvalidInput, Network, UnsupportedLayer, explain


def worked():
    """Two units, x and y - 1 in the first layer; outputs relu(x) and relu(y - 1) + 1/2."""
    return Network([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[0, -1], [0, 0.5]], ["relu"])


def test_a_point_by_hand():
    at = explain(worked(), [2, 3])
    assert at.outputs.tolist() == [2, 2.5]
    assert at.predicted == 1
    assert at.slope.tolist() == [[1, 0], [0, 1]]
    assert at.intercept.tolist() == [0, -0.5]
    assert [a.tolist() for a in at.active] == [[True, True]]
    assert at.kink_distances.tolist() == [2, 2]
    assert (at.kink_distance, at.nearest_kink) == (2, (0, 0, 0))
    assert at.kink_along.tolist() == [[2, np.inf], [2, np.inf]]
    # x must rise, or y fall, by 1/2
    assert np.array_equal(at.class_along, [[np.nan, 0.5], [0.5, np.inf]], equal_nan=True)
    assert at.inscribed_radius == np.inf
    assert repr(at) == "Explanation(class 1, 2 of 2 bits set, nearest kink at 2)"


def test_a_tie_is_inactive():
    at = explain(worked(), [0, 1])
    assert not at.pattern.any()
    assert at.slope.tolist() == [[0, 0], [0, 0]]
    assert at.kink_distance == 0
    # Falling, the inputs stay in the region; rising they leave it at once.
    assert at.kink_along.tolist() == [[np.inf, 0], [np.inf, 0]]


def test_a_class_change_behind_a_kink_is_not_told():
    network = Network([[[1]], [[1]]], [[0], [-1]], ["relu"])
    at = explain(network, [3])
    assert at.predicted == 1
    assert at.class_along.tolist() == [[2, np.inf]]
    at = explain(network, [-1])
    assert at.predicted == 0
    assert at.kink_along.tolist() == [[np.inf, 1]]
    assert np.array_equal(at.class_along, [[np.inf, np.nan]], equal_nan=True)
    assert np.isnan(at.to_frame()["class_above"][0])


def test_the_largest_ball_in_a_region():
    # |x| <= 1, |y| <= 2: hardtanh in both inputs
    network = Network([[[1, 0], [0, 0.5]], [[1, 1]]], [[0, 0], [0]], ["hardtanh"])
    at = explain(network, [0.5, 1])
    assert at.inscribed_radius == pytest.approx(1)
    assert at.kink_distance == 0.5
    assert at.pattern.tolist() == [True, False, True, False]
    assert [a.tolist() for a in at.active] == [[False, False]]


def test_a_unit_that_vanishes_identically_is_no_kink():
    network = Network([[[0, 0], [1, 0]], [[1, 1]]], [[0, 2], [0]], ["relu"])
    assert explain(network, [0, 0]).kink_distance == 2


def test_a_linear_network_has_no_kink():
    at = explain(Network([[[1, 2]]], [[3]]), [1, 1])
    assert (at.kink_distance, at.nearest_kink, at.inscribed_radius) == (np.inf, None, np.inf)
    assert at.class_along[0].tolist() == [6, np.inf]


@given(st.integers(0, 10**6), st.sampled_from(["relu", "abs", "hardtanh", "leaky_relu"]))
def test_the_map_holds_just_inside_all_distances_and_fails_beyond(seed, activation):
    network = random_network([3, 6, 5, 3], activation, seed=seed)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=3)
    at = explain(network, x)
    assert np.allclose(at.outputs, network(x))

    def same(y):
        return np.array_equal(explain(network, y).pattern, at.pattern)

    direction = rng.normal(size=3)
    ball = x + 0.999 * at.kink_distance * direction / np.linalg.norm(direction)
    assert same(ball)
    assert np.allclose(at.slope @ ball + at.intercept, network(ball))
    for i in range(3):
        for side, sign in enumerate((-1, 1)):
            step = sign * np.eye(3)[i]
            kink, change = at.kink_along[i, side], at.class_along[i, side]
            if np.isfinite(kink):
                assert same(x + kink * 0.999 * step)
                assert not same(x + (kink * 1.001 + 1e-12) * step)
            if np.isfinite(change):
                assert network(x + change * 0.999 * step).argmax() == at.predicted
                if change * 1.001 < kink:
                    assert network(x + change * 1.001 * step).argmax() != at.predicted
    assert at.inscribed_radius >= at.kink_distance * (1 - 1e-9)


def test_the_table_has_a_row_for_each_input():
    frame = explain(random_network([3, 4, 2]), [1, 2, 3]).to_frame()
    assert frame.columns == [
        *("input", "x", "slope_0", "slope_1"),
        *("kink_below", "kink_above", "class_below", "class_above"),
    ]
    assert frame["x"].to_list() == [1, 2, 3]


@pytest.mark.usefixtures("as_users_run")
def test_wrong_points_are_refused():
    network = random_network([3, 4, 2])
    for x, words in (([1, 2], "shape"), ([1, 2, np.nan], "holds nan"), ("abc", "shape")):
        with pytest.raises(InvalidInput, match=words):
            explain(network, x)
    with pytest.raises(UnsupportedLayer, match="layer 1 of 2 has the activation gelu"):
        explain(random_network([3, 4, 2], "gelu"), [1, 2, 3])


def test_the_pattern_is_exact_where_rounding_misses_a_tie():
    """The last unit is 0 at x in truth, and above 0 in float64."""
    u = 1.0000000000000002
    W = [[[u, u, u, u]], [[-1], [u], [u]], [[-1, 1, -1]], [[1], [1], [u]]]
    b = [[1], [-0.5, 0, 1], [1], [1, -0.5, 0]]
    network = Network(W, b, ["hardtanh", "relu", "leaky_relu"])
    x = [0.0, 0.0, 0.0, 0.1]
    exact, h = [], [Fraction(v) for v in x]
    for rows, biases, name in zip(W[:3], b[:3], ["hardtanh", "relu", "leaky_relu"], strict=True):
        z = [
            sum(Fraction(w) * v for w, v in zip(row, h, strict=True)) + Fraction(c)
            for row, c in zip(rows, biases, strict=True)
        ]
        if name == "hardtanh":
            exact += [bit for v in z for bit in (v > -1, v > 1)]
            h = [min(max(v, Fraction(-1)), Fraction(1)) for v in z]
        else:
            exact += [v > 0 for v in z]
            h = [max(v, Fraction(0)) for v in z]
    assert not exact[-1]
    assert explain(network, x).pattern.tolist() == exact
