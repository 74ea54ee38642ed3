"""x^2 and x y by depth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import InvalidInput
from pellucid.constructions import product, square, to_piecewise_linear


@pytest.mark.parametrize("m", range(9))
def test_the_square_errs_by_a_quarter_of_the_one_before(m):
    errors = [
        *(0.25, 0.0625, 0.015625, 0.00390625, 0.0009765625, 0.000244140625),
        *(6.103515625e-05, 1.52587890625e-05, 3.814697265625e-06),
    ]
    built = square(m)
    assert built.certificate.bound == built.certificate.exact_error == errors[m]
    assert built.certificate.kind == "proved"
    assert built.network.hidden == (2, *[3] * (m - 1))[: m or None][:m]
    assert sum(built.network.hidden) == max(0, 3 * m - 1)
    x = np.arange(2 ** (m + 2) + 1) / 2 ** (m + 2)
    gap = built(x[:, None])[:, 0] - x**2  # dyadic: nothing is rounded
    assert (gap.min(), gap.max()) == (0, errors[m])
    assert (gap[:: 2**2] == 0).all()  # at 2^m + 1 knots


def test_the_square_has_as_many_pieces_as_knots_allow():
    f = to_piecewise_linear(square(5).network)
    assert f.pieces_on(0, 1) == 32
    assert f(0.375) == 0.140625


def test_layers_for_a_tolerance():
    for tolerance, layers in ((1e-2, 3), (1e-4, 6), (1e-6, 9)):
        bounds = [square(m).certificate.bound for m in range(12)]
        assert next(m for m, bound in enumerate(bounds) if bound <= tolerance) == layers


GRID = np.stack(np.meshgrid(*[np.arange(-32, 33) / 32] * 2), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_product_attains_its_bound(m):
    built = product(m)
    assert built.network.hidden == (8, *[6] * (m - 1))
    assert sum(built.network.hidden) == 6 * m + 2
    gap = np.abs(built(GRID)[:, 0] - GRID[:, 0] * GRID[:, 1])
    assert gap.max() == built.certificate.exact_error == built.certificate.bound == 0.25 ** (m + 1)
    on_axes = (GRID == 0).any(axis=1)
    assert (gap[on_axes] == 0).all()


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_three_squares_are_four_times_worse(m):
    f, (x, y) = square(m), np.abs(GRID.T)
    s = np.abs(GRID.sum(axis=1))
    three = 2 * (f(s[:, None] / 2) - f(x[:, None] / 2) - f(y[:, None] / 2))[:, 0]
    assert np.abs(three - GRID[:, 0] * GRID[:, 1]).max() == 4 * product(m).certificate.bound


def test_six_levels_of_the_product():
    built = product(6)
    assert built.certificate.bound == 6.103515625e-05
    assert 0.25**6 == 0.000244140625  # by three squares
    x = np.random.default_rng(0).integers(-(2**8), 2**8 + 1, (5000, 2)) / 2**8
    assert np.abs(built(x)[:, 0] - x[:, 0] * x[:, 1]).max() <= built.certificate.bound


@given(st.integers(1, 8), st.floats(1e-3, 1e3), st.integers(0, 10**6))
def test_products_on_other_squares(m, M, seed):
    built = product(m, M)
    x = np.random.default_rng(seed).uniform(-M, M, (300, 2))
    gap = np.abs(built(x)[:, 0] - x[:, 0] * x[:, 1]).max()
    assert gap <= built.certificate.bound + 1e-14 * M**2
    assert built.certificate.bound == pytest.approx(M**2 * 0.25 ** (m + 1), rel=1e-6)
    dyadic = math.frexp(M)[0] == 0.5
    assert (built.certificate.exact_error is not None) == dyadic


def test_mistakes():
    with pytest.raises(InvalidInput, match="m is 0"):
        product(0)
    with pytest.raises(InvalidInput, match="bound is 0; it must be above 0"):
        product(2, 0)
    with pytest.raises(InvalidInput, match="its square must be a number"):
        product(2, 1e200)
    with pytest.raises(InvalidInput, match="m is -1"):
        square(-1)
