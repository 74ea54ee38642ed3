"""From TrainingJob to the compiled module and back."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from .._shapes import Array
from .checks import in_type
from .heads import n_targets
from .jobs import TrainingJob, TrainingResult, TrainingState, ValidationRows, Weights, n_records
from .measure import first_rows, layer_records, room
from .state import RECORDS, check_state, empty_result

#: the fields of a job that the compiled module takes as one table of real numbers
REAL_SETTINGS = (
    "learning_rate",
    "momentum",
    "alpha",
    "beta1",
    "beta2",
    "epsilon",
    "weight_decay",
    "history_size",
    "warmup",
    "step_size",
    "plateau_patience",
    "gamma",
    "eta_min",
    "pct_start",
    "div_factor",
    "final_div_factor",
    "dropout",
    "l1",
    "clip_norm",
    "label_smoothing",
    "patience",
)

#: seconds between two looks at progress and interrupts
INTERVAL = 0.1


def train_native(
    native: ModuleType,
    X: Array,
    y: Array,
    jobs: list[TrainingJob],
    validation: ValidationRows | None,
    threads: int,
    progress: Callable[[int, int], object] | None,
    weights: Weights,
) -> list[TrainingResult]:
    """Train checked jobs on checked data (see `checks`); the module fills the arrays made here."""
    rows = {
        dtype: native_rows(native, X, y, validation, weights, dtype)
        for dtype in {job.parameters.dtype for job in jobs}
    }
    buffers = [job_arrays(job, validation is not None) for job in jobs]
    native_jobs = [
        native_job(native, *rows[job.parameters.dtype], job, arrays)
        for job, arrays in zip(jobs, buffers, strict=True)
    ]
    extras = [
        _connect(native, native_job, job, arrays, len(X))
        for native_job, job, arrays in zip(native_jobs, jobs, buffers, strict=True)
    ]
    try:
        outcomes = native.train(native_jobs, threads, progress, INTERVAL)
    except MemoryError:
        raise MemoryError(_too_large(native_jobs, jobs)) from None
    return [
        _result(job, arrays, extra, *outcome)
        for job, arrays, extra, outcome in zip(jobs, buffers, extras, outcomes, strict=True)
    ]


def _too_large(native_jobs: list[Any], jobs: list[TrainingJob]) -> str:
    need, widths = max(
        (made.workspace_bytes(), job.widths) for made, job in zip(native_jobs, jobs, strict=True)
    )
    return (
        f"training one network of widths {'-'.join(map(str, widths))} takes {need / 1e9:.3g} GB "
        "of working memory in each thread, which the system does not give; use fewer threads, a "
        "smaller batch_size or narrower layers."
    )


def workspace_bytes(native: ModuleType, job: TrainingJob, n_rows: int) -> int:
    """Working memory of one network's training on ``n_rows`` rows without weights or validation.

    The parameters and those to come back to, the gradient and two moments, or for L-BFGS the pairs
    and what the line search holds; the tiles of rows, and in full batches a copy of all rows. It
    depends on the instruction set. A thread holds the memory of one network at a time.
    """
    # pages of zeros that nobody reads take no memory
    X = np.zeros((n_rows, job.widths[0]), job.parameters.dtype)
    columns = n_targets(job)
    y = np.zeros((n_rows, columns), X.dtype) if columns else np.zeros(n_rows, np.int32)
    rows, _, _ = native_rows(native, X, y, None, Weights(), X.dtype)
    return native_job(native, rows, None, None, job, job_arrays(job, False)).workspace_bytes()


#: of the compiled module's State
_STATE_TYPES = {"order": np.int32, "counters": np.int64, "scalars": np.float64}


@dataclass
class _Extras:
    """What a job writes beside its parameters and losses."""

    pause: dict[str, Array]
    measured: dict[str, Array]


def _connect(
    native: ModuleType, native_job: Any, job: TrainingJob, arrays: tuple[Array, ...], n: int
) -> _Extras:
    """Give a job room for its state and measures, and the state to go on from."""
    types = {"numbers": job.parameters.dtype} | _STATE_TYPES
    sizes = zip(types.items(), native_job.state_size(), strict=True)
    pause = {name: np.empty(size, dtype) for (name, dtype), size in sizes}
    State = getattr(native, job.parameters.dtype.name).State
    native_job.pause_into(State(**pause))
    measured = room(job)
    if job.measure_every:
        at, *numbers = measured.values()
        native_job.measure(int(job.measure_every), at, numbers)
    check_state(job, n, len(arrays[-1]) > 0, pause, "kernel")
    if job.state is not None:
        saved = job.state.arrays
        # the module reads these alone, but wants arrays that it could write
        native_job.resume_from(State(**{name: saved[name].copy() for name in pause}))
        growing = dict(zip(RECORDS, arrays[1:], strict=True)) | measured
        for name, array in growing.items():
            array[: len(saved[name])] = saved[name]
    return _Extras(pause, measured)


def native_rows(
    native: ModuleType,
    X: Array,
    y: Array,
    validation: ValidationRows | None,
    weights: Weights,
    dtype: np.dtype,
) -> tuple[Any, Any, Array | None]:
    """Training rows, validation rows and class weights, all in the number type ``dtype``."""

    def data(X: Array, y: Array, weights: Array | None = None) -> Any:
        labelled = y.dtype == np.int32
        return getattr(native, dtype.name).Data(
            in_type(X, dtype),
            labels=y if labelled else None,
            targets=None if labelled else in_type(y, dtype),
            weights=None if weights is None else in_type(weights, dtype),
        )

    classes = None if weights.classes is None else in_type(weights.classes, dtype)
    held_out = None
    if validation is not None:
        held_out = data(validation[0], validation[1], *validation[2:])
    return data(X, y, weights.samples), held_out, classes


def job_arrays(job: TrainingJob, validated: bool) -> tuple[Array, Array, Array, Array]:
    """Parameters, recorded steps, losses, validation losses."""
    k = n_records(job)
    return (
        job.parameters.copy(),
        np.empty(k, np.int64),
        np.empty(k),
        np.empty(k if validated else 0),
    )


def native_job(
    native: ModuleType,
    training: Any,
    validation: Any,
    class_weights: Array | None,
    job: TrainingJob,
    arrays: tuple[Array, ...],
) -> Any:
    parameters, steps, losses, validation_losses = arrays
    return getattr(native, parameters.dtype.name).Job(
        training,
        validation,
        [int(width) for width in job.widths],
        [name for name, _ in job.activations],
        [(*(float(value) for value in values), 0.0, 0.0)[:2] for _, values in job.activations],
        job.likelihood,
        list(job.likelihood_parameters),
        job.optimizer,
        job.schedule,
        {name: float(getattr(job, name)) for name in REAL_SETTINGS},
        bool(job.nesterov),
        int(job.steps),
        int(job.batch_size),
        int(job.seed),
        int(job.record_every),
        parameters,
        steps,
        losses,
        None if validation is None else validation_losses,
        class_weights,
    )


def _result(
    job: TrainingJob,
    arrays: tuple[Array, ...],
    extra: _Extras,
    status: str,
    steps_done: int,
    n_recorded: int,
    n_measured: int,
    best_step: int,
) -> TrainingResult:
    if n_recorded == 0:  # never begun
        return empty_result(job)
    parameters, *records = arrays
    measured = first_rows(job, extra.measured, n_measured)
    state = None
    if status == "interrupted" and steps_done:
        kept = zip(RECORDS, records, strict=True)  # without the record that an interrupt adds
        past = {name: array[: n_recorded - 1].copy() for name, array in kept}
        state = TrainingState("kernel", steps_done, extra.pause | past | measured)
    steps, losses, validation_losses = (array[:n_recorded].copy() for array in records)
    return TrainingResult(
        parameters,
        steps,
        losses,
        validation_losses,
        status=status,
        steps_done=steps_done,
        best_step=None if best_step < 0 else best_step,
        layers=layer_records(job, measured),
        state=state,
    )
