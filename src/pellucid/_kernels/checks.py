"""Everything that is checked before native code runs: it must never read out of bounds."""

import math

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from .heads import (
    LIKELIHOODS,
    check_head,
    check_numbers,
    check_optimizer,
    n_labels,
    takes_labels,
)
from .jobs import TrainingJob, ValidationRows, Weights, n_measures, n_parameters, n_records
from .schedules import SCHEDULES

#: activation -> number of parameters; the compiled module has the same list (a test compares).
ACTIVATION_PARAMETERS = {
    "identity": 0,
    "relu": 0,
    "leaky_relu": 1,
    "prelu": 1,
    "hardtanh": 2,
    "abs": 0,
    "sigmoid": 0,
    "tanh": 0,
    "elu": 1,
    "gelu": 0,
    "gelu_tanh": 0,
    "silu": 0,
    "softplus": 0,
    "softsign": 0,
}
OPTIMIZERS = ("sgd", "rmsprop", "adam", "adamw", "lbfgs")

#: the number types that a job can be computed in
DTYPES = ("float32", "float64")

MAX_ROWS = 2**31 - 64
MAX_PARAMETERS = 2**31 - 64
MAX_WIDTH = 2**24  # the kernel counts the numbers of a tile in 32 bits
MAX_STEPS = 2**53
MAX_RECORDS = 2**27
MAX_HISTORY = 1000


