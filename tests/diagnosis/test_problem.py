"""One split, one form for all networks, one objective."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pellucid import InvalidInput
from pellucid.datasets import Table, as_table, load_dataset
from pellucid.diagnosis.problem import GAUSSIAN_CONSTANT, fold, outputs, pose, unfold
from pellucid.diagnosis.verdict import Recipe
from pellucid.network import initialize

TABLES = ("iris", "penguins", "diabetes")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("hidden", [(), (5,), (5, 4)])
def test_folding_is_exact_and_has_an_inverse(name: str, hidden: tuple[int, ...]):
    p = pose(load_dataset(name), Recipe(hidden, standardize=True), 0, 0.25)
    net = initialize([p.raw_X.shape[1], *hidden, p.d_out], activation="tanh", seed=3)
    X, _ = p.scaled(p.standard)
    raw = fold(net, p.standard, regression=p.classes is None)
    expected = outputs(net.astype("float64"), X) * p.standard.target_scale
    expected = expected + p.standard.target_offset
    np.testing.assert_allclose(outputs(raw, p.raw_X), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        unfold(raw, p.standard).parameters(), net.parameters(), rtol=1e-9, atol=1e-9
    )
    assert raw.activations == net.activations
    assert raw.widths == net.widths


def test_the_scaling_is_learned_from_the_training_rows_alone():
    table = load_dataset("diabetes")
    p = pose(table, Recipe((4,), standardize=True), 0, 0.25)
    X, y = p.scaled(p.standard)
    rows = ~p.held_out
    assert abs(y[rows].mean()) < 1e-12
    assert y[rows].std() == pytest.approx(1.0)
    assert np.abs(X[rows].mean(axis=0)).max() < 1e-9
    assert abs(y[p.held_out].mean()) > 1e-6


def test_losses_are_in_the_unit_that_the_recipe_trains_on():
    table = load_dataset("diabetes")
    standard = pose(table, Recipe((4,), standardize=True), 0, 0.25)
    raw = pose(table, Recipe((4,)), 0, 0.25)
    rows = np.flatnonzero(raw.held_out)
    mean = np.full((len(rows), 1), standard.standard.target_offset)
    t = standard.standard.target_scale
    expected = GAUSSIAN_CONSTANT + t**2 * (standard.losses(mean, rows) - GAUSSIAN_CONSTANT)
    np.testing.assert_allclose(raw.losses(mean, rows), expected)


@pytest.mark.parametrize(
    ("optimizer", "coupled"), [("adam", True), ("sgd", True), ("adamw", False)]
)
def test_the_penalty_is_that_of_the_optimizer(optimizer: str, coupled: bool):
    recipe = Recipe((4,), optimizer=optimizer, weight_decay=0.1, standardize=True)
    p = pose(load_dataset("diabetes"), recipe, 0, 0.25)
    net = initialize([p.raw_X.shape[1], 4, 1], seed=0)
    theta = net.parameters().astype(float)
    raw = fold(net, p.standard, regression=True)
    expected = 2.0 + (0.1 / 2 * theta @ theta if coupled else 0.0)
    assert p.objective(raw, 2.0) == pytest.approx(expected, rel=1e-9)


def test_scores():
    p = pose(load_dataset("diabetes"), Recipe(()), 0, 0.25)
    rows = np.flatnonzero(p.held_out)
    y = p.y[rows][:, None]
    assert p.score(p.hits(y, rows), p.held_out) == 1.0
    assert p.score(p.hits(y * 0 + y.mean(), rows), p.held_out) == pytest.approx(0.0)
    q = pose(load_dataset("iris"), Recipe(()), 0, 0.25)
    rows = np.flatnonzero(q.held_out)
    assert q.score(q.hits(np.eye(3)[q.y[rows]], rows), q.held_out) == 1.0


def small(n: int, y: np.ndarray) -> Table:
    return as_table(np.random.default_rng(0).normal(size=(n, 2)), y)


def test_too_few_rows():
    with pytest.raises(InvalidInput, match="19 rows"):
        pose(small(19, np.arange(19.0)), Recipe(()), 0, 0.25)


def test_a_class_with_a_single_row():
    table = as_table(np.arange(50.0)[:, None], np.r_[0, np.ones(49, int)], classes=["z", "x"])
    with pytest.raises(InvalidInput, match="'z' of 'y' has a single row"):
        pose(table, Recipe(()), 0, 0.25)


def test_a_target_that_is_constant_on_the_training_rows():
    table = small(20, np.arange(20.0))
    constant = replace(table, y=np.zeros(20))
    with pytest.raises(InvalidInput, match="constant"):
        pose(constant, Recipe(()), 0, 0.25)


def test_the_gaussian_constant():
    assert pytest.approx(math.log(2 * math.pi) / 2) == GAUSSIAN_CONSTANT
