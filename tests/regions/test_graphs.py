"""Graphs in `explain`, `local_regions`, `function_distance` and `count_along`."""

from itertools import pairwise

import numpy as np
import pytest

from pellucid import (
    Activation,
    AffineGraph,
    Box,
    InvalidInput,
    Network,
    Segment,
    UnsupportedLayer,
    count_along,
    explain,
    function_distance,
    iter_linear_regions,
    linear_regions,
    linear_regions_along,
    local_regions,
    sample_patterns,
)

SIGMAS = ["relu", "abs", Activation("leaky_relu", (0.2,)), Activation("hardtanh", (-0.7, 1.1))]


def residual(seed=0, sigma="relu", d=2):
    """Two inputs, two layers that read all before them, and an output that reads everything."""
    rng = np.random.default_rng(seed)

    def W(*shape):
        return rng.normal(size=shape)

    nodes = [
        ([(0, W(5, d))], W(5), sigma),
        ([(1, W(4, 5)), (0, W(4, d))], W(4), "relu"),
        ([(1, W(2, 5)), (2, W(2, 4)), (0, W(2, d))], W(2), "identity"),
    ]
    return AffineGraph({"x": d}, nodes, {"y": 3})


def several():
    """Two inputs of their own, two outputs, one of them bent, and one that is read again."""
    rng = np.random.default_rng(3)

    def W(*shape):
        return rng.normal(size=shape)

    nodes = [
        ([(0, W(3, 2)), (1, W(3, 1))], W(3), "relu"),
        ([(2, W(4, 3)), (1, W(4, 1))], W(4), "hardtanh"),
        ([(3, W(2, 4)), (0, W(2, 2))], W(2), "relu"),
    ]
    return AffineGraph({"a": 2, "b": 1}, nodes, {"y": 4, "h": 2})


def bits_at(graph, x):
    """The switches of a graph by its forward pass, nodes in order."""
    run, found = graph.forward(x), []
    for node, z in zip(graph.nodes, run.z, strict=True):
        name, parameters = node.activation.name, node.activation.parameters
        kinks = {"identity": (), "hardtanh": parameters}.get(name, (0.0,))
        found.append((z[0][:, None] > np.array(kinks)).ravel())
    return np.concatenate(found)


GRAPHS = [residual(seed, sigma) for seed, sigma in enumerate(SIGMAS)] + [several()]


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_map_at_a_point_is_that_of_the_graph_around_it(graph):
    rng = np.random.default_rng(7)
    for x in rng.normal(size=(20, graph.d_in)):
        at = explain(graph, x)
        np.testing.assert_array_equal(at.pattern, bits_at(graph, x))
        np.testing.assert_allclose(at.outputs, graph(x), rtol=1e-12, atol=1e-12)
        near = x + 0.9 * at.kink_distance * _directions(rng, 30, graph.d_in)
        np.testing.assert_allclose(
            near @ at.slope.T + at.intercept, graph(near), rtol=1e-9, atol=1e-9
        )
        assert all((bits_at(graph, y) == at.pattern).all() for y in near)
        assert len(at.switches) == len(at.pattern)
        assert [len(active) for active in at.active] == [node.width for node in graph.nodes]


