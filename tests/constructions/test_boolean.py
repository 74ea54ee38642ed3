"""Exclusive or, parity and memorised points."""

from fractions import Fraction
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import Box, InvalidInput, linear_regions
from pellucid.constructions import memorise, parity, xor
from pellucid.datasets import load_dataset


def corners(n):
    return np.array(list(cartesian([0, 1], repeat=n)))


def test_exclusive_or_takes_two_units():
    built = xor()
    assert built.network.hidden == (2,)
    assert built(corners(2))[:, 0].tolist() == [0, 1, 1, 0]
    assert built.certificate.kind == "exact"


def test_one_unit_cannot_be_exclusive_or():
    # a f(w x + b) + c > 0 is a half-plane, its complement, all or nothing: no half-plane of the 14
    # that hyperplanes cut out of the four corners is {01, 10} or its complement
    labellings = linearly_separable(2)
    assert len(labellings) == 14
    assert (0, 1, 1, 0) not in labellings
    assert (1, 0, 0, 1) not in labellings


def linearly_separable(n):
    """Labels that a hyperplane gives the corners: regions of the arrangement of their duals."""
    from pellucid import Network

    X = np.column_stack([corners(n), np.ones(2**n)])
    network = Network([X, np.ones((1, 2**n))], [np.zeros(2**n), [0]], ["relu"])
    regions = linear_regions(network, Box([-1] * (n + 1), [1] * (n + 1)))
    assert regions.certified
    return {tuple(map(int, region.pattern)) for region in regions}


def test_separable_functions_of_two_and_three_bits():
    assert len(linearly_separable(2)) == 14
    assert len(linearly_separable(3)) == 104


@pytest.mark.parametrize("n", range(1, 11))
def test_parity(n):
    built = parity(n)
    units = {1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 6: 5, 7: 6}.get(n, n - 1)
    assert built.network.hidden == (units,)
    f, odd = built(corners(n))[:, 0], corners(n).sum(axis=1) % 2
    assert (f[odd == 1] == 0.5).all()
    assert (f[odd == 0] <= -0.5).all()
    assert built.certificate.kind == "exact"


# --- memorising ----------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 10**6))
def test_any_labels_take_one_unit_less_than_points(n, d, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    built = memorise(X, y)
    assert built.network.hidden == ((n - 1,) if n > 1 else ())
    assert np.abs(built(X)[:, 0] - y).max() <= built.certificate.bound + 1e-7
    assert built.certificate.bound < 1e-8
    assert built.certificate.exact_error == built.certificate.bound


@pytest.mark.parametrize(("n", "d"), [(12, 3), (20, 4), (21, 5), (9, 1), (30, 2)])
def test_groups_take_four_units_for_d_points(n, d):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    built = memorise(X, y, method="groups")
    assert built.network.hidden == (4 * -(-n // d),)
    assert np.abs(built(X)[:, 0] - y).max() < 1e-9
    assert built.certificate.bound < 1e-9


@given(st.integers(2, 6), st.integers(1, 3), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_error_told_is_the_one_in_rational_numbers(n, d, groups, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    built = memorise(X, y, method="groups" if groups else "line", seed=seed % 7)
    (W, a), (b, c) = built.network.weights, built.network.biases
    gaps = []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        total = Fraction(c[0])
        for row, offset, height in zip(W.tolist(), b.tolist(), a[0].tolist(), strict=True):
            z = sum((Fraction(w) * Fraction(v) for w, v in zip(row, x, strict=True)), Fraction(0))
            total += Fraction(height) * max(z + Fraction(offset), Fraction(0))
        gaps.append(abs(total - Fraction(label)))
    assert max(gaps) <= Fraction(built.certificate.bound)
    assert built.certificate.bound == pytest.approx(float(max(gaps)), rel=1e-12)


def test_whole_numbers_on_a_line_are_memorised_exactly():
    built = memorise([[3], [0], [1]], [5, 1, 2])
    assert built.certificate.kind == "exact"
    assert built([[0], [1], [3]])[:, 0].tolist() == [1, 2, 5]


def test_the_spirals_are_memorised():
    table = load_dataset("spirals", n=300, seed=0)
    built = memorise(table.X, 2.0 * table.y - 1)
    assert ((built(table.X)[:, 0] > 0) == (table.y == 1)).all()
    assert built.network.hidden == (299,)


def test_points_that_come_twice_count_once():
    built = memorise([[0, 0], [1, 2], [0, 0]], [1, 2, 1])
    assert built.network.hidden == (1,)
    assert memorise([[4.0, 5.0]], [7]).network([[4, 5]]) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 0], [1, 1], [0, 0]], [1, 2, 3]), "rows 0 and 2 of X are the same point with the l"),
        (([[0], [1]], [1]), "X has 2 rows and y has 1"),
        (([0, 1], [1, 2]), r"X has shape \(2,\); it must have shape \(n, d\)"),
        (([[0], [np.nan]], [1, 2]), "it must be finite"),
        (([[1.0], [np.nextafter(1, 2)]], [1, 1e300]), "too large|too close"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        memorise(*arguments)


@pytest.mark.usefixtures("as_users_run")
def test_groups_need_general_position():
    with pytest.raises(InvalidInput, match="more than 2 of the points lie on one hyperplane"):
        memorise([[0, 0], [1, 1], [2, 2], [3, 3]], [0, 1, 0, 1], method="groups")
    with pytest.raises(InvalidInput, match='"line" or "groups"'):
        memorise([[0], [1]], [0, 1], method="tree")
