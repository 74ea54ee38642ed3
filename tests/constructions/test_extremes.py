"""Certificates where rounding, underflow or overflow would make them untrue."""

from fractions import Fraction

import numpy as np
import pytest

from pellucid import Box, InvalidInput
from pellucid.constructions import (
    CosineSum,
    approximate,
    from_piecewise_linear,
    interpolate,
    sawtooth_distance_bound,
    tent,
    to_piecewise_linear,
)
from pellucid.constructions.kuhn import Grid
from pellucid.symmetry.exact_layers import exact_layers


def error_at(construction, f, x):
    """|network(x) - f(x)| in fractions."""
    point = [Fraction(float(v)) for v in np.atleast_1d(x)]
    return abs(exact_layers(construction.network)(point)[0] - f(*point))


# --- one variable ------------------------------------------------------------------------------


def test_a_bound_does_not_vanish_by_underflow():
    size = 1e300

    def f(x):
        return size * np.asarray(x) * np.asarray(x) / 2

    for bound in (size, lambda low, high: size):
        built = interpolate(f, (0, 1e-170), n_units=1, second_derivative_bound=bound)
        off = error_at(built, lambda x: Fraction(size) * x * x / 2, 0.5e-170)
        assert 0 < off <= Fraction(built.certificate.bound)
    straight = interpolate(lambda x: 2.0 * np.asarray(x), (0, 1), n_units=3,
                           second_derivative_bound=0)  # fmt: skip
    assert straight.certificate.bound == 0


def test_bounds_beyond_float64_are_refused():
    with pytest.raises(InvalidInput, match="more than 10\\^15 units"):
        interpolate(np.sin, (0, 1), 1e-300, second_derivative_bound=1e300)
    with pytest.raises(InvalidInput, match="too large for float64"):
        interpolate(np.sin, (0, 1e10), n_units=3, second_derivative_bound=1e300)
    with pytest.raises(InvalidInput, match="too large for float64"):
        approximate(lambda x: 0.0 * x[..., 0], Box([0, 0], [10, 10]), n_cells=2,
                    hessian_bound=1e308)  # fmt: skip


def test_whole_numbers_of_numpy_are_not_rounded():
    most = np.int64(2**60 + 1)
    assert to_piecewise_linear(tent().network)(most) == 2 - 2 * Fraction(int(most))
    rounded = from_piecewise_linear(np.array([0, most]), np.array([0, 1])).certificate
    assert rounded.kind == "proved"
    assert 0 < rounded.bound < 1e-15
    assert from_piecewise_linear(np.array([0, 2**60]), np.array([0, 1])).certificate.kind == "exact"


def test_the_least_distance_is_rounded_down():
    for k in (3, 60, 70, 3000):
        for pieces in (1, 2, 3, 2 ** (k - 2) - 1, 2 ** (k - 1) - 2 ** (k // 3), 2**k):
            true = Fraction(max(0, 2 ** (k - 1) - pieces + 1), 2 ** (k + 1))
            found = Fraction(sawtooth_distance_bound(k, max(pieces, 1)))
            assert found <= true <= found * (1 + Fraction(1, 2**52)) + Fraction(5e-324)


# --- several variables -------------------------------------------------------------------------


def test_nodes_that_are_rounded_are_in_the_bound():
    size = 2.0**33
    built = approximate(lambda x: size * x[..., 0], Box([0, 0], [1, 1]), n_cells=3, hessian_bound=0)
    off = error_at(built, lambda x, y: Fraction(size) * x, [1 / 3, 0.0])
    assert 1e-7 < off <= Fraction(built.certificate.bound) < 1e-5
    with pytest.raises(InvalidInput, match=r"9 cells .* are too narrow"):
        approximate(lambda x: x[..., 0], Box([0, 1e16], [1, 1e16 + 4]), n_cells=9, hessian_bound=0)
    exact = approximate(lambda x: size * x[..., 0], Box([0, 0], [1, 1]), n_cells=4, hessian_bound=0)
    assert exact.certificate.bound == 0


def test_a_box_far_away_from_0_where_many_hats_are_wrong():
    low = 1e15 + 0.125
    box = Box([low, low], [low + 7, low + 7])

    def f(x):
        return np.ones(np.shape(x)[:-1])

    rng = np.random.default_rng(0)
    for n in (5, 9, 12):
        built = approximate(f, box, n_cells=n, hessian_bound=0)
        for x in rng.uniform(box.low, box.high, (30, 2)):
            assert error_at(built, lambda *_: Fraction(1), x) <= built.certificate.bound


def test_the_interpolant_of_the_grid_is_the_network():
    box = Box([0.1, -3.3], [0.8, 1.1])
    f = CosineSum([1.0, -2.0], [[0.3, 0.1], [-0.2, 0.4]])
    built = approximate(f, box, n_cells=[3, 5], route="kuhn")
    grid = Grid(box, (3, 5))
    x = np.random.default_rng(1).uniform(box.low, box.high, (200, 2))
    assert np.allclose(grid.interpolate(f(grid.points), x), built(x)[:, 0], atol=1e-12)


def test_many_small_terms_add_up():
    m = 3000
    f = CosineSum(np.full(m, 1 / 3), np.tile([[0.1, 0.7]], (m, 1)))
    assert Fraction(f.hessian_bound) > m * Fraction(1 / 3) * Fraction(2 * np.pi) ** 2 * sum(
        Fraction(v) ** 2 for v in (0.1, 0.7)
    )