def _integer(value: object, name: str, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidInput(f"{name} is {value!r}; it must be an integer.")
    if not low <= value <= high:
        raise InvalidInput(f"{name} is {value}; it must lie between {low} and {high}.")


def _number(value: object, name: str, low: float, high: float = math.inf) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidInput(f"{name} is {value!r}; it must be a number.")
    if not (math.isfinite(value) and low <= value < high):
        bound = f"at least {low}" if high == math.inf else f"at least {low} and below {high}"
        raise InvalidInput(f"{name} is {value}; it must be finite, {bound}.")


def _choice(value: object, name: str, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(f"{name} is {value!r}; it must be one of {', '.join(choices)}.")


def check_threads(threads: int) -> None:
    """0 (all processors) or a positive number."""
    _integer(threads, "threads", 0, 4096)


def check_job(job: TrainingJob) -> None:
    """The numbers of one job, each by itself and against its widths."""
    if len(job.widths) < 2:
        raise InvalidInput(f"widths is {job.widths!r}; it needs the input and the output width.")
    for width in job.widths:
        _integer(width, "a width", 1, MAX_WIDTH)
    _choice(job.likelihood, "likelihood", LIKELIHOODS)
    check_head(job)
    _choice(job.optimizer, "optimizer", OPTIMIZERS)
    _check_activations(job)
    _check_parameters(job)
    _number(job.learning_rate, "learning_rate", 0.0)
    _number(job.momentum, "momentum", 0.0)
    _number(job.alpha, "alpha", 0.0, 1.0)
    _number(job.beta1, "beta1", 0.0, 1.0)
    _number(job.beta2, "beta2", 0.0, 1.0)
    _number(job.epsilon, "epsilon", 0.0)
    _number(job.weight_decay, "weight_decay", 0.0)
    _integer(job.history_size, "history_size", 1, MAX_HISTORY)
    _number(job.dropout, "dropout", 0.0, 1.0)
    _number(job.l1, "l1", 0.0)
    _number(job.clip_norm, "clip_norm", 0.0)
    _number(job.label_smoothing, "label_smoothing", 0.0, 1.0)
    if job.label_smoothing and job.likelihood != "categorical":
        raise InvalidInput(
            f"label_smoothing is for the categorical likelihood; got {job.likelihood}."
        )
    _check_schedule(job)
    if job.nesterov and job.momentum == 0:
        raise InvalidInput("nesterov needs a momentum above 0; got momentum 0.")
    _integer(job.patience, "patience", 0, MAX_STEPS)
    _integer(job.steps, "steps", 0, MAX_STEPS)
    _integer(job.batch_size, "batch_size", 0, MAX_ROWS)
    _integer(job.seed, "seed", 0, 2**64 - 1)
    _integer(job.record_every, "record_every", 1, MAX_STEPS)
    _integer(job.measure_every, "measure_every", 0, MAX_STEPS)
    if n_measures(job) * len(job.widths) > MAX_RECORDS:
        raise InvalidInput(
            f"{job.steps} steps measured every {job.measure_every} in {len(job.widths) - 1} layers "
            f"make more than {MAX_RECORDS} numbers; raise measure_every."
        )
    if n_records(job) > MAX_RECORDS:
        raise InvalidInput(
            f"{job.steps} steps recorded every {job.record_every} make {n_records(job)} records; "
            f"raise record_every so that there are at most {MAX_RECORDS}."
        )


def _check_schedule(job: TrainingJob) -> None:
    _choice(job.schedule, "schedule", tuple(SCHEDULES))
    _integer(job.warmup, "warmup", 0, MAX_STEPS)
    _integer(job.step_size, "step_size", int(job.schedule == "step"), MAX_STEPS)
    _integer(job.plateau_patience, "plateau_patience", 0, MAX_STEPS)
    _number(job.gamma, "gamma", 0.0)
    _number(job.eta_min, "eta_min", 0.0)
    _number(job.pct_start, "pct_start", 0.0)
    if job.pct_start > 1:
        raise InvalidInput(f"pct_start is {job.pct_start}; it must lie between 0 and 1.")
    _number(job.div_factor, "div_factor", 1.0)
    _number(job.final_div_factor, "final_div_factor", 1.0)


def check_full_batch(job: TrainingJob, n: int) -> None:
    """L-BFGS compares the objective at different parameters, so it must be one smooth function."""
    if job.optimizer != "lbfgs":
        return
    check_optimizer(job)
    refused = {
        "dropout": job.dropout > 0,
        "l1": job.l1 > 0,
        "clip_norm": job.clip_norm > 0,
        "batch_size": 0 < job.batch_size < n,
        "schedule": job.schedule != "constant",
        "warmup": job.warmup > 0,
    }
    for name in (name for name, given in refused.items() if given):
        raise InvalidInput(
            f"optimizer lbfgs got {name} {getattr(job, name)}; it takes all rows at every step, a "
            "constant learning_rate, and neither dropout nor l1 nor clip_norm."
        )


def _check_activations(job: TrainingJob) -> None:
    hidden = len(job.widths) - 2
    if len(job.activations) != hidden:
        raise InvalidInput(
            f"got {len(job.activations)} activations for {hidden} hidden layers; give one for each."
        )
    for name, values in job.activations:
        _choice(name, "activation", tuple(ACTIVATION_PARAMETERS))
        if len(values) != ACTIVATION_PARAMETERS[name]:
            raise InvalidInput(
                f"activation {name} takes {ACTIVATION_PARAMETERS[name]} parameters; "
                f"got {len(values)}."
            )
        for value in values:
            _number(value, f"a parameter of {name}", -math.inf)


def _check_parameters(job: TrainingJob) -> None:
    need = n_parameters(job.widths)
    if need > MAX_PARAMETERS:
        raise InvalidInput(f"widths {job.widths} need {need} parameters; that is too many.")
    parameters = job.parameters
    if not _is_real(parameters):
        raise InvalidInput("parameters must be a float32 or float64 array; convert with astype.")
    if parameters.shape != (need,):
        raise InvalidInput(
            f"parameters have shape {parameters.shape}; widths {job.widths} need ({need},)."
        )
    if not np.isfinite(parameters).all():
        raise InvalidInput("parameters must be finite; some are nan or infinite.")


def _is_real(values: object) -> bool:
    return isinstance(values, np.ndarray) and values.dtype in DTYPES


def in_type(values: Array, dtype: np.dtype) -> Array:
    """The numbers in a job's own type, in C order; no copy where they have it."""
    return np.ascontiguousarray(values, dtype=dtype)


def _narrowest(jobs: list[TrainingJob]) -> np.finfo:
    return min((np.finfo(job.parameters.dtype) for job in jobs), key=lambda real: real.max)


def _check_range(values: Array, jobs: list[TrainingJob], name: str) -> None:
    """Every job must hold the numbers in its own type."""
    real = _narrowest(jobs)
    if values.dtype != real.dtype and max(values.max(), -values.min()) > real.max:
        raise InvalidInput(
            f"{name} holds numbers beyond {real.max:.1e}, the range of {real.dtype}; scale them "
            "down or train in float64."
        )


def check_data(
    X: Array, y: Array, jobs: list[TrainingJob], X_name: str, y_name: str
) -> tuple[Array, Array]:
    """X as it is, C-contiguous; y as int32 labels (n,) or real numbers (n, d_L)."""
    if not _is_real(X) or X.ndim != 2:
        raise InvalidInput(f"{X_name} must be a float32 or float64 array of shape (n, d_0).")
    if not 1 <= len(X) <= MAX_ROWS:
        raise InvalidInput(f"{X_name} has {len(X)} rows; it needs 1 to {MAX_ROWS}.")
    if not np.isfinite(X).all():
        raise InvalidInput(f"{X_name} must be finite; it holds nan or infinite numbers.")
    _check_range(X, jobs, X_name)
    for job in jobs:
        if job.widths[0] != X.shape[1]:
            raise InvalidInput(
                f"a network takes {job.widths[0]} inputs, but {X_name} has {X.shape[1]} columns."
            )
    if not isinstance(y, np.ndarray) or y.ndim < 1 or len(y) != len(X):
        raise InvalidInput(f"{y_name} must be an array with the {len(X)} rows of {X_name}.")
    kinds = {takes_labels(job.likelihood) for job in jobs}
    if len(kinds) > 1:
        raise InvalidInput("likelihoods of labels and of numbers cannot share one call: y differs.")
    check = _labels if True in kinds else _numbers
    return np.ascontiguousarray(X), check(y, jobs, y_name)


def _labels(y: Array, jobs: list[TrainingJob], name: str) -> Array:
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        raise InvalidInput(f"{name} must hold integer labels of shape (n,).")
    classes = min(n_labels(job) for job in jobs)
    low, high = int(y.min()), int(y.max())
    if low < 0 or high >= classes:
        raise InvalidInput(
            f"labels in {name} run from {low} to {high}; a network for {classes} classes "
            f"needs 0 to {classes - 1}."
        )
    return np.ascontiguousarray(y, dtype=np.int32)


def _numbers(y: Array, jobs: list[TrainingJob], name: str) -> Array:
    if not _is_real(y) or y.ndim > 2:
        raise InvalidInput(f"{name} must be a float32 or float64 array of shape (n, d_L).")
    y = np.ascontiguousarray(y.reshape(len(y), -1))
    if not np.isfinite(y).all():
        raise InvalidInput(f"{name} must be finite; it holds nan or infinite numbers.")
    _check_range(y, jobs, name)
    check_numbers(y, jobs, name)
    return y


def check_weights(
    samples: Array | None,
    classes: Array | None,
    y: Array,
    validation: ValidationRows | None,
    jobs: list[TrainingJob],
) -> Weights:
    """Both contiguous; what they weigh together must be more than nothing."""
    if samples is not None:
        samples = check_row_weights(samples, "sample_weight", len(y), jobs)
    if classes is not None:
        if any(job.likelihood != "categorical" for job in jobs):
            raise InvalidInput("class_weight is for the categorical likelihood alone.")
        for job in jobs:
            classes = _weights(classes, "class_weight", job.widths[-1], "output", jobs)
    weights = Weights(samples, classes)
    rounded, limit = weights.in_type(_narrowest(jobs).dtype), float(_narrowest(jobs).max)
    _check_total(rounded, y, limit, "training")
    if validation is not None:
        held_out = Weights(*validation[2:] or (None,), classes).in_type(_narrowest(jobs).dtype)
        _check_total(held_out, validation[1], limit, "validation")
    return weights


def check_row_weights(weights: Array, name: str, n: int, jobs: list[TrainingJob]) -> Array:
    """Weights of n rows, contiguous."""
    return _weights(weights, name, n, "row", jobs)


def _weights(weights: Array, name: str, n: int, of: str, jobs: list[TrainingJob]) -> Array:
    if not _is_real(weights):
        raise InvalidInput(f"{name} must be a float32 or float64 array.")
    if weights.shape != (n,):
        raise InvalidInput(f"{name} has shape {weights.shape}; it needs ({n},), one for each {of}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput(f"{name} must hold finite numbers of at least 0.")
    _check_range(weights, jobs, name)
    return np.ascontiguousarray(weights)


def _check_total(weights: Weights, y: Array, limit: float, rows: str) -> None:
    u = 1 if weights.samples is None else weights.samples
    of_classes = np.ones(1) if weights.classes is None else weights.classes[y]
    with np.errstate(over="ignore"):
        total = np.sum(of_classes * np.float64(1) * u)
    if not 0 < total < limit:
        raise InvalidInput(
            f"the {rows} rows weigh {total:g} in all; it must be above 0 and below {limit:.1e}."
        )
