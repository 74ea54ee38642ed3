"""Maxima and bumps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import Box, InvalidInput, linear_regions
from pellucid.constructions import bump, maximum, to_piecewise_linear

# --- maximum -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "hidden"),
    [(1, ()), (2, (3,)), (3, (5, 3)), (4, (6, 3)), (5, (8, 5, 3)), (8, (12, 6, 3))],
)
def test_units_of_the_maximum(n, hidden):
    built = maximum(n)
    assert built.network.hidden == hidden
    assert len(hidden) == math.ceil(math.log2(n))
    assert built.certificate.kind == "exact"
    assert set(np.concatenate([W.ravel() for W in built.network.weights])) <= {-1, 0, 1}


@given(st.integers(1, 20), st.integers(0, 10**6))
def test_the_maximum_of_whole_numbers_is_not_rounded(n, seed):
    x = np.random.default_rng(seed).integers(-(10**6), 10**6, (50, n))
    assert (maximum(n)(x)[:, 0] == x.max(axis=1)).all()


def test_the_maximum_has_one_linear_piece_for_each_input():
    assert linear_regions(maximum(3).network, Box([-1] * 3, [1] * 3)).n_affine_maps == 3


# --- bumps ---------------------------------------------------------------------------------------


def test_a_trapezoid_of_four_units():
    built = bump(0.25, 0.75, 0.125)
    assert built.network.hidden == (4,)
    assert built.certificate.kind == "exact"
    f = to_piecewise_linear(built.network)
    assert (f.left_slope, f.right_slope) == (0, 0)
    assert [f(x) for x in (-9, 0.125, 0.25, 0.375, 0.625, 0.875, 9)] == [0, 0, 0.5, 1, 1, 0, 0]
    regions = linear_regions(built.network, Box(-1, 2))
    assert (regions.n_linear_regions, regions.n_affine_maps) == (5, 4)


@given(st.integers(1, 3), st.integers(0, 10**6))
def test_bumps_are_indicators_away_from_the_faces(d, seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=d)
    high = low + rng.uniform(0.1, 2, d)
    margin = 0.4 * (high - low).min() * rng.uniform(0.01, 1)
    built = bump(low, high, margin)
    assert built.network.hidden == ((4,) if d == 1 else (4 * d, 1))
    x = rng.uniform(low - 1, high + 1, (500, d))
    inside = ((x >= low + margin) & (x <= high - margin)).all(axis=1)
    outside = ((x <= low - margin) | (x >= high + margin)).any(axis=1)
    f = built(x)[:, 0]
    rounding = 1e-14 * 4 / margin  # of the forward pass
    assert np.abs(f[inside] - 1).max(initial=0) <= built.certificate.bound + rounding
    assert np.abs(f[outside]).max(initial=0) <= built.certificate.bound + rounding
    assert built.certificate.bound <= 1e-11


@pytest.mark.parametrize(
    ("k", "margin", "measured", "bound"),
    [
        (50, 0.1, 0.006738248792987123, 0.013475893998170934),
        (200, 0.05, 4.5397868702390376e-05, 9.079985952496971e-05),
    ],
)
def test_two_sigmoids(k, margin, measured, bound):
    # measured on (0.3, 0.7): the largest distance from the indicator, off the edges by the margin
    built = bump(0.3, 0.7, margin, steepness=k)
    assert built.network.hidden == (2,)
    assert built.certificate.bound == pytest.approx(bound)
    x = np.concatenate([np.linspace(-1, 0.3 - margin, 999), np.linspace(0.7 + margin, 2, 999)])
    inside = np.linspace(0.3 + margin, 0.7 - margin, 999)
    gaps = np.abs(built(x[:, None])).max(), np.abs(1 - built(inside[:, None])).max()
    assert max(gaps) == pytest.approx(measured, rel=0.01)
    assert max(gaps) <= built.certificate.bound


def test_one_hidden_layer_cannot_vanish_outside_a_bounded_set():
    # fitted to the hat of the plane by least squares, it is right inside and far off outside
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(200, 2)), rng.uniform(-1.5, 1.5, 200)

    def features(x):
        return np.column_stack([np.maximum(x @ W.T + b, 0), np.ones(len(x))])

    def hat(x):
        return np.maximum(1 - np.abs(x).max(axis=1), 0)

    inside, outside = rng.uniform(-1.5, 1.5, (1500, 2)), rng.uniform(-9, 9, (1500, 2))
    a = np.linalg.lstsq(features(inside), hat(inside), rcond=None)[0]
    assert np.sqrt(np.mean((features(inside) @ a - hat(inside)) ** 2)) < 0.03
    assert np.abs(features(outside) @ a - hat(outside)).max() > 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bump(0, 1, 0.5), "leaves nothing of the box; choose less than half of its"),
        (lambda: bump(1, 0, 0.1), "leaves nothing of the box"),
        (lambda: bump([0, 0], [1], 0.1), "low has 2 numbers and high has 1"),
        (lambda: bump(0, 1, 1e-20), "leaves nothing|rounded away"),
        (lambda: bump([0, 0], [1, 1], 0.1, steepness=3), "for one dimension"),
        (lambda: bump(0, np.inf, 0.1), "it must be finite"),
        (lambda: maximum(0), "n is 0"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
