"""Every reference value is compared by one test, or says why by none; and those of sections 1 to 4.

`references.py` says how a test compares values; test_reference_regions.py has sections 5 to 10.
"""

import json
import math
import re
from functools import cache

import numpy as np
import pytest
import references
from references import COMPARED, NOT_GIVEN, STATEMENTS, VALUES
from walkthrough import lesson

import pellucid
from pellucid import Box
from pellucid.constructions import CosineSum, approximate, interpolate, product, square
from pellucid.regions import bounds

# ---- what happens to every value


def unaccounted(values):
    """Values that are not accounted for exactly once, and compared ones that their test lacks."""
    wrong = []
    for path, value in references.leaves(values):
        tests = references.tests_of(path)
        reasons = [r for r in (*STATEMENTS, *NOT_GIVEN) if references.follows(path, r)]
        if len(tests) + len(reasons) != 1:
            wrong.append((path, value, tests + reasons))
        elif tests and not (
            references.reads_values(tests[0]) or references.is_written_in(value, tests[0])
        ):
            wrong.append((path, value, f"not in {tests[0]}"))
    return wrong


def test_every_value_is_compared_or_says_why_not():
    assert not unaccounted(VALUES)
    paths = [path for path, _ in references.leaves(VALUES)]
    rules = [*STATEMENTS, *NOT_GIVEN, *(rule for rules in COMPARED.values() for rule in rules)]
    idle = [rule for rule in rules if not any(references.follows(path, rule) for path in paths)]
    assert not idle, "rules that no value follows"


def test_a_new_value_is_accounted_for_by_nothing():
    c03 = VALUES["c03"]
    assert unaccounted({"c99": 1.5}) == [(("c99",), 1.5, [])]
    assert unaccounted({"c03": {**c03, "gelu_third": 0.5}})
    table = {**c03["table"], "9": {"tanh": 0.99}}
    assert unaccounted({"c03": {**c03, "table": table}})
    assert unaccounted({"c03": {**c03, "gelu_min": -c03["gelu_min"]}})  # the sign counts


def test_the_tests_that_are_named_are_there():
    named = [*COMPARED]
    for reason in (*STATEMENTS.values(), *NOT_GIVEN.values()):
        named += re.findall(r"[\w/]+\.py\S*", reason)
    for test in named:
        file, _, name = test.partition("::")
        assert name.startswith("test_"), test
        assert name in references.functions_of(file), test
    assert all(".py::test_" in reason for reason in STATEMENTS.values())


def test_reads_are_noted_by_leaf():
    read = set()
    values = references.Recorded({"a": {"b": 1, "c": [2, {"d": 3}]}, "e": 4}, read)
    assert values["a"]["c"][0] == 2
    assert read == {("a", "c", "0")}
    assert dict(values["a"])["b"] == 1
    assert read == {("a", "c", "0"), ("a", "b")}
    test = "test_reference_values.py::test_the_lesson"
    missed = references.never_read(test, {("c01", "loss")})
    assert ("c01", "dx", "3") in missed
    assert ("c01", "loss") not in missed


# ---- section 1 and 2


def test_the_lesson(reference):
    """Forward and backward pass of its 4-3-3 network, in row notation."""
    known, net, x = reference["c01"], lesson.network(), np.array([lesson.X])
    forward, step = net.forward(x), net.backward(x, [lesson.Y], "categorical")
    dz, da = step.delta[1], step.delta[0]
    for name, value in {
        "a": forward.z[0][0],
        "h": forward.h[0][0],
        "z": forward.z[1][0],
        "p": np.exp(forward.z[1][0] - known["logsumexp"]),
        "loss": step.loss,
        "dz": dz[0],
        "dW2": step.weight_gradients[1].T,
        "db2": step.bias_gradients[1],
        "dh": (dz @ net.weights[1])[0],
        "da": da[0],
        "dW1": step.weight_gradients[0].T,
        "db1": step.bias_gradients[0],
        "dx": step.input_gradient[0],
    }.items():
        np.testing.assert_allclose(value, known[name], atol=1e-9, err_msg=name)
    assert step.loss + net(x)[0, lesson.Y] == pytest.approx(known["logsumexp"], rel=1e-12)


