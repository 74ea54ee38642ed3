"""`diagnose`: the protocol, stage by stage, and the verdict that it ends in."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from .._errors import InvalidInput
from ..datasets import Table, as_table
from ..network import Activation, as_activation
from ..training.settings import settings_from
from . import wording
from .decision import Evidence, Judgement, fits, judge, learned, optimization_share, reaches
from .evidence import Findings, gather, prove
from .inspect import unit_health
from .problem import Problem, pose
from .references import judge_references
from .remedy import choose_fix, n_regularised_runs, regularised
from .search import (
    Group,
    Plan,
    much_wider_plans,
    n_changes,
    recipe_plans,
    remedy_plan,
    run_plan,
    same_architecture_plans,
    wider_plans,
)
from .source import KernelSource, Source, run_source
from .verdict import Fix, Recipe, Statement, Verdict, Witness

STAGES = (
    "references",
    "your run",
    "your recipe",
    "same architecture",
    "wider and deeper",
    "much wider",
    "fix",
)
"""The protocol, in this order; the time budget decides after which stage it stops."""

LARGEST_SEED = 2**31
Progress = Callable[[str, float], object]


def diagnose(
    data: Table | ArrayLike,
    y: ArrayLike | None = None,
    *,
    hidden: Sequence[int],
    activation: str | Activation = "relu",
    optimizer: str = "adam",
    learning_rate: float = 0.01,
    steps: int = 3000,
    batch_size: int | None = None,
    weight_decay: float = 0.0,
    standardize: bool = False,
    seed: int = 0,
    budget: float = 60.0,
    held_out: float = 0.25,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Say why a network does badly, or that it does not, by controlled experiments.

    Parameters
    ----------
    data, y
        A `datasets.Table`, or inputs (n, d_in) with targets (n,).
    hidden
        Hidden widths; `[]` is a linear model.
    activation, optimizer, learning_rate, steps, batch_size, weight_decay
        The user's recipe, as in `train`. The network starts from torch's initialization.
    standardize
        Whether the recipe standardises the columns and, for regression, the target; by default it
        trains on the numbers as they are. The loss is told on the standardised target either way.
    seed
        Of the user's run, and of the split into training and held-out rows.
    budget
        Seconds. Each stage has a fixed amount of work; a stage that is predicted to end after the
        budget is not begun, nor any later one. The references and the user's run are always made.
    held_out
        The share of rows to hold out.
    threads
        How many networks train at once; all processors by default. The numbers do not depend on it.
    progress
        Called with the name of a stage of `STAGES` and the fraction of it that is done.

    Returns
    -------
    Verdict
        After Ctrl-C, the verdict on what was done until then.

    Raises
    ------
    InvalidInput
        Data or settings that cannot be used, or fewer than 20 rows.
    """
    table = _as_table(data, y)
    settings = {
        "hidden": list(hidden),
        "activation": activation,
        "optimizer": optimizer,
        "learning_rate": learning_rate,
        "steps": steps,
        "batch_size": batch_size,
        "weight_decay": weight_decay,
        "seed": seed,
    }
    recipe, sigma = _recipe(settings, standardize)
    _check(budget, seed)
    start = time.monotonic()
    problem = pose(table, recipe, int(seed), held_out)
    source = KernelSource(recipe, sigma, threads)
    clock = Clock(float(budget), start, _workers(threads))
    return _run_protocol(Lab(problem, source, sigma, threads, progress, clock), int(seed))


@dataclass
class Clock:
    """Predicts what work will take from what work has taken; only decides when to stop."""

    budget: float
    start: float
    workers: int
    work: float = 0.0
    seconds: float = 0.0

    def elapsed(self) -> float:
        """Seconds since the diagnosis began."""
        return time.monotonic() - self.start

    def note(self, work: float, jobs: int, seconds: float) -> None:
        """Learn from runs that were made: processor seconds per unit of work."""
        self.work += work
        self.seconds += seconds * min(self.workers, jobs)

    def allows(self, work: float) -> bool:
        """Whether that much more work is predicted to end within the budget."""
        predicted = work * self.seconds / self.work / self.workers if self.work else 0.0
        return self.elapsed() + predicted <= self.budget


