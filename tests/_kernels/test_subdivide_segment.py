"""The pieces of a segment: against known counts, the twin, and maps whose pieces are known."""

import numpy as np
import pytest
from region_networks import (
    DATA,
    RELU,
    forward_bits,
    he_network,
    hidden_layers,
    known_counts,
    random_layers,
)

from pellucid import InvalidInput
from pellucid._kernels.subdivision import PIECES, subdivide_segment

COUNTS = known_counts("b_")


def tent(depth):
    """tent(x) = 2 relu(x) - 4 relu(x - 1/2), composed."""
    first, later = np.array([[1.0], [1.0]]), np.array([[2.0, -4.0], [2.0, -4.0]])
    return [first] + [later] * (depth - 1), [np.array([0.0, -0.5])] * depth, [RELU] * depth


@pytest.mark.parametrize("name", COUNTS)
def test_known_counts(name, isa):
    network = hidden_layers(name)
    a, b = np.load(DATA / "b_seg_10.npz")["p"]
    pieces = subdivide_segment(*network, a, b)
    assert pieces.n == COUNTS[name]
    assert pieces.certified
    assert pieces.complete
    assert subdivide_segment(*network, a, b, count_only=True).n == COUNTS[name]
    t = (pieces.t[:-1] + pieces.t[1:]) / 2
    bits, gaps = forward_bits(network, a + t[:, None] * (b - a))
    assert (bits == pieces.bits())[gaps > 1e-5].all()


@pytest.mark.parametrize("widths", [[784, 256, 256], [30, 64, 64, 64, 64]])
def test_breakpoints_are_where_a_switch_is_zero(widths):
    network = he_network(widths, seed=1)
    a, b = np.random.default_rng(0).normal(size=(2, widths[0]))
    pieces = subdivide_segment(*network, a, b)
    assert pieces.n > 100
    assert pieces.certified
    assert pieces.by_exact == 0
    assert pieces.t_error < 1e-9
    assert (np.diff(pieces.t) > 0).all()
    assert (pieces.t[0], pieces.t[-1]) == (0, 1)
    _, gaps = forward_bits(network, a + pieces.t[1:-1, None] * (b - a))
    assert np.take_along_axis(gaps, pieces.switches[:, None], 1).max() < 1e-9
    for i in range(pieces.n - 1):
        assert pieces.flips(i).tolist() == [pieces.switches[i]]


@pytest.mark.parametrize("depth", [1, 2, 5, 12])
def test_the_tent_map_has_two_to_the_depth_pieces(depth):
    pieces = subdivide_segment(*tent(depth), [0.0], [1.0])
    assert pieces.n == 2**depth
    assert pieces.certified
    np.testing.assert_allclose(pieces.t, np.arange(2**depth + 1) / 2**depth, atol=1e-15)


@pytest.mark.parametrize(
    "kind", ["float32", "integer", "no biases", "duplicates", "wide scales", "subnormal"]
)
def test_random_networks_are_the_twins(kind):
    rng = np.random.default_rng(4)
    for _ in range(30):
        network = random_layers(rng, kind, d_in=2)
        a, b = rng.choice([-2.0, -1, 0, 0.5, 3], (2, 2))
        b[0] += 0.25  # the points are two
        found = subdivide_segment(*network, a, b)
        twin = subdivide_segment(*network, a, b, engine="reference")
        assert found.certified
        assert np.array_equal(found.patterns, twin.patterns)  # in the same order
        assert np.abs(found.t - twin.t).max() <= found.t_error + 1e-15


def test_breakpoints_closer_than_floats_are_in_order():
    """z_1 = x - 1/3, z_2 = (1 + 2^-52) x - 1/3: zero first; both t round alike."""
    third = 1 / 3
    W, b = np.array([[1.0], [1 + 2.0**-52], [1 - 2.0**-53]]), np.full(3, -third)
    pieces = subdivide_segment([W], [b], [RELU], [0.0], [1.0])
    assert pieces.switches.tolist() == [1, 0, 2]
    assert pieces.bits().astype(int).tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]]


def test_the_direction_is_not_rounded():
    """x_1 - x_2 + 2^-61 = 2^-60 (t - 1/2); with b - a rounded to (1, 1) it would be constant."""
    W, b = np.array([[1.0, -1.0]]), np.array([2.0**-61])
    pieces = subdivide_segment([W], [b], [RELU], [-(2.0**-60), 0.0], [1.0, 1.0])
    assert pieces.t.tolist() == [0, 0.5, 1]
    assert pieces.bits().tolist() == [[False], [True]]


def test_all_that_flips_at_a_breakpoint():
    W, b = np.array([[1.0], [-2.0], [1.0]]), np.array([-0.5, 1.0, -0.75])
    pieces = subdivide_segment([W], [b], [RELU], [0.0], [1.0])
    assert pieces.t.tolist() == [0, 0.5, 0.75, 1]
    assert pieces.flips(0).tolist() == [0, 1]
    assert pieces.flips(1).tolist() == [2]


def test_threads_and_limits():
    network = he_network([8, 128, 128], seed=3)
    a, b = np.random.default_rng(1).normal(size=(2, 8)) * 3
    whole = subdivide_segment(*network, a, b)
    threaded = subdivide_segment(*network, a, b, threads=3)
    assert np.array_equal(whole.t, threaded.t)
    assert np.array_equal(whole.patterns, threaded.patterns)
    part = subdivide_segment(*network, a, b, limit=50)
    assert not part.complete
    assert np.array_equal(part.t, whole.t[:51])
    assert np.array_equal(part.switches, whole.switches[:49])


def test_hardtanh_and_a_network_without_kinks():
    W, b, _ = he_network([5, 8, 8], seed=2)
    network = W, b, [PIECES["hardtanh"](), RELU]
    a, b = np.full(5, -3.0), np.full(5, 2.5)
    pieces = subdivide_segment(*network, a, b)
    bits, gaps = forward_bits(network, a + ((pieces.t[:-1] + pieces.t[1:]) / 2)[:, None] * (b - a))
    assert (bits == pieces.bits())[gaps > 1e-9].all()
    assert subdivide_segment([], [], [], a, b).t.tolist() == [0, 1]


def test_wrong_arguments_are_refused_in_one_sentence():
    network = he_network([2, 3])
    with pytest.raises(InvalidInput, match="one number for each input"):
        subdivide_segment(*network, [0.0, 0.0], [1.0])
    with pytest.raises(InvalidInput, match="the same point"):
        subdivide_segment(*network, [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="not finite"):
        subdivide_segment(*network, [1.0, 2.0], [1.0, np.inf])
