"""The vector functions against a wider type, in float32 and float64, on every instruction set."""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from pellucid._kernels.checks import DTYPES
from pellucid.likelihoods import special
from pellucid.network import ACTIVATIONS, Activation


def of_type(native, dtype):
    """The part of the compiled module for one number type."""
    return getattr(native, np.dtype(dtype).name)


def apply(native, name, x):
    out = np.empty_like(x)
    of_type(native, x.dtype).apply(name, x, out)
    return out


def ulp(dtype):
    """The distance from 1 to the next number."""
    return float(np.finfo(dtype).eps)


def smallest(dtype):
    """The smallest normal number: what is below is flushed to 0."""
    return float(np.finfo(dtype).smallest_normal)


def both_signs_from_tiny_to(high, dtype):
    tiny = math.log10(smallest(dtype)) + 1
    small = np.logspace(tiny, math.log10(high), 100_001)
    return np.concatenate([-small, [0.0], small])


def wider(function):
    """A NumPy function evaluated in the widest type that the machine has."""
    return lambda x: function(x.astype(np.longdouble))


def wider_erf(x):
    """erf(a) = 2 / sqrt(pi) e^(-a^2) (a + 2 a^3 / 3 + 4 a^5 / 15 + ...), all terms above 0."""
    a = np.minimum(np.abs(x.astype(np.longdouble)), 7)
    term = total = a
    for k in range(1, 250):
        term = term * (2 * a * a / (2 * k + 1))
        total = total + term
    pi = 4 * np.arctan(np.longdouble(1))
    return np.copysign(2 / np.sqrt(pi) * np.exp(-a * a) * total, x)


@dataclass(frozen=True)
class Case:
    """A function, where to try it (a function of the type), and the error allowed, in ulp."""

    exact: Any
    x: Any
    ulps: float


def exp_range(dtype):
    """Where e^x is a normal number: float32's end and float64's."""
    return (-87.3, 88.0) if dtype == "float32" else (-708.3, 709.0)


def powers_of_ten(dtype):
    highest = math.log10(float(np.finfo(dtype).max)) - 0.1
    return np.logspace(-highest + 1, highest, 200_003)


RELATIVE = {
    "exp": Case(wider(np.exp), lambda t: np.linspace(*exp_range(t), 200_003), 3),
    "expm1": Case(
        wider(np.expm1),
        lambda t: np.r_[both_signs_from_tiny_to(1, t), np.linspace(*exp_range(t), 200_003)],
        4,
    ),
    "log": Case(wider(np.log), lambda t: np.r_[powers_of_ten(t), np.linspace(0.5, 2, 100_001)], 3),
    "log1p": Case(
        wider(np.log1p),
        lambda t: np.r_[np.linspace(0, 1, 200_003), 10.0 ** -np.arange(37)],
        3,
    ),
    "tanh": Case(
        wider(np.tanh),
        lambda t: np.r_[both_signs_from_tiny_to(100, t), np.linspace(-3, 3, 100_001)],
        4,
    ),
    "square_root": Case(wider(np.sqrt), lambda t: np.logspace(-30, 38.5, 200_003), 3),
    "erf": Case(
        wider_erf,
        lambda t: np.r_[both_signs_from_tiny_to(100, t)[::20], np.linspace(-7, 7, 60_001)],
        4,
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(RELATIVE))
def test_relative_error_is_a_few_ulp(native, isa, name, dtype):
    case = RELATIVE[name]
    x = case.x(dtype).astype(dtype)
    got, expected = apply(native, name, x).astype(np.longdouble), case.exact(x)
    error = np.maximum(np.abs(got - expected) - smallest(dtype), 0)
    error = error / np.abs(expected + (expected == 0)) / ulp(dtype)
    worst = error.argmax()
    assert error[worst] <= case.ulps, (error[worst], x[worst])


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_of_the_smallest_and_the_largest_number(native, isa, dtype):
    x = np.array([smallest(dtype), np.finfo(dtype).max], dtype)
    np.testing.assert_allclose(apply(native, "log", x), np.log(x), rtol=3 * ulp(dtype))


GAMMA = {
    "binet": lambda x: mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2,
    "binet_slope": lambda x: mp.digamma(x) - mp.log(x) + 1 / (2 * x),
    "half_step": lambda x: mp.loggamma(x + 0.5) - mp.loggamma(x) - mp.log(x) / 2,
    "half_step_slope": lambda x: mp.digamma(x + 0.5) - mp.digamma(x) - 1 / (2 * x),
}


@cache
def exact_gamma(name, dtype):
    """Arguments from e^-30 to e^30, and the function there to 60 digits."""
    x = np.exp(np.linspace(-30, 30, 601)).astype(dtype)
    with mp.workdps(60):
        return x, np.array([float(GAMMA[name](mp.mpf(float(each)))) for each in x])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(GAMMA))
