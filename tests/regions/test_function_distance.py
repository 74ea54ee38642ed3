"""Distances between networks as functions: fractions, closed forms, samples, and norm axioms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network
from regions.test_quantities import IN_A_SQUARE, ON_AN_INTERVAL, SQUARE

from pellucid import Box, InvalidInput, Network, Plane, Segment, Space, function_distance
from pellucid._kernels.region_arrays import PIECES
from pellucid.network import ACTIVATIONS, Activation, as_activation
from pellucid.regions.function_distance import room

NORMS = (1, 2, "inf")


def zero(d_in, d_out=1):
    return Network([np.zeros((d_out, d_in))], [np.zeros(d_out)], [])


def first_output(network):
    W, b = network.weights, network.biases
    return Network((*W[:-1], W[-1][:1]), (*b[:-1], b[-1][:1]), network.activations)


def tent(k):
    """The tent map of [0, 1], 2 min(x, 1 - x), k times."""
    layers = [([[2], [4]], [0, -2])] + [([[2, -2], [4, -4]], [0, -2])] * (k - 1)
    W, b = zip(*layers, strict=True)
    return Network([*W, [[1, -1]]], [*b, [0]], ["relu"] * k)


def test_norms_are_those_in_fractions():
    f = first_output(IN_A_SQUARE)
    assert function_distance(f, zero(2), SQUARE, 1) == pytest.approx(230903 / 110592, rel=1e-14)
    square = function_distance(f, zero(2), SQUARE) ** 2
    assert square == pytest.approx(319385 / 221184, rel=1e-14)
    assert function_distance(f, zero(2), SQUARE, "inf") == pytest.approx(23 / 16, rel=1e-14)
    W = [np.array(w) for w in f.weights]
    W[1][0, 0] = 1.1
    near = Network(W, f.biases, f.activations)
    found = [function_distance(f, near, SQUARE, q) for q in NORMS]
    expected = [219383 / 2328480, (4895609 / 745113600) ** 0.5, 0.1]
    assert found == pytest.approx(expected, rel=1e-12)
    found = [function_distance(ON_AN_INTERVAL, zero(1), Box(0, 1), q) for q in NORMS]
    assert found == pytest.approx([635 / 576, (41 / 24) ** 0.5, 31 / 12], rel=1e-14)


@pytest.mark.parametrize(("k", "j"), [(3, 1), (5, 3), (8, 2)])
def test_tent_maps_are_a_third_apart(k, j):
    assert function_distance(tent(k), tent(j), Box(0, 1), 1) == pytest.approx(1 / 3, rel=1e-13)
    half = Network([[[0]]], [[0.5]], [])
    assert function_distance(tent(k), half, Box(0, 1), 1) == pytest.approx(1 / 4, rel=1e-13)
    assert function_distance(tent(k), half, Box(0, 1), "inf") == 0.5
    # the values of a tent map are uniform: the variance is 1 / 12
    assert function_distance(tent(k), half, Box(0, 1)) == pytest.approx(12**-0.5, rel=1e-13)


PAIRS = {
    "same layers": ((2, 8, 8, 2), "relu", (2, 6, 5, 2), "relu"),
    "deeper": ((2, 8, 2), "relu", (2, 5, 5, 5, 2), "relu"),
    "other activations": ((2, 8, 8, 2), ["relu", "abs"], (2, 5, 6, 2), ["leaky_relu", "hardtanh"]),
    "bounded, deeper": ((2, 6, 6, 6, 2), "hardtanh", (2, 5, 2), ["abs"]),
    "identity": ((2, 6, 6, 2), ["identity", "relu"], (2, 5, 2), ["relu"]),
}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pair", PAIRS)
def test_distances_agree_with_a_fine_grid(pair, norm):
    a, of_a, b, of_b = PAIRS[pair]
    f, g = random_network(a, of_a, seed=1), random_network(b, of_b, seed=2)
    domain = Box([-2, -1], [1, 2])
    s = 3 * (np.arange(500) + 0.5) / 500
    x = np.stack(np.meshgrid(s - 2, s - 1), axis=2).reshape(-1, 2)
    e = np.abs(f(x) - g(x))
    sampled = {
        1: 9 * e.sum(axis=1).mean(),
        2: (9 * (e**2).sum(axis=1).mean()) ** 0.5,
        "inf": e.max(),
    }
    found = function_distance(f, g, domain, norm)
    assert found == pytest.approx(sampled[norm], rel=1e-2 if norm == "inf" else 1e-4)
    assert found == pytest.approx(function_distance(g, f, domain, norm), rel=1e-11)
    if norm == "inf":
        assert found >= e.max() - 1e-12


def test_distances_along_a_segment_and_in_a_plane():
    f, g = random_network((6, 8, 8, 1), seed=3), random_network((6, 7, 1), "abs", seed=4)
    a, b, c = np.random.default_rng(0).normal(size=(3, 6)) / 3
    way = Segment(a, b)
    s = (np.arange(20000) + 0.5) / 20000
    e = np.abs(f(way.to_input(s[:, None])) - g(way.to_input(s[:, None])))[:, 0]
    assert function_distance(f, g, way, 1) == pytest.approx(e.mean() * way.volume, rel=1e-6)
    assert function_distance(f, g, way) == pytest.approx(
        ((e**2).mean() * way.volume) ** 0.5, rel=1e-6
    )
    plane = Plane(a, b - a, c - a, ((0, 1), (0, 1)))
    t = np.stack(np.meshgrid(*[(np.arange(400) + 0.5) / 400] * 2), axis=2).reshape(-1, 2)
    x = plane.to_input(t)
    mean = np.abs(f(x) - g(x)).mean()
    assert function_distance(f, g, plane, 1) == pytest.approx(mean * plane.volume, rel=1e-4)
    h = random_network((6, 5, 6, 1), seed=5)
    mean = np.abs(f(x) - h(x)).mean()
    assert function_distance(f, h, plane, 1) == pytest.approx(mean * plane.volume, rel=1e-4)


def test_in_three_dimensions():
    f, g = random_network((3, 5, 5, 1), seed=6), random_network((3, 4, 1), seed=7)
    box = Box([-1] * 3, [1] * 3)
    x = np.random.default_rng(0).uniform(-1, 1, (200_000, 3))
    e = np.abs(f(x) - g(x))
    assert function_distance(f, g, box, 1) == pytest.approx(8 * e.mean(), rel=1e-2)
    assert function_distance(f, g, box, "inf") >= e.max()
    with pytest.raises(InvalidInput, match="norm 2 needs 1 or 2"):
        function_distance(f, g, box)


def transformed(network, rng, powers):
    W, b = [np.array(w) for w in network.weights], [np.array(x) for x in network.biases]
    for layer in range(len(W) - 1):
        n = len(b[layer])
        scale = 2.0 ** rng.integers(-3, 4, n) if powers else rng.uniform(0.3, 3, n)
        order = rng.permutation(n)
        W[layer], b[layer] = (W[layer] * scale[:, None])[order], (b[layer] * scale)[order]
        W[layer + 1] = (W[layer + 1] / scale)[:, order]
    return Network(W, b, network.activations)


@pytest.mark.parametrize("powers", [True, False])
@pytest.mark.parametrize("norm", NORMS)
def test_the_same_function_is_0_apart(norm, powers):
    rng = np.random.default_rng(0)
    for widths in [(2, 16, 16, 2), (2, 5, 5, 5, 1)]:
        network = random_network(widths, seed=8)
        same = transformed(network, rng, powers)
        assert function_distance(network, same, Box([-2, -2], [2, 2]), norm) < 1e-12
        assert function_distance(network, network, Box([-2, -2], [2, 2]), norm) < 1e-13
    way = Segment([-1, 0.3], [1, 0.1])
    assert function_distance(network, same, way, norm) < 1e-13


@pytest.mark.parametrize("size", [1e-3, 1e-7, 1e-11])
def test_nearby_networks_are_as_far_apart_as_samples_say(size):
    rng, domain = np.random.default_rng(3), Box([-2, -2], [2, 2])
    f = random_network((2, 12, 12, 1), seed=9)
    theta = f.parameters()
    g = f.with_parameters(theta * (1 + size * rng.normal(size=len(theta))))
    s = 4 * (np.arange(500) + 0.5) / 500 - 2
    x = np.stack(np.meshgrid(s, s), axis=2).reshape(-1, 2)
    e = np.abs(f(x) - g(x))
    assert function_distance(f, g, domain, 1) == pytest.approx(16 * e.mean(), rel=1e-3)
    assert function_distance(f, g, domain) == pytest.approx(4 * (e**2).mean() ** 0.5, rel=1e-3)
    assert function_distance(f, g, domain, "inf") == pytest.approx(e.max(), rel=2e-2)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), integers=st.booleans())
def test_the_triangle_inequality_and_norms_among_each_other(seed, integers):
    rng, networks = np.random.default_rng(seed), []

    def draw(size):
        return rng.integers(-2, 3, size) if integers else rng.normal(size=size)

    for names in (["relu"], ["relu", "abs"], ["hardtanh"]):
        widths = [2, *[3] * len(names), 2]
        sizes = list(zip(widths[1:], widths, strict=False))
        networks.append(Network([draw(s) for s in sizes], [draw(s[0]) for s in sizes], names))
    for norm in NORMS:
        ab, bc, ac = (
            function_distance(networks[i], networks[j], SQUARE, norm)
            for i, j in [(0, 1), (1, 2), (0, 2)]
        )
        assert ac <= (ab + bc) * (1 + 1e-12) + 1e-12
    one, two, most = (function_distance(networks[0], networks[1], SQUARE, q) for q in NORMS)
    assert one <= two * np.sqrt(8) * (1 + 1e-9) + 1e-12  # Cauchy and Schwarz: area 4, 2 outputs
    assert two <= most * np.sqrt(8) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("name", PIECES)
def test_what_waits_passes_every_activation_unchanged(name):
    assert name in ACTIVATIONS
    for activation in (as_activation(name), Activation("hardtanh", (-0.3, 5.7))):
        scale, shift = room(activation, 3.7)
        z = np.linspace(-3.7, 3.7, 101)
        assert (activation.value(scale * z + shift) == scale * z + shift).all()
        assert np.log2(scale) == round(np.log2(scale))


def test_distance_errors_say_what_to_do():
    f = random_network((2, 4, 1))
    for arguments, words in [
        ((f, random_network((3, 4, 1)), SQUARE), "2 and 3 inputs"),
        ((f, random_network((2, 4, 2)), SQUARE), "1 and 2 outputs"),
        ((f, f, Space(2)), "Segment, Plane or Box"),
        ((f, f, SQUARE, 3), "choose 1, 2"),
        ((f, f, Box(0, 1)), "2 inputs"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            function_distance(*arguments)
