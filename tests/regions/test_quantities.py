"""Extrema, integrals, Lipschitz constants: against fractions, quadrature and differences."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, Extremum, InvalidInput, Network, Plane, Segment, Space, linear_regions

SQUARE = Box([-1, -1], [1, 1])


def in_fractions(*rows):
    return [[float(Fraction(x)) for x in row.split()] for row in rows]


# Two networks whose quantities were computed in fractions.
ON_AN_INTERVAL = Network(
    [in_fractions("1", "-1", "2"), in_fractions("2 -1 1", "-1 3 1/2"), [[1, -2]]],
    [*in_fractions("-1/4 1/2 -1", "-1/4 -1/2"), [1 / 3]],
    ["relu", "relu"],
)
IN_A_SQUARE = Network(
    [
        in_fractions("1 0", "0 1", "1 1", "1 -1"),
        in_fractions("1 -1 1 0", "-1 0 1 2", "0 2 -1 1"),
        in_fractions("1 -1 1/2", "-1 1 1"),
    ],
    in_fractions("0 -1/4 -1/2 1/4", "-1/4 -1/2 1/8", "1/4 0"),
    ["relu", "relu"],
)


def test_quantities_on_an_interval_are_those_in_fractions():
    regions = linear_regions(ON_AN_INTERVAL, Box(0, 1))
    assert len(regions) == 5
    assert regions.integral()[0] == pytest.approx(41 / 64, rel=1e-14)
    assert regions.maximum().value == pytest.approx(31 / 12, rel=1e-14)
    assert regions.minimum().value == pytest.approx(-5 / 3, rel=1e-14)
    assert regions.minimum().point.tolist() == [0]
    assert regions.maximum().region == len(regions) - 1
    for norm in (1, 2, "inf"):
        assert regions.lipschitz(norm) == pytest.approx(8, rel=1e-14)


def test_quantities_in_a_square_are_those_in_fractions():
    regions = linear_regions(IN_A_SQUARE, SQUARE)
    assert len(regions) == 18
    assert regions.n_affine_maps == 15
    assert regions.integral(0)[0] == pytest.approx(2749 / 2304, rel=1e-14)
    assert regions.mean(0)[0] == pytest.approx(2749 / 2304 / 4, rel=1e-14)
    assert regions.maximum().value == pytest.approx(23 / 16, rel=1e-14)
    assert regions.minimum(output=0).value == pytest.approx(-19 / 16, rel=1e-14)
    assert regions.class_volume[0] == pytest.approx(883417 / 518400, rel=1e-14)
    assert regions.lipschitz() == pytest.approx(4.743416490252569, rel=1e-14)
    one = Network(
        (*IN_A_SQUARE.weights[:2], IN_A_SQUARE.weights[2][:1]),
        (*IN_A_SQUARE.biases[:2], IN_A_SQUARE.biases[2][:1]),
        IN_A_SQUARE.activations,
    )
    regions = linear_regions(one, SQUARE)
    assert regions.class_volume[1] == pytest.approx(14105 / 4608, rel=1e-14)
    assert [regions.lipschitz(q) for q in (1, 2, np.inf)] == pytest.approx([2, 4.5**0.5, 3])


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_the_integral_of_absolute_values(d):
    # sum |x_i| over [-1, 1]^d has the mean d / 2; relu(x_1 + ... + x_d) is a second output
    hidden = np.concatenate([np.eye(d), -np.eye(d), np.ones((1, d))])
    out = np.zeros((2, 2 * d + 1))
    out[0, :-1] = out[1, -1] = 1
    network = Network([hidden, out], [np.zeros(2 * d + 1), [0, 0]], ["relu"])
    regions = linear_regions(network, Box([-1] * d, [1] * d))
    means = {2: 1 / 3, 3: 13 / 32, 4: 7 / 15}  # E |U_1 + ... + U_d| / 2
    assert regions.mean()[0] == pytest.approx(d / 2, rel=1e-12)
    if d in means:
        assert regions.mean(1)[0] == pytest.approx(means[d], rel=1e-12)
    assert regions.maximum().value == d
    assert regions.minimum().value == 0
    assert regions.lipschitz(1) == pytest.approx(2)  # columns: |+-1| + 1
    assert regions.lipschitz("inf") == pytest.approx(d)


def test_integrals_with_more_outputs_than_inputs():
    network = random_network((3, 6, 6, 5), seed=1)
    regions = linear_regions(network, Box([-1] * 3, [1] * 3))
    one = [
        Network(
            (*network.weights[:2], network.weights[2][k : k + 1]),
            (*network.biases[:2], network.biases[2][k : k + 1]),
            network.activations,
        )
        for k in range(5)
    ]
    alone = [linear_regions(n, Box([-1] * 3, [1] * 3)).integral()[0] for n in one]
    assert regions.integral() == pytest.approx(np.array(alone), rel=1e-11)
    x = np.random.default_rng(0).uniform(-1, 1, (200_000, 3))
    f = network(x)
    assert np.abs(regions.mean() - f.mean(axis=0)).max() < 5 * f.std() / len(x) ** 0.5


def test_integrals_agree_with_quadrature():
    from scipy.integrate import quad

    network = random_network((4, 8, 8, 1), seed=2)
    a, b = np.random.default_rng(0).normal(size=(2, 4))
    way = Segment(a, b)
    regions = linear_regions(network, way)
    knots = np.append(regions.vertices[::2, 0], 1.0)
    expected = sum(
        quad(lambda s: network(way.to_input([s]))[0], lo, hi)[0] for lo, hi in pairwise(knots)
    )
    assert regions.integral()[0] == pytest.approx(expected * way.volume, rel=1e-12)
    assert regions.lipschitz() == pytest.approx(
        np.abs(regions.slope).max() / np.linalg.norm(b - a), rel=1e-14
    )


def test_integrals_in_a_plane_agree_with_a_fine_grid():
    network = random_network((5, 8, 8, 2), seed=3)
    origin, u, v = np.random.default_rng(1).normal(size=(3, 5))
    regions = linear_regions(network, Plane(origin, u, v, ((0, 1), (-1, 2))))
    s, t = np.meshgrid((np.arange(600) + 0.5) / 600, 3 * (np.arange(600) + 0.5) / 600 - 1)
    f = network(regions.domain.to_input(np.stack([s.ravel(), t.ravel()], axis=1)))
    assert regions.mean() == pytest.approx(f.mean(axis=0), abs=1e-5)
    assert regions.integral() == pytest.approx(regions.mean() * regions.domain.volume)


@pytest.mark.parametrize("norm", [1, 2, "inf"])
@pytest.mark.parametrize("domain", ["box", "plane", "segment"])
def test_lipschitz_constants_are_reached_and_never_passed(norm, domain):
    network = random_network((4, 8, 8, 3), seed=4)
    rng = np.random.default_rng(2)
    origin, u, v = rng.normal(size=(3, 4))
    place = {
        "box": Box([-1] * 4, [1] * 4),
        "plane": Plane(origin, u, v, 2.0),
        "segment": Segment(origin, u),
    }[domain]
    regions = linear_regions(network, place)
    order = np.inf if norm == "inf" else norm
    p = rng.uniform(place.low, place.high, (2, 4000, place.dimension))
    p[1, :2000] = p[0, :2000] + 1e-3 * (p[1, :2000] - p[0, :2000])
    x, y = (place.to_input(q) for q in p)
    rise = np.linalg.norm(network(x) - network(y), order, axis=1)
    ratios = rise / np.linalg.norm(x - y, order, axis=1)
    constant = regions.lipschitz(norm)
    assert ratios.max() <= constant * (1 + 1e-8)
    # from the center of a region in many directions
    directions = steps(place, norm, rng)
    step = directions @ place.axes
    values = np.einsum("nkd,md->nmk", regions.slope, directions)
    reached = np.linalg.norm(values, order, axis=2) / np.linalg.norm(step, order, axis=1)
    assert reached.max() <= constant * (1 + 1e-12)
    assert reached.max() >= constant * (0.95 if domain == "box" and norm == 2 else 0.999)
    i, m = np.unravel_index(reached.argmax(), reached.shape)
    center, small = regions.center[i], 1e-7 * directions[m]
    x, y = place.to_input(center), place.to_input(center + small)
    difference = np.linalg.norm(network(y) - network(x), order) / np.linalg.norm(y - x, order)
    assert difference == pytest.approx(reached.max(), rel=1e-4)


def steps(place, norm, rng):
    """Directions among which the steepest are, or nearly."""
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    if place.dimension == 4:
        return rng.normal(size=(3000, 4)) if norm == 2 else np.concatenate([np.eye(4), signs])
    if place.dimension == 1:
        return np.ones((1, 1))
    angle = np.linspace(0, np.pi, 2001)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


@given(seed=st.integers(0, 10**6))
def test_extrema_bound_the_function_and_are_values_of_it(seed):
    network = random_network((2, 6, 6, 2), ["relu", "hardtanh"], seed=seed)
    regions = linear_regions(network, SQUARE)
    f = network(np.random.default_rng(seed).uniform(-1, 1, (500, 2)))
    for k in range(2):
        low, high = regions.minimum(k), regions.maximum(np.int64(k))
        assert isinstance(low, Extremum)
        assert low.value <= f[:, k].min() + 1e-12
        assert high.value >= f[:, k].max() - 1e-12
        for end in (low, high):
            assert network(end.point)[k] == pytest.approx(end.value, abs=1e-10)
            assert (regions.polytope(end.region) == end.point).all(axis=1).any()
        assert low.value <= regions.mean(k)[0] <= high.value


def test_refining_the_box_adds_up():
    network = random_network((2, 12, 12, 3), seed=5)
    whole = linear_regions(network, SQUARE)
    halves = [linear_regions(network, Box([x, -1], [x + 1, 1])) for x in (-1, 0)]
    assert sum(half.integral() for half in halves) == pytest.approx(whole.integral(), rel=1e-12)
    assert sum(half.class_volume for half in halves) == pytest.approx(whole.class_volume)
    assert max(half.lipschitz() for half in halves) == pytest.approx(whole.lipschitz(), rel=1e-12)
    assert max(half.maximum(2).value for half in halves) == pytest.approx(whole.maximum(2).value)


def test_permuting_and_rescaling_units_changes_no_quantity():
    network = random_network((3, 6, 6, 2), seed=6)
    (A, B, C), (a, b, c) = network.weights, network.biases
    order, scale = np.random.default_rng(0).permutation(6), np.linspace(0.5, 2, 6)
    weights = (A * scale[:, None])[order], (B / scale)[:, order], C
    same = Network(weights, [(a * scale)[order], b, c], ["relu"] * 2)
    one, other = (linear_regions(n, Box([-1] * 3, [1] * 3)) for n in (network, same))
    for name in ("integral", "mean", "lipschitz"):
        assert getattr(one, name)() == pytest.approx(getattr(other, name)(), rel=1e-11)
    assert one.class_volume == pytest.approx(other.class_volume, rel=1e-11)


def test_without_hidden_layers_and_on_space():
    linear = Network([[[3, 4], [0, 0]]], [[1, 2]], [])
    regions = linear_regions(linear, SQUARE)
    assert regions.lipschitz() == pytest.approx(5)
    assert regions.integral().tolist() == [4, 8]
    assert linear_regions(linear, Space(2)).lipschitz() == pytest.approx(5)


def test_quantity_errors_say_what_to_do():
    regions = linear_regions(IN_A_SQUARE, SQUARE)
    with pytest.raises(InvalidInput, match="choose 1, 2"):
        regions.lipschitz(3)
    with pytest.raises(InvalidInput, match="outputs 0 to 1"):
        regions.maximum(2)
    with pytest.raises(InvalidInput, match="use a Box"):
        linear_regions(IN_A_SQUARE, Space(2)).integral()
    with pytest.raises(InvalidInput, match="count_only"):
        linear_regions(IN_A_SQUARE, SQUARE, count_only=True).mean()
