"""Checkpoints: a training that is killed at any moment goes on from the last one, bit for bit.

The engine is paused every few seconds. What is finished and where the running networks stand goes
to a folder (`checkpoint_files`), and the engine is called again for what is left.
"""

import hashlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from .._errors import InvalidInput, PellucidWarning
from .._kernels.engine import native_module
from .._kernels.jobs import TrainingJob, TrainingResult
from .._kernels.state import empty_result
from .._shapes import Array
from .checkpoint_bytes import Results
from .checkpoint_files import Fingerprint, Folder, opened
from .chunks import predicted_cost
from .progress import Progress

TrainJobs = Callable[[list[TrainingJob], Progress], list[TrainingResult]]
EVERY = 5.0
LARGEST_SHARE = 1 / 20
"""Of the time, that pausing, saving and starting anew may take: large networks save less often."""
FIRST_WINDOW = 256
FIRST_REPORT = 0.1
"""Seconds after which an engine tells for the first time how far it is."""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a training is saved: a folder, and seconds between two checkpoints."""

    folder: Path
    every: float = EVERY


def checkpoint_at(folder: str | os.PathLike[str] | None, every: Any) -> Checkpoint | None:
    """Return the checkpoint that a user asked for with `checkpoint` and `checkpoint_every`."""
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise InvalidInput(f"checkpoint is {folder!r:.60}; it needs the path of a folder.")
    number = isinstance(every, int | float | np.number) and not isinstance(every, bool)
    if not number or not 0 <= every < float("inf"):
        raise InvalidInput(
            f"checkpoint_every is {every!r:.40}; it needs a number of seconds, 0 or more."
        )
    return Checkpoint(Path(os.fsdecode(folder)), float(every))


def fingerprint(
    jobs: Sequence[TrainingJob], engine: str, data: dict[str, Array | None]
) -> Fingerprint:
    """What must be the same for a checkpoint to be gone on from: a text for each part of it."""
    parts = {
        "networks": str(len(jobs)),
        "engine": _engine(engine),
        "pellucid": version("pellucid"),
        "dtype": repr([job.parameters.dtype.name for job in jobs]),
        "starting parameters": _digest(*(job.parameters for job in jobs)),
    }
    for f in fields(TrainingJob):
        if f.name not in ("parameters", "state"):
            values = repr([getattr(job, f.name) for job in jobs])
            parts[f.name] = hashlib.sha256(values.encode()).hexdigest()
    return parts | {name: _digest(array) for name, array in data.items() if array is not None}


def _digest(*arrays: Array) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _engine(name: str) -> str:
    """An engine and what its bits depend on beside the settings."""
    native = native_module()
    if name.startswith("torch"):
        with suppress(PackageNotFoundError):  # which the engine itself will say
            return f"{name}, PyTorch {version('torch')}"
    if name == "reference" or native is None:
        return f"{name}, NumPy {np.__version__}"
    return f"{name}, {native.instruction_set()}"


def train_with_checkpoints(
    jobs: list[TrainingJob],
    train: TrainJobs,
    checkpoint: Checkpoint,
    print_of_work: Fingerprint,
    n_rows: int,
    report: Progress | None,
) -> list[TrainingResult]:
    """Train `jobs` by calls of `train`, from where the folder says to the end.

    After Ctrl-C (or a KeyboardInterrupt of `report`) the results are those of `train` then; a
    warning says that the same call goes on.
    """
    with _CtrlC() as ctrl_c, opened(checkpoint.folder, print_of_work, jobs) as folder:
        work = _Work(jobs, train, folder, checkpoint.every, n_rows, report, ctrl_c)
        work.interrupted = ctrl_c.seen
        if work.left():
            folder.begin()
        while work.left() and not work.interrupted:
            work.go_on()
        if work.interrupted and work.left():
            warnings.warn(
                f"interrupted: {len(folder.finished)} of {len(jobs)} networks are done, and all is "
                f"saved in {checkpoint.folder}; the same call goes on from there.",
                PellucidWarning,
                stacklevel=2,
            )
        return work.results()


@dataclass
class _Work:
    """The state of one call: what waits, and how large a share of it the engine gets at a time.

    The engine gets the paused networks and the largest of the waiting ones, not all of them: what a
    call costs must not grow with the size of the grid. The share doubles where most of it is begun
    before the next checkpoint.
    """

    jobs: list[TrainingJob]
    train: TrainJobs
    folder: Folder
    every: float
    n_rows: int
    report: Progress | None
    ctrl_c: "_CtrlC"
    seconds_to_save: float = 0.0
    interrupted: bool = False
    window: int = field(init=False)
    waiting: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.window = FIRST_WINDOW
        started = self.folder.finished.keys() | self.folder.running.keys()
        self.waiting = [i for i in range(len(self.jobs)) if i not in started]
        self.waiting.sort(key=lambda i: -predicted_cost(self.jobs[i], self.n_rows))
        self.total = sum(job.steps for job in self.jobs)
        self.done = sum(self.jobs[i].steps for i in self.folder.finished)

    def left(self) -> bool:
        return bool(self.waiting or self.folder.running)

    def go_on(self) -> None:
        """Train until the next checkpoint, or until this share is done, and save."""
        paused = self.folder.running
        share = [*paused, *self.waiting[: max(1, self.window - len(paused))]]
        jobs = [
            replace(self.jobs[i], state=paused[i].state) if i in paused else self.jobs[i]
            for i in share
        ]
        pause = _Pause(self)
        results = dict(zip(share, self.train(jobs, pause), strict=True))
        self._keep(results)
        stopped = any(result.status == "interrupted" for result in results.values())
        untouched = sum(i in results for i in self.waiting)
        self.interrupted = pause.interrupted or self.ctrl_c.seen or (stopped and not pause.asked)
        self.window *= 2 if untouched < len(share) / 2 else 1
        self.seconds_to_save = pause.seconds_since_asked()

    def _keep(self, results: Results) -> None:
        finished = {i: r for i, r in results.items() if r.status != "interrupted"}
        paused = {i: r for i, r in results.items() if r.status == "interrupted" and r.state}
        running = {i: r for i, r in (self.folder.running | paused).items() if i not in finished}
        self.waiting = [i for i in self.waiting if i not in finished and i not in running]
        self.done += sum(self.jobs[i].steps for i in finished)
        self.folder.save(finished, running)

    def results(self) -> list[TrainingResult]:
        known = self.folder.finished | self.folder.running
        return [known[i] if i in known else empty_result(job) for i, job in enumerate(self.jobs)]


class _Pause:
    """The progress function of one call of the engine: it ends the call when a checkpoint is due.

    That is a KeyboardInterrupt, as from a user; `interrupted` tells whether a user wanted it.
    """

    def __init__(self, work: _Work):
        self._work = work
        self._begun = time.monotonic()
        self._first: int | None = None
        self._due = float("inf")
        self._asked_at: float | None = None
        self.interrupted = False

    @property
    def asked(self) -> bool:
        return self._asked_at is not None

    def seconds_since_asked(self) -> float:
        """How long it took to end the call and to save; 0 if it came to its own end."""
        return 0.0 if self._asked_at is None else time.monotonic() - self._asked_at

    def __call__(self, done: int, total: int) -> None:
        if self.interrupted:
            return
        try:
            if self._work.report is not None:
                self._work.report(self._work.done + done, self._work.total)
            if self._work.ctrl_c.seen:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        if self._first is None:
            self._first, self._due = done, self._end()
        # a call that has not made a step yet is never ended, so that every call gets somewhere
        if not self.asked and done > self._first and time.monotonic() >= self._due:
            self._asked_at = time.monotonic()
            raise KeyboardInterrupt

    def _end(self) -> float:
        """When to pause, at the first report: it comes late where the engine is slow to start."""
        now, work = time.monotonic(), self._work
        to_start = max(0.0, now - self._begun - FIRST_REPORT)
        return now + max(work.every, (to_start + work.seconds_to_save) / LARGEST_SHARE)


class _CtrlC:
    """Notes Ctrl-C while a block runs, so that it never falls into the writing of a checkpoint.

    A second one is a KeyboardInterrupt at once: what was saved before stays. As everywhere in
    Python this works in the main thread; a handler that someone else has set stays.
    """

    seen = False

    def __enter__(self) -> "_CtrlC":
        self._is_ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._is_ours:
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
