"""The fix: a changed recipe that was run, before and after on the held-out rows."""

import math
from dataclasses import replace

import numpy as np

from .._shapes import Array, Float64
from ..network import Activation
from ..training import Run
from .decision import Evidence, capacity_share
from .evidence import Findings, margin
from .problem import Problem
from .references import N_FOLDS, fold_numbers
from .search import Group, Report, Trial, n_changes, recording_interval, train_grid
from .verdict import Fix, Recipe

REMEDY = "narrower"
"""The role of the group that `regularised` leads to."""
DECAYS = (0.0, 0.003, 0.03, 0.3)
"""Weight decays that are compared against overfitting."""


def choose_fix(kind: str, findings: Findings, e: Evidence) -> Fix | None:
    """The best changed recipe that was run, if it does better on the held-out rows; else None.

    It is chosen by what the training rows say; the held-out rows only judge it.
    """
    if kind in ("fits", "data limit"):
        return None
    if kind == "optimization failure" and capacity_share(e) > 0:
        kind = "capacity failure"  # both: the larger network repairs more
    chosen = _CHOICES[kind](findings, e)
    if chosen is None:
        return None
    change, recipe, after = chosen
    before = findings.user
    gain = margin(before.held_out_losses - after.held_out_losses)
    if not gain.beyond(e.tolerance if kind == "undecided" else 0.0):
        return None
    return Fix(
        change=change,
        recipe=recipe,
        loss_before=before.held_out_loss,
        loss_after=after.held_out_loss,
        score_before=before.score,
        score_after=after.score,
    )


Choice = tuple[str, Recipe, Trial] | None


def _same_architecture(findings: Findings, e: Evidence) -> Choice:
    """The smallest change whose median run, or best of several, trains nearly as well as any.

    Of equally small changes the one that trains best.
    """
    groups = [g for g in findings.groups if g.role in ("recipe", "same architecture")]
    choices = [(g.name, g.recipe, g.median) for g in groups[1:]]
    choices += [(_best_of(g), g.recipe, g.best) for g in groups if len(g.trials) > 1]
    user = findings.user

    def objective(choice: tuple[str, Recipe, Trial]) -> float:
        t = choice[2]
        worse = margin(t.held_out_losses - user.held_out_losses).beyond(0.0)
        return math.inf if worse or not math.isfinite(t.objective) else t.objective

    lowest = min(map(objective, choices), default=math.inf)
    near = [c for c in choices if objective(c) <= lowest + e.tolerance and c[2] is not user]
    singles = len(groups) - 1
    return min(
        near,
        key=lambda c: (choices.index(c) >= singles, n_changes(user.recipe, c[1]), objective(c)),
        default=None,
    )


def _best_of(group: Group) -> str:
    return f"{group.name}, the best of {len(group.trials)} seeds by training loss"


def _larger(findings: Findings, e: Evidence) -> Choice:
    """The smallest larger network that reaches the reference."""
    if e.wider is None:
        return None
    group = next((g for g in findings.larger if g.name == e.wider.name), None)
    return group and _of_group(group, e)


def _of_group(group: Group, e: Evidence) -> Choice:
    """Its median run where that is nearly as good as its best, else its best by training loss."""
    if group.median.training_loss <= group.best.training_loss + e.tolerance:
        return group.name, group.recipe, group.median
    return _best_of(group), group.recipe, group.best


def _regularised(findings: Findings, e: Evidence) -> Choice:
    """The recipe that cross-validation chose against overfitting: the last one that was run."""
    group = findings.groups[-1]
    return (group.name, group.recipe, group.median) if group.role == REMEDY else None


def _anything(findings: Findings, e: Evidence) -> Choice:
    """The changed recipe with the lowest held-out loss: a hint, where nothing is decided."""
    choices = [(g.name, g.recipe, g.median) for g in findings.groups[1:]]
    return min(choices, key=lambda choice: choice[2].held_out_loss, default=None)


_CHOICES = {
    "optimization failure": _same_architecture,
    "capacity failure": _larger,
    "overfitting": _regularised,
    "undecided": _anything,
}


def regularised(
    problem: Problem,
    recipe: Recipe,
    seed: int,
    activation: Activation,
    threads: int | None,
    report: Report | None,
) -> Recipe:
    """Weight decay, widths and number of steps that cross-validate best on the training rows.

    The grid is the user's widths and half of them, by a few decays; every recorded step of a run is
    a possible end. The held-out rows have no say.
    """
    X, y = problem.scaled(problem.scaling_of(recipe))
    training = np.flatnonzero(~problem.held_out)
    folds = fold_numbers(y[training], problem.classes is not None, seed)
    recipes = _grid(recipe)
    curves = []
    for fold in range(N_FOLDS):
        fitting, judged = training[folds != fold], training[folds == fold]
        grid = train_grid(
            recipes,
            (seed,),
            activation,
            X[fitting],
            y[fitting],
            (X[judged], y[judged]),
            threads,
            _part(report, fold),
        )
        curves.append([_curve(run, recipe.steps) for run in grid])
    mean = np.mean(curves, axis=0)  # (recipes, recorded steps)
    best, record = np.unravel_index(int(np.argmin(mean)), mean.shape)
    steps = min(max(1, int(record) * recording_interval(recipe.steps)), recipe.steps)
    return replace(recipes[best], steps=steps)


def n_regularised_runs(recipe: Recipe) -> int:
    """How many runs `regularised` makes."""
    return N_FOLDS * len(_grid(recipe))


def _grid(recipe: Recipe) -> list[Recipe]:
    half = tuple(max(1, w // 2) for w in recipe.hidden)
    widths = list(dict.fromkeys((recipe.hidden, half)))
    decays = [recipe.weight_decay, *(d for d in DECAYS if d > recipe.weight_decay)]
    return [replace(recipe, hidden=h, weight_decay=d) for h in widths for d in decays]


def _curve(run: Run, steps: int) -> Float64[Array, " k"]:
    """The validation loss at every possible end; infinite where the run did not get there."""
    curve = np.full(steps // recording_interval(steps) + 2, np.inf)
    losses = run.history.validation_loss[: len(curve)]
    curve[: len(losses)] = np.where(np.isfinite(losses), losses, np.inf)
    return curve


def _part(report: Report | None, fold: int) -> Report | None:
    if report is None:
        return None
    return lambda done, total: report(fold * total + done, N_FOLDS * total)
