"""The plane's subdivision: against known counts, the exact twin, and what must hold always."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from region_networks import (
    RELU,
    forward_bits,
    he_network,
    hidden_layers,
    known_counts,
    random_layers,
    same_arrays,
)

from pellucid import InvalidInput
from pellucid._kernels.reference_regions import reference_regions
from pellucid._kernels.subdivision import PIECES, Pieces, regions_module, subdivide_plane

COUNTS = known_counts("a_", "d_", "g_")
GENERIC = [name for name in COUNTS if not name.startswith("g_")]
DEGENERATE = [name for name in COUNTS if name.startswith("g_")]
SQUARE = {"low": (-2.0, -2.0), "high": (2.0, 2.0)}


def patterns(regions):
    return {tuple(row) for row in regions.bits().tolist()}


def interior_points(regions):
    counts = np.diff(regions.offsets)
    return np.add.reduceat(regions.vertices, regions.offsets[:-1]) / counts[:, None]


def assert_partition(regions, area=16.0):
    """Areas add up, edges pair, patterns are distinct, corners turn left."""
    areas = regions.areas()
    assert abs(areas.sum() - area) <= 1e-12 * area
    assert areas.min() > -1e-12 * area
    assert len(np.unique(regions.patterns, axis=0)) == regions.n
    assert np.diff(regions.offsets).min() >= 3


def assert_agrees_with_forward(network, regions):
    bits, gaps = forward_bits(network, interior_points(regions))
    clear = gaps > 1e-9
    assert (bits == regions.bits())[clear].all()
    assert clear.mean() > 0.5


def test_both_modules_take_the_same_instruction_set(isa):
    assert regions_module().instruction_set() == isa


# --- known counts ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS)
def test_known_counts(name, isa):
    network = hidden_layers(name)
    regions = subdivide_plane(*network, **SQUARE)
    assert regions.n == COUNTS[name]
    assert regions.certified
    assert regions.complete
    assert subdivide_plane(*network, **SQUARE, count_only=True).n == COUNTS[name]
    assert_partition(regions)


@pytest.mark.parametrize("name", COUNTS)
def test_patterns_agree_with_the_forward_pass_at_interior_points(name):
    network = hidden_layers(name)
    assert_agrees_with_forward(network, subdivide_plane(*network, **SQUARE))


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_networks_need_the_exact_fallback_and_say_so(name):
    network = hidden_layers(name)
    assert subdivide_plane(*network, **SQUARE).by_exact > 0
    unproved = subdivide_plane(*network, **SQUARE, exact=False)
    assert unproved.undecided > 0
    assert not unproved.certified
    assert unproved.by_exact == 0


@pytest.mark.parametrize("name", GENERIC)
def test_generic_networks_stay_in_the_filter(name):
    regions = subdivide_plane(*hidden_layers(name), **SQUARE, exact=False)
    assert regions.undecided == 0
    assert regions.n == COUNTS[name]
    assert regions.vertex_error < 1e-5


@pytest.mark.parametrize("name", [name for name in DEGENERATE if COUNTS[name] < 100])
def test_the_twin_counts_the_same_arrays(name):
    assert subdivide_plane(*hidden_layers(name), **SQUARE, engine="reference").n == COUNTS[name]


def test_deep_networks_stay_in_the_filter():
    regions = subdivide_plane(*he_network([2] + [16] * 20, seed=1), **SQUARE)
    assert regions.by_exact < 100
    assert_partition(regions)


@pytest.mark.parametrize("depth", [1, 2, 5, 10])
def test_the_tent_map_has_two_to_the_depth_pieces(depth):
    """tent(x) = 2 relu(x) - 4 relu(x - 1/2), composed; constant along the second input."""
    first = np.array([[1.0, 0.0], [1.0, 0.0]])
    later = np.array([[2.0, -4.0], [2.0, -4.0]])
    W = [first] + [later] * (depth - 1)
    b = [np.array([0.0, -0.5])] * depth
    regions = subdivide_plane(W, b, [RELU] * depth, low=(0, 0), high=(1, 1))
    assert regions.n == 2**depth
    widths = sorted(np.ptp(regions.polygon(i)[:, 0]) for i in range(regions.n))
    np.testing.assert_allclose(widths, 2.0**-depth, rtol=1e-9)


# --- against the twin ----------------------------------------------------------------------------


def assert_is_twin(network, low=(-2.0, -1.5), high=(1.25, 2.0), **plane):
    """Same patterns, same corners within the proved error, areas exact in the twin."""
    expected = {r.pattern: r for r in reference_regions(*network, low=low, high=high, **plane)}
    total = (Fraction(high[0]) - Fraction(low[0])) * (Fraction(high[1]) - Fraction(low[1]))
    assert sum(region.area for region in expected.values()) == total
    found = subdivide_plane(*network, low=low, high=high, **plane)
    assert found.certified
    assert found.n == len(expected)
    assert patterns(found) == set(expected)
    assert subdivide_plane(*network, low=low, high=high, count_only=True, **plane).n == found.n
    assert abs(found.areas().sum() - float(total)) <= 1e-12 * float(total)
    for i, bits in enumerate(found.bits().tolist()):
        corners = np.array([(float(p.s), float(p.t)) for p in expected[tuple(bits)].cell])
        polygon = found.polygon(i)
        assert polygon.shape == corners.shape
        turns = (np.abs(np.roll(corners, k, 0) - polygon).max() for k in range(len(corners)))
        assert min(turns) <= found.vertex_error + 1e-15
    return found


@pytest.mark.parametrize("isa", ["baseline", "avx512"], indirect=True)
@pytest.mark.parametrize(
    "kind", ["float32", "integer", "no biases", "duplicates", "wide scales", "subnormal"]
)
def test_random_networks_are_the_twins(kind, isa):
    rng = np.random.default_rng(1)
    exact = 0
    for _ in range(40):
        exact += assert_is_twin(random_layers(rng, kind)).by_exact
    assert (exact == 0) == (kind == "float32")


@given(st.data())
def test_small_integer_networks_are_the_twins(data):
    entries = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
    widths = [2, *data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))]
    W, b, pieces = [], [], []
    for d_in, d_out in pairwise(widths):
        numbers = data.draw(
            st.lists(entries, min_size=d_out * (d_in + 1), max_size=d_out * (d_in + 1))
        )
        W.append(np.reshape(numbers[d_out:], (d_out, d_in)))
        b.append(np.array(numbers[:d_out]))
        pieces.append(PIECES[data.draw(st.sampled_from(list(PIECES)))]())
    assert_is_twin((W, b, pieces))


def test_a_plane_in_a_larger_input_space():
    rng = np.random.default_rng(3)
    W = [rng.normal(size=(5, 7)).astype(np.float32), rng.normal(size=(4, 5)).astype(np.float32)]
    network = W, [rng.normal(size=len(w)) for w in W], [RELU, PIECES["hardtanh"]()]
    origin, u, v = rng.normal(size=(3, 7))
    regions = assert_is_twin(network, origin=origin, u=u, v=v)
    s, t = interior_points(regions).T
    bits, gaps = forward_bits(network, origin + s[:, None] * u + t[:, None] * v)
    assert (bits == regions.bits())[gaps > 1e-9].all()


@pytest.mark.parametrize("of", [*PIECES, "reversed hardtanh", "shifted"])
def test_every_activation_agrees_with_the_forward_pass(of):
    extra = {
        "reversed hardtanh": Pieces((-0.5, 0.25), (1.0, -0.5, 2.0), (0.5, -0.25, -0.875)),
        "shifted": Pieces((0.3,), (0.5, -1.0), (0.0, 0.45)),
    }
    activation = extra[of] if of in extra else PIECES[of]()
    W, b, _ = he_network([2, 16, 16, 16], seed=2)
    network = W, b, [activation] * 3
    regions = subdivide_plane(*network, **SQUARE)
    assert regions.n_switches == 48 * len(activation.kinks)
    assert_partition(regions)
    if activation.kinks:
        assert regions.n > 300
        assert_agrees_with_forward(network, regions)


# --- ties ----------------------------------------------------------------------------------------


def one_layer(W, b):
    return [np.array(W, float)], [np.array(b, float)], [RELU]


@pytest.mark.parametrize(
    ("W", "b", "n"),
    [
        ([[1, 0], [0, 1], [1, 1]], [0, 0, 0], 6),  # three lines through one point
        ([[1, 0], [1, 0], [2, 0]], [0, 0, 0], 2),  # the same line three times
        ([[1, 0], [-1, 0]], [0, 0], 2),  # the same line, both ways
        ([[1, 0], [1, 0]], [0, 1], 3),  # parallel
        ([[0, 0], [1, 0]], [0, 0], 2),  # zero weights: inactive everywhere
        ([[0, 0], [1, 0]], [1, 0], 2),  # zero weights: active everywhere
        ([[1, 1]], [4], 1),  # through a corner of the domain
        ([[1, -1]], [0], 2),  # through two corners
        ([[1, 0]], [2], 1),  # along a side
        ([[1, 0], [0, 1], [1, -1], [1, 1]], [0, 0, 0, 0], 8),
    ],
)
def test_ties(W, b, n):
    regions = subdivide_plane(*one_layer(W, b), **SQUARE)
    assert regions.n == n
    assert regions.certified
    assert_partition(regions)


def test_a_unit_that_vanishes_on_a_cell_is_inactive_there():
    """relu(x) - relu(x) cancels on the right half; on the left all is zero anyway."""
    W = [np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, -1.0], [1.0, 1.0]])]
    regions = subdivide_plane(W, [np.zeros(2)] * 2, [RELU] * 2, **SQUARE)
    assert patterns(regions) == {(True, True, False, True), (False, False, False, False)}


def test_a_difference_of_one_unit_in_the_last_place_is_seen():
    near = np.nextafter(1.0, 2.0)
    regions = subdivide_plane(*one_layer([[1, 1], [near, 1]], [-1, -1]), low=(0, 0), high=(1, 1))
    assert regions.n == 3
    assert regions.certified


def test_weights_beyond_the_range_of_products_are_certified():
    network = one_layer([[1e308, 1e308], [1e-308, -1e-308]], [-1e308, 5e-324])
    assert_is_twin(network)


def test_wrong_signs_do_no_harm():
    rng = np.random.default_rng(5)
    for kind in ("integer", "no biases", "duplicates"):
        for _ in range(100):
            network = random_layers(rng, kind)
            regions = subdivide_plane(*network, exact=False, **SQUARE)
            assert regions.n >= 1
            assert regions.by_exact == 0
            assert np.isfinite(regions.vertices).all()


# --- edges, limits, threads ----------------------------------------------------------------------


def test_edges_name_what_they_lie_on():
    network = hidden_layers("a_he_32x32")
    regions = subdivide_plane(*network, **SQUARE)
    p, q = regions.vertices, regions.vertices[regions.next_vertex()]
    for side, (axis, value) in enumerate([(0, -2), (0, 2), (1, -2), (1, 2)]):
        on = regions.edges == -1 - side
        assert on.any()
        assert (p[on, axis] == value).all()
        assert (q[on, axis] == value).all()
    inner = regions.edges >= 0
    _, gaps = forward_bits(network, (p[inner] + q[inner]) / 2)
    assert np.take_along_axis(gaps, regions.edges[inner, None], 1).max() < 1e-9
    # Every inner edge is seen from both sides, or is met by corners of the other side on its line.
    lengths = np.hypot(*(q - p)[inner].T)
    for line in np.unique(regions.edges[inner]):
        on = regions.edges[inner] == line
        bits = regions.bits()[
            np.repeat(np.arange(regions.n), np.diff(regions.offsets))[inner][on], line
        ]
        assert lengths[on][bits].sum() == pytest.approx(lengths[on][~bits].sum(), rel=1e-9)


@pytest.mark.parametrize("widths", [[2, 96, 96], [2, 32, 32, 32, 32], [2, 8, 8]])
def test_threads_change_no_bit(widths):
    network = he_network(widths)
    one = subdivide_plane(*network, **SQUARE)
    for threads in (2, 5):
        assert same_arrays(one, subdivide_plane(*network, **SQUARE, threads=threads))
        count = subdivide_plane(*network, **SQUARE, threads=threads, count_only=True)
        assert count.n == one.n
    assert_partition(one)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_limit_ends_with_the_first_regions_and_says_so(threads):
    network = he_network([2, 64, 64])
    whole = subdivide_plane(*network, **SQUARE)
    part = subdivide_plane(*network, **SQUARE, limit=3000, threads=threads)
    assert part.n == 3000
    assert not part.complete
    assert part.certified
    assert np.array_equal(part.patterns, whole.patterns[:3000])
    assert np.array_equal(part.vertices, whole.vertices[: whole.offsets[3000]])
    exactly = subdivide_plane(*network, **SQUARE, limit=whole.n, threads=threads)
    assert exactly.complete
    assert same_arrays(exactly, whole)
    assert subdivide_plane(*network, **SQUARE, limit=3000, count_only=True).n == 3000


def test_time_ends_with_what_was_found():
    part = subdivide_plane(*he_network([2] + [64] * 12), **SQUARE, seconds=0.02)
    assert not part.complete
    assert part.n > 0
    assert part.areas().sum() < 16


def test_no_hidden_layers_and_layers_without_kinks():
    assert subdivide_plane([], [], [], **SQUARE).n == 1
    W, b, _ = he_network([2, 4, 6, 3])
    linear = subdivide_plane(W, b, [PIECES["identity"]()] * 3, **SQUARE)
    assert (linear.n, linear.n_switches) == (1, 0)
    assert_is_twin((W, b, [PIECES["identity"](), RELU, PIECES["identity"]()]))


def test_wrong_arguments_are_refused_in_one_sentence():
    W, b, pieces = he_network([2, 4, 3])
    with pytest.raises(InvalidInput, match="every hidden layer needs one of each"):
        subdivide_plane(W, b[:1], pieces)
    with pytest.raises(InvalidInput, match="not finite in the biases of hidden layer 2"):
        subdivide_plane(W, [b[0], b[1] * np.nan], pieces)
    with pytest.raises(InvalidInput, match="low must be below high"):
        subdivide_plane(W, b, pieces, low=(1, 1), high=(1, 2))
    with pytest.raises(InvalidInput, match="shapes of weights"):
        subdivide_plane(W[::-1], b, pieces)
    with pytest.raises(InvalidInput, match="one number for each input"):
        subdivide_plane(W, b, pieces, origin=np.zeros(3))
    with pytest.raises(InvalidInput, match="engine is 'fast'"):
        subdivide_plane(W, b, pieces, engine="fast")
    with pytest.raises(InvalidInput, match="the lower one first"):
        Pieces((1.0, -1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))
