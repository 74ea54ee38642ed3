"""Inputs in other units: the same regions, as fast, with coordinates scaled to the last bit."""

import numpy as np
import pytest

import pellucid
from pellucid import Box, Network, initialize, iter_linear_regions, linear_regions


def in_units(network: Network, units) -> Network:
    """The same function of inputs that are told in other units: x = X units."""
    first, *rest = network.weights
    return Network((first / units, *rest), network.biases, network.activations)


UNITS = [(2.0**16, 2.0**16), (2.0**16, 2.0**-10), (2.0**-30, 1.0), (2.0**120, 2.0**-90, 4.0)]


@pytest.mark.parametrize("units", UNITS)
def test_units_change_no_region(units):
    d = len(units)
    network = initialize([d, 12, 12, 1], seed=d, dtype="float64")
    other = in_units(network, units)
    low, high = np.full(d, -1.5), np.full(d, 1.75)
    plain = linear_regions(network, Box(low, high))
    scaled = linear_regions(other, Box(low * units, high * units))
    assert scaled.certified
    assert scaled.by_exact == plain.by_exact == 0
    assert np.array_equal(scaled.packed_patterns, plain.packed_patterns)
    assert np.array_equal(scaled.facets, plain.facets)
    np.testing.assert_allclose(scaled.vertices / units, plain.vertices, atol=1e-9)
    np.testing.assert_allclose(scaled.volume.sum(), 3.25**d * np.prod(units), rtol=1e-12)
    off = np.abs(scaled.vertices - plain.vertices * units).max()
    assert off <= scaled.vertex_error + plain.vertex_error * max(units)
    batches = list(iter_linear_regions(other, Box(low * units, high * units), batch=20))
    assert sum(len(batch) for batch in batches) == len(plain)
    ends = np.concatenate([batch.vertices for batch in batches])
    assert ends.min(axis=0) == pytest.approx(low * units)
    assert ends.max(axis=0) == pytest.approx(high * units)


def test_units_that_float64_cannot_scale_are_left_alone():
    network = initialize([2, 5, 1], seed=0, dtype="float64")
    units = (2.0**600, 1.0)
    found = linear_regions(in_units(network, units), Box([-(2.0**600), -1], [2.0**600, 1]))
    assert len(found) == len(linear_regions(network, Box([-1, -1], [1, 1])))
    assert found.certified


def test_a_plane_far_from_the_origin_of_its_axes():
    network = initialize([5, 8, 8, 1], seed=1, dtype="float64")
    u, v = np.eye(5)[:2]
    near = pellucid.Plane(np.zeros(5), 1000 * u, 1000 * v, ((-1, 1), (-1, 1)))
    long = pellucid.Plane(np.zeros(5), u, v, ((-1000, 1000), (-1000, 1000)))
    assert len(linear_regions(network, near)) == len(linear_regions(network, long))
    assert linear_regions(network, long).by_exact == linear_regions(network, near).by_exact == 0
