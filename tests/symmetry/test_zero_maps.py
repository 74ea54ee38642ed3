"""Maps modulo primes say where outputs vanish, as maps in whole numbers do."""

import numpy as np
import pytest
from symmetry.symmetric import integer_network, normal_network

from pellucid import Box, Network, Segment, linear_regions
from pellucid.network import ACTIVATIONS
from pellucid.symmetry import zero_maps as module
from pellucid.symmetry.zero_maps import zero_maps

STRAIGHT = [name for name, family in ACTIVATIONS.items() if family.is_piecewise_linear]


def both(network, domain):
    regions = linear_regions(network, domain)
    of = regions._chain, domain, regions.packed_patterns
    return np.concatenate(list(zero_maps(*of))), module._one_by_one(*of)


@pytest.mark.parametrize("names", [["relu"], STRAIGHT], ids=["relu", "all"])
def test_they_agree_with_whole_numbers(names):
    seen = np.zeros(2, int)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        network = integer_network([2, 3, 3, 1], rng, list(rng.choice(names, 2)), most=1)
        for domain in (Box([-2, -1], [1, 2]), Segment([-1, 0.3], [1, -0.1])):
            found, expected = both(network, domain)
            assert np.array_equal(found, expected)
            seen += [expected.sum(), (~expected).sum()]
    assert (seen > 30).all()


@pytest.mark.parametrize("size", [1e-300, 5e-324, 2.0**-52, 1e300])
def test_numbers_of_any_size_are_seen(size):
    f = normal_network([2, 5, 5, 1])
    twice = [np.vstack([W, W]) for W in f.weights[:1]]
    middle = np.block([[f.weights[1], np.zeros((5, 5))], [np.zeros((5, 5)), f.weights[1]]])
    out = np.concatenate([f.weights[2], -f.weights[2]], axis=1)
    b = [np.tile(f.biases[0], 2), np.tile(f.biases[1], 2)]
    for bias in (0.0, size):
        network = Network([*twice, middle, out], [*b, [bias]], ["relu", "relu"])
        found, expected = both(network, Box([-1, -1], [1, 1]))
        assert np.array_equal(found, expected)
        assert found.all() == (bias == 0)


def test_primes_and_residues():
    primes = module._primes(50)
    assert len(set(primes)) == 50
    assert all(2**19 < p < 2**20 and pow(3, p - 1, p) == 1 for p in primes)
    values = np.array([0.0, 1.0, -1.0, 0.5, 3e10, -7.25, 1e-300, 5e-324])
    p = primes[0]
    for value, residue in zip(values, module._residues(values, p), strict=True):
        n, q = float(value).as_integer_ratio()
        assert int(residue) == n * pow(q, -1, p) % p
