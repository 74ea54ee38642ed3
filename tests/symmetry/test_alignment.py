"""Alignment: what order, scale and sign have moved comes back."""

import numpy as np
import pytest
from symmetry.symmetric import normal_network

from pellucid import InvalidInput, initialize
from pellucid.symmetry import align, flip, parameter_distance, permute, rescale
from pellucid.symmetry.alignment import _Search


def moved(network, rng, scales=False, signs=False):
    for k, width in enumerate(network.hidden):
        if signs:
            network = flip(network, k, rng.choice([-1, 1], width))
        if scales:
            network = rescale(network, k, rng.uniform(0.3, 3, width))
        network = permute(network, k, rng.permutation(width))
    return network


def test_a_pure_permutation_comes_back_bit_for_bit():
    for seed in range(20):  # the nets of the facts sheet, of which one start alone lost 3 in 20
        f = normal_network([4, 16, 16, 3], seed=seed)
        g = moved(f, np.random.default_rng(seed))
        found = align(f, g)
        assert found.network == f
        assert found.distance_after == 0
        assert found.distance_before == parameter_distance(f, g) > 1
        assert all(np.array_equal(np.sort(order), np.arange(16)) for order in found.orders)


@pytest.mark.parametrize(
    ("name", "scales", "signs"),
    [
        ("relu", True, False),
        ("leaky_relu", True, False),
        ("abs", True, True),
        ("tanh", False, True),
        ("sigmoid", False, True),
        ("gelu", False, False),
    ],
)
def test_scales_and_signs_come_back(name, scales, signs):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f = normal_network([4, 16, 16, 3], name, seed)
        found = align(f, moved(f, rng, scales, signs))
        assert found.distance_after < 1e-12
        x = rng.normal(size=(10, 4))
        assert found.network(x) == pytest.approx(f(x), abs=1e-10)


def test_one_start_alone_is_not_enough():
    recovered = 0
    for seed in range(20):
        f = normal_network([4, 16, 16, 3], "tanh", seed)
        search = _Search(f, moved(f, np.random.default_rng(seed), signs=True))
        search.climb()  # from the network as it is
        recovered += search.result("identity").distance_after < 1e-12
    assert 10 < recovered < 20


def test_networks_that_differ_come_nearer_and_stay_the_same_function():
    for seed in range(5):
        f, g = (
            normal_network([3, 12, 8, 2], seed=seed),
            normal_network([3, 12, 8, 2], seed=seed + 9),
        )
        found = align(f, g, starts=12)
        assert found.distance_after < 0.97 * found.distance_before
        x = np.random.default_rng(0).normal(size=(20, 3))
        assert found.network(x) == pytest.approx(g(x), abs=1e-10)
        one = align(f, g, starts=1)
        assert found.distance_after <= one.distance_after
        assert align(f, g, starts=12).distance_after == found.distance_after  # one seed, one result


def test_matching_climbs():
    f, g = normal_network([3, 12, 8, 2], seed=1), normal_network([3, 12, 8, 2], seed=2)
    search = _Search(f, g)
    values = [search._value()]
    for _ in range(5):
        for k in range(2):
            search._assign(k, search._incoming(k), search._outgoing(k))
            values.append(search._value())
    assert np.all(np.diff(values) >= -1e-12)
    assert values[-1] > values[0]


def test_units_without_weights_are_no_obstacle():
    f = normal_network([2, 4, 1])
    W = [f.weights[0].copy(), f.weights[1].copy()]
    b = [f.biases[0].copy(), f.biases[1]]
    W[0][1], b[0][1], W[1][0, 1] = 0, 0, 0
    g = type(f)(W, b, "relu")
    assert align(g, permute(g, 0, [3, 1, 0, 2])).distance_after == 0


def test_errors_say_what_does_not_fit():
    f = normal_network([2, 3, 1])
    with pytest.raises(InvalidInput, match=r"widths \(2, 3, 1\) and \(2, 4, 1\)"):
        align(f, normal_network([2, 4, 1]))
    with pytest.raises(InvalidInput, match="different activations"):
        parameter_distance(f, normal_network([2, 3, 1], "tanh"))
    with pytest.raises(InvalidInput, match="starts is 0"):
        align(f, f, starts=0)
    assert "from the start 'canonical'" in repr(align(f, f))


def test_the_aligned_network_is_never_farther_away_than_before():
    for seed in range(12):
        a, b = (initialize([2, 3, 1], seed=s) for s in (seed, seed + 100))
        found = align(a, b)
        assert found.distance_after <= found.distance_before
