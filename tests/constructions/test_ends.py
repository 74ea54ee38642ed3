"""Constructions at the ends of float64, and what a caller may get wrong."""

import math

import numpy as np
import pytest

from pellucid import Box, InvalidInput, constructions

READ = constructions.to_piecewise_linear(constructions.sawtooth(3).network)


def test_a_proved_bound_does_not_underflow_to_zero():
    # |f''| <= 1e300 on a cell of 1e-200: M h^2 / 8 is 1.25e-101, though h^2 underflows
    f = constructions.interpolate(
        lambda x: 0 * x, (0, 1e-200), n_units=1, second_derivative_bound=1e300
    )
    assert 1.25e-101 <= f.certificate.bound < 1.26e-101
    f = constructions.interpolate(
        lambda x: 0 * x, (0, 1e-300), n_units=5, second_derivative_bound=1
    )
    assert 0 < f.certificate.bound < 1e-280
    box = Box([0, 0], [1e-200, 1e-200])
    g = constructions.approximate(lambda x: 0 * x[:, 0], box, n_cells=1, hessian_bound=1e300)
    assert 2.5e-101 <= g.certificate.bound < 2.51e-101


def test_a_lower_bound_is_rounded_down():
    assert constructions.sawtooth_distance_bound(3000, 5) < 0.25
    assert constructions.sawtooth_distance_bound(3, 100) == 0


def test_reading_ends_where_there_are_too_many_pieces():
    with pytest.raises(InvalidInput, match="more than 1,000 knots"):
        constructions.to_piecewise_linear(constructions.sawtooth(40).network, max_knots=1000)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    "call",
    [
        lambda: constructions.interpolate(math.sin, (-1e308, 1e308), 0.1),
        lambda: constructions.interpolate(math.sin, (0, 1), 1e-320, second_derivative_bound=1e300),
        lambda: constructions.interpolate(lambda x: 1 / x, (-1, 1), 0.1),
        lambda: constructions.interpolate(math.log, (0, 1), 0.1),
        lambda: constructions.interpolate(lambda x: 1j * x, (0, 1), 0.1),
        lambda: constructions.memorise([[0], [1], [2]], np.arange(3) * 1j),
        lambda: constructions.memorise([[0], [10**400]], [0, 1]),
        lambda: constructions.bump(10, 20, 1, steepness=1e308),
        lambda: constructions.approximate(
            constructions.CosineSum([1], [[1e200, 0]]), Box([0, 0], [1, 1]), 0.1
        ),
        lambda: READ("a"),
        lambda: READ(math.nan),
        lambda: READ.pieces_on(math.nan, 1),
        lambda: READ.pieces_on(1, 0),
    ],
)
def test_a_mistake_is_refused_in_a_sentence(call):
    with pytest.raises(InvalidInput, match=r"\.$"):
        call()
