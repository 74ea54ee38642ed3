"""The exact refit, and parameters that are made: they are what they are said to be."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.datasets import Table, as_table, load_dataset
from pellucid.diagnosis.curve import parts
from pellucid.diagnosis.improve import Workshop, _candidates, _pursued, improve
from pellucid.diagnosis.problem import Problem, pose
from pellucid.diagnosis.refit import refit_own, refits
from pellucid.diagnosis.search import Group, judge_network, recipe_plans, wider_plans
from pellucid.diagnosis.source import KernelSource, run_source
from pellucid.diagnosis.verdict import Recipe
from pellucid.network import Network, as_activation, initialize

SLOW = Recipe((8,), learning_rate=1e-3, steps=100)


def posed(table: Table, recipe: Recipe) -> tuple[Problem, Group]:
    problem = pose(table, recipe, 0, 0.25)
    source = KernelSource(recipe, as_activation(recipe.activation))
    return problem, run_source(source, problem, recipe_plans(recipe, 0)[0], None)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("name", ["sine", "iris"])
def test_no_other_last_layer_has_a_lower_objective(name: str, decay: float, standardize: bool):
    recipe = replace(SLOW, weight_decay=decay, standardize=standardize)
    problem, group = posed(load_dataset(name), recipe)
    user = group.trials[0]
    best = min(refit_own(problem, user), key=lambda t: t.objective)
    assert best.objective <= user.objective
    assert all(
        np.array_equal(a, b)
        for a, b in zip(best.network.weights[:-1], user.network.weights[:-1], strict=True)
    )
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1):
        W, b = best.network.weights[-1], best.network.biases[-1]
        other = Network(
            (*best.network.weights[:-1], W + size * np.abs(W) * rng.standard_normal(W.shape)),
            (*best.network.biases[:-1], b + size * np.abs(b) * rng.standard_normal(b.shape)),
            best.network.activations,
        )
        moved = judge_network(problem, "moved", recipe, 0, other)
        least = 1e-3 if name == "iris" else 1e-9  # separated classes: L-BFGS is on its way
        assert moved.objective >= best.objective - least


def test_the_refit_of_a_linear_model_is_least_squares():
    problem, group = posed(load_dataset("plane"), replace(SLOW, hidden=()))
    (best,) = refit_own(problem, group.trials[0])
    rows = ~problem.held_out
    A = np.column_stack([problem.raw_X[rows], np.ones(rows.sum())])
    w = np.linalg.lstsq(A, problem.y[rows], rcond=None)[0]
    np.testing.assert_allclose(best.network.weights[0][0], w[:-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(best.network.biases[0], w[-1:], rtol=1e-6, atol=1e-9)


def test_hidden_units_that_are_not_finite_are_not_refitted():
    problem, group = posed(load_dataset("sine"), SLOW)
    net = group.trials[0].network
    W = net.weights[0].copy()
    W[0] = np.inf
    assert refits(problem, Network((W, net.weights[1]), net.biases, net.activations)) == ()


def test_pursuit_finds_the_columns_that_a_target_is_made_of():
    rng = np.random.default_rng(0)
    H = rng.standard_normal((200, 50))
    Y = (H[:, [3, 17, 40]] @ np.array([1.0, -2.0, 0.5]))[:, None]
    assert sorted(_pursued(H, Y, 3)) == [3, 17, 40]
    assert len(set(_pursued(np.ones((20, 5)), np.ones((20, 1)), 4).tolist())) == 4


def workshop(table: Table, recipe: Recipe) -> tuple[Workshop, Group]:
    problem, group = posed(table, recipe)
    return Workshop(problem, recipe, as_activation(recipe.activation), 0), group


def test_candidates_bend_at_a_row():
    shop, _ = workshop(load_dataset("sine"), SLOW)
    W, b = _candidates(shop, shop.rows, 30, np.random.default_rng(0))
    assert (np.abs(shop.rows @ W.T + b).min(axis=0) < 1e-9).all()


def test_made_networks_are_better_and_of_the_users_shape():
    shop, group = workshop(load_dataset("sine"), SLOW)
    user = group.trials[0]
    plan = wider_plans(shop.recipe, replace(shop.recipe, standardize=True, steps=500), 0)[0]
    from pellucid.diagnosis.search import run_plan

    wide = run_plan(shop.problem, plan, shop.activation, 1, None)
    groups = improve(shop, [user], [wide], None)
    made = [t for g in groups for t in g.trials]
    assert {g.role for g in groups} == {"improved"}
    assert all(t.made and t.network.widths == user.network.widths for t in made)
    assert all(t.network.activations == user.network.activations for t in made)
    names = " ".join(t.name for t in made)
    assert "greedily" in names
    assert "pruned" in names
    best = min(made, key=lambda t: t.objective)
    assert best.training_loss < 0.93 < 1.3 < user.training_loss  # the floor of a fit is 0.919
    again = improve(shop, [user], [wide], None)
    assert [t.objective for g in again for t in g.trials] == [t.objective for t in made]


def test_dead_units_come_to_life():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 1))
    shop, _ = workshop(as_table(X, np.abs(X[:, 0])), replace(SLOW, hidden=(4,), steps=500))
    dead = initialize([1, 4, 1], dtype="float64")
    below = np.ones((4, 1)), np.full(4, -9.0)
    dead = Network((below[0], dead.weights[1]), (below[1], dead.biases[1]), dead.activations)
    trial = judge_network(shop.problem, "dead", shop.recipe, 0, dead)
    made = [t for g in improve(shop, [trial], [], None) for t in g.trials]
    anew = [t for t in made if "dead units seeded anew" in t.name]
    assert min(t.training_loss for t in anew) < 0.95 < trial.training_loss
    for t in anew:
        active = (X @ t.network.weights[0].T + t.network.biases[0] > 0).any(axis=0)
        assert active.all()


def test_parts_of_the_rows_are_nested_and_keep_the_held_out_ones():
    problem = pose(load_dataset("iris"), SLOW, 0, 0.25)
    found = list(parts(problem, 0))
    sizes = [int((~p.held_out).sum()) for p in found]
    assert sizes == [14, 28, 56]
    for part in found:
        counts = np.bincount(part.y[~part.held_out], minlength=3)
        assert counts.max() - counts.min() <= 2
        np.testing.assert_array_equal(part.raw_X[part.held_out], problem.raw_X[problem.held_out])
    rows = [{tuple(x) for x in p.raw_X[~p.held_out]} for p in found]
    assert rows[0] <= rows[1] <= rows[2]
