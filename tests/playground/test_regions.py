"""The engine's regions, counts, boundaries, segments and bounds are those of `pellucid.regions`."""

import numpy as np
import pytest
from playground.engine_process import Refused
from playground.jobs import net_of, parameters_of
from region_networks import DATA, random_layers

import pellucid
from pellucid import Box, Network, Plane, Segment, linear_regions
from pellucid._kernels.region_arrays import PIECES
from pellucid.regions.bounds import BOUNDS, arrangement, upper_bound

SQUARE = {"low": [-3, -3], "high": [3, 3]}


def compare(engine, network, low=(-3, -3), high=(3, 3), plane=None):
    """Everything that both say of the regions; returns what the engine found."""
    domain = {"low": list(low), "high": list(high)}
    if plane is None:
        place = Box(list(low), list(high))
    else:
        origin, u, v = plane
        domain["plane"] = {"origin": origin, "axes": [u, v]}
        place = Plane(origin, u, v, np.transpose([low, high]))
    wanted = linear_regions(network, place, threads=1)
    found = engine.call("regions", net_of(network), parameters_of(network), domain)
    assert found["certified"]
    assert found["complete"]
    assert found["counts"] == {
        "n_activation_regions": wanted.n_activation_regions,
        "n_linear_regions": wanted.n_linear_regions,
        "n_affine_maps": wanted.n_affine_maps,
    }
    np.testing.assert_array_equal(found["patterns"], wanted.packed_patterns.ravel())
    np.testing.assert_array_equal(found["offsets"], wanted.offsets)
    np.testing.assert_array_equal(found["edges"], wanted.facets)
    np.testing.assert_array_equal(found["linear_region"], wanted.linear_region)
    scale = np.abs(wanted.vertices).max()
    room = 1e-9 * scale + found["vertex_error"] + wanted.vertex_error
    np.testing.assert_allclose(found["vertices"].reshape(-1, 2), wanted.vertices, atol=room)
    size = np.abs(wanted.slope).max(initial=1)
    slopes = found["slopes"].reshape(wanted.slope.shape)
    np.testing.assert_allclose(slopes, wanted.slope, rtol=1e-9, atol=1e-12 * size)
    boundary = wanted.decision_boundary()
    assert len(found["boundary"]) == 4 * len(boundary)
    np.testing.assert_allclose(
        in_order(found["boundary"]), in_order(boundary.vertices), atol=1e-9 * scale
    )
    return found


def in_order(segments):
    """Segments (s, t, s, t) sorted by their middles, to compare sets of them."""
    rows = np.reshape(segments, (-1, 4))
    middles = np.round(rows[:, :2] + rows[:, 2:], 6)
    return rows[np.lexsort(middles.T)]


@pytest.mark.parametrize(
    ("widths", "activation"),
    [
        ([2, 8, 8, 8, 2], "relu"),
        ([2, 24, 2], "relu"),
        ([2, 24, 1], "relu"),
        ([2, 12, 12, 10], "relu"),
        ([2, 10, 10, 3], "leaky_relu"),
        ([2, 10, 10, 2], "abs"),
        ([2, 8, 8, 2], "hardtanh"),
        ([2, 6, 6, 2], ["relu", "identity"]),
        ([2, 3], "relu"),
    ],
)
def test_regions_of_random_networks_are_python_s(engine, widths, activation):
    network = pellucid.initialize(widths, activation=activation, scheme="torch", seed=1)
    compare(engine, network)


def test_regions_of_three_layers_of_64_are_python_s(engine):
    found = compare(engine, pellucid.initialize([2, 64, 64, 64, 2], seed=0))
    assert found["counts"]["n_activation_regions"] > 4000


@pytest.mark.parametrize("kind", ["integer", "no biases", "duplicates", "random"])
@pytest.mark.parametrize("seed", range(6))
def test_regions_of_degenerate_networks_are_python_s(engine, kind, seed):
    """Coinciding lines, lines through one point, zero weights: many regions share a map."""
    rng = np.random.default_rng([seed, len(kind)])
    W, b, pieces = random_layers(rng, kind, d_in=2)
    names = {of: name for name, of in ((n, make()) for n, make in PIECES.items())}
    W.append(rng.choice([-1.0, 0, 1, 2], (2, len(b[-1]))))
    b.append(np.zeros(2))
    arrays = ([np.float32(a) for a in part] for part in (W, b))
    compare(engine, Network(*arrays, [names[of] for of in pieces]), (-2, -2), (2, 3))


@pytest.mark.parametrize("name", sorted(p.stem for p in DATA.glob("g_*.npz"))[:6])
def test_regions_of_stored_degenerate_networks_are_python_s(engine, name):
    arrays = np.load(DATA / f"{name}.npz")
    n = sum(key.startswith("W") for key in arrays)
    W, b = ([np.float32(arrays[f"{k}{i + 1}"]) for i in range(n)] for k in "Wb")
    if W[0].shape[1] != 2:
        pytest.skip("not in the plane")
    compare(engine, Network(W, b, ["relu"] * (n - 1)))


