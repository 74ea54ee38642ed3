"""Networks from and to torch.nn.Sequential."""

import copy
import sys

import numpy as np
import pytest
import torch
from torch import nn

from pellucid import (
    Activation,
    Box,
    MissingDependency,
    Network,
    UnsupportedLayer,
    initialize,
    linear_regions,
    load,
)
from pellucid.network import ACTIVATIONS, read

X = np.random.default_rng(0).normal(scale=3, size=(40, 3))


def outputs(module, dtype=torch.float64):
    with torch.no_grad():
        return module(torch.tensor(X, dtype=dtype)).numpy()


def seeded(*modules):
    return nn.Sequential(*modules).double()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_network_and_its_module_agree_and_come_back(name, dtype):
    net = initialize([3, 5, 4, 2], name, dtype=dtype, output_activation=name)
    module = net.to_torch()
    assert type(module) is nn.Sequential
    assert {p.dtype for p in module.parameters()} == {getattr(torch, dtype)}
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(
        net(X), outputs(module, getattr(torch, dtype)), rtol=tolerance, atol=tolerance
    )
    back = load(module)
    assert back == net
    assert back.dtype == net.dtype


@pytest.mark.parametrize(
    "sigma",
    [
        Activation("leaky_relu", [0.2]),
        Activation("prelu", [0.1]),
        Activation("hardtanh", [-0.5, 2]),
        Activation("elu", [2.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parameters_of_activations_come_back(sigma, dtype):
    net = initialize([3, 5, 2], sigma, dtype=dtype)
    assert load(net.to_torch()) == net


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.ReLU6(), Activation("hardtanh", [0, 6])),
        (nn.LeakyReLU(-1.0), Activation("abs")),
        (nn.PReLU(5), Activation("prelu")),
        (nn.GELU(approximate="tanh"), Activation("gelu_tanh")),
        (nn.Identity(), Activation("identity")),
        (nn.Dropout(0.5), Activation("identity")),
        (nn.Flatten(), Activation("identity")),
    ],
    ids=repr,
)
def test_modules_and_the_activations_that_they_are(module, expected):
    model = seeded(nn.Linear(3, 5), module, nn.Linear(5, 2)).eval()
    net = load(model)
    assert net.activations == (expected,)
    np.testing.assert_allclose(net(X), outputs(model), rtol=1e-12, atol=1e-12)


def test_nested_sequentials_dropout_and_the_last_activation():
    model = seeded(
        nn.Flatten(),
        nn.Sequential(nn.Linear(3, 6), nn.Sequential(nn.Tanh(), nn.Dropout(0.3))),
        nn.Linear(6, 5, bias=False),
        nn.Linear(5, 4),
        nn.Dropout(0.1),
        nn.ReLU(),
        nn.Linear(4, 1),
        nn.Sigmoid(),
    ).eval()
    net = load(model)
    assert net.widths == (3, 6, 5, 4, 1)
    assert [str(sigma) for sigma in net.activations] == ["tanh", "identity", "relu"]
    assert str(net.output_activation) == "sigmoid"
    assert not net.biases[1].any()
    np.testing.assert_allclose(net(X), outputs(model), rtol=1e-12)


def test_one_linear_layer_is_a_network():
    linear = nn.Linear(3, 2)
    assert load(linear).widths == (3, 2)
    assert load(nn.Sequential(linear, linear.__class__(2, 1))).widths == (3, 2, 1)


def test_a_module_used_twice_is_two_layers():
    linear = nn.Linear(3, 3)
    relu = nn.ReLU()
    model = seeded(linear, relu, linear, relu)
    net = load(model)
    assert net.widths == (3, 3, 3)
    np.testing.assert_allclose(net(X), outputs(model), rtol=1e-12)


def test_parameters_are_copies_and_nothing_random_is_drawn():
    net = initialize([3, 4, 2])
    torch.manual_seed(0)
    state = torch.get_rng_state()
    module = net.to_torch()
    assert torch.equal(torch.get_rng_state(), state)
    before = net.parameters()
    with torch.no_grad():
        module[0].weight.fill_(7)
    np.testing.assert_array_equal(net.parameters(), before)
    loaded = load(module)
    with torch.no_grad():
        module[0].weight.fill_(8)
    assert loaded.weights[0][0, 0] == 7
    assert all(p.requires_grad for p in module.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32_exactly(dtype):
    linear = nn.Linear(3, 2).to(dtype)
    net = load(linear)
    assert net.dtype == np.float32
    np.testing.assert_array_equal(net.weights[0], linear.weight.detach().float().numpy())


def test_a_reparametrised_linear_is_read_by_its_weights():
    model = seeded(nn.utils.parametrizations.weight_norm(nn.Linear(3, 5)), nn.ReLU())
    np.testing.assert_allclose(load(model)(X), outputs(model), rtol=1e-12)


class OwnForward(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


class OwnModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 2)

    def forward(self, x):
        return self.hidden(x)


class Usual(nn.Module):
    """As most modules are written, with its parts in another order than its forward."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 2)
        self.drop = nn.Dropout(0.5)
        self.blocks = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh())
        self.middle = nn.Linear(4, 4)

    def forward(self, x):
        h = self.blocks(x.view(x.size(0), -1))
        h = self.drop(torch.relu(self.middle(h)))
        return self.last(h)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return x + self.inner(x)


class Hidden(nn.Module):
    """A step that no layer shows: the sign of a part of the outputs."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x).view(-1, 3)[:, [2, 1, 0]]


class OwnLinear(nn.Linear):
    def forward(self, x):
        return super().forward(x) ** 2


class OwnReLU(nn.ReLU):
    pass


def hooked():
    model = nn.Sequential(nn.Linear(3, 2))
    model[0].register_forward_hook(lambda module, x, y: 2 * y)
    return model


LINEAR = nn.Linear(3, 2)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (nn.Sequential(), "no Linear"),
        (nn.Sequential(nn.ReLU(), LINEAR), "layer 0 is ReLU, before the first Linear"),
        (nn.Sequential(LINEAR, nn.ReLU(), nn.Tanh()), "layer 2 is Tanh, right after .* relu"),
        (nn.Sequential(LINEAR, nn.Softmax(1)), "layer 1 is Softmax; .* logits .* remove"),
        (nn.Sequential(LINEAR, nn.LogSoftmax(1)), "layer 1 is LogSoftmax"),
        (
            nn.Sequential(LINEAR, nn.BatchNorm1d(2, track_running_stats=False)),
            "layer 1 is a BatchNorm1d without running statistics",
        ),
        (nn.Sequential(LINEAR, nn.Sequential(nn.LayerNorm(2))), "layer 1.0 is LayerNorm"),
        (nn.Sequential(nn.Conv2d(1, 1, 3)), "layer 0 is Conv2d"),
        (nn.Sequential(LINEAR, nn.Flatten(0)), "layer 1 is Flatten"),
        (nn.Sequential(LINEAR, nn.Softplus(beta=2)), "layer 1 is Softplus"),
        (nn.Sequential(LINEAR, nn.CELU(2.0)), "layer 1 is CELU"),
        (nn.Sequential(nn.LazyLinear(2)), "no weights yet"),
        (nn.Sequential(nn.Linear(3, 2, device="meta")), "no weights yet"),
        (OwnForward(LINEAR), "the forward of OwnForward was not read: its step mul .*onnx"),
        (nn.Sequential(OwnLinear(3, 2)), "its step pow is no layer that can be read"),
        (Residual(), "its step add adds, joins or compares several tensors"),
        (Hidden(), "do not give its outputs"),
        (hooked(), "layer 0 has hooks"),
    ],
    ids=lambda value: "" if isinstance(value, nn.Module) else value,
)
def test_what_is_no_chain_is_one_sentence(model, words):
    with pytest.raises(UnsupportedLayer, match=words) as error:
        load(model)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "model",
    [Usual(), OwnModule(), nn.Sequential(Usual(), nn.Softsign()), nn.Sequential(LINEAR, OwnReLU())],
    ids=["usual", "one layer", "inside", "subclass"],
)
def test_a_module_with_a_forward_of_its_own_is_traced(model, dtype):
    model = copy.deepcopy(model).to(dtype).eval()
    found = read(model)
    net = found.network
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(net(X), outputs(model, dtype), rtol=tolerance, atol=tolerance)
    kept = np.dtype(str(dtype).removeprefix("torch."))
    assert net.dtype == (np.float64 if found.folded else kept)


