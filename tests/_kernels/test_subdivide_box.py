"""The subdivision of a box: against known counts, the exact twin, the plane, and invariants."""

from functools import partial
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
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
from pellucid._kernels.subdivision import PIECES, regions_module, subdivide_box, subdivide_plane

COUNTS = known_counts("c_")
PLANES = known_counts("a_he_24", "a_he_8", "d_spiral_32", "g_")


def cube(d, size=1.0):
    return {"low": [-size] * d, "high": [size] * d}


def subdivide(name, **options):
    network = hidden_layers(name)
    return subdivide_box(*network, **cube(network[0][0].shape[1]), **options)


def assert_partition(regions, volume):
    """Volumes add up, patterns are distinct, vertices lie on at least d facets."""
    volumes = regions.volumes()
    d = regions.vertices.shape[1]
    assert abs(volumes.sum() - volume) <= 1e-10 * volume
    assert volumes.min() > 0
    assert len(np.unique(regions.patterns, axis=0)) == regions.n
    assert np.diff(regions.offsets).min() > d
    assert np.diff(regions.facet_offsets).min() > d
    assert np.bitwise_count(regions.tight).sum(1).min() >= d


def assert_agrees_with_forward(network, regions):
    bits, gaps = forward_bits(network, regions.interior_points())
    clear = gaps > 1e-9
    assert (bits == regions.bits())[clear].all()
    assert clear.mean() > 0.5


# --- known counts --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS)
def test_known_counts(name):
    regions = subdivide(name)
    assert regions.n == COUNTS[name]
    assert regions.certified
    assert regions.complete
    assert regions.by_exact == 0
    assert subdivide(name, count_only=True).n == COUNTS[name]
    assert_agrees_with_forward(hidden_layers(name), regions)


@pytest.mark.parametrize("name", [name for name in COUNTS if COUNTS[name] < 2000])
def test_volumes_add_up(name, isa):
    regions = subdivide(name)
    assert regions.n == COUNTS[name]
    assert_partition(regions, 2.0 ** regions.vertices.shape[1])


@pytest.mark.parametrize("name", PLANES)
def test_in_two_dimensions_the_regions_are_the_planes(name):
    network = hidden_layers(name)
    box, plane = subdivide_box(*network, **cube(2, 2.0)), subdivide_plane(*network, **cube(2, 2.0))
    assert box.n == plane.n == PLANES[name]
    assert {row.tobytes() for row in box.patterns} == {row.tobytes() for row in plane.patterns}
    areas = [
        dict(zip(map(bytes, r.patterns), a, strict=True))
        for r, a in ((box, box.volumes()), (plane, plane.areas()))
    ]
    assert all(abs(areas[0][key] - areas[1][key]) < 1e-12 for key in areas[0])
    assert (box.by_exact > 0) == name.startswith("g_")


@pytest.fixture
def games(monkeypatch):
    """Where no vertices are wanted, games tell the parts of every cell, however small."""
    kernel = regions_module()
    assert kernel is not None
    monkeypatch.setattr(kernel, "subdivide_box", partial(kernel.subdivide_box, games_from=0))


def assert_same_without_vertices(network, box, **options):
    full = subdivide_box(*network, **box, **options)
    bare = subdivide_box(*network, **box, with_vertices=False, **options)
    for name in ("patterns", "facets", "facet_offsets"):
        assert (getattr(bare, name) == getattr(full, name)).all()
    assert bare.vertices is None
    assert (bare.n, bare.undecided, bare.complete) == (full.n, full.undecided, full.complete)
    return full


@pytest.mark.parametrize("name", COUNTS)
def test_vertices_can_be_left_out(name):
    network = hidden_layers(name)
    assert_same_without_vertices(network, cube(network[0][0].shape[1]))
    assert_same_without_vertices(network, cube(network[0][0].shape[1]), limit=50, threads=2)


@pytest.mark.parametrize("kind", ["integer", "no biases", "duplicates", "wide scales", "generic"])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_vertices_of_degenerate_cells_can_be_left_out(d, kind):
    rng = np.random.default_rng(d)
    for _ in range(12):
        assert_same_without_vertices(random_layers(rng, kind, d_in=d), cube(d))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "duplicates", "wide scales", "generic"])
def test_cells_with_many_corners_are_cut_without_their_edges(kind):
    """A box of eight dimensions has 256 corners: `vertices` finds edges, the others solve games."""
    rng = np.random.default_rng(8)
    for _ in range(6):
        network = random_layers(rng, kind, d_in=8, widest=6, deepest=2)
        full = assert_same_without_vertices(network, cube(8))
        assert subdivide_box(*network, **cube(8), count_only=True).n == full.n


