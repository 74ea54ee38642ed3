"""Interpolating networks: known errors, certificates on random targets, refusals."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import InvalidInput
from pellucid.constructions import from_piecewise_linear, interpolate

M = 4 * math.pi**2  # the largest |f''| of the chapter's target


def chapter(x):
    """The target of the first chapter on [0, 1]."""
    return np.sin(2 * np.pi * x) + x / 2


def largest_error(built, f, low=0.0, high=1.0, n=20_001):
    x = np.linspace(low, high, n)
    return np.abs(built(x[:, None])[:, 0] - f(x)).max()


# --- what is measured on the chapter's target ----------------------------------------------------

#: N: the largest error of N equal cells
EQUAL = {
    1: 1.0,
    2: 1.0,
    3: 0.4372565245232406,
    4: 0.2105136623363908,
    6: 0.1339745962155614,
    8: 0.07037762263272551,
    16: 0.01884631208870058,
    24: 0.008482018159340798,
    32: 0.004792098913640741,
    64: 0.0012030930553477148,
    128: 0.00030109058213623197,
    256: 7.529248454229975e-05,
    512: 1.8824345454193647e-05,
}


@pytest.mark.parametrize("N", EQUAL)
def test_error_of_equal_cells(N):
    sampled = interpolate(chapter, (0, 1), n_units=N)
    assert sampled.network.hidden == (N,)
    assert len(sampled.network.weights) == 2  # depth
    assert sampled.certificate.kind == "sampled"
    assert sampled.certificate.bound == pytest.approx(EQUAL[N], rel=1e-6)
    proved = interpolate(chapter, (0, 1), n_units=N, second_derivative_bound=M)
    assert proved.certificate.kind == "proved"
    assert proved.certificate.bound == pytest.approx(M / (8 * N**2), rel=1e-9)
    assert EQUAL[N] <= proved.certificate.bound
    assert pytest.approx(4.934802200544679) == M / 8


def test_units_for_a_tolerance():
    tolerances = (1e-1, 1e-2, 1e-3, 1e-4)
    proved = [interpolate(chapter, (0, 1), e, second_derivative_bound=M) for e in tolerances]
    assert [c.network.hidden[0] for c in proved] == [8, 23, 71, 223]
    least = [interpolate(chapter, (0, 1), e) for e in tolerances]
    assert [c.network.hidden[0] for c in least] == [7, 23, 71, 223]
    for e, *both in zip(tolerances, proved, least, strict=True):
        for built in both:
            assert largest_error(built, chapter, n=20_001) <= built.certificate.bound <= e


def test_balanced_cells_need_no_more_units_than_marching_greedily():
    greedy = {1e-1: 5, 1e-2: 17, 1e-3: 54, 1e-4: 169, 1e-5: 537}
    for tolerance, units in greedy.items():
        built = interpolate(chapter, (0, 1), tolerance, knots="balanced")
        assert units - 1 <= built.network.hidden[0] <= units
        assert largest_error(built, chapter, n=10_001) <= tolerance


def test_balanced_cells_tend_to_de_boors_constant():
    x = (np.arange(10**6) + 0.5) / 10**6
    integral = np.sqrt(np.abs(M * np.sin(2 * np.pi * x))).mean()
    assert integral == pytest.approx(4.792560938942371, rel=1e-6)
    assert integral**2 / 8 == pytest.approx(2.8710800441845223, rel=1e-6)
    assert integral**2 / 16 == pytest.approx(1.4355400220922612, rel=1e-6)  # free values: half
    built = interpolate(chapter, (0, 1), n_units=400, knots="balanced")
    assert 400**2 * built.certificate.bound == pytest.approx(integral**2 / 8, rel=0.005)


def test_equal_integrals_of_the_root_are_a_trap():
    # knots at equal integrals of sqrt|f''|: the cells that touch a zero of f'' are worse, and
    # N^2 error tends to 2 / sqrt3 of the constant
    naive = {
        4: 0.21051366233678004,
        8: 0.05205060158741559,
        16: 0.012972683868966328,
        32: 0.0032396925490484063,
        64: 0.0008095950607858449,
        128: 0.00020236686197999676,
        256: 5.058857753126311e-05,
    }
    x = np.linspace(0, 1, 2_000_001)
    root = np.sqrt(np.abs(np.sin(2 * np.pi * x)))
    mass = np.append(0, np.cumsum((root[1:] + root[:-1]) / 2))
    for N, error in naive.items():
        t = np.interp(np.linspace(0, mass[-1], N + 1), mass, x)
        built = from_piecewise_linear(t, chapter(t))
        assert largest_error(built, chapter) == pytest.approx(error, rel=2e-3)
        balanced = interpolate(chapter, (0, 1), n_units=N, knots="balanced")
        assert balanced.certificate.bound < error * (1 if N == 4 else 0.97)
    limit = 2.8710800441845223 * 2 / math.sqrt(3)
    assert limit == pytest.approx(3.315237672749794)
    assert 256**2 * naive[256] == pytest.approx(limit, rel=1e-4)


@pytest.mark.parametrize(
    ("N", "L2", "L1"),
    [
        (16, 2.5397554973348186, 2.0997979781407055),
        (64, 2.5477848807165113, 2.0947316203254207),
        (128, 2.548186885623399, 2.094479221416732),
    ],
)
def test_mean_errors_fall_with_known_constants(N, L2, L1):
    # N^2 times the L2 and L1 error; the limits are |f''|_2 / sqrt(120) and |f''|_1 / 12
    built = interpolate(chapter, (0, 1), n_units=N)
    x = (np.arange(512 * N) + 0.5) / (512 * N)
    e = np.abs(built(x[:, None])[:, 0] - chapter(x))
    assert N**2 * math.sqrt((e**2).mean()) == pytest.approx(L2, rel=1e-5)
    assert N**2 * e.mean() == pytest.approx(L1, rel=1e-5)
    assert math.pi**2 * 4 / math.sqrt(2 * 120) == pytest.approx(2.5483208986049672)
    assert math.pi * 8 / 12 == pytest.approx(2.0943951023931953)


@pytest.mark.parametrize("N", [8, 16, 32, 64])
def test_square_root(N):
    # equal cells: h^(1/2) / 4; knots (i / N)^4: near 1 / (2 N^2)
    graded = {8: 0.00777793, 16: 0.001951095, 32: 0.000488158, 64: 0.00012206274}
    equal = interpolate(np.sqrt, (0, 1), n_units=N)
    assert equal.certificate.bound == pytest.approx(math.sqrt(1 / N) / 4, rel=1e-6)
    t = (np.arange(N + 1) / N) ** 4
    built = from_piecewise_linear(t, np.sqrt(t))
    x = np.linspace(0, 1, 4001) ** 4
    error = np.abs(built(x[:, None])[:, 0] - np.sqrt(x)).max()
    assert error == pytest.approx(graded[N], rel=1e-3)
    balanced = interpolate(np.sqrt, (0, 1), n_units=N, knots="balanced")
    assert balanced.certificate.bound <= graded[N]


@pytest.mark.parametrize("N", [1, 4, 7])
def test_free_values_halve_the_error_for_a_parabola(N):
    t = np.linspace(0, 1, N + 1)
    x = np.linspace(0, 1, 2 * N * 50 + 1)[:, None]
    through = interpolate(np.square, (0, 1), n_units=N)
    assert np.abs(through(x) - x**2).max() == pytest.approx(1 / (4 * N**2))
    shifted = from_piecewise_linear(t, t**2 - 1 / (8 * N**2))
    assert np.abs(shifted(x) - x**2).max() == pytest.approx(1 / (8 * N**2))


# --- the certificate -----------------------------------------------------------------------------


def test_the_sine_within_a_millionth_is_quick_and_proved():
    def once():
        start = time.process_time()
        built = interpolate(math.sin, (0, 2 * math.pi), tolerance=1e-6, second_derivative_bound=1)
        return time.process_time() - start, built

    seconds, built = min((once() for _ in range(5)), key=lambda pair: pair[0])
    assert seconds < 0.05
    assert built.network.widths == (1, 2222, 1)
    assert built.certificate.kind == "proved"
    assert built.certificate.bound <= 1e-6
    assert largest_error(built, np.sin, 0, 2 * math.pi, 4001) <= 1e-6


@st.composite
def waves(draw):
    """A sum of sines, scalar or vectorised, with a bound on its second derivative."""
    n = draw(st.integers(1, 4))
    c = np.array(draw(st.lists(st.floats(-3, 3), min_size=n, max_size=n)))
    w = np.array(draw(st.lists(st.floats(-9, 9), min_size=n, max_size=n)))
    phase = np.array(draw(st.lists(st.floats(0, 6), min_size=n, max_size=n)))

    def vectorised(x):
        return np.sin(np.multiply.outer(x, w) + phase) @ c

    def scalar(x):
        return sum(a * math.sin(b * x + p) for a, b, p in zip(c, w, phase, strict=True))

    f = scalar if draw(st.booleans()) else vectorised
    return f, vectorised, lambda low, high: float(np.abs(c) @ w**2)


INTERVALS = st.tuples(st.floats(-5, 5), st.floats(0.01, 4)).map(lambda p: (p[0], p[0] + p[1]))


@given(waves(), INTERVALS, st.integers(1, 60), st.booleans(), st.booleans())
def test_proved_bounds_hold_on_random_targets(wave, interval, N, local, with_tolerance):
    f, vectorised, bound = wave
    given_bound = bound if local else bound(0, 0)
    knots = "balanced" if local else "equal"
    size = {"tolerance": 0.3 / N} if with_tolerance else {"n_units": N}
    built = interpolate(f, interval, **size, second_derivative_bound=given_bound, knots=knots)
    assert built.certificate.kind == "proved"
    assert largest_error(built, vectorised, *interval, 2001) <= built.certificate.bound + 1e-11
    if with_tolerance:
        assert built.certificate.bound <= 0.3 / N


@given(waves(), INTERVALS, st.integers(1, 40), st.sampled_from(["equal", "balanced"]))
@settings(max_examples=30)
def test_sampled_bounds_are_what_more_samples_see(wave, interval, N, knots):
    f, vectorised, _ = wave
    built = interpolate(f, interval, n_units=N, knots=knots)
    assert built.certificate.kind == "sampled"
    seen = largest_error(built, vectorised, *interval, 5001)
    assert seen <= 1.02 * built.certificate.bound + 1e-11


def test_balanced_knots_are_never_worse_than_equal_ones():
    for f in (chapter, np.sqrt, np.exp, lambda x: abs(x - 0.3), lambda x: 1.0 * (x > 0.3)):
        for N in (1, 3, 10):
            equal, balanced = (
                interpolate(f, (0, 1), n_units=N, knots=k).certificate.bound
                for k in ("equal", "balanced")
            )
            assert balanced <= equal * 1.01


def test_a_bound_that_varies_puts_knots_where_it_is_large():
    built = interpolate(
        np.exp,
        (0, 10),
        1e-2,
        second_derivative_bound=lambda low, high: math.exp(high),
        knots="balanced",
    )
    equal = interpolate(np.exp, (0, 10), 1e-2, second_derivative_bound=math.exp(10))
    assert built.certificate.kind == "proved"
    assert built.network.hidden[0] < equal.network.hidden[0] / 2
    x = np.linspace(0, 10, 5001)
    assert np.abs(built(x[:, None])[:, 0] - np.exp(x)).max() <= 1e-2
    assert "given function" in built.certificate.how


# --- functions and mistakes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        math.sin,
        np.sin,
        lambda x: [math.sin(v) for v in x] if np.ndim(x) else math.sin(x),
        lambda x: np.sin(x)[..., None] if np.ndim(x) else math.sin(x),
        lambda x: np.sin(x) if np.ndim(x) == 0 else np.sin(x).max(),  # not of each point
        lambda x: np.sin(x) + (np.size(x) > 1),  # answers differently for many points
    ],
)
def test_functions_of_points_and_of_arrays(f):
    built = interpolate(f, (0.5, 2), n_units=5)
    t = np.linspace(0.5, 2, 6)
    assert built(t[:, None])[:, 0] == pytest.approx(np.sin(t))


def test_constant_and_linear_functions():
    built = interpolate(lambda x: 2.0, (0, 1), n_units=3)
    assert (built(np.linspace(0, 1, 9)[:, None]) == 2).all()
    line = interpolate(lambda x: 3 * x, (0, 1), 1e-9, second_derivative_bound=0)
    assert line.network.hidden == (1,)
    assert line.certificate.bound == 0


def test_too_many_units_are_refused_with_their_number():
    with pytest.raises(InvalidInput, match="needs 2,221,442 units, and at most 1,000,000"):
        interpolate(math.sin, (0, 2 * math.pi), 1e-12, second_derivative_bound=1)
    with pytest.raises(InvalidInput, match=r"needs about \d+ units, and at most 50 are"):
        interpolate(math.sin, (0, 2 * math.pi), 1e-4, max_units=50)
    with pytest.raises(InvalidInput, match=r"needs about [\d,]+ units"):  # a jump: none would do
        interpolate(lambda x: float(x > 0.3), (0, 1), 1e-2, max_units=10_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a tolerance or n_units"),
        ({"tolerance": 1, "n_units": 2}, "either a tolerance or n_units"),
        ({"tolerance": 0}, "tolerance is 0; it must be above 0"),
        ({"tolerance": math.nan}, "tolerance is nan; it must be a finite number"),
        ({"n_units": 0}, "n_units is 0"),
        ({"n_units": 2.5}, "n_units is 2.5"),
        ({"n_units": 2, "interval": (1, 1)}, "low must be below high"),
        ({"n_units": 2, "interval": 3}, r"must be \(low, high\)"),
        ({"n_units": 2, "knots": "even"}, '"equal" or "balanced"'),
        ({"n_units": 2, "f": 3}, "f is a int; it must be a function"),
        ({"n_units": 2, "f": lambda x: math.inf}, "f is inf at 0.0; it must be finite"),
        ({"n_units": 2, "f": lambda x: "no"}, "one number for a point"),
        ({"n_units": 2, "second_derivative_bound": -1}, "it must be 0 or more"),
        ({"n_units": 2, "second_derivative_bound": 1, "knots": "balanced"}, "equal knots"),
        ({"tolerance": 1e-18, "second_derivative_bound": 1e-9}, "what weights in float64 hold"),
        ({"n_units": 9, "interval": (1, 1 + 4e-16)}, "too narrow for float64"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_mistakes(arguments, message):
    given = {"f": lambda x: 1 + math.sin(x) / 3, "interval": (0, 1), **arguments}
    with pytest.raises(InvalidInput, match=message):
        interpolate(**given)
