"""Every activation of the table against torch in float64 and against its published constants."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from pellucid import InvalidInput
from pellucid.network import ACTIVATIONS, Activation, as_activation, as_activations, text_of

TORCH = {
    "identity": nn.Identity(),
    "relu": nn.ReLU(),
    "leaky_relu": nn.LeakyReLU(),
    "prelu": nn.PReLU(dtype=torch.float64),
    "hardtanh": nn.Hardtanh(),
    "abs": torch.abs,
    "sigmoid": nn.Sigmoid(),
    "tanh": nn.Tanh(),
    "elu": nn.ELU(),
    "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU(approximate="tanh"),
    "silu": nn.SiLU(),
    "softplus": nn.Softplus(threshold=40),
    "softsign": nn.Softsign(),
}
OTHER_PARAMETERS = {
    "leaky_relu": ((0.1,), nn.LeakyReLU(0.1)),
    "prelu": ((-0.5,), nn.PReLU(init=-0.5, dtype=torch.float64)),
    "hardtanh": ((0.0, 6.0), nn.ReLU6()),
    "elu": ((2.0,), nn.ELU(2.0)),
}
CASES = [(name, (), module) for name, module in TORCH.items()]
CASES += [(name, parameters, module) for name, (parameters, module) in OTHER_PARAMETERS.items()]
KINKS = [-1.0, 0.0, -0.0, 1.0, 6.0]
EXTREMES = [-1e4, -700.0, -40.0, 40.0, 700.0, 1e4]
GRID = np.concatenate([np.linspace(-12, 12, 4801), KINKS, EXTREMES])


def at(function, z, dtype=np.float64):
    """The value of a function of arrays at one number."""
    return function(np.array([z], dtype))[0]


def test_the_table_has_every_activation_under_its_own_name():
    assert list(ACTIVATIONS) == list(TORCH)
    assert all(family.name == name for name, family in ACTIVATIONS.items())
    piecewise_linear = {name for name in ACTIVATIONS if Activation(name).is_piecewise_linear}
    assert piecewise_linear == {"identity", "relu", "leaky_relu", "prelu", "hardtanh", "abs"}
    for family in ACTIVATIONS.values():
        assert len(family.parameter_names) == len(family.defaults)


@pytest.mark.parametrize(("name", "parameters", "module"), CASES)
def test_value_and_derivative_agree_with_torch(name, parameters, module):
    """Kinks included, so the derivative there is torch's own choice."""
    z = torch.tensor(GRID, requires_grad=True)
    value = module(z)
    value.sum().backward()
    sigma = Activation(name, parameters)
    np.testing.assert_allclose(sigma(GRID), value.detach().numpy(), rtol=1e-14, atol=2e-15)
    np.testing.assert_allclose(sigma.derivative(GRID), z.grad.numpy(), rtol=1e-13, atol=5e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_and_shape_are_kept_and_nothing_overflows(name, dtype):
    largest = np.finfo(dtype).max / 2
    z = np.array([[-largest, -1e4, -1.0], [0.0, 1e4, largest]], dtype)
    sigma = Activation(name)
    for result in (sigma.value(z), sigma.derivative(z)):
        assert result.dtype == dtype
        assert result.shape == z.shape
        assert np.isfinite(result).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_float32_is_close_to_float64(name):
    sigma, z = Activation(name), GRID.astype(np.float32)
    for single, double in (
        (sigma.value(z), sigma.value(z.astype(np.float64))),
        (sigma.derivative(z), sigma.derivative(z.astype(np.float64))),
    ):
        np.testing.assert_allclose(single, double, rtol=3e-6, atol=3e-7)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_derivative_is_the_slope_of_the_value(name):
    sigma, step = Activation(name), 1e-6
    z = np.random.default_rng(0).uniform(-30, 30, 1000)
    slope = (sigma(z + step) - sigma(z - step)) / (2 * step)
    np.testing.assert_allclose(sigma.derivative(z), slope, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("relu", 0),
        ("leaky_relu", 0.01),
        ("prelu", 0.25),
        ("abs", 0),
        ("elu", 1),
        ("hardtanh", 1),
        ("identity", 1),
    ],
)
def test_derivatives_at_zero(name, expected):
    assert at(Activation(name).derivative, 0.0) == expected


def test_hardtanh_has_derivative_zero_where_it_clips():
    np.testing.assert_array_equal(Activation("hardtanh").derivative(np.array([-1.0, 1.0])), 0)


