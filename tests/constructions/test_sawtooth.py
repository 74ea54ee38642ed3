"""Tent, sawtooth and zigzag: exact counts, exact distances, and what few pieces cannot do."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regions.networks import random_network

from pellucid import Box, InvalidInput, Space, function_distance, linear_regions
from pellucid.constructions import (
    from_piecewise_linear,
    sawtooth,
    sawtooth_distance_bound,
    tent,
    to_piecewise_linear,
    width_needed,
    zigzag,
)
from pellucid.regions import bounds

UNIT = Box(0, 1)


def constant(c):
    return from_piecewise_linear([0, 1], [c, c]).network


# --- the sawtooth --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(1, 11))
def test_pieces_of_the_sawtooth(k):
    built = sawtooth(k)
    assert built.network.hidden == (2,) * k
    assert built.certificate.kind == "exact"
    assert (built.certificate.bound, built.certificate.exact_error) == (0, 0)
    regions = linear_regions(built.network, UNIT)
    assert regions.certified
    assert regions.n_linear_regions == 2**k
    assert set(np.abs(regions.slope).ravel()) == {2.0**k}
    assert regions.n_linear_regions <= bounds.most_on_a_line(built.network.hidden)


@pytest.mark.parametrize(("k", "pieces"), [(1, 3), (2, 6), (3, 10), (4, 18), (5, 34), (6, 66)])
def test_pieces_of_the_sawtooth_on_the_line(k, pieces):
    network = sawtooth(k).network
    assert to_piecewise_linear(network).n_pieces == pieces
    assert linear_regions(network, Space(1)).n_activation_regions == pieces


@given(st.integers(1, 8), st.fractions(0, 1))
def test_the_sawtooth_is_the_tent_again_and_again(k, x):
    value = x
    for _ in range(k):
        value = min(2 * value, 2 - 2 * value)
    nearest = round(2 ** (k - 1) * x)
    assert value == 2 * abs(2 ** (k - 1) * x - nearest)  # 2 dist(2^(k-1) x, Z)
    assert to_piecewise_linear(sawtooth(k).network)(x) == value


def test_dyadic_inputs_pass_without_rounding():
    x = np.random.default_rng(0).integers(0, 2**40, 1000)
    outputs = sawtooth(30)(x[:, None] / 2**40)[:, 0]
    folded = (x * 2**30) % 2**41
    assert (outputs == np.minimum(folded, 2**41 - folded) / 2**40).all()


def test_the_tent_loses_a_bit_at_every_step():
    # 1/3 is a fixed point of no tent in floating point: the rounded number runs into 0
    for dtype, steps in (("float64", 55), ("float32", 26)):
        network, x, n = tent().network.astype(dtype), np.array([1 / 3], dtype), 0
        while x[0] != 0:
            x, n = network(x), n + 1
        assert n == steps


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_layer_of_one_unit_less_than_pieces_cannot_be_the_sawtooth(k):
    # 2^k - 1 units have all their kinks at the inner knots, with changes of slope +-2^(k + 1); the
    # reversed ones must add up to minus the first slope, 2^k
    changes = [(-1) ** (j + 1) * 2 ** (k + 1) for j in range(2**k - 1)]
    sums = {sum(some) for n in range(len(changes) + 1) for some in combinations(changes, n)}
    assert -(2**k) not in sums
    t = np.arange(2**k + 1) / 2**k
    shallow = from_piecewise_linear(t, np.arange(2**k + 1) % 2)
    assert shallow.network.hidden == (2**k,)
    assert shallow.certificate.kind == "exact"
    assert function_distance(shallow.network, sawtooth(k).network, UNIT, "inf") == 0


# --- distances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(1, 7))
def test_distances_of_the_sawtooth_do_not_depend_on_k(k):
    saw = sawtooth(k).network
    regions = linear_regions(saw, UNIT)
    assert regions.integral()[0] == pytest.approx(1 / 2)
    assert function_distance(saw, constant(0), UNIT, 1) == pytest.approx(0.5)
    assert function_distance(saw, constant(0.5), UNIT, 1) == pytest.approx(0.25)
    assert function_distance(saw, constant(0.5), UNIT, 2) ** 2 == pytest.approx(1 / 12)
    for c in (0, 0.2, 0.5, 0.9, 1):
        wanted = 0.5 - c + c * c
        assert function_distance(saw, constant(c), UNIT, 1) == pytest.approx(wanted)
    for j in range(1, k):
        assert function_distance(sawtooth(j).network, saw, UNIT, 1) == pytest.approx(1 / 3)


def test_the_lower_bound_has_known_values():
    found = [
        sawtooth_distance_bound(*of) for of in ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 4))
    ]
    assert found == [0.25, 0.125, 0, 0.25, 0.1875, 0.15625]
    best_fits = [0.25, 0.19809811606168531, 0.1388549811605705, 0.25, 0.22982460387276787]
    best_fits.append(0.20984154362358554)  # none is below its bound
    assert all(bound <= fit for bound, fit in zip(found, best_fits, strict=True))
    for k in range(2, 20):
        assert sawtooth_distance_bound(k, 2 ** (k - 2)) == 1 / 8 + 2.0 ** (-k - 1) > 1 / 16


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([(1,), (3,), (2, 2), (3, 1)]))
def test_no_network_is_nearer_than_the_bound(seed, k, hidden):
    network = random_network([1, *hidden, 1], seed=seed)
    pieces = linear_regions(network, UNIT).n_linear_regions
    assert pieces <= bounds.most_on_a_line(hidden)
    distance = function_distance(network, sawtooth(k).network, UNIT, 1)
    assert distance >= sawtooth_distance_bound(k, pieces) - 1e-12


@given(st.integers(2, 6), st.data())
def test_no_interpolating_network_is_nearer_than_the_bound(k, data):
    # close ones: straight through some of the sawtooth's own corners
    n = 2**k
    inner = data.draw(st.sets(st.integers(1, n - 1), max_size=n - 1))
    t = np.array([0, *sorted(inner), n])
    network = from_piecewise_linear(t / n, t % 2).network
    pieces = to_piecewise_linear(network).pieces_on(0, 1)
    distance = function_distance(network, sawtooth(k).network, UNIT, 1)
    assert distance >= sawtooth_distance_bound(k, pieces) - 1e-12


def quarter_teeth(k, low, high, n=400):
    """The least L1 distance of an affine function to tau^k on [low, high], by a linear program."""
    from scipy.optimize import linprog

    x = low + (np.arange(n) + 0.5) / n * (high - low)
    y = 2 * np.abs(2 ** (k - 1) * x - np.round(2 ** (k - 1) * x))
    A, one, eye = np.column_stack([x, np.ones(n)]), np.ones(n), np.eye(n)
    A_ub = np.block([[A, -eye], [-A, -eye]])
    found = linprog(
        np.append([0, 0], one), A_ub, np.append(y, -y), bounds=[(None, None)] * 2 + [(0, None)] * n
    )
    return found.fun / n * (high - low)


def test_an_affine_function_pays_a_quarter_of_nearly_every_interval():
    # numerical evidence: at most (9/8) 2^-k / 4 less than a quarter of the length; with p of
    # 2^(k-2) pieces that is 1/4 - (9/32) / 4 = 23/128
    rng = np.random.default_rng(0)
    for _ in range(12):
        low, high = np.sort(rng.random(2))
        saved = (high - low) / 4 - quarter_teeth(3, low, high)
        assert saved <= 1.125 / 4 * 2**-3 + 2e-3
    assert 1 / 4 - 9 / 32 * 2 ** (8 - 2) * 2.0**-8 == 23 / 128 == 0.1796875


def test_the_best_fits_with_breaks_on_a_grid_are_no_nearer_than_the_bound():
    # k = 2 and breaks at multiples of 1/16, continuous or not, by dynamic programming; continuous
    # fits that were found by search are farther away
    G, inf = 16, 9.0
    cost = {
        (i, j): quarter_teeth(2, i / G, j / G, 48) for i in range(G) for j in range(i + 1, G + 1)
    }
    best = {j: cost[0, j] for j in range(1, G + 1)}
    for pieces, continuous in ((1, 0.25), (2, 0.19809811606168531), (3, 0.1388549811605705)):
        found = best[G]
        assert sawtooth_distance_bound(2, pieces) - 1e-3 <= found <= continuous + 1e-3
        best = {j: min((best[i] + cost[i, j] for i in best if i < j), default=inf) for j in best}


def test_widths_that_beat_a_sixteenth():
    needed = {8: (64, 8, 4), 12: (1024, 32, 10), 20: (262144, 512, 64)}
    for k, widths in needed.items():
        assert tuple(width_needed(k, L) for L in (1, 2, 3)) == widths
        for L, m in zip((1, 2, 3), widths, strict=True):
            assert bounds.most_on_a_line([m - 1] * L) <= 2 ** (k - 2)
            assert sawtooth_distance_bound(k, bounds.most_on_a_line([m - 1] * L)) > 1 / 16
    assert width_needed(3, 3, 0) == 1  # 8 pieces
    assert width_needed(10, 10, 0) == 1
    assert width_needed(8, 1, 0) == 255
    assert width_needed(8, 1, 1 / 16) == 96
    assert width_needed(8, 1, 1) == 1


# --- the zigzag ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "L", "pieces"),
    [
        *((3, 1, 4), (3, 2, 16), (3, 3, 64), (3, 5, 1024)),
        *((4, 3, 125), (5, 3, 216), (6, 2, 49), (8, 2, 81)),
    ],
)
def test_the_zigzag_reaches_the_bound(m, L, pieces):
    built = zigzag(m, L)
    assert built.network.hidden == (m,) * L
    assert built.certificate.kind == "exact"
    assert pieces == bounds.most_on_a_line([m] * L) == bounds.BOUNDS["serra_2018"].value(1, [m] * L)
    assert linear_regions(built.network, UNIT).n_linear_regions == pieces
    assert to_piecewise_linear(built.network).n_pieces == pieces  # on the whole line too


def test_the_zigzag_of_three_units():
    # slopes 7, -7/2, 7/2, -7/2 with kinks at 1/7, 3/7, 5/7, between 0 and 1
    f = to_piecewise_linear(zigzag(3, 1).network)
    assert f.knots == (Fraction(1, 7), Fraction(3, 7), Fraction(5, 7))
    assert f.slopes == (7, Fraction(-7, 2), Fraction(7, 2), Fraction(-7, 2))
    assert (f(0), f(Fraction(1, 7)), f(Fraction(3, 7)), f(1)) == (0, 1, 0, 0)
    W, b = zigzag(3, 1).network.weights, zigzag(3, 1).network.biases
    assert (W[0] / 7).ravel().tolist() == [1, 1, -1]
    assert (b[0] / 7).tolist() == pytest.approx([-1 / 7, -3 / 7, 5 / 7])
    assert (W[1] * 7).ravel().tolist() == [-10.5, 7, -7]
    assert b[1].tolist() == [5]


def test_every_layer_of_the_zigzag_is_the_one_before_it_folded():
    one, two = (to_piecewise_linear(zigzag(4, L).network) for L in (1, 2))
    for x in np.linspace(0, 1, 33).tolist():
        assert two(x) == one(one(x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zigzag(2, 2), "m is 2; it must be a whole number, 3"),
        (
            lambda: zigzag(10_000, 10_000),
            "this zigzag has 1,000,000,020,001 parameters; at most 50,000,000 are made",
        ),
        (lambda: sawtooth(0), "k is 0"),
        (lambda: sawtooth_distance_bound(3, 0), "pieces is 0"),
        (lambda: width_needed(3, 1, -1.0), "distance is -1; it must be 0 or more"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
