"""The learning curve over data size, which tells whether more rows would help."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .problem import Problem
from .search import Group, Plan, Report
from .source import Source, run_source
from .verdict import CurvePoint

SHARES = (0.125, 0.25, 0.5)
"""Parts of the training rows that are tried; the whole is the user's recipe itself."""
SEEDS = 3
FEWEST_ROWS = 8


def learning_curve(
    problem: Problem, source: Source, whole: Group, seed: int, report: Report | None
) -> tuple[CurvePoint, ...]:
    """The user's recipe on nested parts of the training rows, always judged on the same others."""
    seeds = tuple(range(seed, seed + SEEDS))
    points = []
    for i, part in enumerate(parts(problem, seed)):
        plan = Plan("part of the rows", "recipe", source.recipe, seeds)
        group = run_source(source, part, plan, None)
        if len(group.trials) < len(seeds):
            raise KeyboardInterrupt
        points.append(_point(group, int((~part.held_out).sum())))
        if report is not None:
            report(i + 1, len(SHARES) + 1)
    kept = replace(whole, trials=whole.trials[:SEEDS])
    return (*points, _point(kept, int((~problem.held_out).sum())))


def curve_work(problem: Problem, source: Source) -> float:
    """In the unit of `Plan.work`."""
    plan = Plan("part of the rows", "recipe", source.recipe, tuple(range(SEEDS)))
    return sum(plan.work(part) for part in parts(problem, 0))


def parts(problem: Problem, seed: int) -> Iterator[Problem]:
    """The same question with an eighth, a quarter and half of the training rows.

    The held-out rows, the scaling and the unit of the loss stay; classes keep their shares.
    """
    training = np.flatnonzero(~problem.held_out)
    order = np.random.default_rng(seed).permutation(training)
    if problem.classes is not None:
        order = order[np.argsort(_turn(problem.y[order]), kind="stable")]
    for share in SHARES:
        n = int(share * len(order))
        if n < FEWEST_ROWS or (problem.classes and len(np.unique(problem.y[order[:n]])) < 2):
            continue
        rows = np.sort(np.concatenate([order[:n], np.flatnonzero(problem.held_out)]))
        yield replace(
            problem,
            raw_X=problem.raw_X[rows],
            y=problem.y[rows],
            held_out=problem.held_out[rows],
        )


def _turn(y: np.ndarray) -> np.ndarray:
    """How far through its class every row is, in (0, 1]: sorted by it, classes take turns."""
    turn = np.empty(len(y))
    for label in np.unique(y):
        here = np.flatnonzero(y == label)
        turn[here] = (np.arange(len(here)) + 1.0) / len(here)
    return turn


def _point(group: Group, n_rows: int) -> CurvePoint:
    trials = group.trials
    return CurvePoint(
        n_rows=n_rows,
        training_loss=float(np.mean([t.training_loss for t in trials])),
        held_out_loss=float(np.mean([t.held_out_loss for t in trials])),
        n_seeds=len(trials),
    )
