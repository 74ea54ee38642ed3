"""The bound of the penalty: no network of any width gets below, and it is tight."""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import Network, Recipe, diagnose, initialize, train, verify_certificate
from pellucid.datasets import as_table
from pellucid.diagnosis import Architecture, Floor, check_certificate, find_floors
from pellucid.diagnosis.bounds import certified
from pellucid.diagnosis.certificates import capacity_certificate
from pellucid.diagnosis.checker import certificate as document
from pellucid.diagnosis.checker import convex
from pellucid.diagnosis.checker.convex import _try_directions
from pellucid.diagnosis.checker.result import Refused
from pellucid.diagnosis.floors import sphere
from pellucid.diagnosis.floors.sphere import largest_sums, sums
from pellucid.diagnosis.problem import GAUSSIAN_CONSTANT, Problem, fold, outputs, pose
from pellucid.likelihoods import LIKELIHOODS

RNG = np.random.default_rng
KIND = "convex reformulation"


@dataclass(frozen=True)
class Question:
    """Data of d columns, a recipe with weight decay, and the likelihood of its outputs."""

    d: int
    likelihood: str
    standardize: bool
    decay: float
    width: int = 8

    def __str__(self) -> str:
        how = "standardised" if self.standardize else "raw"
        return f"{self.d} {self.likelihood} {how} {self.decay:g} {self.width}"


QUESTIONS = [
    Question(1, "gaussian", True, 0.3),
    Question(1, "gaussian", True, 0.3, 2),
    Question(1, "gaussian", False, 0.5),
    Question(2, "gaussian", True, 0.1),
    Question(2, "gaussian", False, 0.2),
    Question(1, "categorical", True, 0.05),
    Question(2, "categorical", False, 0.02),
    Question(2, "bernoulli", True, 0.03),
]


@cache
def posed(q: Question) -> tuple[Problem, Architecture, Floor]:
    """Targets of another scale than 1, columns of another than theirs; 45 training rows."""
    x = RNG(0).uniform(-1, 1, (60, q.d))
    y = np.sin(4 * x[:, 0]) + x[:, -1] + 0.1 * RNG(1).normal(size=60)
    X = x * np.array([2.0, 0.5])[: q.d] + 0.7
    regression = q.likelihood == "gaussian"
    target = 5 + 3 * y if regression else (y > 0).astype(int)
    table = as_table(X, target, task="regression" if regression else "classification")
    recipe = Recipe((q.width,), weight_decay=q.decay, standardize=q.standardize)
    problem = replace(pose(table, recipe, 0, 0.25), likelihood=LIKELIHOODS[q.likelihood])
    architecture = Architecture.uniform(q.d, [q.width], problem.d_out)
    (floor,) = find_floors(problem, architecture, kinds=[KIND])
    return problem, architecture, floor


def loss_and_penalty(problem: Problem, network: Network) -> tuple[float, float]:
    """Of a network on the recipe's own columns and target, in the unit of a verdict."""
    folded = fold(network, problem.scaling, regression=problem.classes is None)
    rows = np.flatnonzero(~problem.held_out)
    loss = float(problem.losses(outputs(folded, problem.raw_X[rows]), rows).mean())
    return loss, problem.objective(folded, loss) - loss


def respects(floor: Floor, loss: float, penalty: float) -> bool:
    """L + rho P >= B for all parameters, which is what the floor follows from."""
    assert floor.objective is not None
    rho = floor.evidence["share"]
    least = (1 - rho) * floor.value + rho * floor.objective
    slack = 1e-9 * (1 + abs(loss) + penalty)
    low = loss + penalty <= floor.objective - slack and loss < floor.value - slack
    return loss + rho * penalty >= least - slack and not low


def trained(problem: Problem, width: int, seed: int, decay: float) -> Network:
    X, y = problem.scaled(problem.scaling)
    kept = ~problem.held_out
    start = initialize((X.shape[1], width, problem.d_out), seed=seed)
    likelihood = problem.likelihood.name
    settings: dict[str, Any] = {"weight_decay": decay, "likelihood": likelihood, "dtype": "float64"}
    first = train(start, X[kept], y[kept], learning_rate=0.02, steps=600, **settings).network
    return train(first, X[kept], y[kept], optimizer="lbfgs", steps=300, **settings).network


