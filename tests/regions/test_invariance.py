"""Changes to a network or a box that leave the function alone leave its linear regions alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, Network, Plane, Segment, Space, linear_regions

DOMAINS = {
    "interval": Box(-2, 2),
    "square": Box([-2, -2], [2, 2]),
    "cube": Box([-1] * 3, [1] * 3),
    "segment": Segment([-2, 0, 1, 1], [1, -1, 3, 0.5]),
    "plane": Plane([0, 1, 0, 0], [1, 0, 2, 0], [0, 1, 0, -1], 1),
}
SEEDS = st.integers(0, 10**6)


def parts(network):
    """Copies of weights and biases, to change."""
    return [W.copy() for W in network.weights], [b.copy() for b in network.biases]


def permute(network, layer, rng):
    W, b = parts(network)
    order = rng.permutation(len(b[layer]))
    W[layer], b[layer], W[layer + 1] = W[layer][order], b[layer][order], W[layer + 1][:, order]
    return W, b


def rescale(network, layer, rng):
    """Powers of two: the function is the same to the last bit."""
    W, b = parts(network)
    c = 2.0 ** rng.integers(-6, 7, len(b[layer]))
    W[layer], b[layer], W[layer + 1] = W[layer] * c[:, None], b[layer] * c, W[layer + 1] / c
    return W, b


def duplicate(network, layer, rng):
    """A second copy of a unit; each has half of the weights that go out."""
    W, b = parts(network)
    unit = rng.integers(len(b[layer]))
    W[layer] = np.vstack([W[layer], W[layer][unit]])
    b[layer] = np.append(b[layer], b[layer][unit])
    half = W[layer + 1][:, unit] / 2
    W[layer + 1][:, unit] = half
    W[layer + 1] = np.column_stack([W[layer + 1], half])
    return W, b


def add_unit(network, layer, rng, weights, bias, out):
    W, b = parts(network)
    W[layer] = np.vstack([W[layer], weights * rng.normal(size=W[layer].shape[1])])
    b[layer] = np.append(b[layer], bias)
    W[layer + 1] = np.column_stack([W[layer + 1], out * rng.normal(size=len(W[layer + 1]))])
    return W, b


CHANGES = {
    "permute units": permute,
    "rescale units": rescale,
    "duplicate a unit": duplicate,
    "add a dead unit": lambda *of: add_unit(*of, weights=1, bias=-1e3, out=1),
    "add a unit that is zero": lambda *of: add_unit(*of, weights=0, bias=0, out=1),
    "add a unit that nothing reads": lambda *of: add_unit(*of, weights=1, bias=0.1, out=0),
}


def linear_pieces(regions):
    """Volume of each linear region, and how often each number of neighbours occurs."""
    labels = regions.linear_region
    volumes = np.bincount(labels, regions.volume)
    pairs = np.unique(np.sort(labels[regions.adjacency], axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    neighbours = np.bincount(pairs.ravel(), minlength=len(volumes))
    return np.sort(volumes), np.sort(neighbours)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@given(seed=SEEDS)
@settings(max_examples=4)
def test_the_same_function_has_the_same_linear_regions(domain, change, seed):
    rng = np.random.default_rng(seed)
    network = random_network([domain.d_in, 5, 4, 2], seed=seed)
    W, b = CHANGES[change](network, int(rng.integers(2)), rng)
    before = linear_regions(network, domain)
    after = linear_regions(Network(W, b, ["relu"] * 2), domain)
    assert before.certified
    assert after.certified
    if change != "add a unit that nothing reads":
        assert len(after) == len(before)
    assert after.n_linear_regions == before.n_linear_regions
    assert after.n_affine_maps == before.n_affine_maps
    for of_one, of_other in zip(linear_pieces(before), linear_pieces(after), strict=True):
        np.testing.assert_allclose(of_other, of_one, atol=1e-12)
    p = rng.uniform(domain.low, domain.high, (20, domain.dimension))
    i, j = before.locate(p), after.locate(p)
    np.testing.assert_allclose(before.slope[i], after.slope[j], atol=1e-12)
    np.testing.assert_allclose(before.intercept[i], after.intercept[j], atol=1e-12)


@pytest.mark.parametrize("change", ["permute units", "rescale units", "duplicate a unit"])
@pytest.mark.parametrize("d", [1, 2, 3])
@given(seed=SEEDS)
@settings(max_examples=2)
def test_the_same_function_has_the_same_regions_in_space(d, change, seed):
    rng = np.random.default_rng(seed)
    network = random_network([d, 4, 3, 1], seed=seed)
    W, b = CHANGES[change](network, int(rng.integers(2)), rng)
    before = linear_regions(network, Space(d))
    after = linear_regions(Network(W, b, ["relu"] * 2), Space(d))
    assert len(after) == len(before)
    assert len(after.adjacency) == len(before.adjacency)
    assert after.n_linear_regions == before.n_linear_regions


def halves(box, axis, at):
    low, high = box.low.copy(), box.high.copy()
    high[axis] = low[axis] = at
    return Box(box.low, high), Box(low, box.high)


@pytest.mark.parametrize("name", ["interval", "square", "cube"])
@given(seed=SEEDS)
@settings(max_examples=10)
def test_a_box_has_the_regions_of_its_two_halves(name, seed):
    box, rng = DOMAINS[name], np.random.default_rng(seed)
    network = random_network([box.d_in, 6, 4, 1], seed=seed)
    axis = int(rng.integers(box.d_in))
    at = rng.choice([0.0, rng.uniform(-0.9, 0.9)])
    whole, *both = (linear_regions(network, of) for of in (box, *halves(box, axis, at)))
    of_halves = {}
    for half in both:
        for row, volume in zip(half.packed_patterns, half.volume, strict=True):
            of_halves.setdefault(row.tobytes(), []).append(volume)
    in_both = sum(len(volumes) == 2 for volumes in of_halves.values())
    assert len(whole) == len(both[0]) + len(both[1]) - in_both
    of_whole = {row.tobytes(): i for i, row in enumerate(whole.packed_patterns)}
    assert of_whole.keys() == of_halves.keys()
    for row, volumes in of_halves.items():
        assert abs(whole.volume[of_whole[row]] - sum(volumes)) < 1e-12


@pytest.mark.parametrize("name", ["interval", "square", "cube", "segment", "plane"])
@given(seed=SEEDS)
@settings(max_examples=4)
def test_threads_change_no_bit(name, seed):
    domain = DOMAINS[name]
    network = random_network([domain.d_in, 24, 12, 1], seed=seed)
    one, three = (linear_regions(network, domain, threads=k) for k in (1, 3))
    for array in ("packed_patterns", "vertices", "offsets", "facets", "adjacency", "slope"):
        assert np.array_equal(getattr(one, array), getattr(three, array))
