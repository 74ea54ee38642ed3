"""A grid of networks on a Ray cluster: chunks of it are tasks, a call stores the rows once.

Every network is computed by one thread of one worker with the same code as here, so where it ran
changes nothing. A task whose worker or machine dies runs again elsewhere, from its start.
"""

import logging
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from .. import _kernels
from .._errors import InvalidInput, MissingDependency, PellucidError, PellucidWarning
from .._kernels.checks import check_full_batch, check_job
from .._kernels.state import empty_result, steps_before
from .._shapes import Array
from . import engines
from .chunks import cut_into_chunks

Progress = Callable[[int, int], object]

RETRIES = 10
"""Times that a chunk starts anew after its worker died; then its networks are given up."""

SECONDS_BETWEEN_REPORTS = 0.5
SECONDS_TO_STOP = 30.0
"""How long Ctrl-C waits for what the workers have reached; a second Ctrl-C does not wait."""


def train_networks(
    X: Array,
    y: Array,
    jobs: Sequence[_kernels.TrainingJob],
    *,
    threads: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> list[_kernels.TrainingResult]:
    """Do what `engines.train_networks` does, with the same arguments, on a Ray cluster.

    `threads` is the largest number of networks that train at once; 0 takes every processor of the
    cluster. Ray is started if it is not: RAY_ADDRESS says where, without it on this machine alone.

    `MissingDependency` is raised where Ray is not installed. A `PellucidWarning` tells of networks
    that were given up, and of workers whose processors compute other bits.
    """
    jobs = list(jobs)
    if not jobs:
        return []
    _rehearse(X, y, jobs, threads, options)
    results: list[_kernels.TrainingResult | None] = [None] * len(jobs)
    try:
        ray = _connected()
        work = _Work(ray, jobs, results, progress, threads, ray.put((X, y, options)))
    except KeyboardInterrupt:  # before anything was begun
        return [empty_result(job) for job in jobs]
    workers = int(ray.cluster_resources().get("CPU", 1))
    try:
        work.do(cut_into_chunks(jobs, len(X), min(workers, threads or workers)))
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt):  # a second one: what is there now is all
            work.stop()
    finally:
        work.leave()
    work.warn()
    return [result or empty_result(job) for job, result in zip(jobs, results, strict=True)]


def _rehearse(
    X: Array, y: Array, jobs: list[_kernels.TrainingJob], threads: int, options: dict[str, Any]
) -> None:
    """Meet whatever is wrong with the arguments here, before a cluster is started: no steps."""
    for job in jobs:
        check_job(job)
        check_full_batch(job, len(X))
    strictest = max(jobs, key=lambda job: job.patience)
    none = replace(strictest, steps=0, state=None)
    engines.train_networks(X, y, [none], threads=threads, **options)


def _connected() -> ModuleType:
    """The module `ray`, connected to a cluster, and quiet where it was not connected before."""
    try:
        import ray
    except ImportError:
        raise MissingDependency(
            'Ray is needed and not installed: pip install "pellucid[ray]" '
            "(in a clone: .venv/bin/pip install ray)."
        ) from None
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except ConnectionError:
            raise InvalidInput(
                f"there is no Ray cluster at {os.environ.get('RAY_ADDRESS', 'auto')}, which "
                "RAY_ADDRESS names; start one with ray start --head, or unset RAY_ADDRESS to use "
                "this machine alone."
            ) from None
    return ray


