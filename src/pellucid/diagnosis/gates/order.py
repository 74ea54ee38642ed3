"""Gates of the order of the rows: sorted by the target, or in time."""

from collections.abc import Iterator

import numpy as np

from ..._shapes import Array, Float64
from ..alarms import Alarm
from .view import View, ranks

BLOCKS = 0.2
"""Changes of class from row to row, as a share of those of a random order."""
SMOOTH = 0.25
"""Von Neumann's ratio, 1 in a random order, below which the rows follow their target."""
DRIFT = 0.5
FEWEST = 50


def sorted_rows(view: View) -> Iterator[Alarm]:
    """Training rows in the order of their target; harmless where batches are drawn at random."""
    if view.shuffles or view.recipe.batch_size is None:
        return
    problem = view.problem
    y = problem.y[~problem.held_out]
    if len(y) < FEWEST or view.recipe.batch_size >= len(y):
        return
    ratio = _changes(y) if problem.classes else von_neumann_ratio(ranks(y))
    if ratio > (BLOCKS if problem.classes else SMOOTH):
        return
    how = "class by class" if problem.classes else "nearly in the order of their target"
    yield Alarm(
        "sorted rows",
        "data error",
        "undecided",
        f"The training rows stand {how}: from one row to the next the target changes "
        f"{100 * ratio:.0f} % as much as in a random order, so that batches of neighbouring rows "
        "all say the same. Shuffle the rows before every epoch.",
        remedy="shuffle rows",
    )


def drift_with_time(view: View) -> Iterator[Alarm]:
    """Rows in the order of a date, with a target that changes slowly along it."""
    problem = view.problem
    if problem.split.kind == "time" or view.n < FEWEST or problem.classes:
        return
    for column in problem.table.columns:
        if column.kind != "date" or column.missing.any() or len(np.unique(column.values)) < FEWEST:
            continue
        order = np.argsort(column.values, kind="stable")
        ratio = von_neumann_ratio(ranks(problem.y)[order])
        if ratio < DRIFT:
            yield Alarm(
                "drift with time",
                "warning",
                "likely",
                f"The target drifts along {column.name!r}: from one row to the next it changes "
                f"{100 * ratio:.0f} % as much as in a random order, and rows held out at random "
                "have neighbours in training that give them away. Hold out the latest rows "
                f"instead: time={column.name!r}.",
                (column.name,),
            )


def _changes(y: Array) -> float:
    shares = np.bincount(y) / len(y)
    expected = 1.0 - float((shares**2).sum())
    return float((y[1:] != y[:-1]).mean()) / expected if expected > 0 else 1.0


def von_neumann_ratio(y: Float64[Array, " n"]) -> float:
    """Mean squared successive difference over twice the variance (von Neumann, 1941)."""
    variance = float(y.var())
    return float((np.diff(y) ** 2).mean()) / (2 * variance) if variance > 0 else 1.0
