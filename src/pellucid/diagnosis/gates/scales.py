"""The gate of scales: whether the recipe trains as well as it would on standardised numbers.

Numbers far from 1 are only a suspicion. It is tried on a few rows: the recipe as it is, and the
same on standardised columns and target.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...network import as_activations
from ..alarms import Alarm
from ..problem import Problem
from ..search import Group, Plan, network_size, run_plan
from .view import View
from .words import subject

LARGE, SMALL = 20.0, 0.02
"""Root mean squares of a column or the target beyond which the recipe is tried."""
UNEVEN = 1000.0
ROWS, SEEDS = 500, 3
WORK = 1.5e9
"""Parameters times rows times steps that all trial runs together may take."""
LOST = 0.25
"""Share of what the standardised runs gain over the constant prediction that the raw ones miss."""
WORTH = 0.15
"""Share of all that could be gained that the standardised runs must gain."""


def scales(view: View) -> Iterator[Alarm]:
    """Columns or a target whose scale keeps the recipe from training."""
    if view.recipe.standardize:
        return
    columns, told = _suspects(view.problem)
    if not columns:
        return
    small = _few_rows(view)
    steps = _steps(view, small)
    raw, standard = (
        run_plan(
            small,
            Plan("trial", "trial", replace(view.recipe, steps=steps, standardize=s), _seeds(view)),
            as_activations(view.recipe.activation),
            view.threads,
            None,
        )
        for s in (False, True)
    )
    yield from _compared(view, small, steps, raw, standard, columns, told)


def _compared(
    view: View,
    small: Problem,
    steps: int,
    raw: Group,
    standard: Group,
    columns: tuple[str, ...],
    told: str,
) -> Iterator[Alarm]:
    trivial = _trivial(small)
    before, after = _median(raw, "training_loss"), _median(standard, "training_loss")
    unseen = _median(raw, "held_out_loss"), _median(standard, "held_out_loss")
    gain = trivial - after
    possible = trivial if small.classes else 0.5
    if not (
        gain > WORTH * possible
        and before - after > LOST * gain
        and unseen[0] - unseen[1] > LOST / 2 * gain
    ):
        return
    diverged = sum(t.status == "diverged" for t in raw.trials)
    unstable = 2 * diverged > len(raw.trials) and all(
        t.status == "finished" for t in standard.trials
    )
    whole = steps == view.recipe.steps
    yield Alarm(
        "scales",
        "unstable training" if unstable else "optimization failure",
        "likely" if whole or unstable else "undecided",
        f"{told}. On {int((~small.held_out).sum())} rows and with {steps} steps your recipe "
        + (
            f"diverges from {diverged} of {SEEDS} starts"
            if unstable
            else f"ends at {before:.3g} nats"
        )
        + f", and at {after:.3g} nats with columns "
        f"{'' if small.classes else 'and target '}standardised (the constant prediction has "
        f"{trivial:.3g}): standardise the data.",
        columns,
        remedy="standardize",
    )


def _suspects(problem: Problem) -> tuple[tuple[str, ...], str]:
    """The columns (and the target) that are far from 1, and how far, in words."""
    X = problem.raw_X[~problem.held_out]
    size = np.sqrt((X**2).mean(axis=0))
    varies = (X.max(axis=0) > X.min(axis=0)) & ~((X == 0) | (X == 1)).all(axis=0)
    spread = X.std(axis=0)
    far = (size > LARGE) | (varies & (size < SMALL))
    if varies.any() and spread[varies].max() > UNEVEN * spread[varies].min():
        far |= varies & (spread == spread[varies].max())
    columns = tuple(name for name, f in zip(problem.feature_names, far, strict=True) if f)
    parts = []
    if columns:
        low, high = size[far].min(), size[far].max()
        reach = f"about {high:.2g}" if high < 2 * low else f"from {low:.2g} to {high:.2g}"
        one = len(columns) == 1
        parts.append(f"{subject(columns)} {'has' if one else 'have'} values of the size {reach}")
    y = problem.y[~problem.held_out]
    if not problem.classes:
        height = float(np.sqrt((y**2).mean()))
        if height > LARGE or problem.loss_scale < SMALL:
            columns += (problem.table.target_name,)
            parts.append(
                f"{'the' if parts else 'The'} target {problem.table.target_name!r} has values of "
                f"the size {height:.2g} and a deviation of {problem.loss_scale:.2g}"
            )
    return columns, ", and ".join(parts)


def _few_rows(view: View) -> Problem:
    problem = view.problem
    order = np.random.default_rng(view.seed).permutation(view.n)
    training, unseen = order[~problem.held_out[order]], order[problem.held_out[order]]
    n = max(1, ROWS * len(unseen) // view.n)
    first = np.unique(problem.y[training], return_index=True)[1] if problem.classes else []
    rows = np.unique(
        np.concatenate(
            [training[: ROWS - n], training[np.asarray(first, dtype=np.int64)], unseen[:n]]
        )
    )
    parts = problem.raw_X[rows], problem.y[rows], problem.held_out[rows]
    return replace(problem, raw_X=parts[0], y=parts[1], held_out=parts[2])


def _steps(view: View, small: Problem) -> int:
    n = int((~small.held_out).sum())
    batch = min(view.recipe.batch_size or n, n)
    work = 2 * SEEDS * (network_size(small, view.recipe.hidden) + 20.0) * batch
    return int(min(view.recipe.steps, max(WORK / work, 1)))


def _seeds(view: View) -> tuple[int, ...]:
    return tuple(range(view.seed, view.seed + SEEDS))


def _median(group: Group, name: str) -> float:
    values = sorted(np.nan_to_num([getattr(t, name) for t in group.trials], nan=np.inf))
    return float(values[len(values) // 2]) if values else np.inf


def _trivial(problem: Problem) -> float:
    y = problem.y[~problem.held_out]
    if problem.classes:
        shares = np.bincount(y, minlength=len(problem.classes)) / len(y)
        return float(-np.log(shares[y]).mean())
    rows = np.flatnonzero(~problem.held_out)
    return float(problem.losses(np.full((len(rows), 1), y.mean()), rows).mean())