def _directions(rng, n, d):
    v = rng.normal(size=(n, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def test_the_nearest_kink_is_that_of_a_node():
    graph = AffineGraph(
        {"x": 2},
        [
            ([(0, [[1.0, 0.0]])], [-3.0], "relu"),
            ([(0, [[0.0, 1.0]]), (1, [[1.0]])], [0.5], "relu"),
            ([(1, [[1.0]]), (2, [[1.0]])], [0.0], "identity"),
        ],
        {"y": 3},
    )
    at = explain(graph, [1.0, 0.25])
    assert at.nearest_kink == (1, 0, 0)
    assert at.kink_distance == 0.75
    assert at.kink_along.tolist() == [[np.inf, 2.0], [0.75, np.inf]]
    assert at.switches.tolist() == [[0, 0, 0], [1, 0, 0]]


def test_a_tie_of_a_graph_is_inactive():
    graph = AffineGraph(
        {"x": 1},
        [([(0, [[3.0]])], [-1.0], "relu"), ([(1, [[1.0]]), (0, [[1.0]])], [0.0], "identity")],
        {"y": 2},
    )
    third = 1 / 3  # below a third: 3 x < 1
    assert explain(graph, [third]).pattern.tolist() == [False]
    assert explain(graph, [np.nextafter(third, 1)]).pattern.tolist() == [True]


@pytest.mark.parametrize("graph", GRAPHS)
def test_regions_around_a_point_are_those_of_the_box(graph):
    x = np.full(graph.d_in, 0.1)
    around = local_regions(graph, x, radius=0.6)
    whole = linear_regions(graph, Box(x - 0.6, x + 0.6))
    assert around.complete
    assert len(around) == len(whole)
    assert around.graph is graph
    at = around[0]
    np.testing.assert_array_equal(at.pattern, bits_at(graph, around.points[0]))


def test_a_graph_needs_a_radius_unless_it_is_a_chain():
    with pytest.raises(InvalidInput, match="no radius; give one"):
        local_regions(residual(), [0.0, 0.0], steps=1)
    chain = AffineGraph(
        {"x": 2},
        [([(0, np.eye(2))], None, "relu"), ([(1, [[1.0, 1.0]])], None, "identity")],
        {"y": 2},
    )
    assert len(local_regions(chain, [0.5, 0.5], steps=2)) == 4


def test_the_distance_of_a_graph_and_its_chain_is_nothing():
    graph, box = residual(), Box([-1, -1], [1, 1])
    chain = graph.to_network(box.low, box.high)
    rng = np.random.default_rng(0)
    for norm in (1, 2, "inf"):
        assert function_distance(graph, chain, box, norm) < 1e-9
    node = graph.nodes[-1]
    moved = AffineGraph(
        graph.inputs,
        [*graph.nodes[:-1], (node.terms, node.bias + np.array([0.5, 0]), "identity")],
        {"y": 3},
    )
    assert function_distance(graph, moved, box, 1) == pytest.approx(0.5 * box.volume)
    assert function_distance(graph, moved, Segment([0, 0], [3, 4]), "inf") == pytest.approx(0.5)
    plain = Network([rng.normal(size=(2, 2))], None, [])
    x = np.array([[0.3, -0.4]])
    assert function_distance(graph, plain, box, "inf") >= np.abs(graph(x) - plain(x)).max()


def test_pieces_along_a_path_and_batches_are_those_of_the_graph():
    graph = residual(2)
    points = np.array([[-2.0, 1.0], [1.0, 1.5], [0.5, -2.0]])
    path = count_along(graph, points)
    legs = [linear_regions(graph, Segment(a, b)) for a, b in pairwise(points)]
    total = sum(leg.n_activation_regions for leg in legs)
    assert total - 1 <= path.n_activation_pieces <= total
    box = Box([-2, -2], [2, 2])
    whole = linear_regions(graph, box)
    parts = list(iter_linear_regions(graph, box, batch=5))
    assert sum(len(part) for part in parts) == len(whole)
    counts = linear_regions_along([graph, graph.to_network(*box.bounding_box)], box)
    assert counts.n_activation_regions.tolist() == [len(whole)] * 2


def test_patterns_of_a_graph_are_sampled_with_bits_of_its_own():
    graph, box = residual(1, "abs"), Box([-1, -1], [1, 1])
    seen = sample_patterns(graph, box, n=2000)
    assert seen.n_bits == 9  # 5 of abs, 4 of relu
    assert seen.n_seen <= linear_regions(graph, box).n_activation_regions
    np.testing.assert_array_equal(seen.patterns[0], bits_at(graph, seen.points[0]))
    nodes = [([(0, [[1.0]])], None, "tanh"), ([(1, [[1.0]])], None, "sigmoid")]
    smooth = AffineGraph({"x": 1}, nodes, {"y": 2})
    assert sample_patterns(smooth, Box(-1, 1)).n_bits == 1  # the output has none


def test_what_is_outside_is_refused_by_name():
    smooth = AffineGraph(
        {"x": 1},
        [([(0, [[1.0]])], None, "tanh"), ([(0, [[1.0]]), (1, [[1.0]])], None, "identity")],
        {"y": 2},
    )
    for ask in (
        lambda: explain(smooth, [0.0]),
        lambda: linear_regions(smooth, Box(-1, 1)),
        lambda: local_regions(smooth, [0.0], radius=1),
        lambda: function_distance(smooth, smooth, Box(-1, 1)),
        lambda: count_along(smooth, [[0.0], [1.0]]),
    ):
        with pytest.raises(UnsupportedLayer, match="node 0 of 2 has the activation tanh"):
            ask()
    infinite = AffineGraph(
        {"x": 1},
        [([(0, [[np.inf]])], None, "relu"), ([(0, [[1.0]]), (1, [[1.0]])], None, "identity")],
        {"y": 2},
    )
    with pytest.raises(InvalidInput, match="node 0 has weights or biases that are not finite"):
        explain(infinite, [0.0])
