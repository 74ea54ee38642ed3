"""The bounds of the search: never above the least values, up to their rounding."""

import numpy as np
from hypothesis import given
from properties.networks import ACTIVATIONS, HALVINGS, half, least_values, problem_of, problems

from pellucid import Network
from pellucid.properties.relaxation import interval_bounds, linear_bounds, lines_of


def rounding(network, low, high, A, b):
    """What rounding may change A y - b by, generously."""
    size = np.maximum(np.abs(low), np.abs(high))
    for W, bias, sigma in network.layers:
        size = 2 * (np.abs(W) @ size + np.abs(bias)) + sum(map(abs, sigma.parameters))
    return 1e-13 * (np.abs(A) @ size + np.abs(b))


@given(problems())
def test_linear_bounds_are_below_the_least_values(problem):
    problem = network, low, high, A, b = problem_of(problem)
    found = linear_bounds(network, low[None], high[None], A, b)
    least = np.array([float(v) for v in least_values(*problem)])
    assert (found.least[0] <= least + rounding(*problem)).all()


@given(problems())
def test_interval_bounds_are_around_the_least_values(problem):
    network, low, high, _, _ = problem_of(problem)
    lowest, highest = interval_bounds(network, low[None], high[None])
    both = np.vstack([np.eye(network.d_out), -np.eye(network.d_out)])
    zero = np.zeros(len(both))
    least = np.array([float(v) for v in least_values(network, low, high, both, zero)])
    bounds = np.concatenate([lowest[0], -highest[0]])
    assert (bounds <= least + rounding(network, low, high, both, zero)).all()


@given(problems(), HALVINGS)
def test_ranges_of_a_box_hold_on_its_parts(problem, halvings):
    problem = network, low, high, A, b = problem_of(problem)
    ranges = linear_bounds(network, low[None], high[None], A, b).ranges
    for halving in halvings:
        low, high = half(low, high, *halving)
        found = linear_bounds(network, low[None], high[None], A, b, ranges)
        ranges = found.ranges
    least = np.array([float(v) for v in least_values(network, low, high, A, b)])
    assert (found.least[0] <= least + rounding(*problem)).all()


def test_many_boxes_are_bounded_as_each_alone():
    rng = np.random.default_rng(3)
    W = [rng.normal(size=s) for s in ((7, 2), (7, 7), (2, 7))]
    network = Network(W, [rng.normal(size=len(w)) for w in W], ["relu", "hardtanh"])
    low = rng.normal(size=(9, 2))
    high = low + rng.uniform(0, 1, (9, 2))
    A, b = rng.normal(size=(3, 2)), rng.normal(size=3)
    together = linear_bounds(network, low, high, A, b)
    for i in range(9):
        alone = linear_bounds(network, low[i : i + 1], high[i : i + 1], A, b)
        np.testing.assert_allclose(together.least[i], alone.least[0], rtol=1e-12)
        np.testing.assert_allclose(together.slopes[i], alone.slopes[0], rtol=1e-9, atol=1e-12)


def test_a_linear_network_and_a_point_are_bounded_exactly():
    linear = Network([[[1, 2], [3, -4]], [[1, -1]]], [[0, 1], [2]], ["identity"])
    found = linear_bounds(
        linear, np.array([[-1.0, -1]]), np.array([[1.0, 1]]), np.eye(1), np.zeros(1)
    )
    assert found.least.tolist() == [[-7]]  # y = -2 x0 + 6 x1 + 1
    assert found.slopes.tolist() == [[[-2, 6]]]
    bent = Network([[[1, 2], [3, -4]], [[1, -1]]], [[0, 1], [2]], ["abs"])
    x = np.array([[0.5, 0.25]])
    at_point = linear_bounds(bent, x, x, np.eye(1), np.zeros(1))
    np.testing.assert_allclose(at_point.least, bent(x), rtol=1e-14)


def test_the_lines_of_every_activation_enclose_it():
    ends = np.sort(np.random.default_rng(1).normal(size=(500, 2)) * 2, axis=1)
    ends[:20, 1] = ends[:20, 0]
    ends[20:60] = np.round(ends[20:60])  # at the bends
    low, high = ends.T
    z = low + np.linspace(0, 1, 41)[:, None] * (high - low)
    for sigma in ACTIVATIONS:
        lines = lines_of(sigma, low, high)
        assert (lines.lower_slope * z + lines.lower_offset <= sigma(z) + 1e-12).all(), sigma
        assert (lines.upper_slope * z + lines.upper_offset >= sigma(z) - 1e-12).all(), sigma