@dataclass
class _Work:
    """The chunks of one grid on their way through the cluster."""

    ray: Any
    jobs: list[_kernels.TrainingJob]
    results: list[_kernels.TrainingResult | None]
    progress: Progress | None
    at_once: int
    data: Any
    running: dict[Any, tuple[int, list[int]]] = field(default_factory=dict)
    origins: Counter[str] = field(default_factory=Counter)
    given_up: list[str] = field(default_factory=list)
    reported: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = sum(job.steps for job in self.jobs)
        self.steps_done = sum(map(steps_before, self.jobs))
        here = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            self.ray.get_runtime_context().get_node_id(), soft=True
        )
        board = self.ray.remote(num_cpus=0, scheduling_strategy=here)(_Board)
        self.board = board.remote()
        self.answer = self.board.steps.remote()
        self.task = self.ray.remote(num_cpus=1, max_retries=RETRIES)(_train_chunk)

    def do(self, chunks: list[list[int]]) -> None:
        """Train all chunks, the first ones first, and tell how far they are, at the end too."""
        isa, waiting = os.environ.get("PELLUCID_ISA", ""), list(enumerate(chunks))
        while waiting or self.running:
            while waiting and len(self.running) < (self.at_once or len(chunks)):
                number, chunk = waiting.pop(0)
                jobs = [self.jobs[i] for i in chunk]
                task = self.task.remote(self.data, jobs, isa, self.board, number)
                self.running[task] = number, chunk
            self._collect(timeout=0.2)
            if self.progress is not None:
                self.progress(self.steps_done + self._steps_of_running(), self.total)

    def _collect(self, timeout: float) -> None:
        self.ray.wait(list(self.running), timeout=timeout)
        ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
        for task in ready:
            _, chunk = self.running.pop(task)
            self._take(task, chunk)

    def _take(self, task: Any, chunk: list[int]) -> None:
        """Keep the results of one task; what a user's mistake caused is raised."""
        errors = self.ray.exceptions
        try:
            results, origin = self.ray.get(task)
        except errors.TaskCancelledError:
            return
        except errors.RayTaskError as error:
            if isinstance(error.cause, PellucidError):
                raise error.cause from None
            raise
        except errors.RayError as error:
            self.given_up += [str(error).strip().splitlines()[0]] * len(chunk)
            return
        for i, result in zip(chunk, results, strict=True):
            self.results[i] = result
            self.steps_done += result.steps_done - steps_before(self.jobs[i])
        self.origins[origin] += len(chunk)

    def _steps_of_running(self) -> int:
        """New steps of tasks that are not done, as last heard: the board is never waited for."""
        try:
            if self.ray.wait([self.answer], timeout=0)[0]:
                self.reported = self.ray.get(self.answer)
                self.answer = self.board.steps.remote()
        except self.ray.exceptions.RayError:
            self.reported = {}
        return sum(self.reported.get(number, 0) for number, _ in self.running.values())

    def stop(self) -> None:
        """Call the tasks off that have not begun, and take what the others have reached."""
        end = time.monotonic() + SECONDS_TO_STOP
        try:
            begun = self.ray.get(self.board.stop.remote(), timeout=5)
        except self.ray.exceptions.RayError:
            begun = {}
        for task, (number, _) in self.running.items():
            if number not in begun:
                self.ray.cancel(task)
        while self.running and time.monotonic() < end:
            self._collect(timeout=0.2)

    def leave(self) -> None:
        """Leave nothing behind in the cluster, however the work ended."""
        for task in self.running:
            self.ray.cancel(task, force=True)
        with suppress(self.ray.exceptions.RayError):
            self.ray.kill(self.board)

    def warn(self) -> None:
        """Tell what is not as it would be in a local call."""
        if self.given_up:
            warnings.warn(
                f"{len(self.given_up)} of {len(self.jobs)} networks were given up and are marked "
                f"interrupted, since {RETRIES + 1} workers in a row died of them: "
                f"{self.given_up[0]}",
                PellucidWarning,
                stacklevel=5,
            )
        others = {origin: n for origin, n in self.origins.items() if origin != _origin()}
        if others:
            there = ", ".join(f"{n} by {origin}" for origin, n in others.items())
            warnings.warn(
                f"of {len(self.jobs)} networks {there} were trained, and {_origin()} is here, so "
                "they equal those of a local call to rounding only; the environment variable "
                "PELLUCID_ISA, set here, makes all machines use one instruction set.",
                PellucidWarning,
                stacklevel=5,
            )


def _origin() -> str:
    """What decides about the bits of a result."""
    from importlib.metadata import version

    native = _kernels.native_module()
    return f"pellucid {version('pellucid')} with {native.instruction_set() if native else 'NumPy'}"


# ---- what runs on the workers


class _Board:
    """An actor: how far the tasks are, and whether they shall stop."""

    def __init__(self) -> None:
        self._steps: dict[int, int] = {}
        self._stopped = False

    def report(self, number: int, steps: int) -> bool:
        """Note the new steps of a chunk, and answer whether to stop."""
        self._steps[number] = steps
        return self._stopped

    def steps(self) -> dict[int, int]:
        """Steps of each chunk that has begun."""
        return self._steps

    def stop(self) -> dict[int, int]:
        """Ask all to stop."""
        self._stopped = True
        return self._steps


class _Reporter:
    """The progress function of one chunk: tells the board, and stops where the board says so."""

    def __init__(self, board: Any, number: int, before: int):
        import ray

        self._ray, self._board, self._number, self._before = ray, board, number, before
        self._next, self._answer = 0.0, board.report.remote(number, 0)

    def __call__(self, done: int, total: int) -> None:
        """Never wait for the board: it may be late, or gone with its machine."""
        try:
            if not self._ray.wait([self._answer], timeout=0)[0]:
                return
            if self._ray.get(self._answer):
                raise KeyboardInterrupt
        except self._ray.exceptions.RayError:
            return
        if time.monotonic() > self._next:
            self._next = time.monotonic() + SECONDS_BETWEEN_REPORTS
            self._answer = self._board.report.remote(self._number, done - self._before)


def _train_chunk(
    data: tuple[Array, Array, dict[str, Any]],
    jobs: list[_kernels.TrainingJob],
    isa: str,
    board: Any,
    number: int,
) -> tuple[list[_kernels.TrainingResult], str]:
    """Train a few networks, one after the other, and say with what."""
    X, y, options = data
    native = _kernels.native_module()
    report = _Reporter(board, number, sum(map(steps_before, jobs)))
    own = os.environ.get("PELLUCID_ISA")  # a worker trains for one caller after the other
    if isa and native is not None and isa in native.instruction_sets():
        os.environ["PELLUCID_ISA"] = isa
    try:
        results = engines.train_networks(X, y, jobs, threads=1, progress=report, **options)
        return results, _origin()
    finally:
        if own is None:
            os.environ.pop("PELLUCID_ISA", None)
        else:
            os.environ["PELLUCID_ISA"] = own
