"""Affine graphs: what they compute, and the chains that they are equal to on a box."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pellucid import (
    Activation,
    AffineGraph,
    Box,
    InvalidInput,
    Network,
    Plane,
    Segment,
    Space,
    UnsupportedLayer,
    initialize,
    linear_regions,
)

WITH_PIECES = [
    "relu",
    "abs",
    "leaky_relu",
    Activation("prelu", (-0.5,)),
    "hardtanh",
    Activation("hardtanh", (0, 6)),
    Activation("hardtanh", (-3, -0.5)),
]


def skips(sigma="relu", seed=0, scale=1.0):
    """2 inputs, three layers that read all before them, and an output that reads the input."""
    rng = np.random.default_rng(seed)

    def W(*shape):
        return scale * rng.normal(size=shape)

    nodes = [
        ([(0, W(5, 2))], W(5), sigma),
        ([(1, W(3, 5))], W(3), sigma),
        ([(0, W(4, 2)), (1, W(4, 5)), (2, W(4, 3))], W(4), sigma),
        ([(3, W(2, 4)), (0, W(2, 2))], W(2), "identity"),
    ]
    return AffineGraph({"x": 2}, nodes, {"y": 4})


def exact_output(layers, x):
    """The outputs of relu layers in rational numbers."""
    h = [Fraction(v) for v in x]
    for W, b, sigma in layers:
        z = [
            sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(c))
            for row, c in zip(W.tolist(), b.tolist(), strict=True)
        ]
        h = [max(v, Fraction(0)) for v in z] if sigma.name == "relu" else z
    return h


def exact_graph_output(graph, x):
    """The same of a graph with one input and one output."""
    values = [[Fraction(v) for v in x]]
    for node in graph.nodes:
        z = [Fraction(b) for b in node.bias.tolist()]
        for j, W in node.terms:
            for i, row in enumerate(W.tolist()):
                z[i] += sum(Fraction(w) * v for w, v in zip(row, values[j], strict=True))
        relu = node.activation.name == "relu"
        values.append([max(v, Fraction(0)) for v in z] if relu else z)
    return values[graph.outputs[0][1]]


# ---- what they compute


def test_a_worked_example():
    """h = relu(x1 - x2), y = 2 h + x1, by hand."""
    graph = AffineGraph(
        {"x": 2},
        [
            ([(0, [[1.0, -1.0]])], [0.0], "relu"),
            ([(1, [[2.0]]), (0, [[1.0, 0.0]])], [0.5], "identity"),
        ],
        {"y": 2},
    )
    np.testing.assert_array_equal(graph([[3, 1], [1, 3]]), [[7.5], [1.5]])
    np.testing.assert_array_equal(graph([3, 1]), [7.5])
    run = graph.forward([[3, 1]])
    assert [z.tolist() for z in run.z] == [[[2.0]], [[7.5]]]
    assert (graph.d_in, graph.d_out, graph.widths, graph.n_parameters) == (2, 1, (2, 1, 1), 7)
    assert repr(graph) == (
        "AffineGraph(2 inputs, 2 nodes (relu, identity), 1 outputs, 7 parameters)"
    )


def test_several_inputs_and_outputs():
    graph = AffineGraph(
        {"a": 1, "b": 2},
        [([(0, [[1.0]]), (1, [[1.0, 1.0]])], None, "identity")],
        {"sum": 2, "b again": 1},
    )
    x = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(graph(x), [[6, 2, 3], [1, 0, 1]])
    np.testing.assert_array_equal(graph((x[:, :1], x[:, 1:])), graph(x))
    parts = graph.named_outputs(x)
    assert list(parts) == ["sum", "b again"]
    np.testing.assert_array_equal(parts["b again"], [[2, 3], [0, 1]])
    np.testing.assert_array_equal(graph.named_outputs(x[0])["sum"], [6])


def test_sparse_and_dense_matrices_give_the_same():
    graph = skips()
    sparse = AffineGraph(
        graph.inputs,
        [([(j, csr_array(W)) for j, W in n.terms], n.bias, n.activation) for n in graph.nodes],
        graph.outputs,
    )
    x = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(sparse(x), graph(x), rtol=1e-13)
    np.testing.assert_array_equal(
        sparse.to_network([-1, -1], [1, 1]).parameters(),
        graph.to_network([-1, -1], [1, 1]).parameters(),
    )


def test_dtypes_are_kept_and_mixtures_become_float64():
    node = ([(0, np.ones((1, 1), "f4"))], np.zeros(1, "f4"), "relu")
    single = AffineGraph({"x": 1}, [node], {"y": 1})
    assert (single.dtype, single([1.0]).dtype) == (np.float32, np.float32)
    assert single.astype("float64").dtype == np.float64
    mixed = AffineGraph({"x": 1}, [(node[0], np.zeros(1), "relu")], {"y": 1})
    assert mixed.dtype == np.float64


def test_its_arrays_cannot_be_changed():
    W = np.ones((1, 1))
    graph = AffineGraph({"x": 1}, [([(0, W)], None, "relu")], {"y": 1})
    W[:] = 5
    assert graph([1.0]) == 1
    with pytest.raises(ValueError, match="read-only"):
        graph.nodes[0].bias[0] = 1


@pytest.mark.parametrize(
    ("inputs", "nodes", "outputs", "said"),
    [
        ({"x": 1}, [], {"y": 0}, "no nodes"),
        ({}, [([(0, [[1.0]])], None, "relu")], {"y": 1}, "0 inputs"),
        ({"x": 0}, [([(0, [[1.0]])], None, "relu")], {"y": 1}, "at least 1 feature"),
        ({"x": 1}, [([(1, [[1.0]])], None, "relu")], {"y": 1}, "reads value 1"),
        ({"x": 1}, [([(0, [[1.0, 2.0]])], None, "relu")], {"y": 1}, r"it needs \(1, 1\)"),
        ({"x": 1}, [([(0, [[1.0]])], [1.0, 2.0], "relu")], {"y": 1}, "2 biases"),
        ({"x": 1}, [([(0, [[1.0]])], None, "relu")], {"y": 2}, "output 'y' is value 2"),
        ({"x": 1}, [([], None, "relu")], {"y": 1}, "no terms"),
        ({"x": 1}, [([(0, [["a"]])], None, "relu")], {"y": 1}, "must hold numbers"),
    ],
)
def test_what_does_not_fit_is_refused(inputs, nodes, outputs, said):
    with pytest.raises(InvalidInput, match=said):
        AffineGraph(inputs, nodes, outputs)


@pytest.mark.parametrize("x", [[1.0], [[1.0, 2.0, 3.0]], [["a", "b"]], [[1.0], [1.0, 2.0]]])
def test_inputs_that_do_not_fit_are_refused(x):
    with pytest.raises(InvalidInput, match="x "):
        skips()(x)


# ---- the chains that they are equal to


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_chain_comes_back_layer_for_layer(dtype):
    net = initialize([3, 5, 4, 2], "tanh", dtype=dtype, output_activation="sigmoid")
    nodes = [([(i, W)], b, sigma) for i, (W, b, sigma) in enumerate(net.layers)]
    graph = AffineGraph({"x": 3}, nodes, {"y": 3})
    assert graph.is_chain
    assert graph.to_network() == net
    assert graph.to_network().dtype == net.dtype


@pytest.mark.parametrize("sigma", WITH_PIECES, ids=str)
def test_a_chain_carries_values_exactly_on_the_box(sigma):
    graph = skips(sigma)
    low, high = np.array([-2.0, -1.0]), np.array([1.0, 3.0])
    net = graph.to_network(low, high)
    assert isinstance(net, Network)
    x = np.random.default_rng(0).uniform(low, high, size=(500, 2))
    np.testing.assert_allclose(net(x), graph(x), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_chain_is_equal_in_exact_numbers(seed, scale):
    graph = skips("relu", seed, scale)
    net = graph.to_network([-1, -1], [1, 1])
    rng = np.random.default_rng(seed)
    for x in (*rng.uniform(-1, 1, size=(3, 2)), np.array([1.0, -1.0])):
        assert exact_output(net.layers, x) == exact_graph_output(graph, x)


def test_outputs_that_share_a_chain_need_no_box():
    rng = np.random.default_rng(0)
    nodes = [
        ([(0, rng.normal(size=(5, 2)))], rng.normal(size=5), "tanh"),
        ([(1, rng.normal(size=(2, 5)))], None, "identity"),
        ([(1, rng.normal(size=(1, 5)))], None, "identity"),
    ]
    graph = AffineGraph({"x": 2}, nodes, {"mean": 2, "value": 3})
    net = graph.to_network()
    assert net.widths == (2, 5, 3)
    np.testing.assert_allclose(net([0.3, -1.0]), graph([0.3, -1.0]), rtol=1e-14)


def test_what_cannot_be_carried_is_refused():
    with pytest.raises(InvalidInput, match="give low and high"):
        skips().to_network()
    with pytest.raises(UnsupportedLayer, match="must pass a layer of tanh"):
        skips("tanh").to_network([-1, -1], [1, 1])
    with pytest.raises(UnsupportedLayer, match="no power of two"):
        skips(Activation("hardtanh", (5, 6))).to_network([-1, -1], [1, 1])


@pytest.mark.parametrize(
    ("low", "high"), [([-1], [1]), ([1, 1], [-1, -1]), ([0, np.nan], [1, 1]), (None, [1, 1])]
)
def test_boxes_that_do_not_fit_are_refused(low, high):
    with pytest.raises(InvalidInput, match="low"):
        skips().to_network(low, high)


# ---- regions


def sampled_patterns(graph, points):
    """Number of different signs of all nodes with kinks at 0."""
    run = graph.forward(points)
    signs = [
        z > 0
        for z, node in zip(run.z, graph.nodes, strict=True)
        if str(node.activation) != "identity"
    ]
    return len(np.unique(np.hstack(signs), axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_carried_values_add_no_regions(seed):
    graph = skips("relu", seed)
    box = Box([-1.5, -1], [1, 2])
    regions = linear_regions(graph, box)
    points = np.random.default_rng(0).uniform(box.low, box.high, size=(200_000, 2))
    assert regions.certified
    # sampling sees at most as many, and misses only slivers
    seen = sampled_patterns(graph, points)
    assert seen <= regions.n_activation_regions <= seen + 1
    for region in regions:
        centre = region.vertices.mean(axis=0)
        expected = region.slope @ centre + region.intercept
        np.testing.assert_allclose(graph(centre), expected, rtol=1e-9, atol=1e-9)


def test_regions_on_a_segment_and_a_plane_in_more_inputs():
    rng = np.random.default_rng(1)
    nodes = [
        ([(0, rng.normal(size=(6, 4)))], rng.normal(size=6), "relu"),
        ([(0, rng.normal(size=(2, 4))), (1, rng.normal(size=(2, 6)))], None, "abs"),
    ]
    graph = AffineGraph({"x": 4}, nodes, {"y": 2})
    ends = rng.normal(size=(2, 4))
    line = linear_regions(graph, Segment(*ends))
    points = ends[0] + np.linspace(0, 1, 100_001)[:, None] * (ends[1] - ends[0])
    assert line.n_activation_regions == sampled_patterns(graph, points)
    plane = linear_regions(graph, Plane(np.zeros(4), *np.eye(4)[:2], 2.0))
    s, t = np.meshgrid(*[np.linspace(-2, 2, 600)] * 2)
    points = np.column_stack([s.ravel(), t.ravel(), np.zeros((s.size, 2))])
    assert 0 <= plane.n_activation_regions - sampled_patterns(graph, points) <= 1


def test_the_whole_space_has_no_bound_to_carry_within():
    with pytest.raises(InvalidInput, match="a Box, Plane or Segment"):
        linear_regions(skips(), Space(2))
    with pytest.raises(InvalidInput, match="they must agree"):
        linear_regions(skips(), Box([0], [1]))
