"""How the user's own runs are made: what a verdict is about comes from a source."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..network import Activations, Network
from ..training import History
from .problem import Problem
from .search import Group, Plan, judge_run, train_grid
from .verdict import Recipe

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class OwnRun:
    """One of the user's own runs.

    The network takes the columns as the recipe sees them (standardised where the recipe does
    that) and is of the user's own architecture; its outputs are those before any softmax or output
    activation that belongs to the loss. `status` is "finished", "interrupted" or "diverged".
    """

    network: Network
    history: History
    status: str
    seed: int


@runtime_checkable
class Source(Protocol):
    """What makes the user's own runs.

    `recipe` holds the widths, the activation and what is known of the training: the search starts
    from it. `name` says in words whose runs they are. `repeats` is False for one network that is
    trained already: it has no further seeds.
    """

    @property
    def recipe(self) -> Recipe:
        """The widths, the activation and what is known of the training."""
        ...

    @property
    def name(self) -> str:
        """Whose runs they are, in words: "your recipe", "your train_fn", "your network"."""
        ...

    @property
    def repeats(self) -> bool:
        """Whether other seeds give other runs."""
        ...

    def runs(
        self, problem: Problem, seeds: Sequence[int], report: Report | None
    ) -> Sequence[OwnRun]:
        """One run per seed on the training rows of the problem; `report` is told (done, of)."""
        ...


@dataclass(frozen=True)
class KernelSource:
    """A recipe that Pellucid trains itself."""

    recipe: Recipe
    activation: Activations
    threads: int | None = None
    name: str = "your recipe"
    repeats: bool = True

    def runs(
        self, problem: Problem, seeds: Sequence[int], report: Report | None
    ) -> tuple[OwnRun, ...]:
        """One run per seed, in one native call."""
        X, y = problem.scaled(problem.scaling_of(self.recipe))
        rows, unseen = np.flatnonzero(~problem.held_out), np.flatnonzero(problem.held_out)
        validation = (X[unseen], y[unseen])
        grid = train_grid(
            [self.recipe],
            seeds,
            self.activation,
            X[rows],
            y[rows],
            validation,
            self.threads,
            report,
        )
        return tuple(
            OwnRun(run.network, run.history, run.status, seed)
            for seed, run in zip(seeds, grid, strict=True)
        )


def run_source(source: Source, problem: Problem, plan: Plan, report: Report | None) -> Group:
    """The user's own runs from the seeds of a plan; those that Ctrl-C cut short are left out."""
    runs = source.runs(problem, plan.seeds, report)
    trials = [judge_run(problem, plan, run.seed, run) for run in runs]
    kept = [t for t in trials if t.status != "interrupted"]
    return Group(plan.name, plan.role, plan.recipe, tuple(kept))
