"""Functions of several variables: Kuhn's triangulation, and sums of cosines."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import Box, InvalidInput, linear_regions
from pellucid.constructions import CosineSum, approximate
from pellucid.constructions.kuhn import Grid, hat_layers, kuhn_network

SQUARE = Box([0, 0], [1, 1])


def half_square(x):
    """|x|^2 / 2: all second derivatives are 1, and the bound is sharp."""
    return np.square(x).sum(axis=-1) / 2


# --- Kuhn's triangulation ------------------------------------------------------------------------


@pytest.mark.parametrize("N", [1, 2, 4, 8])
@pytest.mark.parametrize("d", [2, 3])
def test_the_bound_is_attained_at_the_middle_of_cells(N, d):
    if (N, d) == (8, 3):
        return
    built = approximate(half_square, Box([0] * d, [1] * d), n_cells=N, hessian_bound=1)
    assert built.certificate.kind == "proved"
    assert built.certificate.bound == pytest.approx(d / (8 * N**2), rel=1e-9)
    middle = np.full((1, d), 0.5 / N)
    assert built(middle) - half_square(middle) == pytest.approx(d / (8 * N**2))


@pytest.mark.parametrize("N", [2, 4, 8, 16])
def test_a_product_of_waves(N):
    # the largest |second derivative| is 9: bounds 9/16 and less
    def f(x):
        return np.sin(3 * x[:, 0]) * np.cos(2 * x[:, 1])

    bound = {2: 0.5625, 4: 0.140625, 8: 0.03515625, 16: 0.0087890625}[N]
    built = approximate(f, SQUARE, n_cells=N, hessian_bound=9)
    assert built.certificate.bound == pytest.approx(bound)
    x = np.random.default_rng(0).random((3000, 2))
    error = np.abs(built(x)[:, 0] - f(x)).max()
    assert 0.4 * bound < error <= bound


@pytest.mark.parametrize("cells", [(1, 1), (2, 3), (5, 4)])
def test_units_in_two_dimensions(cells):
    nodes = (cells[0] + 1) * (cells[1] + 1)
    built = approximate(half_square, SQUARE, n_cells=cells, hessian_bound=1)
    assert built.network.hidden == (sum(cells) + 3, 2 * nodes, nodes)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_hidden_layers(d):
    built = approximate(half_square, Box([0] * d, [1] * d), n_cells=1, hessian_bound=1)
    assert len(built.network.hidden) == math.ceil(math.log2(d + 1)) + 1
    assert built.network.hidden[-1] == 2**d


@pytest.mark.parametrize(("cells", "simplices"), [((2, 2), 8), ((3, 2), 12), ((1, 1, 1), 6)])
def test_the_simplices_are_the_linear_regions(cells, simplices):
    d = len(cells)
    f = CosineSum([1], [[0.31, 0.17, 0.13][:d]])
    built = approximate(f, Box([0] * d, [1] * d), n_cells=cells, route="kuhn")
    assert linear_regions(built.network, Box([0] * d, [1] * d)).n_linear_regions == simplices


@given(st.integers(2, 4), st.integers(1, 2), st.integers(0, 10**6), st.booleans())
@settings(max_examples=20)
def test_proved_bounds_hold_on_random_targets(d, N, seed, with_tolerance):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=d)
    box = Box(low, low + rng.uniform(0.1, 1, d))
    f = CosineSum(rng.normal(size=3), rng.normal(size=(3, d)) / 3, rng.random(3))
    M = f.hessian_bound
    size = {"n_cells": N}
    if with_tolerance and d == 2:
        size = {"tolerance": M * np.square(box.high - box.low).sum() / (8 * N**2)}
    built = approximate(f, box, **size, route="kuhn")
    x = rng.uniform(box.low, box.high, (400, d))
    outputs = built(x)[:, 0]
    assert np.abs(outputs - f(x)).max() <= built.certificate.bound + 1e-12
    if "tolerance" in size:
        assert built.certificate.bound <= size["tolerance"]
    else:
        grid = Grid(box, (N,) * d)
        assert outputs == pytest.approx(grid.interpolate(f(grid.points), x), abs=1e-10)


def exact_output(network, x):
    """f(x) of the stored weights, in fractions."""
    h = [Fraction(v) for v in x]
    for i, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = [
            sum((Fraction(w) * v for w, v in zip(row, h, strict=True) if w and v), Fraction(c))
            for row, c in zip(W.tolist(), b.tolist(), strict=True)
        ]
        h = z if i == len(network.weights) - 1 else [max(v, Fraction(0)) for v in z]
    return h[0]


def exact_interpolant(grid, g, x):
    """Kuhn's interpolant in fractions: from a corner of the cell along the largest part first."""
    low, high = (list(map(Fraction, side.tolist())) for side in (grid.box.low, grid.box.high))
    sides = zip(x, low, high, grid.cells, strict=True)
    u = [(Fraction(v) - a) * n / (b - a) for v, a, b, n in sides]
    at = [min(int(v), n - 1) for v, n in zip(u, grid.cells, strict=True)]
    part = [v - i for v, i in zip(u, at, strict=True)]
    heights, nodes = np.reshape(g, [n + 1 for n in grid.cells]), [tuple(at)]
    order = sorted(range(len(part)), key=lambda i: -part[i])
    for i in order:
        at[i] += 1
        nodes.append(tuple(at))
    steps = [Fraction(1), *(part[i] for i in order), Fraction(0)]
    shares = [a - b for a, b in pairwise(steps)]
    return sum(Fraction(float(heights[v])) * share for v, share in zip(nodes, shares, strict=True))