@pytest.mark.parametrize("q", QUESTIONS, ids=str)
def test_random_parameters_of_any_width_respect_the_bound(q: Question):
    problem, _, floor = posed(q)
    rng = RNG(3)
    for _ in range(300):
        width = int(rng.integers(1, 65))
        start = initialize((q.d, width, problem.d_out), seed=int(rng.integers(1000)))
        scale = 10 ** rng.uniform(-2, 1)
        weights = tuple(scale * W for W in start.weights)
        biases = tuple(rng.normal(size=b.shape) * scale for b in start.biases)
        network = Network(weights, biases, start.activations).astype("float64")
        assert respects(floor, *loss_and_penalty(problem, network))


@pytest.mark.parametrize("q", QUESTIONS, ids=str)
def test_trained_networks_of_any_width_respect_the_bound_and_come_near(q: Question):
    problem, _, floor = posed(q)
    assert floor.objective is not None
    least = 0.0 if problem.classes else GAUSSIAN_CONSTANT
    best = math.inf
    for width in (1, 2, 8, 64):
        for factor in (0.6, 1.0):
            loss, penalty = loss_and_penalty(problem, trained(problem, width, 0, factor * q.decay))
            assert respects(floor, loss, penalty)
            if factor == 1.0:
                best = min(best, loss + penalty)
                nearest = loss if best == loss + penalty else nearest
    assert floor.objective <= best + 2e-3 * (best - least)  # the evidence is as good as training
    assert floor.value >= least + 0.93 * (nearest - least)


@pytest.mark.parametrize("q", QUESTIONS, ids=str)
def test_the_objective_of_the_evidence_is_that_of_its_network(q: Question):
    problem, architecture, floor = posed(q)
    W, b, A, c = (np.array(part) for part in floor.evidence["network"])
    network = Network((W, A), (b, c), initialize(architecture.widths, seed=0).activations)
    assert sum(loss_and_penalty(problem, network)) == pytest.approx(floor.objective, abs=1e-9)


@pytest.mark.parametrize("q", QUESTIONS, ids=str)
def test_the_checker_accepts_and_the_verdict_is_the_penalty(q: Question):
    problem, architecture, floor = posed(q)
    kept = problem.y[~problem.held_out]
    shares = np.bincount(kept) / len(kept) if problem.classes else np.array([1.0])
    trivial = -float((shares * np.log(shares)).sum())
    trivial, least = (trivial, 0.0) if problem.classes else (GAUSSIAN_CONSTANT + 0.5,) * 2
    least = least if problem.classes else GAUSSIAN_CONSTANT
    bounds = certified(problem, architecture, [floor], (trivial + 1e-6, least))
    assert bounds.certificate is not None
    assert bounds.certificate["verdict"] == "wrong loss or output"
    for verdict in ("capacity failure", "data limit"):
        c = capacity_certificate(problem, architecture, floor, trivial + 1e-6, least, verdict)
        assert not check_certificate(c, problem.raw_X, problem.y, problem.held_out).accepted


def test_a_bound_of_the_architecture_comes_before_that_of_the_penalty():
    """Two units make three pieces, whatever the penalty."""
    x = np.linspace(-1, 1, 80)
    recipe = Recipe((2,), weight_decay=0.2, standardize=True)
    problem = pose(as_table(x[:, None], np.sin(8 * np.pi * x)), recipe, 0, 0.25)
    architecture = Architecture.uniform(1, [2], 1)
    floors = find_floors(problem, architecture)
    assert {f.kind for f in floors} == {"pieces on a line", KIND}
    bounds = certified(problem, architecture, floors, (GAUSSIAN_CONSTANT + 0.5, GAUSSIAN_CONSTANT))
    assert bounds.bound is not None
    assert bounds.bound.kind == "pieces on a line"
    assert bounds.floors[-1].kind == KIND


# ---- where it is not offered


def floors_of(
    X: Any,
    y: Any,
    hidden: Any = (8,),
    sigma: str = "relu",
    output: str = "identity",
    **settings: Any,
) -> list[str]:
    recipe = Recipe(hidden, **{"weight_decay": 0.5, "standardize": True} | settings)
    problem = pose(as_table(X, y), recipe, 0, 0.25)
    shape = Architecture.uniform(X.shape[1], hidden, problem.d_out, sigma, output)
    return [f.kind for f in find_floors(problem, shape, work=1e9)]


