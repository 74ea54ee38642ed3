"""No network gets below a floor, and floors are tight where the optimum is known."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import (
    Activation,
    InvalidInput,
    Network,
    Recipe,
    initialize,
    train,
    train_many,
)
from pellucid.datasets import as_table
from pellucid.diagnosis import FLOORS, Architecture, Floor, capacity_certificate, find_floors
from pellucid.diagnosis.checker import check_certificate, groups
from pellucid.diagnosis.checker.affine import orthonormal_basis
from pellucid.diagnosis.checker.formulas import ACTIVATIONS
from pellucid.diagnosis.checker.one_unit import _orders
from pellucid.diagnosis.checker.output_range import RANGES
from pellucid.diagnosis.checker.patterns import _squares, sides_of_lines
from pellucid.diagnosis.floors import isotonic, orders, patterns, radon
from pellucid.diagnosis.floors.lines import most_changes
from pellucid.diagnosis.floors.output_range import RANGES as SEARCHED_RANGES
from pellucid.diagnosis.problem import GAUSSIAN_CONSTANT, Problem, fold, outputs, pose
from pellucid.likelihoods import LIKELIHOODS

C = GAUSSIAN_CONSTANT
RNG = np.random.default_rng


def question(X: Any, y: Any, task: str = "auto", standardize: bool = True) -> Problem:
    """A problem whose training rows are all rows but two."""
    problem = pose(as_table(X, y, task=task), Recipe((), standardize=standardize), 0, 0.25)
    held_out = np.zeros(len(y), bool)
    held_out[[0, len(y) // 2]] = True
    if problem.classes is None:
        kept = problem.y[~held_out]
        scale = {"target_offset": float(kept.mean()), "target_scale": float(kept.std())}
        standard = replace(problem.standard, **scale)
        own = standard if standardize else problem.scaling
        problem = replace(problem, standard=standard, scaling=own)
    return replace(problem, held_out=held_out)


def floors_of(problem: Problem, architecture: Architecture, work: float = 1e9) -> dict[str, Floor]:
    return {floor.kind: floor for floor in find_floors(problem, architecture, work=work)}


def training_loss(problem: Problem, network: Network) -> float:
    """Of a network that takes the standardised columns, as recipes train it."""
    rows = np.flatnonzero(~problem.held_out)
    folded = fold(network, problem.scaling, regression=problem.classes is None)
    return float(problem.losses(outputs(folded, problem.raw_X[rows]), rows).mean())


# ---- tight where the optimum is known


def test_duplicates_are_bounded_by_the_entropy_of_each_group():
    X = np.repeat(np.eye(2), 20, axis=0)
    y = np.array([0] * 10 + [1] * 10 + [1] * 20)
    problem = question(X, y)
    problem = replace(problem, held_out=np.arange(40) % 40 == 39)
    floor = floors_of(problem, Architecture.uniform(2, [8], 2))["conflicting duplicates"]
    assert floor.value == pytest.approx(20 * math.log(2) / 39, rel=1e-6)


def test_an_affine_network_is_bounded_by_least_squares():
    X = RNG(0).normal(size=(60, 3))
    problem = question(X, X[:, 0] ** 2 + X[:, 1])
    train = ~problem.held_out
    A = np.column_stack([X[train], np.ones(train.sum())])
    u = (problem.y[train] - problem.y[train].mean()) / problem.loss_scale
    r = u - A @ np.linalg.lstsq(A, u, rcond=None)[0]
    floor = floors_of(problem, Architecture.uniform(3, [], 1))["affine"]
    assert floor.value == pytest.approx(C + (r @ r) / (2 * len(u)), abs=1e-7)


def test_an_affine_network_is_bounded_by_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    X = RNG(0).normal(size=(80, 2))
    y = (X[:, 0] + RNG(1).normal(size=80) > 0).astype(int) + (X[:, 1] > 1.2)
    problem = question(X, y)
    X, y = X[~problem.held_out], y[~problem.held_out]
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(X, y)
    best = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()
    floor = floors_of(problem, Architecture.uniform(2, [], 3))["affine"]
    assert floor.value == pytest.approx(best, abs=1e-5)
    assert floor.value <= best


def test_separable_classes_have_no_affine_floor():
    X = RNG(0).normal(size=(60, 2))
    assert not floors_of(question(X, (X[:, 0] > 0).astype(int)), Architecture.uniform(2, [], 2))


@pytest.mark.parametrize("n_turned", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_an_affine_floor_on_labels_tells_whether_a_line_separates_them(seed: int, n_turned: int):
    """As a linear program does: margins of at least 1, or none."""
    from scipy.optimize import linprog

    X = RNG(seed).normal(size=(24, 2))
    y = (X[:, 0] > 0).astype(int)
    y[RNG(seed + 9).permutation(24)[:n_turned]] ^= 1
    problem = question(X, y)
    kept = ~problem.held_out
    A = np.column_stack([X[kept], np.ones(kept.sum())]) * (2 * y[kept] - 1)[:, None]
    program = linprog(np.zeros(3), A_ub=-A, b_ub=-np.ones(len(A)), bounds=(None, None))
    floors = floors_of(problem, Architecture.uniform(2, [], 2))
    assert ("affine" in floors) == (not program.success)


@pytest.mark.parametrize("d_out", [1, 2])
def test_xor_with_one_unit_has_the_exact_floor(d_out: int):
    """0.75 ln 3 - 0.5 ln 2: the best monotone function of a linear form of four points."""
    X = np.array(list(itertools.product([0.0, 1.0], repeat=2)) * 10)
    problem = question(X, (X[:, 0] != X[:, 1]).astype(int))
    likelihood = LIKELIHOODS["bernoulli" if d_out == 1 else "categorical"]
    held_out = np.arange(40) < 4
    problem = replace(problem, likelihood=likelihood, held_out=held_out)
    floor = floors_of(problem, Architecture.uniform(2, [1], d_out, "sigmoid"))["one hidden unit"]
    exact = 0.75 * (math.log(3) / 3 + 2 * math.log(1.5) / 3)
    assert exact == pytest.approx(0.47739, abs=1e-5)
    assert floor.value == pytest.approx(exact, abs=1e-6)


def test_sine_with_four_units_is_bounded_by_five_pieces():
    """Between the best discontinuous fit and the best network that many starts find."""
    x = np.linspace(-1, 1, 200)[:, None]
    problem = question(x, np.sin(8 * np.pi * x[:, 0]))
    floor = floors_of(problem, Architecture.uniform(1, [4], 1))["pieces on a line"]
    assert floor.evidence["pieces"] == 5
    assert 1.2 < floor.value < C + 0.5
    p = problem
    best = brute_force_pieces(p.raw_X[~p.held_out, 0], p.y[~p.held_out] / p.loss_scale, 5)
    assert floor.value == pytest.approx(C + best / 2, abs=1e-6)


def brute_force_pieces(t: np.ndarray, u: np.ndarray, pieces: int) -> float:
    """Mean squares of the best fit, by `lstsq` on every segment."""
    n = len(t)
    cost = np.zeros((n + 1, n + 1))
    for i in range(n):
        for j in range(i + 3, n + 1):
            A = np.column_stack([t[i:j], np.ones(j - i)])
            r = u[i:j] - A @ np.linalg.lstsq(A, u[i:j], rcond=None)[0]
            cost[i, j] = r @ r
    D = cost[0]
    for _ in range(pieces - 1):
        D = np.array([min(D[i] + cost[i, j] for i in range(j + 1)) for j in range(n + 1)])
    return float(D[n]) / n


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus", "silu"])
@pytest.mark.parametrize("m", [1, 2])
def test_smooth_networks_never_cross_a_level_more_often(name: str, m: int):
    rng = RNG(0)
    x = np.linspace(-30, 30, 4001)[:, None]
    most = most_changes(Architecture.uniform(1, [m], 1, name))
    assert most is not None
    formula, seen = ACTIVATIONS[name][1], 0
    for _ in range(300):
        w, b, v = 3 * rng.normal(size=(3, m)) * np.exp(rng.normal(size=(3, m)))
        f = formula(x * w + b) @ v
        level = rng.choice(f)
        s = np.sign(f - level)
        seen = max(seen, int((np.diff(s[s != 0]) != 0).sum()))
    assert 1 <= seen <= most


@pytest.mark.parametrize("seed", range(5))
def test_sign_changes_are_counted_by_brute_force(seed: int):
    rng = RNG(seed)
    x, y = np.arange(24.0)[:, None], rng.integers(0, 2, 24)
    y[:2] = 0, 1
    problem = question(x, y)
    floor = floors_of(problem, Architecture.uniform(1, [2], 2)).get("pieces on a line")
    z = y[~problem.held_out]
    fewest = min(
        int(((np.searchsorted(cuts, np.arange(len(z)), side="right") + start) % 2 != z).sum())
        for start in (0, 1)
        for cuts in itertools.combinations(range(1, len(z) + 1), 3)
    )
    value = 0.0 if floor is None else floor.value
    assert value == pytest.approx(fewest * math.log(2) / len(z), abs=1e-6)


def test_double_softmax_has_its_known_floor():
    problem = question(RNG(0).normal(size=(60, 2)), np.arange(60) % 10, "classification")
    architecture = Architecture.uniform(2, [8], 10, output_activation="double softmax")
    floor = floors_of(problem, architecture)["output range"]
    assert floor.value == pytest.approx(math.log(1 + 9 / math.e), abs=1e-6)


@pytest.mark.parametrize("link", ["softmax", "identity", "leaky_relu"])
def test_what_limits_nothing_has_no_floor(link: str):
    problem = question(RNG(0).normal(size=(60, 2)), np.arange(60) % 10, "classification")
    assert not floors_of(problem, Architecture.uniform(2, [8], 10, output_activation=link))


def test_a_single_logit_goes_through_its_own_sigmoid_once():
    X = RNG(0).normal(size=(60, 2))
    problem = question(X, (X[:, 0] > 0).astype(int))
    problem = replace(problem, likelihood=LIKELIHOODS["bernoulli"])
    once = Architecture.uniform(2, [8], 1, output_activation="sigmoid")
    assert not floors_of(problem, once)
    twice = replace(once, output_activation="double sigmoid")
    share = problem.y[~problem.held_out].mean()
    least = share * math.log1p(math.exp(-1)) + (1 - share) * math.log(2)
    assert floors_of(problem, twice)["output range"].value == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in RANGES if name in ACTIVATIONS])
def test_ranges_hold_every_value(name: str):
    z = np.concatenate([np.linspace(-50, 50, 20001), np.linspace(-3, 1, 40001)])
    n_parameters, formula = ACTIVATIONS[name]
    parameters = {"hardtanh": (-1.0, 1.0), "elu": (1.0,)}.get(name, ())
    assert len(parameters) == n_parameters
    values = formula(z, *parameters)
    for low, high in (RANGES[name], SEARCHED_RANGES[name]):
        assert values.min() >= low
        assert values.max() <= high
        assert values.min() == pytest.approx(low, abs=0.03)
    assert SEARCHED_RANGES[name][0] <= RANGES[name][0]


@pytest.mark.parametrize(
    ("name", "parameters", "known"),
    [
        ("elu", (1.0,), True),
        ("elu", (0.5,), True),
        ("elu", (5.0,), False),
        ("hardtanh", (-1.0, 0.5), True),
        ("hardtanh", (0.0, 6.0), False),
    ],
)
def test_an_output_that_leaves_the_range_of_its_name_has_no_shape_here(name, parameters, known):
    network = Network([np.ones((1, 1))], [np.zeros(1)], [], Activation(name, parameters))
    if known:
        assert Architecture.of_network(network).output_activation == name
    else:
        with pytest.raises(InvalidInput, match="no bounds"):
            Architecture.of_network(network)


# ---- the parts


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(-5, 5)), min_size=1, max_size=9))
def test_pooling_finds_the_best_monotone_fit(points: list[tuple[int, int]]):
    w, s = [float(a) for a, _ in points], [float(b) for _, b in points]

    def brute(values: list[tuple[float, float]]) -> float:
        """-sum^2 / weight over the best split into blocks of rising means."""
        n, best = len(values), math.inf
        for cuts in itertools.product([0, 1], repeat=n - 1):
            ends = [0, *(i + 1 for i, c in enumerate(cuts) if c), n]
            blocks = [values[i:j] for i, j in itertools.pairwise(ends)]
            sums = [(sum(a for a, _ in b), sum(v for _, v in b)) for b in blocks]
            means = [v / a for a, v in sums]
            if all(p <= q for p, q in itertools.pairwise(means)):
                best = min(best, sum(-v * v / a for a, v in sums))
        return best

    values = list(zip(w, s, strict=True))
    expected = min(brute(values), brute(values[::-1]))
    assert isotonic.monotone_cost(w, s, False) == pytest.approx(expected, abs=1e-9)


coordinates = st.integers(-4, 4) | st.sampled_from([0.1, 0.5, -0.3, 1e-9, 3e5])


@given(st.sets(st.tuples(coordinates, coordinates), min_size=2, max_size=6), st.integers(0, 99))
def test_both_sides_enumerate_the_order_of_every_direction(points: set, seed: int):
    """Every order that a random direction gives is found by the search and by the checker."""
    places = sorted((float(x), float(y)) for x, y in points)
    exact = list(
        zip(*(orders.whole(np.array([p[k] for p in places])) for k in (0, 1)), strict=True)
    )
    found = {tuple(order) for order in orders.plane_orders(exact)}
    found |= {order[::-1] for order in found}
    checked = {tuple(order) for order in _orders(places)}
    checked |= {order[::-1] for order in checked}
    assert found == checked
    for a in RNG(seed).normal(size=(20, 2)):
        z = np.array(places) @ a
        if np.diff(np.sort(z)).min() > 1e-10:
            assert tuple(np.argsort(z).tolist()) in found


@given(st.sets(st.tuples(coordinates, coordinates), min_size=2, max_size=7), st.integers(0, 99))
def test_both_sides_enumerate_what_lines_can_separate(points: set, seed: int):
    """Points on one line, ties and tiny distances among them; random lines give nothing else."""
    places = sorted((float(x), float(y)) for x, y in points)
    found = {tuple(s > 0 for s in side) for side in patterns.splits(np.array(places))}
    assert found == sides_of_lines(places)
    P = np.array(places)
    for a in RNG(seed).normal(size=(20, 2)):
        z = P @ a
        z -= RNG(seed).choice((z[:, None] + z[None, :]).ravel()) / 2
        if np.abs(z).min() > 1e-10:
            assert tuple(((z > 0) == (z[0] > 0)).tolist()) in found


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_cells_of_lines_are_fitted_as_by_lstsq(lines: int, seed: int):
    rng = RNG(seed)
    places = np.unique(rng.normal(size=(13, 2)), axis=0)
    X = np.repeat(places, 2, axis=0)
    u = rng.normal(size=26)
    sides = patterns.splits(places)[:, np.repeat(np.arange(13), 2)]

    def rest(kept: np.ndarray) -> float:
        A = np.column_stack([X[kept], np.ones(kept.sum())])
        r = u[kept] - A @ np.linalg.lstsq(A, u[kept], rcond=None)[0]
        return float(r @ r)

    best, cost = math.inf, {}
    for one, other in itertools.product(sides, sides if lines == 2 else sides[:1] * 0 + 1):
        cell = one + 2 * other
        masks = [cell == k for k in np.unique(cell)]
        for m in masks:
            if m.tobytes() not in cost:
                cost[m.tobytes()] = rest(m)
        best = min(best, sum(cost[m.tobytes()] for m in masks))
    value = patterns._least_squares(X, u, lines)
    assert value <= best
    assert value == pytest.approx(best, abs=0.02 * float(u @ u))
    points = [tuple(p) for p in places.tolist()]
    checked = _squares(points, list(u.reshape(13, 2)), lines)
    assert value <= checked <= best


@pytest.mark.parametrize(("sigma", "slope"), [("relu", 0.0), ("leaky_relu", 0.2), ("abs", -1.0)])
@pytest.mark.parametrize("m", [1, 2])
def test_a_network_of_that_shape_has_no_pattern_floor(sigma: str, slope: float, m: int):
    """Its kinks go through rows of a grid, so that rows lie on the lines themselves."""
    X = np.array(list(itertools.product(range(-4, 5), repeat=2)), dtype=float)
    rng = RNG(m)
    y = np.zeros(len(X))
    for _ in range(m):
        z = (X - rng.integers(-2, 3, 2)) @ rng.integers(-2, 3, 2)
        y += rng.normal() * np.where(z > 0, z, slope * z)
    problem = question(X, y)
    activation = Activation(sigma, (slope,)) if sigma == "leaky_relu" else sigma
    floors = floors_of(problem, Architecture.uniform(2, [m], 1, activation))
    assert "activation patterns" not in floors


def test_two_units_in_the_plane_have_a_floor_that_training_respects():
    X = RNG(0).uniform(-1, 1, (80, 2))
    problem = question(X, np.sin(6 * X[:, 0]) * np.cos(6 * X[:, 1]))
    architecture = Architecture.uniform(2, [2], 1, "relu")
    floor = floors_of(problem, architecture)["activation patterns"]
    assert floor.value > C + 0.1
    X, y = problem.scaled(problem.scaling)
    kept = ~problem.held_out
    grid = train_many(
        X[kept], y[kept], hidden=[[2]], seed=range(12), learning_rate=0.05, steps=1000
    )
    assert min(training_loss(problem, net) for net in grid.networks) >= floor.value
    accepted_by_the_checker(problem, architecture, [floor])
    assert "activation patterns" not in floors_of(problem, Architecture.uniform(2, [3], 1, "relu"))


def test_the_basis_of_the_checker_is_refused_where_columns_nearly_depend():
    x = RNG(0).normal(size=(50, 1))
    A = np.column_stack([x, x + 1e-9 * RNG(1).normal(size=(50, 1)), np.ones(50)])
    with pytest.raises(Exception, match=r"nearly dependent|positive definite"):
        orthonormal_basis(A)
    Q = orthonormal_basis(np.column_stack([x, np.ones(50)])).Q
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-12)


def test_columns_that_nearly_depend_give_no_floor():
    x = RNG(0).normal(size=(50, 1))
    X = np.column_stack([x, x + 1e-9 * RNG(1).normal(size=(50, 1))])
    assert not floors_of(question(X, x[:, 0] ** 2), Architecture.uniform(2, [], 1))


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_both_sides_split_groups_alike_and_the_hulls_meet(seed: int, d: int):
    points = RNG(seed).integers(-3, 4, (d + 2, d)).astype(float)
    a = radon.null_vector(points)
    if a is None:
        return
    assert sum(a) == 0
    total = sum(float(q) * x for q, x in zip(a, points, strict=True))
    np.testing.assert_allclose(total, 0, atol=1e-9)
    side = [float(q > 0) for q in a]
    one, other = groups._parts(points.tolist(), side)
    assert len({*one}) == len({*other}) == 1
    assert one != other


# ---- no network gets below


SHAPES = st.sampled_from(
    [
        *(((), "relu"), ((2,), "identity"), ((1,), "relu"), ((1,), "tanh"), ((1,), "gelu")),
        *(((1, 1), "sigmoid"), ((2,), "relu"), ((3,), "hardtanh"), ((1, 2), "leaky_relu")),
        *(((2,), "abs"), ((4,), "softplus"), ((1,), "silu"), ((1,), "abs"), ((2,), "tanh")),
        *(((2,), "softplus"), ((2,), "silu"), ((3,), "sigmoid")),
    ]
)
LINKS = st.sampled_from(["identity", "relu", "sigmoid", "tanh", "silu", "softmax"])


def case_of(seed: int, d: int, task: str) -> Problem:
    rng = RNG(seed)
    X = rng.normal(size=(40, d))
    if rng.integers(2):
        X = np.round(X)  # ties and duplicates
    X[:, 0] += np.arange(40) % 2  # never constant
    if d > 1 and rng.integers(2):
        X[:, 1] = np.arange(40) % 2
    wave = np.sin(4 * X[:, 0]) + 0.3 * rng.normal(size=40) + X[:, -1] ** 2
    if task == "regression":
        return question(X, wave, standardize=bool(rng.integers(2)))
    labels = np.searchsorted(np.quantile(wave, [1 / 3, 2 / 3]), wave) % (2 + rng.integers(2))
    return question(X, labels, task="classification")


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 3), SHAPES, st.sampled_from(["regression", "labels"]))
def test_no_random_or_trained_network_is_below_a_floor(seed, d, shape, task):
    problem = case_of(seed, d, task)
    hidden, sigma = shape
    architecture = Architecture.uniform(d, hidden, problem.d_out, sigma)
    floors = find_floors(problem, architecture, work=1e7)
    X, y = problem.scaled(problem.scaling)
    kept = ~problem.held_out
    grid = train_many(
        X[kept],
        y[kept],
        hidden=[list(hidden)],
        activation=sigma,
        seed=range(3),
        learning_rate=0.05,
        steps=300,
    )
    losses = [training_loss(problem, network) for network in grid.networks]
    start = initialize(architecture.widths, sigma, seed=seed % 1000)
    for scale in (1.0, 10.0, 1e4):
        weights = tuple(scale * W for W in start.weights)
        losses.append(training_loss(problem, replace(start, weights=weights)))
    for floor in floors:
        assert min(losses) >= floor.value
    accepted_by_the_checker(problem, architecture, floors)


def accepted_by_the_checker(problem: Problem, architecture: Architecture, floors: Any) -> None:
    """Every floor becomes a certificate that the checker accepts."""
    least = C if problem.classes is None else 0.0
    y = problem.y[~problem.held_out]
    shares = np.bincount(y) / len(y) if problem.classes else np.empty(0)
    trivial = C + 0.5 if not problem.classes else -sum(p * math.log(p) for p in shares if p)
    for floor in floors:
        if floor.value > least + 0.1 * (trivial - least):
            c = capacity_certificate(problem, architecture, floor, float(trivial), least)
            answer = check_certificate(c, problem.raw_X, problem.y, problem.held_out)
            assert answer.accepted, (floor, answer)


@settings(max_examples=40)
@given(st.integers(0, 10**6), LINKS, st.sampled_from(["regression", "labels"]))
def test_no_output_activation_gets_below_its_floor(seed, link, task):
    problem = case_of(seed, 2, task)
    architecture = Architecture.uniform(2, [3], problem.d_out, output_activation=link)
    floors = find_floors(problem, architecture, work=1e7)
    rows = np.flatnonzero(~problem.held_out)
    z = 5 * RNG(seed).normal(size=(200, len(rows), problem.d_out))
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    values = {
        "identity": z,
        "softmax": e / e.sum(axis=-1, keepdims=True) if problem.d_out == 1 else z,
    }.get(link)
    values = ACTIVATIONS[link][1](z) if values is None else values
    s = problem.scaling
    for out in values:
        loss = float(problem.losses(out * s.target_scale + s.target_offset, rows).mean())
        for floor in floors:
            assert loss >= floor.value
    accepted_by_the_checker(problem, architecture, floors)


@pytest.mark.parametrize(
    ("hidden", "sigma", "task"),
    [
        *(([1], "sigmoid", "xor"), ([], "relu", "xor"), ([4], "relu", "sine")),
        *(([2, 2], "relu", "sine"), ([2], "tanh", "sine"), ([2], "softplus", "sine")),
    ],
)
def test_many_seeds_and_lbfgs_stay_above_and_come_near(hidden, sigma, task):
    if task == "xor":
        X = np.array(list(itertools.product([0.0, 1.0], repeat=2)) * 6)
        problem = question(X, (X[:, 0] != X[:, 1]).astype(int))
    else:
        x = np.linspace(-1, 1, 60)[:, None]
        problem = question(x, np.sin(5 * np.pi * x[:, 0]))
    X, y = problem.scaled(problem.scaling)
    X, y = X[~problem.held_out], y[~problem.held_out]
    architecture = Architecture.uniform(X.shape[1], hidden, problem.d_out, sigma)
    floor = find_floors(problem, architecture)[0]
    grid = train_many(
        X, y, hidden=[hidden], activation=sigma, seed=range(12), learning_rate=0.05, steps=1500
    )
    best = sorted(grid.networks, key=lambda net: training_loss(problem, net))[:3]
    polished = [train(net, X, y, optimizer="lbfgs", steps=200).network for net in best]
    losses = [training_loss(problem, net) for net in (*best, *polished)]
    assert min(losses) >= floor.value
    if task == "xor":
        assert min(losses) == pytest.approx(floor.value, abs=2e-3)


# ---- arguments


def test_work_caps_what_is_tried():
    problem = case_of(0, 2, "labels")
    architecture = Architecture.uniform(2, [1], problem.d_out, "tanh")
    assert floors_of(problem, architecture, 1e9)
    assert "one hidden unit" not in floors_of(problem, architecture, 1e3)


def test_other_likelihoods_have_no_floors():
    problem = replace(case_of(0, 2, "regression"), likelihood=LIKELIHOODS["poisson"])
    assert find_floors(problem, Architecture.uniform(2, [1], 1)) == ()


def test_the_table_names_its_sources():
    for name, family in FLOORS.items():
        assert family.name == name
        assert family.source
        assert family.about
