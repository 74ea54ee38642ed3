"""From TrainingJob to the compiled module and back."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from .._shapes import Array
from .jobs import TrainingJob, TrainingResult, Weights, n_records

#: the fields of a job that the compiled module takes as one table of real numbers
REAL_SETTINGS = (
    "learning_rate",
    "momentum",
    "alpha",
    "beta1",
    "beta2",
    "epsilon",
    "weight_decay",
    "warmup",
    "step_size",
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


def train_native(
    native: ModuleType,
    X: Array,
    y: Array,
    jobs: list[TrainingJob],
    validation: tuple[Array, Array] | None,
    threads: int,
    progress: Callable[[int, int], object] | None,
    weights: Weights,
) -> list[TrainingResult]:
    """Train checked jobs on checked data (see `checks`); the module fills the arrays made here."""
    training_rows = _rows(native, X, y, weights.samples)
    validation_rows = None if validation is None else _rows(native, *validation)
    buffers = [job_arrays(job, validation is not None) for job in jobs]
    native_jobs = [
        native_job(native, training_rows, validation_rows, job, arrays, weights.classes)
        for job, arrays in zip(jobs, buffers, strict=True)
    ]
    outcomes = native.train(native_jobs, threads, progress)
    return [_result(arrays, *outcome) for arrays, outcome in zip(buffers, outcomes, strict=True)]


def _rows(native: ModuleType, X: Array, y: Array, weights: Array | None = None) -> Any:
    labelled = y.dtype == np.int32
    return native.Data(
        X, labels=y if labelled else None, targets=None if labelled else y, weights=weights
    )


def job_arrays(job: TrainingJob, validated: bool) -> tuple[Array, Array, Array, Array]:
    """Parameters, recorded steps, losses, validation losses."""
    k = n_records(job)
    parameters = np.array(job.parameters, dtype=np.float32)
    return parameters, np.empty(k, np.int64), np.empty(k), np.empty(k if validated else 0)


def native_job(
    native: ModuleType,
    training: Any,
    validation: Any,
    job: TrainingJob,
    arrays: tuple[Array, ...],
    class_weights: Array | None = None,
) -> Any:
    parameters, steps, losses, validation_losses = arrays
    return native.Job(
        training,
        validation,
        [int(width) for width in job.widths],
        [name for name, _ in job.activations],
        [(*(float(value) for value in values), 0.0, 0.0)[:2] for _, values in job.activations],
        job.likelihood,
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
    arrays: tuple[Array, ...], status: str, steps_done: int, n_recorded: int, best_step: int
) -> TrainingResult:
    parameters, steps, losses, validation_losses = arrays
    return TrainingResult(
        parameters=parameters,
        steps=steps[:n_recorded].copy(),
        losses=losses[:n_recorded].copy(),
        validation_losses=validation_losses[:n_recorded].copy(),
        status=status,
        steps_done=steps_done,
        best_step=None if best_step < 0 else best_step,
    )
