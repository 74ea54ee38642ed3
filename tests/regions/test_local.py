"""Regions around a point, against exact subdivision and exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from region_networks import random_layers
from regions.networks import random_network

from pellucid import Box, InvalidInput, Network, linear_regions, local_regions
from pellucid.regions.chain import chain_of
from pellucid.regions.facets import Cell, one_of_each
from pellucid.regions.witness import patterns_at


def exact_bits(network, x):
    """Bits of a ReLU network at x in rational numbers; None where a unit is 0."""
    h, bits = [Fraction(float(v)) for v in x], []
    for W, b in zip(network.weights[:-1], network.biases[:-1], strict=True):
        rows = zip(W.tolist(), b.tolist(), strict=True)
        z = [sum(map(lambda w, v: Fraction(w) * v, row, h), Fraction(c)) for row, c in rows]
        bits += [None if v == 0 else v > 0 for v in z]
        h = [max(v, Fraction(0)) for v in z]
    return bits


def on_box(network, x, radius, **options):
    x = np.asarray(x, float)
    box = linear_regions(network, Box(x - radius, x + radius), threads=1)
    near = local_regions(network, x, radius=radius, **options)
    patterns = [{row.tobytes() for row in found.packed_patterns} for found in (near, box)]
    return near, box, *patterns


@pytest.mark.parametrize(
    ("widths", "activations"),
    [
        ([1, 8, 8, 1], "relu"),
        ([2, 8, 8, 1], "relu"),
        ([2, 4, 4, 4, 1], "relu"),
        ([2, 5, 4, 1], ["hardtanh", "abs"]),
        ([2, 5, 4, 2], ["leaky_relu", "relu"]),
        ([3, 6, 6, 1], "relu"),
        ([4, 5, 4, 1], "relu"),
    ],
)
def test_a_box_holds_what_subdivision_finds(widths, activations):
    network = random_network(widths, activations, seed=3)
    x = np.random.default_rng(1).normal(size=widths[0]) / 2
    near, box, found, exact = on_box(network, x, 1.0)
    assert found == exact
    assert near.complete
    assert near.certified
    assert len(near.adjacency) == len(box.adjacency)
    assert near.exhaustive_steps == near.steps.max()


@settings(max_examples=15)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["integer", "no biases", "duplicates", "generic"]),
)
def test_degenerate_networks(seed, kind):
    rng = np.random.default_rng(seed)
    W, b, _ = random_layers(rng, kind, widest=4, deepest=2)
    network = Network([*W, np.ones((1, len(W[-1])))], [*b, [0]], ["relu"] * len(W))
    near, _, found, exact = on_box(network, rng.normal(size=2) / 2, 1.0)
    assert found <= exact
    assert not near.complete or found == exact


@pytest.mark.parametrize("kind", ["wide scales", "subnormal"])
def test_numbers_of_all_sizes_never_give_a_region_that_does_not_occur(kind):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        W, b, _ = random_layers(rng, kind)
        network = Network([*W, np.ones((1, len(W[-1])))], [*b, [0]], ["relu"] * len(W))
        _, _, found, exact = on_box(network, rng.normal(size=2) / 2, 1.0)
        assert found <= exact


def test_every_pattern_is_that_of_its_point_exactly():
    network = random_network([5, 6, 6, 2], seed=0)
    near = local_regions(network, np.zeros(5), limit=60)
    assert len(near) == 60
    assert not near.complete
    for point, pattern in zip(near.points, near.patterns, strict=True):
        assert exact_bits(network, point) == pattern.tolist()
    values = np.einsum("nkd,nd->nk", near.slope, near.points) + near.intercept
    assert np.allclose(values, network(near.points))


def test_one_step_crosses_every_facet_of_the_region():
    network = random_network([3, 8, 8, 1], seed=2)
    box = linear_regions(network, Box([-20] * 3, [20] * 3))
    x = np.array([0.1, 0.2, -0.1])
    near = local_regions(network, x, steps=1)
    facets = box.facets_of(int(box.locate(x)[0]))
    assert sorted(near.crossed[1:].tolist()) == sorted(facets[facets >= 0].tolist())
    assert near.steps.tolist() == [0] + [1] * (len(near) - 1)
    assert (near.complete, near.exhaustive_steps) == (True, 1)
    graph = near.to_networkx()
    assert sorted(graph.neighbors(0)) == list(range(1, len(near)))
    assert graph.nodes[3]["steps"] == 1


def test_steps_are_the_fewest_crossings():
    import networkx

    network = random_network([2, 8, 8, 1], seed=1)
    near, box, *_ = on_box(network, [0, 0], 1.5)
    number = {row.tobytes(): i for i, row in enumerate(box.packed_patterns)}
    start = number[near.packed_patterns[0].tobytes()]
    away = networkx.single_source_shortest_path_length(box.to_networkx(), start)
    for row, steps in zip(near.packed_patterns, near.steps, strict=True):
        assert away[number[row.tobytes()]] == steps
    two = local_regions(network, [0, 0], radius=1.5, steps=2)
    assert len(two) == (near.steps <= 2).sum()
    assert two.complete


def test_many_inputs():
    network = random_network([200, 20, 10, 3], seed=0)
    x = np.random.default_rng(0).random(200)
    near = local_regions(network, x, steps=1)
    assert near.complete
    for k, (layer, unit, _) in enumerate(near.switches[near.crossed[1:]], start=1):
        flipped = np.flatnonzero(near.patterns[k] != near.patterns[0])
        assert near.switches[flipped].tolist() == [[layer, unit, 0]]
    some = local_regions(network, x, limit=100)
    assert len(some) == 100
    # in a box the same neighbours, as far as they reach into it: by linear programs
    boxed = local_regions(network, x, radius=0.05, steps=1)
    assert (boxed.distance < 0.05).all()
    assert boxed.complete
    ours = {row.tobytes() for row in near.packed_patterns}
    assert {row.tobytes() for row in boxed.packed_patterns} <= ours
    assert 1 < len(boxed) < len(near)


def test_a_start_on_a_kink_takes_a_region_beside_it():
    network = Network([np.eye(2), [[1, 1]]], [[0, 0], [0]], ["relu"])
    near = local_regions(network, [0, 0], radius=1.0)
    assert len(near) == 4
    assert "within 2 crossings and radius 1, certified" in repr(near)
    assert sorted(near.patterns.tolist()) == [[False] * 2, [False, True], [True, False], [True] * 2]
    assert sorted(near.steps.tolist()) == [0, 1, 1, 2]


def test_a_network_without_kinks_has_one_region():
    linear = Network([[[1, 2]]], [[3]])
    near = local_regions(linear, [0, 0], steps=3)
    assert (len(near), near.complete, near.adjacency.shape) == (1, True, (0, 2))
    assert near.slope.tolist() == [[[1, 2]]]
    assert repr(near) == (
        "LocalRegions(1 activation region within 0 crossings, certified, exhaustive within 3)"
    )


def test_the_result_as_a_table_and_point_by_point():
    network = random_network([2, 4, 1], seed=0)
    near = local_regions(network, [0, 0], steps=1)
    frame = near.to_frame()
    assert frame["steps"].to_list() == near.steps.tolist()
    assert frame.row(0)[3:6] == (-1, -1, -1)
    assert near[0].pattern.tolist() == near.patterns[0].tolist()
    with pytest.raises(IndexError):
        near[len(near)]


def test_seconds_end_the_search():
    network = random_network([6, 40, 40, 1], seed=0)
    near = local_regions(network, np.zeros(6), seconds=0.05)
    assert not near.complete
    assert near.certified


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "needs at least one"),
        ({"steps": 0}, "steps is 0"),
        ({"radius": -1.0}, "radius is -1.0"),
        ({"seconds": -1}, "seconds is -1"),
    ],
)
def test_bounds_that_cannot_be(options, text):
    with pytest.raises(InvalidInput, match=text):
        local_regions(random_network([2, 3, 1]), [0, 0], **options)


def test_points_that_cannot_be():
    network = random_network([2, 3, 1])
    for x in ([0], [0, np.nan], [[0, 0]], "no"):
        with pytest.raises(InvalidInput, match="needs one point of 2 finite numbers"):
            local_regions(network, x, steps=1)


# ---- signs


def test_the_filter_proves_generic_signs_and_leaves_the_others_to_whole_numbers():
    network = random_network([3, 5, 5, 1], seed=0)
    x = np.random.default_rng(0).normal(size=(50, 3))
    seen = patterns_at(chain_of(network), x)
    assert seen.proved.all()
    assert seen.by_exact == 0
    assert [exact_bits(network, p) for p in x] == seen.bits.tolist()


def test_a_sign_that_rounding_hides_is_decided_exactly():
    # 0.1 + 0.2 - 0.3 is 5.6e-17 in floats; the exact sum of the stored numbers is 2.8e-17
    network = Network([[[1, 1], [1, -1]], [[1, 1]]], [[-0.3, 5], [0]], ["relu"])
    seen = patterns_at(chain_of(network), np.array([[0.1, 0.2], [0.5, -0.2], [0.1, -0.4]]))
    assert seen.by_exact == 2
    assert seen.bits[:, 0].tolist() == [True, False, False]
    assert seen.proved.tolist() == [True, False, True]  # the second is on the kink, exactly


def test_units_that_vanish_on_a_neighbourhood_are_proved_to_be_off():
    dead = Network([[[1, 0], [0, 0]], [[1, -1]], [[1]]], [[0, 0], [0], [0]], ["relu", "relu"])
    seen = patterns_at(chain_of(dead), np.array([[-1.0, 3.0], [1.0, 3.0]]))
    assert seen.proved.all()
    assert seen.bits.tolist() == [[False] * 3, [True, False, True]]
    # x - x: the terms do not vanish, their sum does
    same = Network([[[1, 0], [1, 0]], [[1, -1]], [[1]]], [[0, 0], [0], [0]], ["relu", "relu"])
    seen = patterns_at(chain_of(same), np.array([[1.0, 3.0]]))
    assert seen.proved.all()
    assert (seen.bits.tolist(), seen.by_exact) == ([[True, True, False]], 1)


# ---- facets


def random_cell(rng, radius=np.inf):
    d, rows = int(rng.integers(1, 6)), int(rng.integers(1, 14))
    G = rng.normal(size=(rows, d))
    G /= np.linalg.norm(G, axis=1)[:, None]
    return Cell(G, rng.uniform(0.1, 1, rows), radius, np.zeros(d))


def is_facet(cell, row):
    """By a linear program of its own: how far the row can be violated while the others hold."""
    from scipy.optimize import linprog

    others = np.arange(len(cell.G)) != row
    A = -np.concatenate([cell.G[others], cell.G[row : row + 1]])
    b = np.concatenate([cell.c[others], cell.c[row : row + 1] + 1])
    found = linprog(cell.G[row], A_ub=A, b_ub=b, bounds=(-cell.radius, cell.radius))
    return found.fun + cell.c[row] < -1e-9


@pytest.mark.parametrize(
    ("radius", "ray"),
    [
        (np.inf, "_ray_by_least_squares"),
        (0.7, "_ray_by_least_squares"),
        (0.7, "_ray_by_program"),  # programs are for boxes
    ],
)
def test_facets_against_linear_programs(radius, ray, monkeypatch):
    monkeypatch.setattr(Cell, "_ray_by_least_squares", getattr(Cell, ray))
    rng = np.random.default_rng(0)
    for _ in range(15):
        cell = random_cell(rng, radius)
        truth = [is_facet(cell, row) for row in range(len(cell.G))]
        cell.shoot()
        assert all(truth[row] for row in cell.points)
        cell.project()
        assert all(truth[row] for row in cell.points)
        kept = np.ones(len(truth), bool)
        decided = {row: cell.decide(row, kept) for row in cell.open_rows.tolist()}
        assert all(truth[row] == facet for row, facet in decided.items())
        for row, point in cell.points.items():
            h = cell.heights(point)
            assert abs(h[row]) < 1e-9
            assert (np.delete(h, row) > 0).all()
            assert (np.abs(point) < radius).all()


def test_equal_hyperplanes_are_one():
    G = np.array([[1.0, 0], [0, 1], [1, 0], [0.6, 0.8], [1, 0]])
    c = np.array([1.0, 1, 1, 1, 2])
    assert one_of_each(G, c, np.zeros(2)).tolist() == [0, 1, 0, 3, 4]


def test_signs_of_tiny_weights_are_no_less_proved():
    """Scaled by a power of two every sign stays; squares of such weights are 0 in float64."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(60, 6))
    x = rng.normal(size=(40, 6))
    W[:, 0] = -(W[:, 1:] @ x[0, 1:]) / x[0, 0]  # nearly 0 at the first point
    plain = chain_of(Network([W, np.ones((1, 60))], [np.zeros(60), [0]], ["relu"]))
    tiny = chain_of(Network([W * 2.0**-540, np.ones((1, 60))], [np.zeros(60), [0]], ["relu"]))
    seen, scaled = patterns_at(plain, x), patterns_at(tiny, x)
    assert seen.by_exact > 20
    assert scaled.by_exact >= seen.by_exact
    assert (seen.bits == scaled.bits).all()