@pytest.mark.parametrize("kind", ["integer", "no biases", "duplicates", "wide scales", "generic"])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.usefixtures("games")
def test_games_tell_the_parts_of_small_cells_too(d, kind):
    rng = np.random.default_rng(d)
    for _ in range(12):
        network = random_layers(rng, kind, d_in=d, widest=8, deepest=2)
        full = assert_same_without_vertices(network, cube(d))
        assert subdivide_box(*network, **cube(d), count_only=True).n == full.n


def rays(angle):
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def planted_part(d, corners, seed):
    """A cell, and in its middle a part that touches none of the cell's facets.

    The cell is a product of polygons with so many corners (and of an interval where d is odd), the
    part one of triangles inside them. Also the number of parts of the cell: three lines around a
    triangle make seven, two ends of an interval three.
    """
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi / corners * np.arange(corners)
    angle = angle[np.arange(corners) % (corners // 4) > 0]  # the others are sides of the box
    W, V = [np.eye(d)], []
    for i in range(0, d - 1, 2):
        axes = np.eye(d)[i : i + 2]
        W.append(-rays(angle) @ axes)
        V.append(-rays(2 * np.pi / 3 * np.arange(3) + rng.uniform(0, 2 * np.pi)) @ axes)
    if d % 2:
        V.append(np.eye(d)[-1:] * [[1], [-1]])
    W, V = np.concatenate(W), np.concatenate(V)
    W[d:] += rng.normal(size=W[d:].shape) * 1e-3
    V += rng.normal(size=V.shape) * 1e-3
    b = np.r_[np.full(d, 2.0), np.ones(len(W) - d)]  # the first units hand on x + 2
    c = 0.2 - 2 * V.sum(1)
    network = [W, np.pad(V, ((0, 0), (0, len(W) - d)))], [b, c], [RELU] * 2
    return network, 7 ** (d // 2) * 3 ** (d % 2)


def part_in_a_ball(seed):
    """A cell of three dimensions like a ball, and a tetrahedron in its middle: 15 parts.

    Each of the forty facets is beyond one of the four planes.
    """
    i = np.arange(40) + 0.5
    height = 1 - i / 20
    around = rays(np.pi * (1 + 5**0.5) * i) * np.sqrt(1 - height**2)[:, None]
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    tetrahedron = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
    W = np.concatenate([np.eye(3), -np.column_stack([around, height])])
    V = tetrahedron @ turn + rng.normal(size=(4, 3)) * 1e-2
    b, c = np.r_[np.full(3, 2.0), np.full(40, 0.7)], 0.01 - 2 * V.sum(1)
    return ([W, np.pad(V, ((0, 0), (0, 40)))], [b, c], [RELU] * 2), 15


PLANTED = {f"{d} {c}": partial(planted_part, d, c) for d, c in ((2, 16), (3, 16), (4, 16), (6, 12))}


@pytest.mark.parametrize("planted", [*PLANTED.values(), part_in_a_ball], ids=[*PLANTED, "ball"])
@pytest.mark.usefixtures("games")
def test_a_part_that_touches_no_facet_of_its_cell_is_found(planted, isa):
    """With more than d switches a part may lie wholly within the cell, whose facets tell nothing.

    The polygons have so many corners that each side is beyond one of the lines around the middle.
    """
    for seed in range(3):
        network, parts = planted(seed)
        d = network[0][0].shape[1]
        full = assert_same_without_vertices(network, cube(d))
        assert subdivide_box(*network, **cube(d), count_only=True).n == full.n
        assert full.certified
        first = len(network[0][0])
        bits = full.bits()[full.bits()[:, :first].all(1), first:]
        assert len(bits) == parts
        (within,) = np.flatnonzero(full.bits().all(1))
        assert (full.facets_of(int(within)) >= first).all()


def test_games_that_are_too_close_to_tell_are_left_to_exact_signs():
    """One plane touches the other's trace on the box: two parts are missing, by nothing."""
    W = np.array([[1.0] * 9, [1.0] * 8 + [0.0], [1.0] * 9])
    for shift, parts in ((0.0, 3), (2.0**-52, 5), (-(2.0**-52), 4)):
        network = [W], [np.array([0.5, 1.5, 0.5 + shift])], [RELU]
        assert_same_without_vertices(network, cube(9))
        counted = subdivide_box(*network, **cube(9), count_only=True)
        assert counted.certified
        assert counted.n == parts


@pytest.mark.parametrize(("d", "units"), [(2, 14), (3, 14), (4, 12), (5, 9), (6, 8)])
@pytest.mark.parametrize("with_vertices", [True, False])
def test_all_at_once_or_one_after_the_other_the_regions_are_the_same(d, units, with_vertices):
    """A unit that is there twice makes ties; cells that it cuts are split by one unit at a time."""
    rng = np.random.default_rng(d)
    W, V = rng.normal(size=(units, d)), rng.normal(size=(4, units))
    b, c = rng.normal(size=units) / 2, rng.normal(size=4)
    options = {**cube(d), "with_vertices": with_vertices}
    once = subdivide_box([W, V], [b, c], [RELU] * 2, **options)
    twice = np.vstack([W, W[:1]]), np.pad(V, ((0, 0), (0, 1)))
    tied = subdivide_box(twice, [np.append(b, b[0]), c], [RELU] * 2, **options)
    assert once.by_exact == 0
    assert tied.by_exact > 0
    bits = tied.bits()
    assert (bits[:, units] == bits[:, 0]).all()
    kept = np.packbits(np.delete(bits, units, axis=1), axis=1, bitorder="little")
    names = np.delete(np.arange(-2 * d, bits.shape[1]), 2 * d + units)
    facets = {}
    for regions, patterns, of in (
        (once, once.patterns, {}),
        (tied, kept, {units: 0} | {k: k - 1 for k in names if k > units}),
    ):
        for i, row in enumerate(patterns):
            named = frozenset(of.get(k, k) for k in regions.facets_of(i).tolist())
            facets.setdefault(row.tobytes(), []).append(named)
    assert all(len(pair) == 2 and pair[0] == pair[1] for pair in facets.values())


@pytest.mark.parametrize(("d", "units"), [(3, 9), (4, 8), (5, 8), (7, 8), (9, 9)])
def test_hyperplanes_in_general_position(d, units):
    """All meet near the origin: sum of C(units, i) for i <= d regions."""
    rng = np.random.default_rng(d)
    network = [rng.normal(size=(units, d))], [rng.normal(size=units) * 0.01], [RELU]
    regions = subdivide_box(*network, **cube(d, 100.0), count_only=True)
    assert regions.n == sum(comb(units, i) for i in range(d + 1))


def test_more_facets_than_one_word_holds():
    """Ninety planes that touch a sphere: the cell inside has ninety facets."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(90, 3))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    network = [-W], [np.ones(90)], [RELU]
    regions = subdivide_box(*network, **cube(3, 10.0), count_only=True)
    small = subdivide_box(*network, **cube(3, 1.2))
    assert_partition(small, 2.4**3)
    assert small.tight.shape[1] > 1
    inside = small.bits().all(1)
    assert np.diff(small.facet_offsets)[inside] > 64
    assert regions.n > small.n
    assert regions.certified


# --- against the twin ----------------------------------------------------------------------------


def assert_is_twin(network, low=(-2.0, -1.5, -1.0), high=(1.25, 2.0, 1.5), **domain):
    """Same patterns, same vertices within the proved error, same facets."""
    twin = subdivide_box(*network, low, high, **domain, engine="reference")
    found = subdivide_box(*network, low, high, **domain)
    assert found.certified
    assert found.n == twin.n
    assert subdivide_box(*network, low, high, **domain, count_only=True).n == twin.n
    of_twin = {row.tobytes(): i for i, row in enumerate(twin.patterns)}
    for i, row in enumerate(found.patterns):
        j = of_twin.pop(row.tobytes())
        p, q = found.polytope(i), twin.polytope(j)
        assert len(p) == len(q)
        distances = np.abs(p[:, None] - q).max(2)
        nearest = distances.argmin(1)
        assert distances.min(1).max() <= found.vertex_error + 1e-15
        if len(set(nearest)) == len(q):  # vertices nearer than the error cannot be told apart
            names = sorted(found.facets_of(i)), sorted(twin.facets_of(j))
            assert len(names[0]) == len(names[1])
    if found.vertex_error < 1e-6:
        volume = np.prod(np.subtract(high, low))
        assert abs(found.volumes().sum() - volume) <= 1e-10 * volume
    return found


@pytest.mark.parametrize("kind", ["float32", "integer", "no biases", "duplicates", "subnormal"])
def test_random_networks_are_the_twins(kind):
    rng = np.random.default_rng(2)
    exact = 0
    for _ in range(6):
        exact += assert_is_twin(random_layers(rng, kind, d_in=3, widest=3, deepest=2)).by_exact
    assert (exact == 0) == (kind == "float32")


@settings(max_examples=25)
@given(st.data())
def test_small_integer_networks_have_the_twins_patterns(data):
    entries = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
    d, units = data.draw(st.sampled_from([(1, 4), (2, 4), (3, 3)]))
    W = data.draw(st.lists(entries, min_size=units * d, max_size=units * d))
    b = data.draw(st.lists(entries, min_size=units, max_size=units))
    name = data.draw(st.sampled_from(["relu", "abs", "hardtanh"]))
    network = [np.reshape(W, (units, d))], [np.array(b)], [PIECES[name]()]
    twin = subdivide_box(*network, **cube(d), engine="reference")
    found = subdivide_box(*network, **cube(d))
    assert found.certified
    assert {row.tobytes() for row in found.patterns} == {row.tobytes() for row in twin.patterns}
    assert found.volumes().sum() == pytest.approx(2.0**d, rel=1e-12)


def test_four_dimensions_with_ties_are_the_twins():
    W = [
        np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]]),
        np.array([[1.0, 1, -1], [0, 1, -1]]),
    ]
    assert_is_twin((W, [np.zeros(3), np.zeros(2)], [RELU] * 2), (-1.0,) * 4, (1.0,) * 4)


def test_a_box_in_a_larger_input_space():
    rng = np.random.default_rng(3)
    W = [rng.normal(size=(4, 6)), rng.normal(size=(3, 4))]
    network = W, [rng.normal(size=len(w)) for w in W], [RELU, PIECES["hardtanh"]()]
    origin, axes = rng.normal(size=6), rng.normal(size=(3, 6))
    regions = subdivide_box(*network, **cube(3), origin=origin, axes=axes)
    bits, gaps = forward_bits(network, origin + regions.interior_points() @ axes)
    assert (bits == regions.bits())[gaps > 1e-9].all()
    assert_partition(regions, 8.0)


# --- ties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("W", "b", "n"),
    [
        (np.eye(3), [0, 0, 0], 8),
        ([*np.eye(3), [1, 1, 1]], [0, 0, 0, 0], 14),  # four planes through a point
        ([*np.eye(3), [1, 1, 0]], [0, 0, 0, 0], 12),  # three of them through a line
        ([[1, 1, 1]], [3], 1),  # through a corner of the box
        ([[1, 1, 1]], [1], 2),  # through three corners
        ([[1, 1, 0]], [0], 2),  # through two edges
        ([[1, 0, 0]], [1], 1),  # along a side
        ([[1, 0, 0], [2, 0, 0], [-1, 0, 0]], [0, 0, 0], 2),  # the same plane three times
        ([[1, -1, 0], [0, 1, -1], [1, 0, -1]], [0, 0, 0], 6),  # the six orders of three numbers
        ([[0, 0, 0], [1, 0, 0]], [0, 0], 2),  # zero weights
    ],
)
def test_ties(W, b, n):
    network = [np.array(W, float)], [np.array(b, float)], [RELU]
    regions = subdivide_box(*network, **cube(3))
    assert regions.n == n
    assert regions.certified
    assert_partition(regions, 8.0)
    assert subdivide_box(*network, **cube(3), count_only=True).n == n


def test_orders_of_five_numbers():
    """x_i = x_j for all pairs: 5! cells of one volume, all through the line x_1 = ... = x_5."""
    pairs = list(combinations(range(5), 2))
    W = np.zeros((len(pairs), 5))
    for row, (i, j) in zip(W, pairs, strict=True):
        row[[i, j]] = 1, -1
    regions = subdivide_box([W], [np.zeros(len(W))], [RELU], **cube(5))
    assert regions.n == 120
    assert regions.certified
    np.testing.assert_allclose(regions.volumes(), 32 / 120, rtol=1e-12)


def test_switched_off_the_fallback_is_not_certified():
    network = [np.array([*np.eye(3), [1, 1, 1]])], [np.zeros(4)], [RELU]
    assert subdivide_box(*network, **cube(3)).by_exact > 0
    unproved = subdivide_box(*network, **cube(3), exact=False)
    assert unproved.undecided > 0
    assert not unproved.certified
    assert unproved.by_exact == 0


def test_wrong_signs_do_no_harm():
    rng = np.random.default_rng(5)
    for kind in ("integer", "no biases", "duplicates"):
        for d in (3, 4):
            for _ in range(40):
                network = random_layers(rng, kind, d_in=d)
                regions = subdivide_box(*network, **cube(d), exact=False, limit=2000)
                assert regions.n >= 1
                assert np.isfinite(regions.vertices).all()


# --- what comes out, limits, threads ------------------------------------------------------------


def test_facets_name_what_they_lie_on():
    network = hidden_layers("c_he_3in_8x8")
    regions = subdivide("c_he_3in_8x8")
    for i in range(regions.n):
        vertices, incidence = regions.polytope(i), regions.incidence(i)
        assert incidence.sum(0).min() >= 3
        for facet, on in zip(regions.facets_of(i), incidence.T, strict=True):
            if facet < 0:
                axis, upper = divmod(-1 - facet, 2)
                assert (vertices[on, axis] == (1.0 if upper else -1.0)).all()
            else:
                center = vertices[on].mean(0)
                _, gaps = forward_bits(network, center[None])
                assert gaps[0, facet] < 1e-9


def test_every_inner_facet_is_seen_from_both_sides():
    regions = subdivide("c_he_4in_8x8")
    bits = regions.bits()
    sides = {True: 0, False: 0}
    for i in range(regions.n):
        for facet in regions.facets_of(i):
            if facet >= 0:
                sides[bool(bits[i, facet])] += 1
    assert min(sides.values()) > 500


@pytest.mark.parametrize("name", ["c_he_3in_32", "c_he_4in_16x16", "c_he_5in_8x8"])
def test_threads_change_no_bit(name):
    one = subdivide(name)
    for threads in (2, 5):
        assert same_arrays(one, subdivide(name, threads=threads))
        assert subdivide(name, threads=threads, count_only=True).n == one.n


@pytest.mark.parametrize("threads", [1, 3])
def test_a_limit_ends_with_the_first_regions_and_says_so(threads):
    whole = subdivide("c_he_3in_32")
    part = subdivide("c_he_3in_32", limit=1000, threads=threads)
    assert part.n == 1000
    assert not part.complete
    assert np.array_equal(part.patterns, whole.patterns[:1000])
    assert np.array_equal(part.vertices, whole.vertices[: whole.offsets[1000]])
    assert np.array_equal(part.facets, whole.facets[: whole.facet_offsets[1000]])
    exactly = subdivide("c_he_3in_32", limit=whole.n, threads=threads)
    assert exactly.complete
    assert same_arrays(exactly, whole)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_count_that_a_limit_ends_is_never_called_complete(threads):
    """The limit falls into the middle of cells, too, of which parts have been counted."""
    for d, widths in ((2, [14, 9]), (3, [12, 8]), (4, [7, 6]), (5, [6, 5])):
        network = he_network([d, *widths])
        n = subdivide_box(*network, **cube(d), count_only=True).n
        for limit in {*range(1, n, 7), n - 1, n, n + 1}:
            part = subdivide_box(*network, **cube(d), count_only=True, limit=limit, threads=threads)
            assert (part.n, part.complete) == (min(n, limit), n <= limit)


def test_time_ends_with_what_was_found():
    network = he_network([6, 32, 32])
    part = subdivide_box(*network, **cube(6), seconds=0.05)
    assert not part.complete
    assert part.n > 0


def test_no_hidden_layers_and_layers_without_kinks():
    whole = subdivide_box([], [], [], **cube(3))
    assert (whole.n, len(whole.vertices)) == (1, 8)
    W, b, _ = he_network([3, 4, 3])
    assert subdivide_box(W, b, [PIECES["identity"]()] * 2, **cube(3)).n_switches == 0
    assert_is_twin((W, b, [PIECES["identity"](), RELU]))


def test_wrong_arguments_are_refused_in_one_sentence():
    W, b, pieces = he_network([3, 4, 3])
    with pytest.raises(InvalidInput, match="every hidden layer needs one of each"):
        subdivide_box(W, b[:1], pieces)
    with pytest.raises(InvalidInput, match="low must be below high on every axis"):
        subdivide_box(W, b, pieces, low=(0, 0, 0), high=(1, 0, 1))
    with pytest.raises(InvalidInput, match="shapes of weights"):
        subdivide_box(W, b, pieces, low=(0, 0), high=(1, 1))
    with pytest.raises(InvalidInput, match="1 to 15 dimensions"):
        subdivide_box(*he_network([16, 3]), **cube(16))
    with pytest.raises(InvalidInput, match="these arrays were not asked for"):
        subdivide_box(W, b, pieces, count_only=True).volumes()
