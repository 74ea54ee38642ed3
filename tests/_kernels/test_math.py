"""The vector functions against float64, on every instruction set that this machine has."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import special

from pellucid.network import ACTIVATIONS, Activation

ULP = 2.0**-23  # of a float32 at 1
SMALLEST = 2.0**-126  # normal float32: what is below is flushed to 0


def apply(native, name, x):
    out = np.empty_like(x)
    native.float32.apply(name, x, out)
    return out


def grid(low, high, n=200_003):
    return np.linspace(low, high, n).astype(np.float32)


def both_signs_from_tiny_to(high):
    small = np.logspace(-37, math.log10(high), 100_001).astype(np.float32)
    return np.concatenate([-small, [0.0], small]).astype(np.float32)


RELATIVE = {  # function -> (float64 twin, arguments, allowed relative error in ulp)
    "exp": (np.exp, grid(-87.3, 88.0), 3),
    "expm1": (np.expm1, np.concatenate([both_signs_from_tiny_to(1), grid(-88, 88)]), 4),
    "log": (np.log, np.logspace(-37, 38, 200_003).astype(np.float32), 3),
    "log1p": (np.log1p, np.concatenate([grid(0, 1), np.float32(10.0) ** -np.arange(38)]), 3),
    "tanh": (np.tanh, both_signs_from_tiny_to(100), 4),
    "square_root": (np.sqrt, np.logspace(-30, 38.5, 200_003), 3),
    "erf": (special.erf, both_signs_from_tiny_to(100), 4),
}


@pytest.mark.parametrize("name", list(RELATIVE))
def test_relative_error_is_a_few_ulp(native, isa, name):
    exact, x, ulps = RELATIVE[name]
    x = x.astype(np.float32)
    got, expected = apply(native, name, x).astype(float), exact(x.astype(float))
    error = np.maximum(np.abs(got - expected) - SMALLEST, 0) / np.abs(expected + (expected == 0))
    assert error.max() <= ulps * ULP, (error.max() / ULP, x[error.argmax()])


def test_every_function_of_the_module_is_tested(native):
    assert set(native.FUNCTIONS) == set(RELATIVE)


def test_exp_at_its_ends(native, isa):
    x = np.array([0, -0.0, -88, -1e30, -np.inf, 200, np.inf], np.float32)
    top = float(np.exp(np.float64(88)))
    np.testing.assert_allclose(apply(native, "exp", x), [1, 1, 0, 0, 0, top, top], rtol=1e-6)


def test_square_roots_of_tiny_numbers(native, isa):
    """There Adam's epsilon decides; five digits are plenty."""
    x = np.concatenate([[0.0], np.logspace(-37.5, -30, 10_001)]).astype(np.float32)
    np.testing.assert_allclose(apply(native, "square_root", x), np.sqrt(x), rtol=6e-6)


@pytest.mark.parametrize("name", ["exp", "expm1", "log1p", "tanh", "erf"])
def test_nan_stays_nan(native, isa, name):
    assert np.isnan(apply(native, name, np.array([np.nan, -np.nan], np.float32))).all()


def activate(native, name, parameters, z):
    value, slope = np.empty_like(z), np.empty_like(z)
    a, b = (*parameters, 0.0, 0.0)[:2]
    native.float32.activate(name, a, b, z, value, slope)
    return value, slope


Z = np.concatenate(
    [grid(-30, 30, 60_001), both_signs_from_tiny_to(1e30), [0.0, -0.0, 1.0, -1.0]]
).astype(np.float32)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_activations_and_their_derivatives_over_the_whole_range(native, isa, name):
    """Errors are relative to max(|value|, |z| 1e-6, 1e-6): gelu's far tail cancels in float32."""
    activation = Activation(name)
    value, slope = activate(native, name, activation.parameters, Z)
    with np.errstate(all="ignore"):
        z = Z.astype(float)
        expected, expected_slope = activation.value(z), activation.derivative(z)
    scale = np.maximum(np.abs(expected), np.minimum(np.abs(z), 1))
    np.testing.assert_array_less(np.abs(value - expected), 6 * ULP * scale + 1e-37)
    assert np.abs(slope - expected_slope).max() < 12 * ULP


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS)))
def test_an_activation_does_not_hide_nan(native, isa, name):
    value, _ = activate(native, name, Activation(name).parameters, np.full(3, np.nan, np.float32))
    assert np.isnan(value).all()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("leaky_relu", (-0.5,)), ("prelu", (2.0,)), ("hardtanh", (0.0, 6.0)), ("elu", (0.3,))],
)
def test_other_parameters(native, isa, name, parameters):
    z = grid(-10, 10, 10_001)
    value, slope = activate(native, name, parameters, z)
    activation = Activation(name, parameters)
    np.testing.assert_allclose(value, activation.value(z.astype(float)), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(slope, activation.derivative(z.astype(float)), rtol=1e-6)


def instruction_set_under(name):
    code = "from pellucid._kernels import native_module as n; print(n().instruction_set())"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PELLUCID_ISA": name},
        capture_output=True,
        text=True,
    )


def test_the_environment_chooses_the_instruction_set(native):
    assert instruction_set_under("baseline").stdout == "baseline\n"
    assert instruction_set_under("").stdout == native.instruction_sets()[0] + "\n"


def test_an_instruction_set_that_is_not_there_is_refused():
    assert "PELLUCID_ISA is 'altivec'" in instruction_set_under("altivec").stderr
