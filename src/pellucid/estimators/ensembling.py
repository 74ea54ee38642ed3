"""One fit: a preprocessing and some networks for each fold, and what their held-out rows say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._shapes import Array, Float64
from ..datasets.features import Features
from ..likelihoods import Likelihood
from ..training import History, Run
from .fitting import Progress, Rows, fit_networks, settings_of, train_rows
from .members import Ensemble, Member, Unit, member_of, unit_of
from .preprocessing import Preprocessing, fit_preprocessing
from .recipe import Preset
from .splitting import Split


@dataclass(frozen=True, eq=False)
class Material:
    """Rows to learn from: columns, targets in their own unit, and weights."""

    features: Features
    y: Array
    weight: Float64[Array, " n"] | None = None

    def take(self, rows: Array) -> "Material":
        """Those rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Material(self.features.take(rows), self.y[rows], weight)

    def rows(self, preprocessing: Preprocessing, unit: Unit) -> Rows:
        """As the training takes them."""
        return Rows(preprocessing(self.features), unit.into(self.y), self.weight)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What the ensemble of a fold says about the rows that it did not see, and what came."""

    predicted: Float64[Array, "n k"]
    y: Array
    weight: Float64[Array, " n"] | None


@dataclass(frozen=True, eq=False)
class Fitted:
    """The outcome of a fit."""

    ensemble: Ensemble
    held_out: HeldOut | None
    runs: tuple[Run, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """What is the same for every fold."""

    head: Likelihood
    d_out: int
    preset: Preset
    seeds: Sequence[int]
    threads: int = 1
    progress: Callable[[], Progress] = lambda: False
    refit: bool = False
    starts: tuple[Member, ...] = field(default=())

    def seeds_of(self, fold: int) -> list[int]:
        """The seeds of the networks of one fold."""
        m = self.preset.members
        return list(self.seeds[fold * m : (fold + 1) * m])


def fit_ensemble(task: Task, material: Material, split: Split, given: Material | None) -> Fitted:
    """Train the networks of every fold; `given` are held-out rows that are the same for all."""
    members: list[Member] = []
    runs: list[Run] = []
    held_out: list[HeldOut] = []
    notes: dict[str, None] = {}
    for k, (training, unseen) in enumerate(split.folds):
        part = material.take(training)
        judge = given if given is not None else material.take(unseen) if len(unseen) else None
        preprocessing, unit, more = _prepared(task, k, material, training, part)
        found = _fit_fold(task, k, part.rows(preprocessing, unit), judge, preprocessing, unit)
        notes |= dict.fromkeys(more)
        of_fold = Ensemble(
            tuple(member_of(preprocessing, unit, r.network, task.head) for r in found)
        )
        if judge is not None:
            held_out.append(HeldOut(of_fold.predict(judge.features), judge.y, judge.weight))
        members += of_fold.members
        runs += found
    if task.refit and given is None and held_out:
        members = _refitted(task, material, runs, split)
    return Fitted(Ensemble(tuple(members)), _joined(held_out), tuple(runs), tuple(notes))


def _prepared(
    task: Task, fold: int, material: Material, training: Array, part: Material
) -> tuple[Preprocessing, Unit, tuple[str, ...]]:
    """Preprocessing and unit of a fold: learned from its training rows, or those gone on from."""
    if task.starts:
        start = task.starts[fold * task.preset.members]
        return start.preprocessing, start.unit, ()
    seed = task.seeds_of(fold)[0]
    preset = task.preset.of_fold(fold)
    found, notes = fit_preprocessing(material.features, training, preset, seed)
    return found, unit_of(task.head, part.y), notes


def _fit_fold(
    task: Task,
    fold: int,
    training: Rows,
    judge: Material | None,
    preprocessing: Preprocessing,
    unit: Unit,
) -> list[Run]:
    validation = None if judge is None else judge.rows(preprocessing, unit)
    preset = task.preset.of_fold(fold)
    m = preset.members
    starts = [member.trained for member in task.starts[fold * m : (fold + 1) * m]]
    return fit_networks(
        training,
        validation,
        task.head,
        task.d_out,
        settings_of(preset, len(training.X), task.seeds_of(fold)),
        preset.patience,
        task.threads,
        task.progress(),
        starts or None,
    )


def _refitted(task: Task, material: Material, runs: list[Run], split: Split) -> list[Member]:
    """One network for each run, on all rows, for as many passes as its best record had."""
    everything = np.arange(material.features.n_rows)
    unit = unit_of(task.head, material.y)
    of_folds = [
        fit_preprocessing(
            material.features, everything, task.preset.of_fold(fold), task.seeds_of(fold)[0]
        )[0]
        for fold in range(min(2, len(split.folds)))
    ]
    inputs = [material.rows(preprocessing, unit) for preprocessing in of_folds]
    members = []
    for k, run in enumerate(runs):
        fold = k // task.preset.members
        preprocessing, rows = of_folds[fold % 2], inputs[fold % 2]
        n = len(split.folds[fold][0])
        ratio = len(everything) / n
        steps = max(1, round((run.best_step or 0) * ratio))
        one = replace(run.settings, steps=steps, patience=None, record_every=None)
        again = train_rows([one], None, rows, task.head, task.d_out, task.threads)[0]
        members.append(member_of(preprocessing, unit, again.network, task.head))
    return members


def _joined(parts: list[HeldOut]) -> HeldOut | None:
    if not parts:
        return None
    weights: Any = None
    if parts[0].weight is not None:
        weights = np.concatenate([part.weight for part in parts if part.weight is not None])
    predicted = np.concatenate([part.predicted for part in parts])
    return HeldOut(predicted, np.concatenate([part.y for part in parts]), weights)


def histories_of(fitted: Fitted) -> tuple[History, ...]:
    """The recorded losses of every run."""
    return tuple(run.history for run in fitted.runs)
