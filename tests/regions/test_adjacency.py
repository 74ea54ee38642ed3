"""Facets pair exactly: whatever rounding hides, and whichever regions are left out."""

from fractions import Fraction

import numpy as np
import pytest
from regions.networks import DATA, random_network, stored_network

from pellucid import Box, Network, Segment, iter_linear_regions, linear_regions
from pellucid.regions.adjacency import (
    _by_single_flip,
    facet_pairs,
    owner_of_facets,
    pair_facets,
)
from pellucid.regions.exact import ExactMaps
from pellucid.regions.maps import rounding, switch_maps, switch_rounding
from pellucid.regions.merging import along

SQUARE = Box([-2, -2], [2, 2])
DOMAINS = {1: Segment([-2, -1], [2, 1.5]), 2: SQUARE, 3: Box([-2] * 3, [2] * 3)}


def cancelling(W1, b1, W3, b3, K):
    """Integer layers, to whose last is added K (0.7 r - 0.3 s): exactly 0, but not in float64."""
    d, m = len(W1[0]), len(W1)
    y = np.eye(d)[-1:]
    W = [
        np.vstack([W1, 0.1 * y, 0.7 * y]),
        np.diag([*np.ones(m), 0.3, 0.1]),
        np.hstack([W3, np.outer(2.0 ** np.arange(len(W3)), [0.7 * K, -0.3 * K])]),
        np.arange(1.0, len(W3) + 1)[None],
    ]
    return Network(W, [[*b1, 0.1 * 4, 0.7 * 4], np.zeros(m + 2), b3, [0]], ["relu"] * 3)


def random_cancelling(d, seed, K):
    rng = np.random.default_rng(seed)
    W1, W3 = rng.integers(-2, 3, (5, d)), rng.integers(-2, 3, (6, 5))
    W3[3:] = W3[:3] * [[1], [-1], [2]]  # several vanish together
    return cancelling(W1, rng.integers(-1, 2, 5), W3, np.zeros(6), K)


def integers(d, seed, activation="relu"):
    rng = np.random.default_rng(seed)
    W = [rng.integers(-2, 3, size) for size in ((6, d), (6, 6), (4, 6), (1, 4))]
    return Network(W, [rng.integers(-1, 2, len(w)) for w in W], [activation] * 3)


def doubled(d, seed):
    """Every unit of the first layer twice, half as strong."""
    net = random_network([d, 6, 5, 1], seed=seed)
    (W1, W2, W3), (b1, b2, b3) = net.weights, net.biases
    W = [np.vstack([W1, 2 * W1]), np.hstack([W2 / 2, W2 / 4]), W3]
    return Network(W, [np.append(b1, 2 * b1), b2, b3], ["relu"] * 2)


def domain_of(network):
    return DOMAINS[network.d_in]


def all_inner_facets_pair(regions):
    pairs, owner = facet_pairs(regions), owner_of_facets(regions)
    inner = np.flatnonzero(regions.facets >= 0)
    assert np.array_equal(np.sort(pairs.ravel()), inner)  # each once
    assert (regions.facets[pairs[:, 0]] == regions.facets[pairs[:, 1]]).all()
    assert (owner[pairs[:, 0]] < owner[pairs[:, 1]]).all()
    return True


def by_pattern(regions):
    rows = [row.tobytes() for row in regions.packed_patterns]
    return {frozenset((rows[i], rows[j])) for i, j in regions.adjacency}