def test_what_is_left_of_gamma_functions(native, isa, name, dtype):
    """A few ulp of the number, and below 10 of the sums that the shift takes it from."""
    x, expected = exact_gamma(name, dtype)
    for got in (apply(native, name, x), getattr(special, name)(x)):
        assert got.dtype == dtype
        error = np.abs(got - expected) / ulp(dtype)
        size = np.abs(expected) + np.where(x < 10, 8, 0)
        worst = (error / size).argmax()
        assert error[worst] <= 8 * size[worst], (error[worst], x[worst])


def test_every_function_of_the_module_is_tested(native):
    assert set(native.FUNCTIONS) == {*RELATIVE, *GAMMA}


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_at_its_ends(native, isa, dtype):
    end = exp_range(dtype)[1]
    x = np.array([0, -0.0, -end - 1, -1e30, -np.inf, 2 * end, np.inf], dtype)
    top = np.exp(np.longdouble(end))
    got = apply(native, "exp", x)
    np.testing.assert_allclose(got, [1, 1, 0, 0, 0, top, top], rtol=10 * ulp(dtype))


def test_square_roots_of_tiny_numbers(native, isa):
    """There Adam's epsilon decides; five digits are plenty."""
    x = np.concatenate([[0.0], np.logspace(-37.5, -30, 10_001)]).astype(np.float32)
    np.testing.assert_allclose(apply(native, "square_root", x), np.sqrt(x), rtol=6e-6)


def test_square_roots_in_float64_are_those_of_the_processor(native, isa):
    x = np.r_[0.0, np.logspace(-307, 308, 10_001)]
    np.testing.assert_array_equal(apply(native, "square_root", x), np.sqrt(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "expm1", "log1p", "tanh", "erf"])
def test_nan_stays_nan(native, isa, name, dtype):
    assert np.isnan(apply(native, name, np.array([np.nan, -np.nan], dtype))).all()


def activate(native, name, parameters, z):
    value, slope = np.empty_like(z), np.empty_like(z)
    a, b = (*parameters, 0.0, 0.0)[:2]
    of_type(native, z.dtype).activate(name, a, b, z, value, slope)
    return value, slope


def z_of(dtype):
    near = np.linspace(-30, 30, 60_001)
    far = both_signs_from_tiny_to(1e30, dtype)
    return np.r_[near, far, 0.0, -0.0, 1.0, -1.0].astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_activations_and_their_derivatives_over_the_whole_range(native, isa, name, dtype):
    """Errors are relative to max(|value|, min(|z|, 1)): gelu's far tail cancels.

    Slopes: 1 - sigmoid(z) in silu's is off by half an ulp, times z, until it is exactly 0; that is
    at z = 17 in float32 and at 37 in float64.
    """
    activation, z = Activation(name), z_of(dtype)
    value, slope = activate(native, name, activation.parameters, z)
    with np.errstate(all="ignore"):
        expected = activation.value(z.astype(float))
        expected_slope = activation.derivative(z.astype(float))
    scale = np.maximum(np.abs(expected), np.minimum(np.abs(z), 1))
    error = np.abs(value - expected)
    np.testing.assert_array_less(error, 6 * ulp(dtype) * scale + 10 * smallest(dtype))
    assert np.abs(slope - expected_slope).max() < {"float32": 12, "float64": 20}[dtype] * ulp(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS)))
def test_an_activation_does_not_hide_nan(native, isa, name, dtype):
    value, _ = activate(native, name, Activation(name).parameters, np.full(3, np.nan, dtype))
    assert np.isnan(value).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("leaky_relu", (-0.5,)), ("prelu", (2.0,)), ("hardtanh", (0.0, 6.0)), ("elu", (0.3,))],
)
def test_other_parameters(native, isa, name, parameters, dtype):
    z = np.linspace(-10, 10, 10_001).astype(dtype)
    value, slope = activate(native, name, parameters, z)
    activation, rtol = Activation(name, parameters), 10 * ulp(dtype)
    np.testing.assert_allclose(value, activation.value(z.astype(float)), rtol=rtol, atol=rtol / 10)
    np.testing.assert_allclose(slope, activation.derivative(z.astype(float)), rtol=rtol)


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