@given(st.integers(2, 3), st.integers(1, 2), st.integers(-2, 6), st.integers(0, 10**6))
@settings(max_examples=15)
def test_rounding_moves_the_interpolant_no_more_than_is_told(d, N, size, seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=d) * 10.0**size
    grid = Grid(Box(low, low + rng.uniform(0.1, 2, d)), (N,) * d)
    g = rng.normal(size=grid.n_nodes)
    network, rounding = kuhn_network(grid, g, hat_layers(grid))
    for x in (rng.uniform(grid.box.low, grid.box.high), grid.points[-1], grid.points.mean(axis=0)):
        gap = exact_output(network, x.tolist()) - exact_interpolant(grid, g, x.tolist())
        assert abs(gap) <= rounding
    assert rounding < 1e-6


def test_sampled_errors_say_so():
    built = approximate(lambda x: x[0] * x[1], SQUARE, 1e-2)  # one point at a time
    assert built.certificate.kind == "sampled"
    x = np.random.default_rng(1).random((2000, 2))
    assert np.abs(built(x)[:, 0] - x[:, 0] * x[:, 1]).max() <= 1.05e-2


def test_dyadic_grids_round_nothing():
    built = approximate(half_square, SQUARE, n_cells=4, hessian_bound=1)
    assert "at most 0;" in built.certificate.how
    nodes = Grid(SQUARE, (4, 4)).points
    assert (built(nodes)[:, 0] == half_square(nodes)).all()
    other = approximate(half_square, Box([0, 0], [0.7, 1]), n_cells=3, hessian_bound=1)
    assert "at most 0;" not in other.certificate.how


def test_one_input_goes_to_interpolate():
    for f in (math.sin, np.sin, lambda x: np.sin(x[:, 0])):
        built = approximate(f, Box(0, 1), 1e-3, hessian_bound=1)
        assert built.network.hidden == (12,)
    assert approximate(np.sin, Box(0, 1), n_cells=5).network.hidden == (5,)


# --- sums of cosines -----------------------------------------------------------------------------


def test_three_ridges_of_forty_units():
    # |c| |w|_1^2 sum to 9 + 8 + 0.1 = 17.1: the bound is 17.1 (2 pi)^2 / (8 40^2)
    f = CosineSum([1, 0.5, 0.1], [[1, 2], [3, -1], [0, 1]])
    built = approximate(f, SQUARE, n_cells=40)
    assert built.network.hidden == (120,)
    assert built.certificate.kind == "proved"
    assert built.certificate.bound == pytest.approx(0.05274069851832126, rel=1e-9)
    x = np.random.default_rng(0).random((20_000, 2))
    assert 0.9 * 0.0527407 < np.abs(built(x)[:, 0] - f(x)).max() <= built.certificate.bound


@given(st.integers(1, 4), st.integers(1, 5), st.floats(1e-3, 1), st.integers(0, 10**6))
def test_ridges_hold_their_tolerance(d, m, tolerance, seed):
    rng = np.random.default_rng(seed)
    f = CosineSum(rng.normal(size=m), rng.integers(-2, 3, (m, d)), rng.random(m))
    low = rng.normal(size=d)
    box = Box(low, low + rng.uniform(0.1, 1, d))
    built = approximate(f, box, tolerance)
    x = rng.uniform(box.low, box.high, (300, d))
    gap = np.abs(built(x)[:, 0] - f(x)).max()
    assert gap <= built.certificate.bound + 1e-11
    assert built.certificate.bound <= tolerance


def test_units_of_the_ridges_grow_with_the_third_root():
    f = CosineSum([1, 1 / 8], [[1, 0], [0, 1]])
    first, second = _units(f, approximate(f, SQUARE, 1e-3))
    assert first == pytest.approx(2 * second, abs=1)


def _units(f, built):
    W = built.network.weights[0]
    return [int((row == W).all(axis=1).sum()) for row in f.frequencies]


def test_a_constant_needs_no_unit():
    built = approximate(CosineSum([2.0], [[0.0, 0.0]], [0.5]), SQUARE, 1e-3)
    assert built.network.hidden == ()
    assert built([[0.3, 0.4]]) == -2
    f = CosineSum([1.0, 1.0], [[1.0], [2.0]])
    assert f([0.25]) == pytest.approx(-1)
    assert repr(f) == "CosineSum(2 terms in 1 dimension)"


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 1e-6, "hessian_bound": 1}, "needs 757,017 units, and at most 10,000"),
        ({"tolerance": 1e-5}, r"needs [\d,]+ units, and at most 10,000"),
        ({"n_cells": 100}, "these cells need 30,806 units"),
        ({"n_cells": 30, "box": Box([0] * 3, [1] * 3)}, "need more than 29,791 units"),
        ({}, "either a tolerance or n_cells"),
        ({"tolerance": -1}, "tolerance is -1; it must be above 0"),
        ({"n_cells": (1, 2, 3)}, "n_cells has 3 numbers; it needs one, or 2"),
        ({"n_cells": 2, "route": "ridges"}, "needs a CosineSum"),
        ({"n_cells": 2, "route": "sideways"}, '"kuhn" or "ridges"'),
        ({"n_cells": 2, "box": ([0, 0], [1, 1])}, "it must be a Box"),
        ({"n_cells": 2, "hessian_bound": -1}, "hessian_bound is -1"),
        ({"n_cells": 2, "f": CosineSum([1], [[1]])}, "f has 1 inputs and the box has 2"),
        ({"tolerance": 1e-9, "f": CosineSum([1], [[1, 1]])}, "units, and at most 10,000"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_mistakes(arguments, message):
    given = {"f": half_square, "box": SQUARE, **arguments}
    with pytest.raises(InvalidInput, match=message):
        approximate(**given)


def test_a_sum_that_is_none():
    with pytest.raises(InvalidInput, match="2 amplitudes, 1 frequencies and 2 phases"):
        CosineSum([1, 2], [[1]])
