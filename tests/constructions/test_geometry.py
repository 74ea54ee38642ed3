"""Shells of simplices, and folded space."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import Box, InvalidInput, Network, linear_regions
from pellucid.constructions import folding, simplex_shell
from pellucid.constructions.geometry import _in_general_position, determinant
from pellucid.regions import bounds

# --- shells --------------------------------------------------------------------------------------


def sphere(d, n=20_000):
    x = np.random.default_rng(d).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


NEEDED = {2: 1.1547005383792517, 3: 1.4142135623730954, 4: 1.5491933384829673}


@pytest.mark.parametrize(("d", "ratio"), NEEDED.items())
def test_ratio_of_radii_that_d_plus_one_units_need(d, ratio):
    assert sum(simplex_shell(d).network.hidden) == d + 1
    simplex_shell(d, outer=ratio + 1e-6)
    with pytest.raises(InvalidInput, match=f"from radii above {ratio:.6g}"):
        simplex_shell(d, outer=ratio - 1e-6)
    # what the sum of units is on the sphere: most over least
    W = simplex_shell(d).network.weights[0]
    sums = np.maximum(sphere(d) @ W.T, 0).sum(axis=1)
    assert ratio * 0.97 < sums.max() / sums.min() <= ratio * (1 + 1e-12)


@given(st.integers(1, 9), st.floats(0.01, 100), st.floats(1.01, 3))
@settings(max_examples=30)
def test_shells_separate_the_ball_from_the_outside(d, inner, more):
    k = (d + 1) // 2
    outer = inner * more * math.sqrt(2 * k * (d + 1 - k) / (d + 1))
    built = simplex_shell(d, inner=inner, outer=outer)
    u = sphere(d, 500)
    assert (built(inner * u) < 0).all()
    assert (built(outer * u) > 0).all()
    assert built(np.zeros((1, d))) < 0
    assert (built(10 * outer * u) > 0).all()
    assert built.certificate.kind == "proved"
    assert built.certificate.bound == 0


@pytest.mark.parametrize(
    ("n", "ratio"),
    [
        *((3, 1.154700538379252), (4, 1.4142135623730951), (5, 1.0514622242382674)),
        *((6, 1.154700538379252), (7, 1.025716863272554), (8, 1.082392200292394)),
        (9, 1.0154266118857453),
    ],
)
def test_equal_angles_in_the_plane(n, ratio):
    # the sum of n units at equal angles on the circle, exactly at its corners: 4 are worse than 3
    angle = 2 * np.pi * np.arange(n) / n
    U = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turns = np.arange(8 * 5 * 7 * 9 * 2) / (8 * 5 * 7 * 9 * 2) * 2 * np.pi
    sums = np.maximum(np.stack([np.cos(turns), np.sin(turns)], axis=1) @ U.T, 0).sum(axis=1)
    assert sums.max() / sums.min() == pytest.approx(ratio, rel=1e-6)
    assert ratio == pytest.approx(1 / math.cos(np.pi / (2 * n if n % 2 else n)))


def test_two_units_do_not_separate_circles():
    # the best of many random ones, on 24 points of each of two circles of radii 1 and 3
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(24) / 24
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = np.concatenate([circle, 3 * circle])
    best = 0.0
    for _ in range(3000):
        W, b, a = rng.normal(size=(2, 2)), rng.normal(size=2), rng.normal(size=2)
        f = np.maximum(X @ W.T + b, 0) @ a
        order = np.argsort(f)
        outside = (order >= 24).cumsum()  # among the k lowest, k = 1, ..., 48
        right = (np.arange(1, 49) - outside) + (24 - outside)
        right = right[np.append(np.diff(f[order]) > 0, True)]
        best = max(best, right.max() / 48, 1 - right.min() / 48)
    assert 0.8 < best < 1


@pytest.mark.parametrize(("R", "accuracy"), [(1.16, 0.5845570610199206), (2, 0.6666666666666667)])
def test_the_best_line_between_circles(R, accuracy):
    # touching the inner circle of radius 1: 1/2 + arccos(1 / R) / 2 pi of equal masses; measured
    assert 0.5 + math.acos(1 / R) / (2 * math.pi) == pytest.approx(accuracy, abs=3e-5)
    angle = (np.arange(3600) + 0.5) * 2 * np.pi / 3600
    inner, outer = np.cos(angle), R * np.cos(angle)
    right = max((np.mean(inner <= t) + np.mean(outer > t)) / 2 for t in np.linspace(-R, R, 400))
    assert right == pytest.approx(accuracy, abs=0.003)


# --- folding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("widths", "count", "upper", "last"),
    [
        ((4, 3), 28, 77, 7),
        ((4, 4, 3), 112, 847, 7),
        ((6, 4), 99, 242, 11),
        ((4, 5), 64, 176, 16),
    ],
)
def test_folding_reaches_the_lower_bound(widths, count, upper, last):
    built = folding(2, widths)
    regions = linear_regions(built.network, Box([0, 0], [1, 1]))
    assert regions.certified
    assert regions.n_activation_regions == count
    assert bounds.BOUNDS["montufar_2014"].value(2, widths) == count
    assert bounds.BOUNDS["serra_2018"].value(2, widths) == upper
    assert bounds.arrangement(widths[-1], 2) == last
    W, b = built.network.weights[-2:], built.network.biases[-2:]
    lines = Network([W[0][:, [0, widths[-2] // 2]], W[1]], b, ["relu"])  # of the folded square
    assert len(linear_regions(lines, Box([0, 0], [1, 1]))) == last
    assert f"{count} activation regions" in built.certificate.how


@pytest.mark.parametrize(
    ("n_0", "widths"),
    [(1, (3, 3)), (1, (2, 4, 5)), (2, (5, 3)), (2, (7, 5, 6)), (3, (6, 4)), (3, (4, 2)), (2, (7,))],
)
def test_other_foldings(n_0, widths):
    if widths[-1] < n_0:
        with pytest.raises(InvalidInput, match=r"widths\[1\] is 2"):
            folding(n_0, widths)
        return
    built = folding(n_0, widths, seed=1)
    assert built.network.hidden == widths
    count = linear_regions(built.network, Box([0] * n_0, [1] * n_0)).n_activation_regions
    assert count == bounds.BOUNDS["montufar_2014"].value(n_0, widths)


def test_general_position_is_checked_or_named_as_an_assumption():
    """Random hyperplanes are in general position almost surely, which is no proof."""
    checked = folding(2, (4, 4, 3)).certificate
    assert (checked.kind, checked.exact_error) == ("exact", 0)
    assert "general position of the last layer is checked in rational arithmetic" in checked.how
    assumed = folding(3, (3, 40)).certificate
    assert (assumed.kind, assumed.exact_error) == ("proved", None)
    assert assumed.how.endswith("in general position, which has probability 1")
    assert folding(1, (3, 1000)).certificate.kind == "exact"


def test_hyperplanes_that_are_not_in_general_position_are_found():
    triangle = np.array([[1.0, 0], [0, 1], [1, 1]])
    assert _in_general_position(triangle, np.array([0.5, 0.5, 0.75])) is not None
    assert _in_general_position(triangle, np.array([0.5, 0.5, 1.0])) is None  # all in one point
    assert _in_general_position(triangle, np.array([0.5, 0.5, 1.5])) is None  # on the edge
    parallel = np.array([[1.0, 0], [2, 0], [1, 1]])
    assert _in_general_position(parallel, np.array([0.5, 0.5, 0.75])) is None


@given(st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_determinants_of_fractions(n, seed):
    rows = np.random.default_rng(seed).integers(-3, 4, (n, n))
    exact = determinant([[Fraction(int(v)) for v in row] for row in rows])
    assert float(exact) == pytest.approx(np.linalg.det(rows) if n else 1, abs=1e-9)


def test_mistakes():
    with pytest.raises(InvalidInput, match=r"this folding has .* parameters; at most 50,000,000"):
        folding(10**9, (10**9,))
    with pytest.raises(InvalidInput, match=r"this folding has .* are made"):
        folding(2, (10**9, 3))
    with pytest.raises(InvalidInput, match=r"widths are \(\); folding needs a list"):
        folding(2, ())
    with pytest.raises(InvalidInput, match="at most 2,000,000"):
        folding(8, (60,))
    with pytest.raises(InvalidInput, match="d is 0"):
        simplex_shell(0)
