"""What is written as ONNX comes back, and onnxruntime computes the same of it."""

import numpy as np
import onnx
import pytest
from onnx_models import run
from scipy.sparse import csr_array

from pellucid import Activation, AffineGraph, Network, UnsupportedLayer, initialize
from pellucid.network import ACTIVATIONS
from pellucid.network.formats.onnx import looks_like, read, to_bytes, write

RNG = np.random.default_rng(0)
NAMES = [
    *ACTIVATIONS,
    Activation("leaky_relu", (0.3,)),
    Activation("leaky_relu", (-1.5,)),
    Activation("prelu", (0.1,)),
    Activation("hardtanh", (0, 6)),
    Activation("elu", (0.3,)),
]


def networks(dtype):
    return [initialize([3, 5, 4, 2], s, dtype=dtype, output_activation=s, seed=1) for s in NAMES]


def back(network, folder):
    path = folder / "net.onnx"
    write(network, path)
    onnx.checker.check_model(str(path), full_check=True)
    return read(path).network


@pytest.mark.parametrize("net", networks("float32"), ids=str)
def test_float32_comes_back_bit_for_bit(net, tmp_path):
    again = back(net, tmp_path)
    assert again == net
    assert again.parameters().tobytes() == net.parameters().tobytes()
    x = RNG.normal(scale=3, size=(20, 3)).astype("f4")
    computed = run(onnx.load(tmp_path / "net.onnx"), x)[0]
    np.testing.assert_allclose(computed, net(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("net", networks("float64"), ids=str)
def test_float64_comes_back_as_the_same_function(net, tmp_path):
    again = back(net, tmp_path)
    assert again.dtype == np.float64
    assert again.parameters().tobytes() == net.parameters().tobytes()
    x = RNG.normal(scale=3, size=(20, 3))
    np.testing.assert_allclose(again(x), net(x), rtol=1e-14, atol=1e-15)
    computed = run(onnx.load(tmp_path / "net.onnx"), x)[0]
    # onnxruntime has no gelu and elu of float64, and onnx's own have constants of few digits
    rounded = net.output_activation.name in ("gelu", "gelu_tanh", "elu")
    np.testing.assert_allclose(computed, net(x), rtol=1e-6 if rounded else 1e-12, atol=1e-13)


def test_a_slope_of_many_digits_is_exact_in_float64(tmp_path):
    net = initialize([2, 3, 1], Activation("leaky_relu", (1 / 3,)), dtype="float64")
    assert back(net, tmp_path) == net


def graph(dtype="f4"):
    """Two inputs, a skip, a sparse matrix and two outputs."""

    def W(*shape):
        return RNG.normal(size=shape).astype(dtype)

    sparse = csr_array(W(4, 4) * (RNG.random((4, 4)) < 0.2)).astype(dtype)
    nodes = [
        ([(0, W(4, 2)), (1, W(4, 3))], W(4), "relu"),
        ([(2, W(4, 4)), (0, W(4, 2))], W(4), "tanh"),
        ([(3, sparse), (2, W(4, 4))], W(4), "identity"),
    ]
    return AffineGraph({"a": 2, "b": 3}, nodes, {"first": 3, "second": 4})


def dense(W):
    return W if isinstance(W, np.ndarray) else W.toarray()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_graph_comes_back(dtype, tmp_path):
    before = graph(dtype)
    after = back(before, tmp_path)
    assert isinstance(after, AffineGraph)
    assert (after.inputs, after.dtype) == (before.inputs, before.dtype)
    assert [name for name, _ in after.outputs] == ["first", "second"]
    a, b = RNG.normal(size=(6, 2)).astype(dtype), RNG.normal(size=(6, 3)).astype(dtype)
    # a sparse matrix comes back dense, whose products are summed in another order
    few = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(after((a, b)), before((a, b)), rtol=few, atol=4 * few)
    computed = np.hstack(run(onnx.load(tmp_path / "net.onnx"), a, b))
    np.testing.assert_allclose(computed, before((a, b)), rtol=1e-5, atol=1e-6)
    for old, new in zip(before.nodes, after.nodes, strict=True):
        assert old.bias.tobytes() == new.bias.tobytes()
        assert old.sources == new.sources
        for (_, W), (_, V) in zip(old.terms, new.terms, strict=True):
            assert dense(W).tobytes() == dense(V).tobytes()


def test_one_output_of_several_can_be_picked(tmp_path):
    from pellucid.network.formats.loaded import Options

    path = tmp_path / "net.onnx"
    before = graph()
    write(before, path)
    first = read(path, Options(output="first")).network
    x = RNG.normal(size=(5, 5)).astype("f4")
    np.testing.assert_array_equal(first(x), before.named_outputs(x)["first"])
    assert first.n_parameters < before.n_parameters
    with pytest.raises(ValueError, match="has the outputs first, second"):
        read(path, Options(output="third"))


def test_equal_networks_give_equal_bytes_and_look_like_a_model():
    net = initialize([2, 3, 1], seed=0)
    assert to_bytes(net) == to_bytes(initialize([2, 3, 1], seed=0))
    assert looks_like(to_bytes(net))


def test_a_network_without_hidden_layers(tmp_path):
    net = Network([[[1.0, 2.0]]], [[3.0]])
    assert back(net, tmp_path) == net


def test_what_is_larger_than_a_file_is_refused():
    n = 2**14
    wide = csr_array(([1.0], ([0], [0])), shape=(n, n))
    large = AffineGraph({"x": n}, [([(0, wide)], None, "relu")], {"y": 1})
    with pytest.raises(UnsupportedLayer, match="more than an ONNX file holds"):
        to_bytes(large)
