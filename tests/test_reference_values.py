"""Every value of the file of reference values is compared by a test, or says why it is not.

`data/reference_values.json` holds what the theory behind this project was checked against, by
section. `data/reference_rules.toml` names the test of each part, or tells why a part has none: most
of those are sentences, and a few values came from data or random numbers that are not given.
"""

import ast
import json
import math
import re
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import Box
from pellucid.constructions import CosineSum, approximate, interpolate
from pellucid.regions import bounds

TESTS = Path(__file__).parent
R = json.loads((TESTS / "data" / "reference_values.json").read_text())
OWN = "test_reference_values.py", "test_reference_regions.py"  # which read the values themselves
RULES = tomllib.loads((TESTS / "data" / "reference_rules.toml").read_text())
COMPARED, REASONS = RULES["compared"], RULES["reasons"]

TOLERANCE = 2e-3  # relative: tests may hold a value with fewer digits
COMMON = (0, 0.25, 0.5, 1)  # and small whole numbers: they stand in every file


# ---- the walk


def leaves(value, path=()):
    """Every value with the keys that lead to it."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in items:
            yield from leaves(below, (*path, str(key)))
    else:
        yield path, value


def rule_of(path, rules):
    """The longest rule whose keys begin the path."""
    found = [
        rule
        for rule in rules
        if len(parts := rule.split(" > ")) <= len(path)
        and all(part in ("*", key) for part, key in zip(parts, path, strict=False))
    ]
    return max(found, key=lambda rule: len(rule.split(" > ")), default=None)


@cache
def numbers_of(file):
    """All numbers that are written in a file."""
    words = re.findall(r"\d+(?:_\d+)*(?:\.\d+)?(?:e-?\d+)?", (TESTS / file).read_text())
    return np.array(sorted({float(word.replace("_", "")) for word in words}))


@cache
def functions_of(file):
    tree = ast.parse((TESTS / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_value_is_compared_or_says_why_not():
    used, nowhere = set(), []
    for path, value in leaves(R):
        compared, reason = rule_of(path, COMPARED), rule_of(path, REASONS)
        longer = max((compared, reason), key=lambda rule: len((rule or "").split(" > ")))
        if reason is not None and longer == reason:
            used.add(reason)
        elif compared is not None:
            used.add(compared)
            if not stands_in(value, COMPARED[compared].partition("::")[0]):
                nowhere.append((path, value, COMPARED[compared]))
        else:
            nowhere.append((path, value, "no rule"))
    assert not nowhere
    assert used == {*COMPARED, *REASONS}, "rules that no value follows"


def stands_in(value, file):
    """Whether a test file holds a number; this one reads all of them from the file itself."""
    if file in OWN or not isinstance(value, int | float) or isinstance(value, bool):
        return True
    v = abs(value)
    if v in COMMON or (v == int(v) and v < 100):
        return True
    return bool((np.abs(numbers_of(file) - v) <= TOLERANCE * v).any())


@pytest.mark.parametrize("rules", [COMPARED, REASONS], ids=["compared", "reasons"])
def test_the_tests_that_are_named_are_there(rules):
    for text in rules.values():
        for file, name in re.findall(r"([\w/]+\.py)(?:::(\w+))?", text):
            assert (TESTS / file).exists(), file
            assert not name or name in functions_of(file), (file, name)


# ---- section 1 and 2


def test_rounded_slopes_of_the_lesson():
    """From rounded logits' slopes the third digit of the sums is a tie."""
    W2 = np.array([[1, 0, -0.5], [0.5, 1, 0], [-1, 0.5, 1]])
    found = W2 @ np.round(R["c01"]["dz"], 3)
    np.testing.assert_allclose(found, R["c01"]["dh_if_rounded_dz_is_used"], atol=1e-12)


def test_parameter_counts():
    for widths, count in R["c01"]["param_counts"].items():
        assert pellucid.initialize(json.loads(widths)).n_parameters == count


