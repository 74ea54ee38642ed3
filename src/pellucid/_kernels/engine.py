"""`train_networks`: checks everything that Python can get wrong, then hands over to an engine."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from time import monotonic
from types import ModuleType

from .._errors import InvalidInput, MissingDependency, PellucidWarning
from .._shapes import Array
from . import binding
from .binding import train_native
from .checks import (
    check_data,
    check_full_batch,
    check_job,
    check_row_weights,
    check_threads,
    check_weights,
)
from .jobs import (
    ReferenceFunctions,
    TrainingJob,
    TrainingResult,
    ValidationRows,
    Weights,
    with_plain_numbers,
)
from .reference import train_reference
from .state import empty_result, start, steps_before

Progress = Callable[[int, int], object]
TrainOne = Callable[..., TrainingResult]

_warned = False


def native_module() -> ModuleType | None:
    """The compiled extension, or None where no compiler built it."""
    try:
        return import_module("._native", __package__)
    except ImportError:
        return None


def workspace_bytes(job: TrainingJob, n_rows: int) -> int:
    """Working memory that the kernel takes to train one network; see `binding.workspace_bytes`."""
    check_job(job)
    native = _choose("kernel")
    assert native is not None
    return binding.workspace_bytes(native, job, n_rows)


def train_networks(
    X: Array,
    y: Array,
    jobs: Sequence[TrainingJob],
    *,
    X_validation: Array | None = None,
    y_validation: Array | None = None,
    sample_weight: Array | None = None,
    class_weight: Array | None = None,
    validation_weight: Array | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    engine: str | TrainOne = "auto",
    functions: ReferenceFunctions | None = None,
) -> list[TrainingResult]:
    """Train many networks on the same rows, one network a thread.

    ``X``: (n, d_0), finite. ``y``: integer labels (n,) for the categorical likelihood, real numbers
    (n, d_L) for the others. Real numbers are float32 or float64; each job is computed in the type
    of its own ``parameters``, both kinds may share a call, and the rows are rounded where the job's
    type is the narrower one. ``threads`` 0 means as many as there are processors; the results do
    not depend on it. ``progress(done, total)`` hears the steps done by all networks together, about
    ten times a second. Ctrl-C does not raise: what is done comes back, with status "interrupted"
    where a network was not finished.

    ``sample_weight`` (n,) and ``class_weight`` (d_L,) make the training loss a weighted mean
    (`weighting`); the validation loss takes the class weights and ``validation_weight``.

    ``engine``: "kernel" (compiled), "reference" (the NumPy twin, which needs ``functions``) or
    "auto" (the kernel where it is built, else the twin with one warning); or an object with a
    ``name`` that trains one network when it is called as `train_reference` is, but for
    ``functions``.

    Raises InvalidInput for anything that does not fit together, before any work starts, and
    MissingDependency for engine="kernel" where no compiler built the kernel.
    """
    jobs = list(jobs)
    check_threads(threads)
    for job in jobs:
        check_job(job)
    if not jobs:
        return []
    jobs = [with_plain_numbers(job) for job in jobs]
    X, y = check_data(X, y, jobs, "X", "y")
    for job in jobs:
        check_full_batch(job, len(X))
    validation = _validation(X_validation, y_validation, validation_weight, jobs)
    if validation is None and any(job.patience for job in jobs):
        raise InvalidInput("patience needs validation rows, whose loss decides; there are none.")
    weights = check_weights(sample_weight, class_weight, y, validation, jobs)
    if callable(engine):
        return _train_in_turn(engine, X, y, jobs, validation, progress, weights)
    native = _choose(engine)
    if native is not None:
        return train_native(native, X, y, jobs, validation, threads, progress, weights)
    if functions is None:
        raise InvalidInput(
            "the reference engine needs functions=ReferenceFunctions(activation, likelihood); "
            "got none."
        )
    twin = partial(train_reference, functions=functions)
    return _train_in_turn(twin, X, y, jobs, validation, progress, weights)


def _validation(
    X: Array | None, y: Array | None, weight: Array | None, jobs: list[TrainingJob]
) -> ValidationRows | None:
    if X is None and y is None:
        if weight is not None:
            raise InvalidInput("validation_weight needs validation rows; there are none.")
        return None
    if X is None or y is None:
        raise InvalidInput("validation rows need both X_validation and y_validation; got only one.")
    X, y = check_data(X, y, jobs, "X_validation", "y_validation")
    if weight is None:
        return X, y
    return X, y, check_row_weights(weight, "validation_weight", len(y), jobs)


def _choose(engine: str) -> ModuleType | None:
    """The native module, or None for the twin."""
    global _warned
    if engine not in ("auto", "kernel", "reference"):
        raise InvalidInput(f"engine is {engine!r}; it must be 'auto', 'kernel' or 'reference'.")
    if engine == "reference":
        return None
    native = native_module()
    if native is not None:
        return native
    if engine == "kernel":
        raise MissingDependency(
            "the compiled training kernel is not there (pellucid._kernels._native cannot be "
            "imported); install a C++20 compiler and reinstall pellucid, or use "
            "engine='reference'."
        )
    if not _warned:
        _warned = True
        warnings.warn(
            "the compiled training kernel is not there, so NumPy trains instead, many times "
            "slower; install a C++20 compiler and reinstall pellucid.",
            PellucidWarning,
            stacklevel=3,
        )
    return None


def _train_in_turn(
    train_one: TrainOne,
    X: Array,
    y: Array,
    jobs: list[TrainingJob],
    validation: ValidationRows | None,
    progress: Progress | None,
    weights: Weights,
) -> list[TrainingResult]:
    """One network after the other; an interrupt ends the current one early and skips the rest."""
    total = sum(job.steps for job in jobs)
    done, heard = sum(map(steps_before, jobs)), monotonic()
    interrupted = False

    def report() -> None:
        nonlocal interrupted
        if progress is not None:
            try:
                progress(done, total)
            except KeyboardInterrupt:
                interrupted = True

    def stepped() -> None:
        nonlocal done, heard
        done += 1
        if done % 50 == 0 or monotonic() > heard + 0.1:
            report()
            heard = monotonic()

    name = getattr(train_one, "name", "reference")
    for job in jobs:
        if job.state is not None:  # refused before any work where it does not fit
            start(job, len(X), job.parameters.dtype, validation is not None, name)
    results: list[TrainingResult] = []
    with _interrupts() as asked:

        def stopped() -> bool:
            return interrupted or asked()

        for job in jobs:
            if stopped():
                results.append(empty_result(job))
                continue
            results.append(
                train_one(
                    X,
                    y,
                    job,
                    validation=validation,
                    stopped=stopped,
                    stepped=stepped,
                    weights=weights,
                )
            )
    report()
    return results


class _interrupts:
    """Turns Ctrl-C into a flag while a block runs (in the main thread; elsewhere nothing)."""

    def __enter__(self) -> Callable[[], bool]:
        import signal
        import threading

        self._seen, self._previous = False, None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is signal.default_int_handler:
                self._previous = handler
                signal.signal(signal.SIGINT, self._note)
        return lambda: self._seen

    def _note(self, *_: object) -> None:
        self._seen = True

    def __exit__(self, *_: object) -> None:
        import signal

        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
