"""What makes the runs of a diagnosis, tells its progress, and stops when time or patience ends."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..network import Activations
from .problem import Problem
from .search import Group, Plan, run_plan
from .source import KernelSource, Source, run_source

Progress = Callable[[str, float], object]
FLOPS = 1e9
"""Floating operations in a second of the work that is not training, as the clock predicts it."""
ENOUGH, USUAL = 0.2, 3e-9
"""Seconds of training from which their rate is trusted: of less, the start of the threads may be
most. Until then a unit of work is predicted to take no longer than the second number."""


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

    def allows(self, work: float, seconds: float = 0.0) -> bool:
        """Whether that much more work is predicted to end within the budget."""
        rate = self.seconds / self.work if self.work else USUAL
        if self.seconds < ENOUGH:
            rate = min(rate, USUAL)
        predicted = work * rate / self.workers
        return self.elapsed() + predicted + seconds <= self.budget


@dataclass(frozen=True)
class Job:
    """Work that is no plan: what it makes, and how much it is, in the unit of `Plan.work`.

    `seconds` is the prediction where the work has no unit in common with training.
    """

    make: Callable[[Callable[[int, int], None]], Sequence[Group]]
    amount: float = 0.0
    seconds: float = 0.0


@dataclass
class Lab:
    """Makes the runs of plans, tells the progress, and stops when time or patience ends."""

    problem: Problem
    source: Source
    activation: Activations
    threads: int | None
    progress: Progress | None
    clock: Clock
    groups: list[Group] = field(default_factory=list)
    stage: str = ""
    stopped: bool = False
    interrupted: bool = False
    own_seconds: float = 0.0

    def report(self, stage: str, fraction: float) -> None:
        """Tell the caller."""
        if self.progress is not None:
            self.progress(stage, min(fraction, 1.0))

    def run(self, stage: str, plans: Sequence[Plan | Job], always: bool = False) -> bool:
        """Run a whole stage, if the budget allows; False means that it was not finished."""
        total = sum(self._work(plan) for plan in plans)
        seconds = sum(self._seconds(plan) for plan in plans)
        if self.stopped or not (always or self.clock.allows(total, seconds)):
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

    def _run_all(self, stage: str, plans: Sequence[Plan | Job], total: float) -> bool:
        done = 0.0
        self.report(stage, 0.0)
        for plan in plans:
            work = self._work(plan)
            if not self._run_one(stage, plan, done / total, work / total):
                return False
            done += work
        self.report(stage, 1.0)
        return True

    def _run_one(self, stage: str, plan: Plan | Job, begun: float, share: float) -> bool:
        def report(steps: int, of: int) -> None:
            try:
                self.report(stage, 0.99 * (begun + share * steps / max(of, 1)))
            except KeyboardInterrupt:  # the kernel forgets it where the runs were just done
                self.interrupted = True
                raise

        if isinstance(plan, Job):
            self.groups += [group for group in plan.make(report) if group.trials]
            return not self.interrupted
        start = time.monotonic()
        if plan.role == "recipe":
            group = run_source(self.source, self.problem, plan, report)
        else:
            group = run_plan(self.problem, plan, self.activation, self.threads, report)
        seconds = time.monotonic() - start
        if self._foreign(plan):
            self.own_seconds = seconds / len(plan.seeds)
        else:
            self.clock.note(plan.work(self.problem), len(plan.seeds), seconds)
        if group.trials:
            self._keep(group)
        return len(group.trials) == len(plan.seeds) and not self.interrupted

    def _foreign(self, plan: Plan | Job) -> bool:
        """Whether the user's own code does the work: its time says nothing about the kernel's."""
        is_own = isinstance(plan, Plan) and plan.role == "recipe"
        return is_own and not isinstance(self.source, KernelSource)

    def _work(self, plan: Plan | Job) -> float:
        if isinstance(plan, Job):
            return plan.amount * self.clock.workers  # one network at a time
        return 0.0 if self._foreign(plan) else plan.work(self.problem)

    def _seconds(self, plan: Plan | Job) -> float:
        if isinstance(plan, Job):
            return plan.seconds
        return self.own_seconds * len(plan.seeds) if self._foreign(plan) else 0.0

    def _keep(self, group: Group) -> None:
        """Further seeds of the user's recipe join the first."""
        if group.role == "recipe" and self.groups:
            first = self.groups[0]
            self.groups[0] = replace(first, trials=first.trials + group.trials)
        else:
            self.groups.append(group)


def workers_of(threads: int | None) -> int:
    """How many networks train at once."""
    return threads or os.cpu_count() or 1