def seed_target(x):
    return np.sin(2 * np.pi * x) + x / 2


@cache
def error_of_equal_cells(N):
    """The largest |g - g_N|: at ends of the interval's cells it is 0, between at a root of g'."""
    t = np.linspace(0, 1, N + 1)
    x = (t[:-1, None] + np.linspace(0, 1, 65) / N).ravel()
    slope = np.repeat(np.diff(seed_target(t)) * N, 65)
    lower, upper = np.repeat(t[:-1], 65), np.repeat(t[1:], 65)
    for _ in range(40):  # Newton's method for g'(x) = slope, kept inside of the cell
        first = 2 * np.pi * np.cos(2 * np.pi * x) + 0.5 - slope
        second = -4 * np.pi**2 * np.sin(2 * np.pi * x)
        x = np.clip(x - first / np.where(second == 0, 1, second), lower, upper)
    return np.abs(np.interp(x, t, seed_target(t)) - seed_target(x)).max()


def test_printed_errors_of_interpolating_networks():
    for N, row in R["c02"]["interpolating_network"].items():
        error, bound = error_of_equal_cells(int(N)), math.pi**2 / (2 * int(N) ** 2)
        steepest = 4 * math.pi**2
        built = interpolate(seed_target, (0, 1), n_units=int(N), second_derivative_bound=steepest)
        assert built.certificate.bound == pytest.approx(bound, rel=1e-9)
        assert row == {"error": f"{error:.2e}", "bound": f"{bound:.2e}"}


def test_printed_pieces_are_rounded_ones():
    for k, row in R["c02"]["count_pieces"].items():
        exact = R["c06"]["seed_random_nets_exact"][k]
        assert row["units"] == 2 * int(k)
        assert row["sawtooth"] == R["c05"]["sawtooth_counts"][k]["pieces01"]
        assert row["one_layer_at_most"] == bounds.most_on_a_line([row["units"]])
        assert row["random_mean"] == pytest.approx(exact["exact_mean"], abs=0.0501)
        assert row["random_max"] == exact["exact_max"]


def test_printed_accuracies_are_rounded_ones():
    counts = R["c02b_spirals_sensitivity"][0]["counts"]
    for hidden, row in R["c02"]["spirals"].items():
        assert row["accuracies"] == [float(f"{n / 4000:.2f}") for n in counts[hidden]]
        net = pellucid.initialize([2, *json.loads(hidden), 2])
        assert row["parameters"] == net.n_parameters


# ---- section 3 and 4


def test_the_steepest_point_of_gelu():
    where = R["c03"]["gelu_dmax_at"]
    assert where == pytest.approx(math.sqrt(2), rel=1e-9)
    gelu = pellucid.network.as_activation("gelu")
    z = where + np.array([-1e-3, 0, 1e-3])
    assert gelu.derivative(z).argmax() == 1
    assert gelu.derivative(z)[1] == pytest.approx(R["c03"]["gelu_dmax"], rel=1e-12)


def test_bounds_of_equal_cells():
    for N, row in R["c04"]["uniform_seed_target"].items():
        assert row["bound"] == pytest.approx(math.pi**2 / (2 * int(N) ** 2), rel=1e-12)
        assert row["err"] == pytest.approx(error_of_equal_cells(int(N)), rel=1e-6)
        assert row["ratio"] == pytest.approx(row["err"] / row["bound"], rel=1e-12)


def test_errors_times_the_square_of_units():
    for N, row in R["c04"]["adaptive_seed_target"].items():
        assert row["N2err"] == pytest.approx(int(N) ** 2 * row["err"], rel=1e-12)
    for eps, row in R["c04b"]["greedy_adaptive_seed_target"].items():
        assert row["N2eps"] == pytest.approx(row["N"] ** 2 * float(eps), rel=1e-12)


def test_equal_cells_of_the_square_root():
    for N, row in R["c04"]["sqrt_target"].items():
        assert row["uniform"] == pytest.approx(math.sqrt(1 / int(N)) / 4, rel=1e-9)


