"""The reference models: what can be learned, judged fairly on small tables."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.datasets import Table, as_table, load_dataset
from pellucid.diagnosis import references
from pellucid.diagnosis.decision import Margin
from pellucid.diagnosis.evidence import margin
from pellucid.diagnosis.problem import Problem, pose
from pellucid.diagnosis.references import Judged, judge_references
from pellucid.diagnosis.splits import N_FOLDS, fold_numbers, split_of
from pellucid.diagnosis.verdict import Recipe


def judged(table: Table, seed: int = 0) -> tuple[Problem, tuple[Judged, ...]]:
    problem = pose(table, Recipe((4,), standardize=True), seed, 0.25)
    return problem, judge_references(problem, seed)


def lead(references: tuple[Judged, ...]) -> Margin:
    constant, *models = references
    best = min(models, key=lambda m: m.loss)
    return margin(constant.training_losses - best.training_losses)


@pytest.mark.parametrize("name", ["iris", "diabetes", "concentric"])
def test_they_beat_the_constant_where_there_is_something_to_learn(name: str):
    problem, references = judged(load_dataset(name))
    assert lead(references).beyond(0.0)
    constant, *models = references
    assert len(constant.training_losses) == (~problem.held_out).sum()
    assert len(constant.held_out_losses) == problem.held_out.sum()
    assert min(m.held_out_losses.mean() for m in models) < constant.held_out_losses.mean()


@pytest.mark.parametrize("name", ["iris", "diabetes", "moons"])
@pytest.mark.parametrize("seed", [0, 1])
def test_they_find_nothing_in_shuffled_targets(name: str, seed: int):
    table = load_dataset(name)
    y = np.random.default_rng(seed).permutation(table.y)
    _, references = judged(replace(table, y=y), seed)
    assert not lead(references).beyond(0.0)


def test_a_line_is_found_by_the_linear_model_and_rings_by_boosting():
    _, (_, linear, boosting) = judged(load_dataset("plane"))
    assert linear.loss < boosting.loss
    _, (_, linear, boosting) = judged(load_dataset("concentric"))
    assert boosting.loss < linear.loss / 3


def test_the_constant_has_the_entropy_of_the_classes():
    problem, (constant, *_) = judged(load_dataset("moons"))
    assert constant.loss == pytest.approx(np.log(2), abs=0.01)
    summary = constant.summary(problem)
    assert summary.score == pytest.approx(0.5, abs=0.05)


def test_a_class_with_two_rows_costs_no_infinite_loss():
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(40, int), np.ones(38, int), np.full(2, 2)]
    X = rng.normal(size=(80, 2)) + 3 * y[:, None]
    _, references = judged(as_table(X, y, classes=["a", "b", "c"]))
    for model in references:
        assert np.isfinite(model.training_losses).all()
        assert np.isfinite(model.held_out_losses).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_fold_may_lack_one_of_two_classes(n: int):
    y = np.r_[np.zeros(48, int), np.ones(n, int)]
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    _, references = judged(as_table(X, y, classes=["x", "z"]))
    for model in references:
        assert np.isfinite(model.training_losses).all()
        assert np.isfinite(model.held_out_losses).all()


def test_folds_are_even_and_stratified():
    y = np.repeat([0, 1], [70, 30])
    folds = fold_numbers(y, True, 0)
    assert (np.bincount(folds) == 100 // N_FOLDS).all()
    assert (np.bincount(folds[y == 1]) == 30 // N_FOLDS).all()
    assert (fold_numbers(y, True, 0) == folds).all()
    assert not (fold_numbers(y, True, 1) == folds).all()


def test_many_rows_are_judged_by_two_folds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pellucid.diagnosis.references.MOST_FITTED", 100)
    _, (constant, *models) = judged(load_dataset("moons", n=300))
    assert len(constant.training_losses) == 225
    assert {len(r.training_losses) for r in models} == {90}
    assert all(r.judged is not None and len(r.judged) == 90 for r in models)
    monkeypatch.setattr("pellucid.diagnosis.references.MANY_ROWS", 200)
    _, (_, *models) = judged(load_dataset("moons", n=300))
    assert {len(r.training_losses) for r in models} == {45}


def test_many_rows_in_time_are_compared_row_by_row(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(references, "MOST_FITTED", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    table, split = split_of(as_table(X, X[:, 0] + np.arange(400) / 50), None, np.arange(400))
    problem = pose(table, Recipe(()), 0, 0.25, split)
    constant, linear, _ = judge_references(problem, 0)
    assert constant.judged is not None
    assert linear.judged is not None
    assert len(linear.judged) < len(constant.judged)
    both = dict(zip(constant.judged.tolist(), constant.training_losses, strict=True))
    expected = [both[row] for row in linear.judged.tolist()] - linear.training_losses
    np.testing.assert_array_equal(linear.gain_over(constant), expected)


def test_the_strengths_of_the_linear_model_are_those_that_were_judged(
    monkeypatch: pytest.MonkeyPatch,
):
    problem = pose(load_dataset("iris"), Recipe(()), 0, 0.25)
    numbers = int((~problem.held_out).sum()) * 4 * 3
    monkeypatch.setattr(references, "LARGE", int(0.9 * numbers))  # all rows pass it, no fold does
    linear = judge_references(problem, 0)[1]
    monkeypatch.setattr(references, "LARGE", 0)
    np.testing.assert_array_equal(
        linear.held_out_losses, judge_references(problem, 0)[1].held_out_losses
    )


def test_many_rows_leave_the_constant_above_the_best_constant(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(references, "MOST_FITTED", 60)
    table = load_dataset("diabetes")
    for seed in range(6):
        problem = pose(table, Recipe(()), seed, 0.25)
        constant, linear, _ = judge_references(problem, seed)
        rows = ~problem.held_out
        u = problem.y[rows] / problem.loss_scale
        assert constant.loss >= 0.5 * np.log(2 * np.pi) + u.var() / 2
        gain = linear.gain_over(constant)
        assert len(gain) == len(linear.training_losses) < len(constant.training_losses)
        assert gain.mean() > 0


def test_boosting_reaches_the_few_large_targets_of_a_skewed_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = np.exp(X[:, 0] + 0.8 * X[:, 1]) * (1 + 0.1 * rng.normal(size=600))
    problem, (_, _, boosting) = judged(as_table(X, y))
    assert boosting.summary(problem).score > 0.85  # 0.79 with the usual leaves alone