def test_rounded_slopes_of_the_lesson(reference):
    """From rounded logits' slopes the third digit of the sums is a tie."""
    W2 = np.array([[1, 0, -0.5], [0.5, 1, 0], [-1, 0.5, 1]])
    found = W2 @ np.round(reference["c01"]["dz"], 3)
    np.testing.assert_allclose(found, reference["c01"]["dh_if_rounded_dz_is_used"], atol=1e-12)


def test_parameter_counts(reference):
    for widths, count in reference["c01"]["param_counts"].items():
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


def test_printed_errors_of_interpolating_networks(reference):
    for N, row in reference["c02"]["interpolating_network"].items():
        error, bound = error_of_equal_cells(int(N)), math.pi**2 / (2 * int(N) ** 2)
        steepest = 4 * math.pi**2
        built = interpolate(seed_target, (0, 1), n_units=int(N), second_derivative_bound=steepest)
        assert built.certificate.bound == pytest.approx(bound, rel=1e-9)
        assert row == {"error": f"{error:.2e}", "bound": f"{bound:.2e}"}


def test_printed_pieces_are_rounded_ones(reference):
    for k, row in reference["c02"]["count_pieces"].items():
        exact = reference["c06"]["seed_random_nets_exact"][k]
        assert row["units"] == 2 * int(k)
        assert row["sawtooth"] == reference["c05"]["sawtooth_counts"][k]["pieces01"]
        assert row["one_layer_at_most"] == bounds.most_on_a_line([row["units"]])
        assert row["random_mean"] == pytest.approx(exact["exact_mean"], abs=0.0501)
        assert row["random_max"] == exact["exact_max"]


def test_printed_accuracies_are_rounded_ones(reference):
    counts = reference["c02b_spirals_sensitivity"][0]["counts"]
    for hidden, row in reference["c02"]["spirals"].items():
        assert row["accuracies"] == [float(f"{n / 4000:.2f}") for n in counts[hidden]]
        net = pellucid.initialize([2, *json.loads(hidden), 2])
        assert row["parameters"] == net.n_parameters


# ---- section 3 and 4


def test_the_steepest_point_of_gelu(reference):
    where = reference["c03"]["gelu_dmax_at"]
    assert where == pytest.approx(math.sqrt(2), rel=1e-9)
    gelu = pellucid.network.as_activation("gelu")
    z = where + np.array([-1e-3, 0, 1e-3])
    assert gelu.derivative(z).argmax() == 1
    assert gelu.derivative(z)[1] == pytest.approx(reference["c03"]["gelu_dmax"], rel=1e-12)


def test_bounds_of_equal_cells(reference):
    for N, row in reference["c04"]["uniform_seed_target"].items():
        assert row["bound"] == pytest.approx(math.pi**2 / (2 * int(N) ** 2), rel=1e-12)
        assert row["err"] == pytest.approx(error_of_equal_cells(int(N)), rel=1e-6)
        assert row["ratio"] == pytest.approx(row["err"] / row["bound"], rel=1e-12)


def test_errors_times_the_square_of_units(reference):
    for N, row in reference["c04"]["adaptive_seed_target"].items():
        assert row["N2err"] == pytest.approx(int(N) ** 2 * row["err"], rel=1e-12)
    for eps, row in reference["c04b"]["greedy_adaptive_seed_target"].items():
        assert row["N2eps"] == pytest.approx(row["N"] ** 2 * float(eps), rel=1e-12)


def test_equal_cells_of_the_square_root(reference):
    for N, row in reference["c04"]["sqrt_target"].items():
        assert row["uniform"] == pytest.approx(math.sqrt(1 / int(N)) / 4, rel=1e-9)


def test_random_steps_fall_as_one_over_their_number(reference):
    """Means over few draws whose stream is not given lie among those of single draws of ours."""
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 101)
    for key, row in reference["c04"]["maurey_cos"].items():
        N = int(key)
        assert row["barron_bound"] == pytest.approx((2 * math.pi) ** 2 / N, rel=1e-12)
        # cos(pi x) by steps at places drawn from |f'| / 4: (4 V(x) - (f(x) - f(-1))^2) / N is the
        # variance, V the variation up to x; the mean over x is (4 * 2 - 3/2) / N
        errors = []
        for _ in range(200):
            t = np.arccos(1 - 2 * rng.random((N, 1))) / np.pi - (rng.random((N, 1)) < 0.5)
            f = -1 + 4 / N * (np.where(t < 0, 1, -1) * (x > t)).sum(axis=0)
            errors.append(((f - np.cos(np.pi * x)) ** 2).mean())
        assert np.mean(errors) == pytest.approx(6.5 / N, abs=4 * np.std(errors) / math.sqrt(200))
        assert row["mean"] == pytest.approx(6.5 / N, abs=np.std(errors))


