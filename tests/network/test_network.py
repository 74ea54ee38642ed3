"""The network type: what it holds, what it refuses, and both passes against torch autograd."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from pellucid import Activation, InvalidInput, Network, initialize
from pellucid.likelihoods import LIKELIHOODS
from pellucid.network import ACTIVATIONS

# One flower, three hidden units and three classes, in the row notation x W + b.
FLOWER_X = [0.5, -1.0, 2.0, 1.5]
FLOWER_W1 = np.array([[1, 0, -1], [0.5, 1, 0], [0, 0.5, 1], [1, -0.5, 0.5]])
FLOWER_W2 = np.array([[1, 0, -0.5], [0.5, 1, 0], [-1, 0.5, 1]])
FLOWER = Network(
    weights=[FLOWER_W1.T, FLOWER_W2.T],
    biases=[[0.1, 0, -0.2], [0.2, -0.1, 0]],
    activations="relu",
)


def random_network(widths, activations, output_activation="identity", seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    pairs = list(itertools.pairwise(widths))
    return Network(
        [(rng.normal(size=(o, i)) / np.sqrt(i)).astype(dtype) for i, o in pairs],
        [rng.normal(size=o).astype(dtype) for _, o in pairs],
        activations,
        output_activation,
    )


# ---- the worked example


def test_flower_forward():
    run = FLOWER.forward(FLOWER_X)
    np.testing.assert_allclose(run.z[0], [[1.6, -0.75, 2.05]], atol=1e-12)
    np.testing.assert_allclose(run.h[0], [[1.6, 0, 2.05]], atol=1e-12)
    np.testing.assert_allclose(run.outputs, [[-0.25, 0.925, 1.25]], atol=1e-12)
    p = LIKELIHOODS["categorical"].predict(run.outputs)
    np.testing.assert_allclose(p, [[0.114681108, 0.371353822, 0.51396507]], atol=1e-9)


def test_flower_backward():
    step = FLOWER.backward(FLOWER_X, 1, "categorical")
    dz, da = [0.114681108, -0.628646178, 0.51396507], [-0.142301427, 0, 0.084960872]
    dW2 = [
        [0.183489773, -1.005833885, 0.822344112],
        [0, 0, 0],
        [0.235096272, -1.288724665, 1.053628393],
    ]
    dW1 = [
        [-0.071150713, 0, 0.042480436],
        [0.142301427, 0, -0.084960872],
        [-0.284602853, 0, 0.169921745],
        [-0.21345214, 0, 0.127441309],
    ]
    assert step.loss == pytest.approx(0.990599973, abs=1e-9)
    for value, expected in (
        (step.delta[1], [dz]),
        (step.delta[0], [da]),
        (step.weight_gradients[1].T, dW2),
        (step.bias_gradients[1], dz),
        (step.weight_gradients[0].T, dW1),
        (step.bias_gradients[0], da),
        (step.delta[1] @ FLOWER.weights[1], [[-0.142301427, -0.571305624, 0.084960872]]),
        (step.input_gradient, [[-0.227262299, -0.071150713, 0.084960872, -0.09982099]]),
    ):
        np.testing.assert_allclose(value, expected, atol=1e-9)


# ---- against torch


def torch_gradients(network, x, y, name, oracle):
    """Loss and gradients by autograd, through an independently written forward pass."""
    parameters = [
        torch.tensor(part, requires_grad=True)
        for pair in zip(network.weights, network.biases, strict=True)
        for part in pair
    ]
    inputs = torch.tensor(x, requires_grad=True)
    module = network.to_torch()
    with torch.no_grad():
        h = module(inputs)
    outputs = torch.func.functional_call(
        module, dict(zip(dict(module.named_parameters()), parameters, strict=True)), (inputs,)
    )
    assert torch.equal(h, outputs)
    targets = torch.tensor(y)
    loss = oracle(name, outputs, targets).mean()
    loss.backward()
    return loss.item(), [p.grad.numpy() for p in parameters], inputs.grad.numpy()


def targets_for(name, rng, n, d_out):
    head = LIKELIHOODS[name]
    columns = d_out // head.outputs_per_target
    return {
        "real": rng.normal(size=(n, columns)),
        "binary": rng.integers(0, 2, (n, columns)).astype(float),
        "count": rng.poisson(2.0, (n, columns)).astype(float),
        "label": rng.integers(0, d_out, n),
    }[head.target_kind]


WITHOUT_PARAMETERS = [name for name in ACTIVATIONS if name not in ("prelu", "abs")]
NETWORKS = {name: ([3, 5, 4, 2], (name, name)) for name in WITHOUT_PARAMETERS}
NETWORKS |= {
    "mixed": ([3, 6, 5, 4, 2], ("tanh", Activation("leaky_relu", (0.2,)), "gelu")),
    "abs and hardtanh": ([3, 6, 5, 2], ("abs", Activation("hardtanh", (-0.5, 2)))),
    "linear": ([3, 2], ()),
    "one hidden unit": ([3, 1, 2], ("silu",)),
}


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("kind", NETWORKS)
def test_gradients_agree_with_autograd(torch_oracle, kind, likelihood):
    rng = np.random.default_rng(1)
    (*widths, _), *more = NETWORKS[kind]
    d_out = max(2, LIKELIHOODS[likelihood].outputs_per_target)
    net = random_network([*widths, d_out], *more)
    x, y = rng.normal(size=(20, 3)), targets_for(likelihood, rng, 20, d_out)
    step = net.backward(x, y, likelihood)
    loss, gradients, input_gradient = torch_gradients(net, x, y, likelihood, torch_oracle)
    assert step.loss == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(step.input_gradient, input_gradient, rtol=1e-10, atol=1e-12)
    for ours, theirs in zip(step.weight_gradients, gradients[::2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    for ours, theirs in zip(step.bias_gradients, gradients[1::2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("output", ["tanh", "sigmoid", "softplus", "relu"])
def test_gradients_through_an_output_activation(torch_oracle, output):
    rng = np.random.default_rng(2)
    net = random_network([3, 5, 2], ("relu",), output)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    step = net.backward(x, y, "gaussian")
    loss, gradients, _ = torch_gradients(net, x, y, "gaussian", torch_oracle)
    assert step.loss == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(step.weight_gradients[0], gradients[0], rtol=1e-10, atol=1e-12)


def test_the_call_is_the_last_array_of_the_forward_pass():
    net = random_network([3, 5, 4, 2], ("tanh", "relu"))
    x = np.random.default_rng(0).normal(size=(7, 3))
    run = net.forward(x)
    np.testing.assert_array_equal(net(x), run.outputs)
    assert [z.shape for z in run.z] == [(7, 5), (7, 4), (7, 2)]
    assert [h.shape for h in run.h] == [(7, 5), (7, 4)]
    for (W, b, sigma), inputs, z, h in zip(
        net.layers, (run.x, *run.h), run.z, (*run.h, run.outputs), strict=True
    ):
        np.testing.assert_array_equal(z, inputs @ W.T + b)
        np.testing.assert_array_equal(h, sigma(z))


def test_a_single_input_gives_a_single_output():
    net = random_network([3, 5, 2], ("relu",))
    assert net([1, 2, 3]).shape == (2,)
    np.testing.assert_allclose(net([1, 2, 3]), net([[1, 2, 3]])[0])
    assert net(np.zeros((0, 3))).shape == (0, 2)


def test_a_relu_network_can_print_minus_zero_only_as_a_number_equal_to_zero():
    assert FLOWER.backward(FLOWER_X, 1, "categorical").delta[0][0, 1] == 0


# ---- what it holds


@pytest.mark.parametrize(
    ("widths", "count"),
    [
        ([4, 8, 3], 67),
        ([2, 4, 2], 22),
        ([2, 16, 2], 82),
        ([2, 64, 2], 322),
        ([2, 8, 8, 8, 2], 186),
        ([7, 12, 5], 161),
        ([3, 5, 1], 26),
        ([4, 3, 3], 27),
        ([10, 20, 4], 304),
        ([5, 2], 12),
    ],
)
def test_parameter_counts(widths, count):
    net = initialize(widths)
    assert net.n_parameters == count == len(net.parameters())
    assert net.widths == tuple(widths)
    assert (net.d_in, net.hidden, net.d_out) == (widths[0], tuple(widths[1:-1]), widths[-1])


def test_parameters_come_layer_by_layer_weights_by_rows():
    net = Network([[[1, 2], [3, 4]], [[5, 6]]], [[7, 8], [9]], "relu")
    np.testing.assert_array_equal(net.parameters(), [1, 2, 3, 4, 7, 8, 5, 6, 9])
    assert net.with_parameters(net.parameters()) == net
    assert net.with_parameters(np.arange(9)).biases[1][0] == 8
    with pytest.raises(InvalidInput, match=r"needs \(9,\)"):
        net.with_parameters([1.0, 2.0])


def test_arrays_are_copies_that_cannot_be_written():
    W = np.ones((2, 3))
    net = Network([W], [np.zeros(2)])
    W[0, 0] = 5
    assert net.weights[0][0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        net.weights[0][0, 0] = 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        net.weights = ()
    net.parameters()[0] = 3  # the flat array is the caller's own


@pytest.mark.parametrize(
    ("weights", "biases", "expected"),
    [
        (np.float32, np.float32, np.float32),
        (np.float64, np.float64, np.float64),
        (np.float32, np.float64, np.float64),
        (np.int32, np.int32, np.float64),
        (np.float16, np.float16, np.float64),
    ],
)
def test_dtype_is_kept_and_mixtures_become_float64(weights, biases, expected):
    net = Network([np.ones((2, 3), weights)], [np.zeros(2, biases)])
    assert net.dtype == expected
    assert net(np.ones(3)).dtype == expected
    assert net.astype("float32").dtype == np.float32


def test_equality_and_hash():
    net = random_network([2, 3, 2], ("relu",))
    same = Network(net.weights, net.biases, [Activation("relu")])
    assert net == same
    assert hash(net) == hash(same)
    assert net != Network(net.weights, net.biases, ["tanh"])
    assert net != Network(net.weights, net.biases, ["relu"], "sigmoid")
    assert net != net.with_parameters(net.parameters() + 1)
    assert net != "network"
    assert net != random_network([2, 3, 1], ("relu",))


@pytest.mark.parametrize(
    ("net", "text"),
    [
        (initialize([2, 64, 2]), "Network(2-64-2, relu, 322 parameters, float32)"),
        (initialize([5, 2]), "Network(5-2, linear, 12 parameters, float32)"),
        (
            random_network([2, 3, 4, 1], ["tanh", Activation("elu", (2,))], "sigmoid"),
            "Network(2-3-4-1, tanh elu(2), sigmoid output, 30 parameters, float64)",
        ),
    ],
)
def test_repr(net, text):
    assert repr(net) == text


def test_layers_unpack():
    net = random_network([2, 3, 4, 1], ["tanh", "relu"])
    assert [sigma.name for _, _, sigma in net.layers] == ["tanh", "relu", "identity"]
    assert [W.shape for W, _, _ in net.hidden_layers] == [(3, 2), (4, 3)]


def test_replacing_a_field_checks_again():
    net = random_network([2, 3, 1], ["relu"])
    assert dataclasses.replace(net, activations="tanh").activations == (Activation("tanh"),)
    with pytest.raises(InvalidInput):
        dataclasses.replace(net, activations=())


@pytest.mark.parametrize(
    ("weights", "biases", "activations", "words"),
    [
        ([], [], (), "at least one layer"),
        ([np.ones((2, 3))], [], (), "1 weights and 0 biases"),
        ([np.ones((2, 3))], [np.ones(2)], ("relu",), "0 hidden ones"),
        ([np.ones((2, 3)), np.ones((1, 2))], [np.ones(2), np.ones(1)], (), "1 hidden ones"),
        ([np.ones((2, 3))], [np.ones(3)], (), "one bias per row"),
        ([np.ones((2, 3)), np.ones((2, 1))], [np.ones(2), np.ones(2)], ("relu",), "transpose"),
        ([np.ones(3)], [np.ones(3)], (), r"weights\[0\] has shape \(3,\)"),
        ([np.ones((2, 3))], [np.ones((2, 1))], (), r"biases\[0\]"),
        ([np.ones((0, 3))], [np.ones(0)], (), r"\(0, 3\)"),
        ([np.ones((2, 3), complex)], [np.ones(2)], (), "complex128"),
        ([np.ones((2, 3), bool)], [np.ones(2)], (), "bool"),
        ([np.array([["a", "b"]])], [np.ones(1)], (), "real numbers"),
        ([[[1, 2], [3]]], [np.ones(2)], (), "unequal"),
        ([np.ones((2, 3)), np.ones((1, 2))], [np.ones(2), np.ones(1)], "rely", "no activation"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(weights, biases, activations, words):
    with pytest.raises(InvalidInput, match=words) as error:
        Network(weights, biases, activations)
    assert str(error.value).endswith(".")


def test_infinite_parameters_are_kept():
    assert np.isnan(Network([[[np.nan]]], [[np.inf]]).weights[0][0, 0])


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.ones((5, 2)), r"shape \(5, 2\); this network takes 3 inputs"),
        (np.ones(2), r"\(n, 3\) or \(3,\)"),
        (np.ones((1, 2, 3)), "takes 3 inputs"),
        (np.array(1.0), "takes 3 inputs"),
        ([["a", "b", "c"]], "numbers"),
    ],
)
def test_wrong_inputs_are_one_sentence(x, words):
    net = random_network([3, 2], ())
    for call in (net, net.forward):
        with pytest.raises(InvalidInput, match=words):
            call(x)


def test_a_column_for_a_one_input_network_gets_a_hint():
    with pytest.raises(InvalidInput, match=r"x\[:, None\]"):
        random_network([1, 2], ())([1.0, 2.0])


def test_rows_and_targets_must_agree():
    with pytest.raises(InvalidInput, match="3 rows and y has 2"):
        random_network([3, 2], ()).backward(np.ones((3, 3)), [0, 1], "categorical")


def test_no_biases_are_zeros():
    W1, W2 = np.ones((3, 2), np.float32), np.ones((1, 3), np.float32)
    net = Network([W1, W2], None, "relu")
    assert net == Network([W1, W2], [np.zeros(3, np.float32), np.zeros(1, np.float32)], "relu")
    assert net.dtype == np.float32
    assert net([1, 2]).tolist() == [9]
    with pytest.raises(InvalidInput, match="0 weights"):
        Network([], None)