def test_it_needs_a_penalty_one_relu_layer_and_few_columns():
    X = RNG(0).uniform(-1, 1, (60, 2))
    y = np.sin(4 * X[:, 0]) + X[:, 1]
    assert KIND in floors_of(X, y)
    assert KIND in floors_of(np.column_stack([X, X @ [2.0, -1.0]]), y)  # three, two independent
    assert KIND not in floors_of(X, y, weight_decay=0.0)
    assert KIND not in floors_of(X, y, optimizer="adamw")
    assert KIND not in floors_of(X, y, sigma="tanh")
    assert KIND not in floors_of(X, y, hidden=(8, 8))
    assert KIND not in floors_of(X, y, hidden=())
    assert KIND not in floors_of(X, y, output="relu")
    assert KIND not in floors_of(X, np.arange(60) % 3)
    assert KIND not in floors_of(np.column_stack([X, RNG(1).uniform(size=60)]), y)


def test_a_penalty_without_the_biases_gives_no_bound():
    problem, shape, floor = posed(QUESTIONS[0])
    other = replace(problem, penalizes_biases=False)
    assert floor.kind == KIND
    assert KIND not in [f.kind for f in find_floors(other, shape, work=1e9)]


def test_a_weight_decay_that_costs_little_gives_no_bound():
    X = RNG(0).uniform(-1, 1, (60, 1))
    assert KIND in floors_of(X, np.sin(4 * X[:, 0]), weight_decay=0.1)
    assert KIND not in floors_of(X, np.sin(4 * X[:, 0]), weight_decay=1e-3)


# ---- the largest sum


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans())
def test_both_sides_agree_on_the_largest_sum(seed: int, r: int, on_grid: bool):
    """The search finds it exactly; the checker accepts a little more and refuses a little less."""
    rng = RNG(seed)
    n = int(rng.integers(3, 25))
    X = rng.normal(size=(n, r - 1))
    X = np.unique(np.round(X), axis=0) if on_grid else X
    Z, s = np.column_stack([X, np.ones(len(X))]), rng.normal(size=len(X))
    values, U = largest_sums(Z, s)
    u = rng.normal(size=(2000, r))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    near = U[:1] + 0.1 ** rng.uniform(0, 6, (2000, 1)) * u
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    assert np.abs(sums(Z, s, np.concatenate([u, near]))).max() <= values[0] * (1 + 1e-12)
    assert abs(sums(Z, s, U[:1])[0]) == pytest.approx(values[0], rel=1e-12)
    _try_directions(Z, s, 1.0005 * float(values[0]))
    with pytest.raises(Refused, match=r"exceed|near"):
        _try_directions(Z, s, 0.9995 * float(values[0]))


def brute_force_on_circle(Z: np.ndarray, s: np.ndarray) -> float:
    """The largest sum, row by row: at the borders of cells, and where each slope points."""
    borders = np.concatenate([Z @ [[0.0, 1.0], [-1.0, 0.0]], Z @ [[0.0, -1.0], [1.0, 0.0]]])
    angles = np.sort(np.arctan2(borders[:, 1], borders[:, 0]))
    middles = angles + np.diff(angles, append=angles[0] + 2 * np.pi) / 2
    inside = np.column_stack([np.cos(middles), np.sin(middles)])
    slopes = ((inside @ Z.T > 0) * s) @ Z
    U = np.concatenate([borders, slopes, -slopes])
    U = U[np.linalg.norm(U, axis=1) > 1e-12]
    return float(np.abs(sums(Z, s, U / np.linalg.norm(U, axis=1, keepdims=True))).max())