@pytest.mark.parametrize("K", [2.0**20, 2.0**40, 2.0**50])
def test_units_that_cancel_in_exact_numbers_alone_have_their_facet(K):
    # relu(z) - relu(-z) with z = relu(x) - relu(-x) + 0: exactly x
    network = cancelling([[1, 0], [-1, 0]], [0, 0], [[1, -1], [-1, 1]], [0, 0], K)
    W = [*network.weights[:2], network.weights[2][:1] * [[1], [-1]], [[1, -1]]]
    regions = linear_regions(Network(W, network.biases, ["relu"] * 3), SQUARE)
    assert regions.certified
    assert regions.adjacency.tolist() == [[0, 1]]
    assert regions.n_linear_regions == regions.n_affine_maps == 1


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_what_cancels_exactly_changes_nothing(d, seed):
    without, hidden = (
        linear_regions(random_cancelling(d, seed, K), DOMAINS[d]) for K in (0.0, 2.0**45)
    )
    assert all_inner_facets_pair(hidden)
    assert by_pattern(hidden) == by_pattern(without)
    assert hidden.n_linear_regions == without.n_linear_regions


DEGENERATE = {
    **{f"integers {d} {seed}": integers(d, seed) for d in (2, 3) for seed in range(4)},
    **{f"doubled {d}": doubled(d, seed=d) for d in (2, 3)},
    **{f"{name}": integers(2, 9, name) for name in ("abs", "hardtanh")},
    "cancelling": random_cancelling(2, 1, 2.0**45),
    "cancelling in space": random_cancelling(3, 2, 2.0**45),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_inner_facet_of_a_degenerate_network_pairs(name):
    network = DEGENERATE[name]
    assert all_inner_facets_pair(linear_regions(network, domain_of(network)))
    if network.d_in == 2:
        assert all_inner_facets_pair(linear_regions(network, DOMAINS[1]))


@pytest.mark.parametrize("path", sorted(DATA.glob("g_*.npz")), ids=lambda path: path.stem)
def test_every_inner_facet_of_a_stored_degenerate_network_pairs(path):
    network = stored_network(path.stem)
    side = [2] * network.d_in
    assert all_inner_facets_pair(linear_regions(network, Box(np.negative(side), side)))


@pytest.mark.parametrize("name", DEGENERATE)
def test_some_of_the_regions_have_the_pairs_that_are_among_them(name):
    network = DEGENERATE[name]
    domain = domain_of(network)
    whole = linear_regions(network, domain)
    n = max(2, len(whole) // 3)
    some = linear_regions(network, domain, limit=n)
    within = whole.adjacency[(whole.adjacency < n).all(axis=1)]
    assert np.array_equal(some.adjacency, within)
    begin = 0
    for part in iter_linear_regions(network, domain, batch=7):
        pairs = whole.adjacency - begin
        within = pairs[((pairs >= 0) & (pairs < len(part))).all(axis=1)]
        assert np.array_equal(part.adjacency, within)
        begin += len(part)
    assert begin == len(whole)


# --- the numbers behind --------------------------------------------------------------------------


def exact_numbers(table):
    return [Fraction(int(a)) / Fraction(2) ** table.shift for a in table.numbers.ravel()]


def worst(computed, table):
    """The largest distance of computed numbers to the exact ones."""
    pairs = zip(computed.ravel().tolist(), exact_numbers(table), strict=True)
    return max(abs(Fraction(a) - b) for a, b in pairs)


@pytest.mark.parametrize("scale", [1.0, 2.0**-540])
def test_rounding_is_bounded_however_small_the_weights_of_a_layer(scale):
    # 0.9 * 0.1 - 0.3 * 0.3 and the like: little is left but rounding
    rows = np.array([[0.9, -0.3, 0], [-0.9, 0.3, 0], [0.7, 0, -0.1], [0, 0.7, -0.3]])
    back = scale**-0.5
    W = [np.array([[0.1, 0.1], [0.3, 0.3], [0.7, 0.7]]) * scale, rows * back, [[1, 2, 3, 4]]]
    W[2] = np.array(W[2]) * back
    b = [np.array([0.4, 1.2, 2.8]) * scale, np.zeros(4), [0]]
    regions = linear_regions(Network(W, b, ["relu"] * 2), Box([1, 1], [2, 2]))
    exact = ExactMaps(regions._chain, regions.domain)
    bound = rounding(regions._chain, regions.domain, regions._maps.norms)
    joint = np.concatenate([regions.slope, regions.intercept[:, :, None]], axis=2)
    packed = regions._get("packed_patterns")
    off = [worst(a, exact.preactivations(row)[-1]) for a, row in zip(joint, packed, strict=True)]
    assert max(off) > 1e-18
    assert all(a <= b for a, b in zip(off, bound, strict=True))


def test_rounding_of_every_layer_is_bounded():
    network = random_network([2, 7, 6, 5, 1], seed=5)
    regions = linear_regions(network, SQUARE)
    of = regions._chain, SQUARE, regions._get("packed_patterns")[::9]
    maps, bound = switch_maps(*of), switch_rounding(*of)
    assert bound.shape == maps.shape[:2]
    exact = ExactMaps(regions._chain, SQUARE)
    for i, row in enumerate(of[2]):
        Z = exact.preactivations(row)
        assert all(
            worst(maps[i, b:e], z) <= bound[i, b] for z, b, e in ((Z[0], 0, 7), (Z[1], 7, 13))
        )
    assert (np.diff(bound[:, [0, 7, 13]], axis=1) > 0).all()
    assert (bound < 1e-10).all()


def test_a_segments_exact_maps_hold_the_exact_difference():
    u = 2.0**-53
    segment = Segment([-(2**53 - 1) * u, 0], [(2**53 + 2) * u, 1])
    assert segment.rest.any()
    # relu(x - 1.5 u) - (2 + u) relu(y - 0.5), and x - 1.5 u = (2 + u) (y - 0.5) on it
    W = [[[1, 0], [0, 1], [0, 1]], [[1, -2, -u]]]
    regions = linear_regions(Network(W, [[-1.5 * u, -0.5, -0.5], [0]], ["relu"]), segment)
    assert regions.n_activation_regions == 2
    assert regions.n_linear_regions == regions.n_affine_maps == 1


@pytest.mark.parametrize("n", [3, 90, 1000])
def test_products_with_a_direction_are_bounded_for_every_number_of_entries(n):
    rng = np.random.default_rng(n)
    joint, direction = rng.normal(size=(2, n)), rng.uniform(0.5, 1, n)
    values, reach = along(joint, np.zeros(2), direction)
    u = Fraction(2) ** -53
    gamma = n * u / (1 - n * u)
    for row, value, bound in zip(joint.tolist(), values.tolist(), reach.tolist(), strict=True):
        terms = [Fraction(a) * Fraction(c) for a, c in zip(row, direction.tolist(), strict=True)]
        assert bound >= gamma * sum(map(abs, terms)) >= abs(Fraction(value) - sum(terms))


@pytest.mark.parametrize("n_switches", [1, 3, 8, 11, 64, 65, 200])
@pytest.mark.parametrize("seed", range(4))
def test_kernel_and_twin_pair_the_same_facets(n_switches, seed):
    """Random sets of patterns: some facets have no partner, some lie on sides of the domain."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (40, min(n_switches, 4)), dtype=np.uint8)
    bits = np.unique(np.pad(bits, ((0, 0), (0, n_switches - bits.shape[1])))[:, ::-1], axis=0)
    packed = np.packbits(rng.permutation(bits), axis=1, bitorder="little")
    along = [rng.permutation(np.arange(-2, n_switches))[:6] for _ in packed]
    facets = np.concatenate(along).astype(np.int32)
    offsets = np.cumsum([0, *map(len, along)])
    compiled, twin = (pair(packed, facets, offsets) for pair in (_by_single_flip, pair_facets))
    for ours, expected in zip(compiled, twin, strict=True):
        assert np.array_equal(ours, expected)
    assert len(twin[0]) + len(twin[2]) > 0


def test_a_switch_that_no_pattern_has_is_refused_by_the_kernel():
    packed, offsets = np.zeros((2, 1), np.uint8), np.array([0, 1, 2])
    with pytest.raises(ValueError, match="facets along switches of the patterns"):
        _by_single_flip(packed, np.array([0, 8], np.int32), offsets)