def test_regions_on_a_plane_of_four_inputs_are_python_s(engine):
    network = pellucid.initialize([4, 10, 10, 3], seed=2)
    plane = [0.5, -1.0, 2.0, 0.25], [1.0, 0.5, 0.0, -1.0], [0.0, 1.0, 2.0, 0.5]
    compare(engine, network, (-20, -1), (30, 1), plane)


def test_regions_of_a_wide_domain_are_python_s(engine):
    compare(engine, pellucid.initialize([2, 12, 2], seed=3), (-500, -0.01), (900, 0.02))


def test_a_limit_ends_the_search_and_says_so(engine):
    network = pellucid.initialize([2, 24, 2], seed=1)
    found = engine.call("regions", net_of(network), parameters_of(network), SQUARE, {"limit": 10})
    assert (found["n"], found["complete"]) == (10, False)


def test_switches_name_the_bits(engine):
    network = pellucid.initialize([2, 3, 2, 2, 1], ["relu", "identity", "hardtanh"], seed=1)
    found = engine.call("regions", net_of(network), parameters_of(network), SQUARE)
    names = [[s["layer"], s["unit"], s["kink"]] for s in found["switches"]]
    assert names == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [2, 0, 0], [2, 0, 1], [2, 1, 0], [2, 1, 1]]


@pytest.mark.parametrize("activation", ["relu", "hardtanh", "abs"])
@pytest.mark.parametrize("d_in", [1, 3])
def test_pieces_of_a_segment_are_python_s(engine, activation, d_in):
    network = pellucid.initialize([d_in, 12, 12, 2], activation=activation, seed=5)
    a, b = [-4.3] * d_in, [3.1, 2.0, -1.0][:d_in]
    wanted = linear_regions(network, Segment(a, b), threads=1)
    found = engine.call("segment", net_of(network), parameters_of(network), a, b)
    assert found["certified"]
    assert found["n"] == wanted.n_activation_regions
    ends = wanted.vertices.reshape(-1, 2)
    np.testing.assert_allclose(found["t"], [*ends[:, 0], ends[-1, 1]], atol=1e-12)
    np.testing.assert_array_equal(found["patterns"], wanted.packed_patterns.ravel())
    np.testing.assert_allclose(found["slopes"], wanted.slope.ravel(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["intercepts"], wanted.intercept.ravel(), atol=1e-12)
    np.testing.assert_array_equal(found["at"], wanted.facets.reshape(-1, 2)[1:, 0])


@pytest.mark.parametrize(
    ("network", "domain", "sentence"),
    [
        (pellucid.initialize([2, 4, 2], activation="tanh"), SQUARE, "smooth activation"),
        (pellucid.initialize([3, 4, 2]), SQUARE, "3 inputs"),
        (pellucid.initialize([2, 4, 2]), {"low": [0, 0], "high": [0, 1]}, "low must be below"),
        (pellucid.initialize([2, 4, 2]), {"low": [0, 0], "high": [1, float("inf")]}, "finite"),
    ],
)
def test_what_has_no_regions_is_refused_in_a_sentence(engine, network, domain, sentence):
    with pytest.raises(Refused, match=sentence):
        engine.call("regions", net_of(network), parameters_of(network), domain)


def test_thousands_of_lines_within_lines_are_found(engine):
    """Four thousand nearly parallel lines: the deepest search that the limits allow."""
    n = 4000
    W = np.stack([np.ones(n), 1e-6 * np.arange(n)], axis=1).astype(np.float32)
    b = np.linspace(-2, 2, n).astype(np.float32)
    network = Network([W, np.ones((1, n), np.float32)], [b, np.zeros(1, np.float32)], ["relu"])
    found = engine.call("regions", net_of(network), parameters_of(network), SQUARE)
    assert found["certified"]
    assert found["n"] == linear_regions(network, Box([-3, -3], [3, 3])).n_activation_regions


@pytest.mark.parametrize(
    "widths",
    [[2, 8, 8, 8, 2], [2, 24, 1], [2, 64, 64, 64, 2], [3, 2, 9, 4, 1], [1, 5, 5, 1], [2, 2]],
)
def test_bounds_are_python_s(engine, widths):
    found = engine.call("bounds", widths)
    hidden = widths[1:-1]
    for name, bound in BOUNDS.items():
        assert found["bounds"][name] == bound.value(widths[0], hidden), name
    if hidden:
        assert found["arrangement"] == arrangement(hidden[0], widths[0])
    for activation in ("relu", "abs", "hardtanh"):
        network = pellucid.initialize(widths, activation=activation)
        options = {"hidden": net_of(network)["hidden"], "dimension": 2}
        assert engine.call("bounds", widths, options)["upper"] == upper_bound(network, 2)