@pytest.mark.parametrize("n", [2, 3, 10, 60, 300])
def test_the_largest_sum_on_a_circle_asks_all_rows_of_few_directions(
    n: int, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    def spy(Z: np.ndarray, s: np.ndarray, U: np.ndarray) -> np.ndarray:
        asked.append(len(U))
        return sums(Z, s, U)

    monkeypatch.setattr(sphere, "sums", spy)
    for seed in range(20):
        rng = RNG(seed)
        Z, s = np.column_stack([rng.normal(size=n), np.ones(n)]), rng.normal(size=n)
        s = np.abs(s) if seed % 4 == 0 else s - s.mean() if seed % 4 == 1 else s
        values, U = largest_sums(Z, s)
        assert values[0] == pytest.approx(brute_force_on_circle(Z, s), rel=1e-11)
        assert values == pytest.approx(np.abs(sums(Z, s, U)), rel=1e-14)
        assert (np.diff(values) <= 0).all()
    assert len(asked) == 20
    assert max(asked) <= sphere.FEW


def test_scaled_columns_must_be_those_of_the_rows():
    problem, architecture, floor = posed(Question(2, "gaussian", True, 0.1))
    made = capacity_certificate(
        problem, architecture, floor, GAUSSIAN_CONSTANT + 0.51, GAUSSIAN_CONSTANT
    )
    rows = problem.raw_X, problem.y, problem.held_out
    assert check_certificate(made, *rows).accepted
    for name, value in (("input_scale", [9.0, 9.0]), ("input_offset", [0.0, 0.1])):
        changed = made | {"evidence": made["evidence"] | {name: value}}
        changed["seal"] = document.seal_of(changed)
        assert "columns" in check_certificate(changed, *rows).reason
    raw = made["evidence"] | {"input_offset": [0.0, 0.0], "input_scale": [1.0, 1.0]}
    changed = made | {"evidence": raw}
    changed["seal"] = document.seal_of(changed)
    assert not check_certificate(changed, *rows).accepted


@pytest.mark.parametrize("q", [QUESTIONS[0], QUESTIONS[3]], ids=str)
def test_slopes_beyond_their_limit_are_refused_for_their_sums(
    q: Question, monkeypatch: pytest.MonkeyPatch
):
    """With its bound restated and its seal renewed, only the sums tell the forgery."""
    problem, architecture, floor = posed(q)
    made = capacity_certificate(
        problem, architecture, floor, GAUSSIAN_CONSTANT + 0.51, GAUSSIAN_CONSTANT
    )
    rows = problem.raw_X, problem.y, problem.held_out
    slopes = [1.05 * s for s in made["evidence"]["slopes"]]
    forged = made | {"evidence": made["evidence"] | {"slopes": slopes}}
    own: list[float] = []

    def recorded(*arguments: Any) -> float:
        own.append(convex.convex_bound(*arguments))
        return own[-1]

    with monkeypatch.context() as unguarded:
        unguarded.setattr(convex, "_check_sums", lambda *_: None)
        unguarded.setitem(document.BOUNDS, KIND, recorded)
        forged["seal"] = document.seal_of(forged)
        check_certificate(forged, *rows)
        forged["bound"] = own[0]
        forged["seal"] = document.seal_of(forged)
        assert check_certificate(forged, *rows).accepted
    refusal = check_certificate(forged, *rows)
    assert not refusal.accepted
    assert "sums of the evidence" in refusal.reason


# ---- the verdict


def surface() -> tuple[np.ndarray, np.ndarray]:
    X = RNG(0).uniform(-1, 1, (160, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * RNG(1).normal(size=160)


def test_a_weight_decay_that_is_far_too_large_is_proved_to_be():
    X, y = surface()
    v = diagnose(X, y, hidden=[16], weight_decay=0.3, standardize=True, steps=500, budget=60)
    assert (v.kind, v.certainty) == ("wrong loss or output", "proved")
    assert v.sentence.startswith("A weight decay of 0.3 is too strong")
    assert v.certificate is not None
    assert v.certificate["kind"] == KIND
    assert verify_certificate(v.certificate, as_table(X, y)).accepted
    assert v.waterfall[-1].name == "floor of this weight decay"
    assert v.causes[0].certainty == "proved"
    assert v.causes[0].share == pytest.approx(
        (v.certificate["bound"] - v.reference_loss) / (v.trivial_loss - v.reference_loss)
    )
    assert not any(cause.kind == "capacity failure" for cause in v.causes)
    assert v.fix is not None
    assert v.fix.recipe.weight_decay < 0.3


def test_a_moderate_weight_decay_is_not_blamed():
    X, y = surface()
    v = diagnose(X, y, hidden=[16], weight_decay=1e-3, standardize=True, steps=1500, budget=60)
    assert v.kind == "fits"
    assert v.certificate is None


@pytest.mark.slow
def test_bad_training_is_not_blamed_on_a_moderate_weight_decay():
    X, y = surface()
    v = diagnose(
        X,
        y,
        hidden=[16],
        weight_decay=1e-3,
        standardize=True,
        learning_rate=1e-5,
        steps=300,
        budget=15,
    )
    assert v.kind == "optimization failure"