@dataclass
class Lab:
    """Makes the runs of plans, tells the progress, and stops when time or patience ends."""

    problem: Problem
    source: Source
    activation: Activation
    threads: int | None
    progress: Progress | None
    clock: Clock
    groups: list[Group] = field(default_factory=list)
    stage: str = ""
    stopped: bool = False
    interrupted: bool = False

    def report(self, stage: str, fraction: float) -> None:
        """Tell the caller."""
        if self.progress is not None:
            self.progress(stage, min(fraction, 1.0))

    def run(self, stage: str, plans: Sequence[Plan], always: bool = False) -> bool:
        """Run a whole stage, if the budget allows; False means that it was not finished."""
        total = sum(plan.work(self.problem) for plan in plans)
        if self.stopped or not (always or self.clock.allows(total)):
            self.stopped = True
            return False
        try:
            finished = self._run_all(stage, plans, max(total, 1.0))
        except KeyboardInterrupt:  # Ctrl-C between two runs
            finished = False
        if not finished:
            self.stopped = self.interrupted = True
            return False
        self.stage = stage
        return True

    def _run_all(self, stage: str, plans: Sequence[Plan], total: float) -> bool:
        done = 0.0
        self.report(stage, 0.0)
        for plan in plans:
            work = plan.work(self.problem)
            if not self._run_one(stage, plan, done / total, work / total):
                return False
            done += work
        self.report(stage, 1.0)
        return True

    def _run_one(self, stage: str, plan: Plan, begun: float, share: float) -> bool:
        def report(steps: int, of: int) -> None:
            try:
                self.report(stage, 0.99 * (begun + share * steps / max(of, 1)))
            except KeyboardInterrupt:  # the kernel forgets it where the runs were just done
                self.interrupted = True
                raise

        start = time.monotonic()
        if plan.role == "recipe":
            group = run_source(self.source, self.problem, plan, report)
        else:
            group = run_plan(self.problem, plan, self.activation, self.threads, report)
        self.clock.note(plan.work(self.problem), len(plan.seeds), time.monotonic() - start)
        if group.trials:
            self._keep(group)
        return len(group.trials) == len(plan.seeds) and not self.interrupted

    def _keep(self, group: Group) -> None:
        """Further seeds of the user's recipe join the first."""
        if group.role == "recipe" and self.groups:
            first = self.groups[0]
            self.groups[0] = replace(first, trials=first.trials + group.trials)
        else:
            self.groups.append(group)


def _run_protocol(lab: Lab, seed: int) -> Verdict:
    problem, recipe = lab.problem, lab.source.recipe
    lab.report("references", 0.0)
    references = judge_references(
        problem, seed, lambda done, of: lab.report("references", 0.99 * done / of)
    )
    lab.stage = "references"
    lab.report("references", 1.0)
    own, further = recipe_plans(recipe, seed)
    lab.run("your run", [own], always=True)
    if not lab.groups:
        raise KeyboardInterrupt  # stopped before there was anything to judge
    lab.run("your recipe", [further] if lab.source.repeats else [])
    searched = lab.run("same architecture", same_architecture_plans(problem, recipe, seed))
    widened = False

    def findings() -> Findings:
        return Findings(problem, references, tuple(lab.groups), searched, widened)

    start = _recipe_for_others(lab.groups, gather(findings()).tolerance)
    widened = lab.run("wider and deeper", wider_plans(recipe, start, seed))
    if widened and _need_much_wider(gather(findings())):
        widened = lab.run("much wider", much_wider_plans(problem, recipe, start, seed))
    elif widened:
        lab.stage = "much wider"
    evidence, witness = _evidence(findings())
    judgement = judge(evidence)
    if judgement.kind == "overfitting" and not lab.stopped:
        _try_regularised(lab, recipe, seed)
    elif not lab.stopped:
        lab.stage = "fix"
    fix = choose_fix(judgement.kind, findings(), evidence)
    return _verdict(lab, recipe, seed, findings(), evidence, judgement, witness, fix)


def _recipe_for_others(groups: Sequence[Group], tolerance: float) -> Recipe:
    """How to train other architectures: the smallest change that trains the user's nearly best."""
    same = [g for g in groups if g.role in ("recipe", "same architecture")]
    lowest = min(g.median.objective for g in same)
    near = [g.recipe for g in same if g.median.objective <= lowest + max(tolerance, 0.0)]
    return min(near, key=lambda r: n_changes(same[0].recipe, r), default=same[0].recipe)


