"""The fix: a changed recipe that was run, before and after on the held-out rows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .._shapes import Array, Float64
from ..network import Activations
from ..training import Run
from .decision import Evidence, capacity_share, lower, reaches
from .evidence import Findings, margin
from .problem import Problem
from .search import Group, Report, Trial, n_changes, recording_interval, train_grid
from .splits import N_FOLDS
from .verdict import Fix, Recipe

REMEDY = "narrower"
"""The role of the group that `regularised` leads to."""
DECAYS = (0.0, 0.003, 0.03, 0.3)
"""Weight decays that are compared against overfitting."""


@dataclass(frozen=True)
class Choice:
    """A changed recipe in words, and the run that stands for it."""

    change: str
    recipe: Recipe
    trial: Trial
    is_median: bool = True


def choose_fix(kind: str, findings: Findings, e: Evidence) -> Fix | None:
    """The first changed recipe, in the order of its kind, that does better on the held-out rows.

    The order is by what the training rows say, and the held-out rows only judge; but for
    "undecided" the order is theirs as well. None that is no better than the constant prediction.
    """
    if kind in ("fits", "data limit") or is_advised(kind, e):
        return None
    if kind == "optimization failure" and capacity_share(e) > 0:
        kind = "capacity failure"  # both: the larger network repairs more
    before, constant = findings.user, findings.references[0]
    tolerance = e.tolerance if kind == "undecided" else 0.0
    for choice in _ORDERS[kind](findings, e):
        after = choice.trial
        if after.held_out_loss >= constant.held_out_losses.mean():
            continue  # better than the user's run, and still of no use
        if margin(before.held_out_losses - after.held_out_losses).beyond(tolerance):
            return Fix(
                change=choice.change,
                recipe=choice.recipe,
                loss_before=before.held_out_loss,
                loss_after=after.held_out_loss,
                score_before=before.score,
                score_after=after.score,
                seed=after.seed,
            )
    return None


def is_advised(kind: str, e: Evidence) -> bool:
    """Whether a gate says what to mend in the data, the loss or the output: no recipe does it."""
    of_kind = kind in ("data error", "wrong loss or output")
    return of_kind and any(a.kind == kind and a.certainty == "likely" for a in e.alarms)


def _choices(groups: Iterable[Group], user: Trial) -> list[Choice]:
    """The median run of every changed recipe, and the best of several by training loss."""
    choices: list[Choice] = []
    for g in groups:
        if g.role == "improved":
            continue  # no recipe gives these
        if g.role != "recipe":
            choices.append(Choice(g.name, g.recipe, g.median))
        if len(g.trials) > 1 and g.best is not user:
            choices.append(Choice(_best_of(g), g.recipe, g.best, is_median=False))
    return [c for c in choices if math.isfinite(c.trial.objective)]


def _best_of(group: Group) -> str:
    return f"{group.name}, the best of {len(group.trials)} seeds by training loss"


def _training_first(findings: Findings, e: Evidence) -> list[Choice]:
    """The smallest changes that train nearly as well as any at these widths, then by objective."""
    groups = [g for g in findings.groups if g.role in ("recipe", "same architecture")]
    choices, user = _choices(groups, findings.user), findings.user
    lowest = min((c.trial.objective for c in choices if _no_worse(c, user)), default=math.inf)

    def rank(c: Choice) -> tuple[bool, bool, int, float]:
        far = c.trial.objective > lowest + e.tolerance
        n = 0 if far else n_changes(user.recipe, c.recipe)
        return far, not (far or c.is_median), n, c.trial.objective

    return [*sorted(choices, key=rank), *_by_training_loss(findings.larger, user)]


def _no_worse(choice: Choice, user: Trial) -> bool:
    """Whether a run costs no held-out loss beyond noise: one that overfits is no measure."""
    return not margin(choice.trial.held_out_losses - user.held_out_losses).beyond(0.0)


def _larger_first(findings: Findings, e: Evidence) -> list[Choice]:
    """The larger network that the verdict names, then the others by training loss."""
    named = e.wider.experiment if e.wider else ""
    near = [_of_group(g, e) for g in findings.larger if g.name == named]
    return [*near, *_by_training_loss(findings.groups, findings.user)]


def _of_group(group: Group, e: Evidence) -> Choice:
    """Its median run where that is nearly as good as its best, else its best by training loss."""
    if group.median.training_loss <= group.best.training_loss + e.tolerance:
        return Choice(group.name, group.recipe, group.median)
    return Choice(_best_of(group), group.recipe, group.best, is_median=False)


def _by_training_loss(groups: Iterable[Group], user: Trial) -> list[Choice]:
    return sorted(_choices(groups, user), key=lambda c: c.trial.training_loss)


def _lowest_training_first(findings: Findings, e: Evidence) -> list[Choice]:
    """By training loss without the user's penalty, the user's architecture first."""
    same = [g for g in findings.groups if g.role in ("recipe", "same architecture")]
    larger = _by_training_loss(findings.larger, findings.user)
    return [*_by_training_loss(same, findings.user), *larger]


def _regularised_first(findings: Findings, e: Evidence) -> list[Choice]:
    """What cross-validation chose against overfitting, then the others, small changes first.

    Where a larger network reaches the reference, it comes first: it needs no regularisation.
    """
    if e.wider and reaches(e.wider, e) and lower(e.wider).beyond(e.tolerance):
        return _larger_first(findings, e)
    user = findings.user

    def rank(c: Choice) -> tuple[bool, int, float]:
        chosen = findings.groups[-1].role == REMEDY and c.recipe == findings.groups[-1].recipe
        return not chosen, n_changes(user.recipe, c.recipe), c.trial.training_loss

    return sorted(_choices(findings.groups, user), key=rank)


def _by_held_out_loss(findings: Findings, e: Evidence) -> list[Choice]:
    """From the lowest held-out loss: a hint, where nothing is decided."""
    return sorted(_choices(findings.groups, findings.user), key=lambda c: c.trial.held_out_loss)


_ORDERS = {
    "optimization failure": _training_first,
    "capacity failure": _larger_first,
    "overfitting": _regularised_first,
    "data error": _by_held_out_loss,
    "wrong loss or output": _lowest_training_first,
    "unstable training": _training_first,
    "undecided": _by_held_out_loss,
}


def regularised(
    problem: Problem,
    recipe: Recipe,
    seed: int,
    activation: Activations,
    threads: int | None,
    report: Report | None,
) -> Recipe:
    """Weight decay, widths and number of steps that cross-validate best on the training rows.

    The grid is the user's widths and half of them, by a few decays; every recorded step of a run is
    a possible end. The held-out rows have no say.
    """
    X, y = problem.scaled(problem.scaling_of(recipe))
    training = np.flatnonzero(~problem.held_out)
    folds = problem.split.folds(training, y[training], problem.classes is not None, seed)
    recipes = _grid(recipe)
    curves = []
    for fold, (fit, judge) in enumerate(folds):
        fitting, judged = training[fit], training[judge]
        if problem.classes and len(np.unique(y[fitting])) < len(problem.classes):
            continue  # the fold has no row of some class to train on
        grid = train_grid(
            recipes,
            (seed,),
            activation,
            X[fitting],
            y[fitting],
            (X[judged], y[judged]),
            threads,
            _part(report, fold),
            problem.likelihood.name,
        )
        curves.append([_curve(run, recipe.steps) for run in grid])
    if not curves:
        return recipe
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