def test_random_steps_fall_as_one_over_their_number():
    """Means over few draws whose stream is not given: they are below the bound, and fall as it."""
    rows = R["c04"]["maurey_cos"]
    N = np.array([int(n) for n in rows])
    means, limits = (np.array([row[k] for row in rows.values()]) for k in ("mean", "barron_bound"))
    np.testing.assert_allclose(limits, (2 * math.pi) ** 2 / N, rtol=1e-12)
    assert (means < limits).all()
    # cos(pi x) by steps at places drawn from |f'| / 4: variance (4 V(x) - (f(x) - f(-1))^2) / N,
    # V the variation up to x; the mean over x is (4 * 2 - 3/2) / N
    assert ((means * N / 6.5 > 0.5) & (means * N / 6.5 < 2)).all()
    rng, x, draws = np.random.default_rng(0), np.linspace(-1, 1, 101), 2000
    t = np.arccos(1 - 2 * rng.random((draws, 10, 1))) / np.pi - (rng.random((draws, 10, 1)) < 0.5)
    f = -1 + 4 / 10 * (np.where(t < 0, 1, -1) * (x > t)).sum(axis=1)
    assert ((f - np.cos(np.pi * x)) ** 2).mean() == pytest.approx(6.5 / 10, rel=0.1)


def test_errors_on_triangles():
    """sin(2 x) cos(3 y) at the first 20,000 points of NumPy's default generator, seed 0."""

    def f(x):
        return np.sin(2 * x[:, 0]) * np.cos(3 * x[:, 1])

    x = np.random.default_rng(0).random((20_000, 2))
    for N, row in R["c04b"]["kuhn2_net"].items():
        built = approximate(f, Box([0, 0], [1, 1]), n_cells=int(N), hessian_bound=9)
        assert built.certificate.bound == pytest.approx(row["bound"], rel=1e-6)
        assert np.abs(built(x)[:, 0] - f(x)).max() == pytest.approx(row["err"], abs=1e-12)


def test_errors_of_ridges():
    """The frequencies are not given; other points see 2 % more of the same bound."""
    f, row = CosineSum([1, 0.5, 0.1], [[1, 2], [3, -1], [0, 1]]), R["c04c"]["ridge"]
    built = approximate(f, Box([0, 0], [1, 1]), n_cells=40)
    assert sum(built.network.hidden) == row["units"]
    assert built.certificate.bound == pytest.approx(row["bound"], rel=1e-9)
    x = np.random.default_rng(0).random((20_000, 2))
    assert np.abs(built(x)[:, 0] - f(x)).max() == pytest.approx(row["err"], rel=0.03)


def test_one_layer_fits_a_hat_inside_and_not_outside():
    """Its random units are not given: another draw is as good inside and as bad outside."""
    row, rng = R["c04c"]["hat_fit_one_layer"], np.random.default_rng(0)

    def hat(x):
        y = np.concatenate([2 * x, np.zeros((len(x), 1))], axis=1)
        return np.maximum(1 - (y.max(axis=1) - y.min(axis=1)), 0)

    w, b = rng.normal(size=(300, 2)), rng.normal(size=300)
    inside, outside = rng.uniform(-1, 1, (4000, 2)), rng.uniform(-4, 4, (4000, 2))
    outside = outside[np.abs(outside).max(axis=1) > 1]
    a = np.linalg.lstsq(np.maximum(inside @ w.T + b, 0), hat(inside), rcond=None)[0]
    rmse = math.sqrt(np.mean((np.maximum(inside @ w.T + b, 0) @ a - hat(inside)) ** 2))
    largest = np.abs(np.maximum(outside @ w.T + b, 0) @ a).max()
    for found, expected in ((rmse, row["inside_rmse"]), (largest, row["outside_max"])):
        assert 1 / 5 < found / expected < 5