def _need_much_wider(e: Evidence) -> bool:
    """Only where the user's network does not fit and nothing that was tried reaches far enough."""
    return not (fits(e) or learned(e) or e.n_reached or (e.wider and reaches(e.wider, e)))


def _evidence(findings: Findings) -> tuple[Evidence, Witness | None]:
    """Gather the numbers; the checker is asked only where a failure is in question."""
    evidence = gather(findings)
    if evidence.gap <= 0 or fits(evidence) or optimization_share(evidence) <= 0:
        return evidence, None
    if evidence.by_networks:
        return evidence, None  # the gap was chosen by held-out rows: no ground for a proof
    return prove(findings, evidence)


def _try_regularised(lab: Lab, recipe: Recipe, seed: int) -> None:
    """Run what helps against overfitting: the choice is made inside the training rows."""
    plan = Plan("search", "narrower", recipe, tuple(range(n_regularised_runs(recipe))))
    if not lab.clock.allows(plan.work(lab.problem)):
        lab.stopped = True
        return
    try:
        other = regularised(
            lab.problem,
            recipe,
            seed,
            lab.activation,
            lab.threads,
            lambda done, of: lab.report("fix", 0.9 * done / max(of, 1)),
        )
    except KeyboardInterrupt:
        lab.stopped = lab.interrupted = True
        return
    lab.run("fix", remedy_plan(recipe, other, seed))


def _verdict(
    lab: Lab,
    recipe: Recipe,
    seed: int,
    findings: Findings,
    evidence: Evidence,
    judgement: Judgement,
    witness: Witness | None,
    fix: Fix | None,
) -> Verdict:
    problem, user = lab.problem, findings.user
    statements = judgement.statements
    if fix is None and judgement.kind not in ("fits", "data limit") and not lab.stopped:
        statements = (*statements, Statement(wording.no_fix(judgement.kind), "likely"))
    return Verdict(
        kind=judgement.kind,
        certainty=judgement.certainty,
        sentence=judgement.sentence,
        statements=statements,
        data_name=problem.table.name,
        target_name=problem.table.target_name,
        task=problem.table.task,
        classes=problem.classes,
        feature_names=problem.feature_names,
        notes=tuple(problem.table.notes),
        n_training=int((~problem.held_out).sum()),
        n_held_out=int(problem.held_out.sum()),
        recipe=recipe,
        seed=seed,
        n_parameters=user.network.n_parameters,
        score_name=problem.score_name,
        references=tuple(model.summary(problem) for model in findings.references),
        trivial_loss=evidence.trivial,
        reference_loss=evidence.reference,
        experiments=tuple(group.summary() for group in lab.groups),
        unit_health=unit_health(user.network, problem.raw_X[~problem.held_out]),
        fix=fix,
        witness=witness,
        network=user.network,
        raw_X=problem.raw_X,
        y=problem.y,
        held_out=problem.held_out,
        scaling=problem.scaling,
        loss_scale=problem.loss_scale,
        stage=lab.stage + (" (interrupted)" if lab.interrupted else ""),
        stages=STAGES,
        budget=lab.clock.budget,
        seconds=lab.clock.elapsed(),
    )


def _as_table(data: Table | ArrayLike, y: ArrayLike | None) -> Table:
    if not isinstance(data, Table):
        return as_table(data, y)
    if y is not None:
        raise InvalidInput("got a Table and y; a Table holds its own target: leave y out.")
    return data


def _recipe(settings: dict[str, Any], standardize: bool) -> tuple[Recipe, Activation]:
    """The recipe in plain, checked values, and its activation."""
    s = settings_from(settings)
    sigma = as_activation(s.activation)
    recipe = Recipe(
        hidden=s.hidden,
        activation=str(sigma),
        optimizer=s.optimizer,
        learning_rate=s.learning_rate,
        steps=s.steps,
        batch_size=s.batch_size,
        weight_decay=s.weight_decay,
        standardize=bool(standardize),
    )
    return recipe, sigma


def _check(budget: float, seed: int) -> None:
    if not budget > 0:
        raise InvalidInput(f"budget is {budget}; it needs a positive number of seconds.")
    if not 0 <= seed < LARGEST_SEED:
        raise InvalidInput(f"seed is {seed}; it needs a whole number from 0 to {LARGEST_SEED - 1}.")


def _workers(threads: int | None) -> int:
    return threads or os.cpu_count() or 1