@pytest.mark.parametrize(
    ("name", "argmin", "minimum"),
    [
        ("gelu", -0.7517915246935645, -0.16997120747990369),
        ("gelu_tanh", -0.7524614220710163, -0.170040750571254),
        ("silu", -1.278464542761074, -0.2784645427610738),
    ],
)
def test_minima(name, argmin, minimum):
    sigma = Activation(name)
    assert at(sigma, argmin) == pytest.approx(minimum, rel=1e-13)
    assert abs(at(sigma.derivative, argmin)) < 1e-8
    assert sigma(GRID).min() >= minimum
    assert (sigma.derivative(GRID[(argmin > GRID) & (GRID > -30)]) < 0).all()


@pytest.mark.parametrize(
    ("name", "argmax", "largest", "smallest"),
    [
        ("sigmoid", 0.0, 0.25, 0.0),
        ("tanh", 0.0, 1.0, 0.0),
        ("gelu", math.sqrt(2), 1.1289041451851547, -0.12890414518515475),
        ("gelu_tanh", 1.4185039883984263, 1.1289930686587717, -0.1289930686587717),
        ("silu", 2.3993572805154675, 1.0998393201288668, -0.09983932012886693),
    ],
)
def test_range_of_the_derivative(name, argmax, largest, smallest):
    sigma = Activation(name)
    assert at(sigma.derivative, argmax) == pytest.approx(largest, rel=1e-13)
    assert sigma.derivative(GRID).max() <= largest + 1e-15
    assert sigma.derivative(GRID).min() >= smallest - 1e-15
    if smallest:
        assert at(sigma.derivative, -argmax) == pytest.approx(smallest, rel=1e-12)


def test_gelu_keeps_its_digits_far_to_the_left():
    """The form with 1 + erf gives -0.0 in both cases."""
    gelu = Activation("gelu")
    assert at(gelu, -10.0) == pytest.approx(-7.619853024160583e-23, rel=1e-12)
    assert at(gelu, -6.0, np.float32) == pytest.approx(-5.919525870226211e-09, rel=1e-5)


def test_the_tanh_form_of_gelu_is_off_by_at_most_0_00047():
    z = np.linspace(-6, 6, 120001)
    gap = np.abs(Activation("gelu")(z) - Activation("gelu_tanh")(z))
    assert gap.max() == pytest.approx(0.0004732355206860106, rel=1e-6)
    assert abs(z[gap.argmax()]) == pytest.approx(2.69894, abs=2e-4)


def test_the_far_tail_of_the_sigmoid_is_not_zero():
    assert at(Activation("sigmoid"), -700.0) == pytest.approx(math.exp(-700), rel=1e-12)
    assert at(Activation("softplus"), -700.0) == pytest.approx(math.exp(-700), rel=1e-12)


def test_lists_and_whole_numbers_are_taken_as_float64():
    result = Activation("leaky_relu", (0.1,))([-10, 10])
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, [-1.0, 10.0])


def test_missing_parameters_take_defaults():
    assert Activation("leaky_relu") == Activation("leaky_relu", (0.01,))
    assert Activation("hardtanh", [-2]) == Activation("hardtanh", (-2.0, 1.0))
    assert Activation("elu", np.array([2.0])).parameters == (2.0,)
    assert str(Activation("leaky_relu")) == "leaky_relu"
    assert str(Activation("leaky_relu", (0.1,))) == "leaky_relu(0.1)"


def test_as_activation():
    sigma = Activation("elu", (2.0,))
    assert as_activation(sigma) is sigma
    assert as_activation("elu") == Activation("elu", (1.0,))
    assert hash(as_activation("elu")) == hash(Activation("elu"))


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("rely", (), "choose one of identity, relu"),
        ("relu", (1.0,), "it takes none"),
        ("leaky_relu", (1.0, 2.0), "it takes 1: negative_slope"),
        ("elu", (np.inf,), "finite"),
        ("hardtanh", (1.0, 1.0), "low < high"),
    ],
)
def test_wrong_activations_are_one_sentence(name, parameters, words):
    with pytest.raises(InvalidInput, match=words):
        Activation(name, parameters)


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("relu", Activation("relu")),
        (["relu", "relu"], Activation("relu")),
        (Activation("abs"), Activation("abs")),
        ("hardtanh(-2, 3), elu", (Activation("hardtanh", (-2, 3)), Activation("elu"))),
        (("tanh", Activation("abs")), (Activation("tanh"), Activation("abs"))),
        ([], ()),
    ],
)
def test_one_activation_for_all_layers_or_one_for_each(what: Any, found: Any):
    assert as_activations(what) == found
    if found:
        assert as_activations(text_of(found)) == found


def test_parameters_in_a_text_must_be_numbers():
    with pytest.raises(InvalidInput, match="numbers, as in leaky_relu"):
        as_activation("leaky_relu(steep)")