def test_errors_on_triangles(reference):
    """sin(2 x) cos(3 y) at the first 20,000 points of NumPy's default generator, seed 0."""

    def f(x):
        return np.sin(2 * x[:, 0]) * np.cos(3 * x[:, 1])

    x = np.random.default_rng(0).random((20_000, 2))
    for N, row in reference["c04b"]["kuhn2_net"].items():
        built = approximate(f, Box([0, 0], [1, 1]), n_cells=int(N), hessian_bound=9)
        assert built.certificate.bound == pytest.approx(row["bound"], rel=1e-6)
        assert np.abs(built(x)[:, 0] - f(x)).max() == pytest.approx(row["err"], abs=1e-12)


def test_balanced_cells_are_no_more_than_greedy_ones(reference):
    """The sheet's cells are filled one by one from the left; ours share the error."""
    for eps, row in reference["c04b"]["greedy_adaptive_seed_target"].items():
        built = interpolate(seed_target, (0, 1), float(eps), knots="balanced")
        assert row["N"] - built.network.hidden[0] == (1 if eps == "0.001" else 0)


def test_products_of_two_and_of_three_squares(reference):
    """x y from squares of |x + y| / 2 and |x - y| / 2, or of |x + y| / 2, |x| / 2 and |y| / 2."""
    for m, row in reference["c04"]["product_err"].items():
        built, one = product(int(m)), square(int(m))
        t = np.arange(-8, 9) / 2 ** (int(m) + 1)  # with the middles of the squares' cells
        x, y = (grid.ravel() for grid in np.meshgrid(t[np.abs(t) <= 1], t[np.abs(t) <= 1]))

        def half_squared(v, one=one):
            return one(np.abs(v)[:, None] / 2)[:, 0]

        two = built(np.stack([x, y], axis=1))[:, 0]
        three = 2 * (half_squared(x + y) - half_squared(x) - half_squared(y))
        assert np.abs(two - x * y).max() == row["two_square"] == row["bound2"]
        assert np.abs(three - x * y).max() == row["three_square"] == row["bound3"]
        assert built.certificate.bound == row["bound2"]


def test_errors_of_ridges(reference):
    """The frequencies are not given; other points see 2 % more of the same bound."""
    f, row = CosineSum([1, 0.5, 0.1], [[1, 2], [3, -1], [0, 1]]), reference["c04c"]["ridge"]
    built = approximate(f, Box([0, 0], [1, 1]), n_cells=40)
    assert sum(built.network.hidden) == row["units"]
    assert built.certificate.bound == pytest.approx(row["bound"], rel=1e-9)
    x = np.random.default_rng(0).random((20_000, 2))
    assert np.abs(built(x)[:, 0] - f(x)).max() == pytest.approx(row["err"], rel=0.03)


def test_one_layer_fits_a_hat_inside_and_not_outside(reference):
    """Its random units are not given: it fits as well as other draws, and none fits outside."""
    row, rng, rmse = reference["c04c"]["hat_fit_one_layer"], np.random.default_rng(0), []

    def hat(x):
        y = np.concatenate([2 * x, np.zeros((len(x), 1))], axis=1)
        return np.maximum(1 - (y.max(axis=1) - y.min(axis=1)), 0)

    for _ in range(12):
        w, b = rng.normal(size=(300, 2)), rng.normal(size=300)
        inside, outside = rng.uniform(-1, 1, (1500, 2)), rng.uniform(-4, 4, (4000, 2))
        features = np.maximum(inside @ w.T + b, 0)
        a = np.linalg.lstsq(features, hat(inside), rcond=None)[0]
        rmse.append(math.sqrt(np.mean((features @ a - hat(inside)) ** 2)))
        outside = outside[np.abs(outside).max(axis=1) > 1]  # where the hat is at most 1/2
        assert np.abs(np.maximum(outside @ w.T + b, 0) @ a).max() > 2
    assert row["inside_rmse"] == pytest.approx(np.mean(rmse), abs=3 * np.std(rmse))
    assert row["outside_max"] > 2
