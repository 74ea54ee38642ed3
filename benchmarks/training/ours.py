"""Pellucid's side."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import pellucid

from .works import NotTheSameWork, Work


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a program came to: flat parameters of each network, and the losses if recorded.

    `parameters`: (networks, p); `steps`: how many were taken; `losses`: (steps, networks).
    """

    parameters: np.ndarray
    steps: int
    losses: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def networks(self, work: Work) -> list[pellucid.Network]:
        start = pellucid.initialize(work.widths, activation=work.activation)
        return [start.with_parameters(flat) for flat in self.parameters]


def train(work: Work, record: bool = False) -> Outcome:
    """One network on one thread."""
    return train_seeds(work, [work.seed], threads=1, record=record)


def train_seeds(work: Work, seeds: Sequence[int], threads: int, record: bool = False) -> Outcome:
    """The same work from several starts."""
    return train_shapes([work], seeds, threads, record)[0]


def train_shapes(
    works: Sequence[Work], seeds: Sequence[int], threads: int, record: bool = False
) -> list[Outcome]:
    """Works that differ in their hidden widths alone, each from several starts, in one call."""
    work = works[0]
    grid = pellucid.train_many(
        work.X,
        work.y,
        hidden=[w.hidden for w in works],
        seed=list(seeds),
        activation=work.activation,
        learning_rate=work.learning_rate,
        steps=work.steps,
        batch_size=work.batch_size,
        record_every=1 if record else None,
        threads=threads,
        progress=False,
        engine="kernel",
    )
    starts = range(0, len(grid), len(seeds))
    return [_outcome(work, grid.runs[i : i + len(seeds)]) for i in starts]


def _outcome(work: Work, runs: Sequence[pellucid.Run]) -> Outcome:
    for run in runs:
        if run.status != "finished" or run.steps_done != work.steps:
            raise NotTheSameWork(f"{work.name}: {run.status} after {run.steps_done} steps")
    parameters = np.array([run.network.parameters() for run in runs])
    losses = np.array([run.history.loss[:-1] for run in runs]).T
    return Outcome(parameters, work.steps, losses)