@pytest.mark.parametrize("last", [True, False])
def test_different_slopes_per_unit_are_two_relu_units_for_each(last):
    torch.manual_seed(0)
    prelu = nn.PReLU(6)
    with torch.no_grad():
        prelu.weight.copy_(torch.linspace(-0.5, 0.8, 6))
    layers = [nn.Linear(2, 6), prelu, *([] if last else [nn.Linear(6, 3)])]
    module = nn.Sequential(*layers)
    net = load(module)
    assert net.dtype == np.float64
    assert "as two relu units for each" in read(module).folded[0]
    x = np.random.default_rng(0).normal(size=(50, 2))
    with torch.no_grad():
        expected = module.double()(torch.tensor(x)).numpy()
    np.testing.assert_allclose(net(x), expected, rtol=1e-12, atol=1e-12)


def test_regions_of_a_prelu_with_a_slope_per_unit_are_those_of_its_lines():
    torch.manual_seed(1)
    prelu = nn.PReLU(8)
    with torch.no_grad():
        prelu.weight.copy_(torch.linspace(0.1, 0.8, 8))
    module = nn.Sequential(nn.Linear(2, 8), prelu, nn.Linear(8, 1))
    box = Box([-3, -3], [3, 3])
    found = linear_regions(load(module), box)
    relu = Network(
        [module[0].weight.detach().numpy(), np.ones((1, 8))],
        [module[0].bias.detach().numpy(), [0]],
        ["relu"],
    )
    assert found.certified
    assert found.n_activation_regions == linear_regions(relu, box).n_activation_regions


def test_layers_that_do_not_chain_are_refused():
    with pytest.raises(UnsupportedLayer, match=r"layer 1 takes 3 values, and what .* gives 2"):
        load(nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2)))


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match=r'pip install "pellucid\[torch\]"'):
        Network([[[1.0]]], [[0.0]]).to_torch()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_normalisation_becomes_part_of_the_layers_beside_it(dtype):
    """Before the first layer, between, behind an activation, and last."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.BatchNorm1d(3),
        nn.Linear(3, 5),
        nn.BatchNorm1d(5),
        nn.ReLU(),
        nn.BatchNorm1d(5),
        nn.Dropout(),
        nn.Linear(5, 4),
        nn.Tanh(),
        nn.BatchNorm1d(4, affine=False),
    ).to(dtype)
    for _ in range(20):
        model(3 * torch.randn(30, 3, dtype=dtype) + 1)
    found = read(model.eval())
    assert found.network.dtype == np.float64
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(
        found.network(X), outputs(model, dtype), rtol=tolerance, atol=tolerance
    )
    assert found.folded == tuple(
        f"the batch normalisation {name} is part of an affine layer" for name in (0, 2, 4, 8)
    )
