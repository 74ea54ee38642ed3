"""The public call on planes: known counts, maps, adjacency, the three counts, locating, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regions.networks import COUNTS, outputs_by_maps, random_network, stored_network

import pellucid
from pellucid import Box, InvalidInput, Network, Plane, Segment, UnsupportedLayer, linear_regions
from pellucid.regions.maps import compose_batch

SQUARE = Box([-2, -2], [2, 2])
# name: linear regions, affine maps where they are not the number of activation regions
FEWER = {"a_he_8x8x8": (172, 172), "g_dead_8x8x8": (1, 1)}


@pytest.mark.parametrize("name", COUNTS)
def test_known_networks(name):
    network = stored_network(name)
    regions = linear_regions(network, SQUARE)
    assert len(regions) == regions.n_activation_regions == COUNTS[name]
    assert regions.certified
    assert regions.complete
    n = COUNTS[name]
    assert (regions.n_linear_regions, regions.n_affine_maps) == FEWER.get(name, (n, n))
    assert abs(regions.volume.sum() - 16) < 1e-11
    # Every inner edge belongs to two regions.
    assert 2 * len(regions.adjacency) == (regions.facets >= 0).sum()
    truth = network.astype("float64")(regions.center)
    assert np.abs(outputs_by_maps(regions) - truth).max() <= 1e-12 * max(1, np.abs(truth).max())
    assert (regions.locate(regions.center) == np.arange(n)).mean() > 0.99
    assert linear_regions(network, SQUARE, count_only=True).n_activation_regions == n


def test_neighbours_in_generic_networks_are_at_most_four_on_average():
    regions = linear_regions(stored_network("a_he_128x128"), SQUARE)
    assert 3.5 < 2 * len(regions.adjacency) / len(regions) <= 4


def test_adjacent_regions_share_an_edge_and_differ_where_it_lies():
    regions = linear_regions(stored_network("a_he_32x32"), SQUARE)
    for i, j in regions.adjacency[::50]:
        shared = set(regions.facets_of(i)) & set(regions.facets_of(j))
        flipped = np.flatnonzero(regions[int(i)].pattern != regions[int(j)].pattern)
        assert set(flipped.tolist()) <= shared
        ends = [
            q
            for p in regions.polytope(int(i))
            for q in regions.polytope(int(j))
            if np.abs(p - q).max() < 1e-9
        ]
        assert len(ends) >= 2


# --- what the counts count -----------------------------------------------------------------------


def scalar(hidden_W, hidden_b, W, activation="relu", b=0.0):
    return Network([hidden_W, W], [hidden_b, [b]], [activation])


def test_two_relus_that_cancel_the_kink_make_one_linear_region():
    # relu(x) - relu(-x) = x
    network = scalar([[1, 0], [-1, 0]], [0, 0], [[1, -1]])
    regions = linear_regions(network, SQUARE)
    assert regions.n_activation_regions == 2
    assert regions.n_linear_regions == regions.n_affine_maps == 1
    assert regions.adjacency.tolist() == [[0, 1]]


def test_a_linear_region_that_is_not_convex():
    # relu(min(x, y)) = relu(y - relu(y - x)): zero on an L
    network = Network(
        [[[-1, 1], [0, 1], [0, -1]], [[-1, 1, -1]], [[1]]],
        [[0, 0, 0], [0], [0]],
        ["relu", "relu"],
    )
    regions = linear_regions(network, Box([-1, -1], [1, 1]))
    assert regions.n_linear_regions == 3
    zero = np.flatnonzero((regions.slope == 0).all(axis=(1, 2)))
    assert len(set(regions.linear_region[zero].tolist())) == 1
    assert regions.volume[zero].sum() == pytest.approx(3)


def test_one_map_in_several_places_is_counted_once():
    # A trapezoid: zero on both sides.
    network = scalar([[1, 0]] * 4, [1.5, 0.5, -0.5, -1.5], [[1, -1, -1, 1]])
    regions = linear_regions(network, SQUARE)
    assert regions.n_linear_regions == 5
    assert regions.n_affine_maps == 4


def test_maps_that_differ_by_less_than_rounding_are_told_apart():
    # 1 + 2^-60 is no float; the two parts of the slope are.
    network = scalar([[1, 0], [-1, 0], [1, 0]], [0, 0, 0], [[1, -1, 2.0**-60]])
    regions = linear_regions(network, SQUARE)
    assert regions.slope[0, 0, 0] == regions.slope[1, 0, 0] == 1
    assert regions.n_linear_regions == 2


def test_weights_that_cancel_only_in_exact_numbers():
    # 0.1 + 0.2 - 0.3 is not 0 in stored numbers, nor in float64
    units = [[1, 0]] * 3 + [[0, 1]]
    assert (
        linear_regions(scalar(units, [0] * 4, [[0.1, 0.2, -0.3, 1]]), SQUARE).n_linear_regions == 4
    )
    # 3/4 - 1/2 - 1/4 is
    exact = linear_regions(scalar(units, [0] * 4, [[0.75, -0.5, -0.25, 1]]), SQUARE)
    assert exact.n_activation_regions == 4
    assert exact.n_linear_regions == 2


def test_a_duplicated_unit_changes_no_linear_region():
    network = random_network([2, 8, 6, 1], seed=3)
    (W1, W2, W3), b = network.weights, network.biases
    doubled = Network(
        [np.vstack([W1, W1[:1]]), np.hstack([W2[:, :1] / 2, W2[:, 1:], W2[:, :1] / 2]), W3],
        [np.append(b[0], b[0][0]), b[1], b[2]],
        ["relu", "relu"],
    )
    before, after = linear_regions(network, SQUARE), linear_regions(doubled, SQUARE)
    assert before.n_activation_regions == after.n_activation_regions
    assert before.n_linear_regions == after.n_linear_regions
    assert np.array_equal(before.adjacency, after.adjacency)


@pytest.mark.parametrize(
    "activation",
    ["identity", "abs", "hardtanh", pellucid.Activation("leaky_relu", (0.3,)), "prelu"],
)
def test_every_piecewise_linear_activation(activation):
    network = random_network([2, 7, 5, 2], [activation, "relu"], seed=1)
    regions = linear_regions(network, SQUARE)
    assert np.abs(outputs_by_maps(regions) - network(regions.center)).max() < 1e-12
    assert abs(regions.volume.sum() - 16) < 1e-11
    assert 2 * len(regions.adjacency) == (regions.facets >= 0).sum()
    assert regions.n_affine_maps <= regions.n_linear_regions <= regions.n_activation_regions


def test_an_output_activation_with_kinks_counts():
    network = Network([[[1, 0]]], [[0.5]], [], output_activation="relu")
    regions = linear_regions(network, SQUARE)
    assert (regions.n_activation_regions, regions.n_linear_regions) == (2, 2)
    assert sorted(regions.slope[:, 0, 0].tolist()) == [0, 1]


def test_a_linear_network_has_one_region():
    regions = linear_regions(Network([[[1, 2]]], [[3]]), SQUARE)
    assert (len(regions), regions.n_linear_regions, regions.n_affine_maps) == (1, 1, 1)
    assert regions.slope.tolist() == [[[1, 2]]]
    assert regions.intercept.tolist() == [[3]]
    assert regions.patterns.shape == (1, 0)
    assert regions.adjacency.shape == (0, 2)
    assert regions.locate([[0, 0], [3, 0]]).tolist() == [0, -1]


@given(st.integers(0, 10**6), st.sampled_from([[2, 5, 1], [2, 4, 4, 2], [2, 3, 3, 3, 1]]))
def test_random_networks(seed, widths):
    network = random_network(widths, ["relu", "abs", "hardtanh"][: len(widths) - 2], seed)
    regions = linear_regions(network, SQUARE)
    assert np.abs(outputs_by_maps(regions) - network(regions.center)).max() < 1e-11
    assert 2 * len(regions.adjacency) == (regions.facets >= 0).sum()
    assert (regions.locate(regions.center) == np.arange(len(regions))).all()


@given(st.integers(0, 10**6))
def test_integer_networks_with_many_ties(seed):
    rng = np.random.default_rng(seed)
    W = [rng.integers(-2, 3, size) for size in ((5, 2), (4, 5), (1, 4))]
    network = Network(W, [rng.integers(-1, 2, len(w)) for w in W], ["relu", "relu"])
    regions = linear_regions(network, SQUARE)
    assert regions.certified
    assert 2 * len(regions.adjacency) == (regions.facets >= 0).sum()
    maps = {tuple(np.append(a, c)) for a, c in zip(regions.slope, regions.intercept, strict=True)}
    assert regions.n_affine_maps == len(maps)  # small integers: exact in float64
    assert (regions.locate(regions.center) == np.arange(len(regions))).all()


@given(st.integers(0, 10**6))
def test_permuting_and_rescaling_units_changes_nothing(seed):
    network = random_network([2, 6, 5, 1], seed=seed)
    rng = np.random.default_rng(seed)
    order, c = rng.permutation(6), 2.0 ** rng.integers(-3, 4, 6)
    (W1, W2, W3), (b1, b2, b3) = network.weights, network.biases
    W1, b1, W2 = W1[order] * c[:, None], b1[order] * c, W2[:, order] / c
    other = linear_regions(Network([W1, W2, W3], [b1, b2, b3], ["relu"] * 2), SQUARE)
    regions = linear_regions(network, SQUARE)
    assert len(other) == len(regions)
    assert other.n_linear_regions == regions.n_linear_regions
    assert np.allclose(np.sort(other.volume), np.sort(regions.volume), atol=1e-12)


def test_the_twin_composes_the_same_maps():
    network = random_network([2, 9, 70, 5, 3], ["leaky_relu", "relu", "hardtanh"], seed=5)
    regions = linear_regions(network, SQUARE)
    joint, norms = compose_batch(regions._chain, SQUARE, regions.packed_patterns)
    assert np.abs(joint[:, :, :2] - regions.slope).max() < 1e-12
    assert np.abs(joint[:, :, 2] - regions.intercept).max() < 1e-12
    assert np.allclose(norms, regions._maps.norms)


def test_every_instruction_set_composes_the_same_maps(isa, monkeypatch):
    network = random_network([2, 40, 30, 2], seed=6)
    slope = linear_regions(network, SQUARE).slope
    monkeypatch.setenv("PELLUCID_ISA", "baseline")
    assert np.abs(slope - linear_regions(network, SQUARE).slope).max() < 1e-12


# --- domains -------------------------------------------------------------------------------------


def test_a_plane_in_ten_inputs():
    network = random_network([10, 16, 8, 3], seed=2)
    rng = np.random.default_rng(0)
    plane = Plane(rng.normal(size=10), rng.normal(size=10), rng.normal(size=10), ((-1, 2), (0, 1)))
    regions = linear_regions(network, plane)
    assert np.abs(outputs_by_maps(regions) - network(plane.to_input(regions.center))).max() < 1e-12
    gram = np.stack([plane.u, plane.v]) @ np.stack([plane.u, plane.v]).T
    assert plane.volume == pytest.approx(3 * np.sqrt(np.linalg.det(gram)))
    assert regions.volume.sum() == pytest.approx(plane.volume, rel=1e-12)
    assert regions.points.shape == (regions.offsets[-1], 10)
    assert np.allclose(plane.to_coordinates(regions.points), regions.vertices)


def test_a_plane_with_coordinate_axes_is_the_box():
    network = stored_network("a_he_12x12")
    plane = linear_regions(network, Plane([0, 0], [1, 0], [0, 1], 2))
    assert np.array_equal(plane.patterns, linear_regions(network, SQUARE).patterns)
    assert repr(plane.domain) == "Plane(2 inputs, s -2 to 2, t -2 to 2)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box([0, 0], [1, 0]), "the box is empty in coordinate 1: from 0 to 0"),
        (lambda: Box([0, 2], [1, 1]), "the box is reversed in coordinate 1: from 2 to 1"),
        (lambda: Box([0, 0], [1, 1, 1]), "different numbers of coordinates (low 2, high 3)"),
        (lambda: Box([0, np.nan], [1, 1]), "low holds nan; it must be finite"),
        (lambda: Box([-1e308], [1e308]), "too large for float64"),
        (lambda: Box("a", 1), "low is 'a'; it must be an array of numbers"),
        (lambda: Box([[0, 0]], [[1, 1]]), "low has shape (1, 2); it must be one point"),
        (lambda: Segment([1, 2], [1, 2]), "a and b are the same point"),
        (lambda: Segment([1], [1, 2]), "different numbers of coordinates (a 1, b 2)"),
        (lambda: Plane([0, 0], [1, 2], [-2, -4]), "are parallel; a plane needs two axes"),
        (lambda: Plane([0, 0], [0, 0], [1, 0]), "are parallel"),
        (lambda: Plane([0, 0], [1, 0], [0, 1], ((1, 0), (0, 1))), "reversed in s: from 1 to 0"),
        (lambda: Plane([0, 0], [1, 0], [0, 1], (1, 2, 3)), "extent has shape (3,)"),
        (lambda: Plane([0, 0], [1, 0], [0, 1], 0), "the extent is empty in s"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_impossible_domains_are_refused_in_one_sentence(make, words):
    with pytest.raises(InvalidInput) as error:
        make()
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_nearly_parallel_axes_are_taken():
    assert Plane([0, 0], [1, 1], [1, np.nextafter(1, 2)]).dimension == 2


# --- limits --------------------------------------------------------------------------------------


def test_a_limit_ends_with_an_honest_partial_result():
    regions = linear_regions(stored_network("a_he_32x32"), SQUARE, limit=np.int64(100))
    assert len(regions) == 100
    assert not regions.complete
    assert repr(regions) == (
        "LinearRegions(100 activation regions on Box([-2, -2] to [2, 2]), incomplete, certified)"
    )
    assert regions.volume.sum() < 16
    assert (regions.locate(np.random.default_rng(0).uniform(-2, 2, (200, 2))) == -1).any()
    assert linear_regions(stored_network("a_he_32x32"), SQUARE, limit=1327).complete


def test_a_time_limit_ends_with_an_honest_partial_result():
    network = random_network([2, 400, 400, 1])
    regions = linear_regions(network, SQUARE, seconds=1e-9, count_only=True)
    assert not regions.complete


def test_threads_change_nothing():
    network = stored_network("a_he_64x64x64")
    one, two = (linear_regions(network, SQUARE, threads=k) for k in (1, 2))
    assert np.array_equal(one.packed_patterns, two.packed_patterns)
    assert np.array_equal(one.slope, two.slope)


def test_without_the_fallback_degenerate_networks_are_not_certified():
    regions = linear_regions(stored_network("g_nobias_16x16"), SQUARE, exact=False)
    assert not regions.certified
    assert f"{regions.undecided} signs undecided" in repr(regions)


# --- locating ------------------------------------------------------------------------------------


def test_points_on_a_boundary_belong_to_the_inactive_side():
    regions = linear_regions(scalar([[1, 0]], [0], [[1]]), SQUARE)
    on, inside = regions.locate([[0, 0.5], [1, 0.5]])
    assert not regions.patterns[on].any()
    assert regions.patterns[inside].all()
    assert regions.locate([2, 2]).tolist() == [inside]
    assert regions.locate([2, np.nextafter(2, 3)]).tolist() == [-1]


@given(st.integers(0, 10**6))
def test_located_regions_hold_their_points(seed):
    network = random_network([2, 6, 6, 1], seed=seed)
    regions = linear_regions(network, SQUARE)
    # Corners are the worst points there are.
    points = np.clip(np.concatenate([regions.vertices, regions.center]), -2, 2)
    found = regions.locate(points)
    assert (found >= 0).all()
    value = np.einsum("nkd,nd->nk", regions.slope[found], points) + regions.intercept[found]
    assert np.abs(value - network(points)).max() < 1e-9


# --- the table, and errors -----------------------------------------------------------------------


def test_the_table_has_a_row_for_each_region():
    regions = linear_regions(random_network([2, 4, 2]), SQUARE)
    frame = regions.to_frame()
    assert frame.height == len(regions) == len(list(regions))
    assert frame.columns[:5] == ["region", "linear_region", "volume", "vertices", "active"]
    assert frame["slope_1_0"].to_list() == regions.slope[:, 1, 0].tolist()
    assert frame["active"].to_list() == regions.patterns.sum(axis=1).tolist()
    last = regions[-1]
    assert last.index == len(regions) - 1
    assert repr(last).startswith(f"LinearRegion({last.index}: {len(last.vertices)} vertices")
    with pytest.raises(IndexError):
        regions[len(regions)]


def test_switches_name_layer_unit_and_kink():
    regions = linear_regions(random_network([2, 2, 1, 1], ["hardtanh", "relu"]), SQUARE)
    assert regions.switches.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]]


def test_a_smooth_activation_is_named():
    network = random_network([2, 3, 3, 1], ["relu", "tanh"])
    with pytest.raises(UnsupportedLayer, match="layer 2 of 3 has the activation tanh"):
        linear_regions(network, SQUARE)
    network = Network([[[1, 0]]], [[0]], [], output_activation="sigmoid")
    with pytest.raises(UnsupportedLayer, match=r"\(the output\) .* Read the logits"):
        linear_regions(network, SQUARE)


@pytest.mark.parametrize(("place", "value"), [((1, 0), np.nan), ((2, 1), np.inf)])
def test_a_weight_that_is_not_finite_is_named(place, value):
    W = np.ones((3, 2))
    W[place] = value
    network = Network([np.ones((2, 2)), W], [np.zeros(2), np.zeros(3)], ["relu"])
    with pytest.raises(InvalidInput, match=rf"weights\[1\]\[{place[0]}, {place[1]}\].* is {value}"):
        linear_regions(network, SQUARE)


@pytest.mark.usefixtures("as_users_run")
def test_wrong_arguments_are_refused_in_one_sentence():
    network = random_network([3, 4, 1])
    with pytest.raises(InvalidInput, match="takes 3 inputs and the domain has 2"):
        linear_regions(network, SQUARE)
    with pytest.raises(InvalidInput, match="must be a Segment, Plane, Box or Space"):
        linear_regions(network, "square")
    network = random_network([2, 4, 1])
    for options in ({"limit": 0}, {"limit": 2.5}, {"seconds": -1}, {"threads": "two"}):
        with pytest.raises(InvalidInput, match="above 0, or None"):
            linear_regions(network, SQUARE, **options)
    counted = linear_regions(network, SQUARE, count_only=True)
    with pytest.raises(InvalidInput, match="only a count was asked for"):
        counted.slope  # noqa: B018
    with pytest.raises(InvalidInput, match=r"coordinates have shape \(3,\)"):
        linear_regions(network, SQUARE).locate([1, 2, 3])
