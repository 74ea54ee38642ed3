"""Training the networks of one fold: settings, the epoch that comes back, and second tries."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._errors import PellucidWarning
from .._kernels.weighting import SoftLabels
from .._shapes import Array, Float, Float64
from ..likelihoods import Likelihood
from ..network import Network, initialize
from ..training import Run, Settings
from ..training.data import training_data
from ..training.settings import check_size, settings_from
from ..training.train import train_grid
from .recipe import Preset

NO_BETTER = 1e-3
"""A validation loss less than this share below the base rate's is a plateau at the base rate."""

RETRIES = 2
"""Further tries, at a tenth of the rate each, of a network whose loss became infinite."""

LARGEST_START = 10.0
"""Output biases start within this: the logit of a class that has no row would be infinite."""

Progress = bool | Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs, targets and weights of rows, as the training takes them."""

    X: Float[Array, "n d_in"]
    y: Array
    weight: Float64[Array, " n"] | None = None


def settings_of(preset: Preset, n: int, seeds: Sequence[int]) -> list[Settings]:
    """The settings of one network for each seed, on n rows.

    The validation loss is recorded after each pass, or less often where `min_steps` asks for more
    passes than `epochs`: there are `epochs` records in all. Where `most_steps` allows fewer than 20
    passes, there are 20 records.
    """
    if preset.optimizer == "lbfgs":  # takes all rows at a constant rate, and no dropout
        preset = replace(preset, batch_size=n, schedule="constant", warmup=0.0, dropout=0.0)
        preset = replace(preset, clip_norm=None)
    full = preset.batch_size >= n
    per_epoch = 1 if full else math.ceil(n / preset.batch_size)
    steps = max(preset.epochs * per_epoch, preset.min_steps)
    steps = min(steps, max(preset.most_steps, per_epoch))
    one_cycle = preset.schedule == "one_cycle"
    one = settings_from(
        {
            "hidden": preset.hidden,
            "activation": preset.activation,
            "scheme": preset.scheme,
            "optimizer": preset.optimizer,
            "learning_rate": preset.learning_rate,
            "beta2": preset.beta2,
            "weight_decay": preset.weight_decay,
            "schedule": preset.schedule,
            "warmup": 0 if one_cycle else round(preset.warmup * steps),
            "pct_start": preset.warmup if one_cycle else 0.3,
            "dropout": preset.dropout,
            "label_smoothing": preset.label_smoothing,
            "clip_norm": preset.clip_norm,
            "batch_size": None if full else preset.batch_size,
            "steps": steps,
            "record_every": max(min(per_epoch, -(-steps // 20)), steps // preset.epochs),
        }
    )
    return [replace(one, seed=int(seed)) for seed in seeds]


def fit_networks(
    training: Rows,
    validation: Rows | None,
    likelihood: Likelihood,
    d_out: int,
    settings: list[Settings],
    patience: int,
    threads: int,
    progress: Progress = False,
    starts: Sequence[Network] | None = None,
) -> list[Run]:
    """One run for each of the settings; with validation rows, the network of its best record.

    Whoever stopped early without having been better than the best constant prediction trains again
    to its last step: a plateau at the base rate is no convergence. Whoever diverged starts again at
    a tenth of the rate.
    """
    if starts is None:
        constant = best_constant(likelihood, training, d_out)
        starts = [drawn(one, training.X.shape[1], constant) for one in settings]
    trainer = _Trainer(training, validation, likelihood, d_out, threads, progress, starts)
    if validation is None:
        return trainer.until_finite(settings)
    runs = trainer.until_finite([with_patience(one, patience) for one in settings])
    smoothing = settings[0].label_smoothing
    base = base_rate(training, validation, likelihood, d_out, smoothing)
    stuck = [i for i, run in enumerate(runs) if is_stuck(run, base)]
    if stuck:
        again = trainer.run([with_patience(runs[i].settings, 0) for i in stuck], stuck)
        for i, run in zip(stuck, again, strict=True):
            runs[i] = run
    if not any(beats(run, base) for run in runs):
        warn_of_base_rate(6)
    return runs


def warn_of_base_rate(stacklevel: int) -> None:
    """Say that nothing better than a constant was found."""
    warnings.warn(
        "no network predicts the held-out rows better than a constant does: the columns may say "
        "nothing about the target, or another learning_rate or activation is needed.",
        PellucidWarning,
        stacklevel=stacklevel + 1,
    )


@dataclass(frozen=True, eq=False)
class _Trainer:
    """The rows of one fold, and how networks are trained on them."""

    training: Rows
    validation: Rows | None
    likelihood: Likelihood
    d_out: int
    threads: int
    progress: Progress
    starts: Sequence[Network]

    def run(self, settings: list[Settings], numbers: Sequence[int]) -> list[Run]:
        """Train the networks of these numbers."""
        return train_rows(
            settings,
            [self.starts[i] for i in numbers],
            self.training,
            self.likelihood,
            self.d_out,
            self.threads,
            self.progress,
            self.validation,
        )

    def until_finite(self, settings: list[Settings]) -> list[Run]:
        """Train all of them, and those that diverge again at lower rates."""
        runs = self.run(settings, range(len(settings)))
        for _ in range(RETRIES):
            lost = [i for i, run in enumerate(runs) if run.status == "diverged"]
            slower = [_slower(runs[i].settings) for i in lost]
            for i, run in zip(lost, self.run(slower, lost) if lost else [], strict=True):
                runs[i] = run
        return runs


def drawn(settings: Settings, d_in: int, constant: Float64[Array, " d_out"]) -> Network:
    """A network to start from, as `train` draws it, but whose output bias is the best constant.

    So it starts near the base rate, and does not spend its first passes on the way there.
    """
    widths = (d_in, *settings.hidden, len(constant))
    check_size(widths)
    network = initialize(
        widths, activation=settings.activation, scheme=settings.scheme, seed=settings.seed
    )
    *biases, _ = network.biases
    bias = np.clip(constant, -LARGEST_START, LARGEST_START).astype(network.dtype)
    return Network(network.weights, (*biases, bias), network.activations)


def train_rows(
    settings: list[Settings],
    starts: Sequence[Network] | None,
    rows: Rows,
    likelihood: Likelihood,
    d_out: int,
    threads: int = 1,
    progress: Progress = False,
    validation: Rows | None = None,
) -> list[Run]:
    """Train one network for each of the settings, from the given ones if there are any."""
    held_out = None
    if validation is not None:
        held_out = (validation.X, validation.y, validation.weight)
    data = training_data(rows.X, rows.y, likelihood, d_out, held_out, rows.weight)
    return list(train_grid(settings, data, threads=threads, progress=progress, starts=starts))


def with_patience(settings: Settings, patience: int) -> Settings:
    """So many records; 0: as many as there are, so that the best one comes back all the same."""
    return replace(settings, patience=patience or settings.steps + 1)


def _slower(settings: Settings) -> Settings:
    return replace(settings, learning_rate=settings.learning_rate / 10)


def is_stuck(run: Run, base: float) -> bool:
    """Whether it stopped early at the base rate."""
    return run.status == "stopped early" and not beats(run, base)


def beats(run: Run, base: float) -> bool:
    """Whether the run's best validation loss is clearly below that of the best constant."""
    loss = run.validation_loss
    return loss is not None and loss < base - NO_BETTER * abs(base)


def base_rate(
    training: Rows, validation: Rows, likelihood: Likelihood, d_out: int, smoothing: float = 0.0
) -> float:
    """The weighted validation loss of the best constant outputs of the training rows, in nats."""
    outputs = np.tile(best_constant(likelihood, training, d_out), (len(validation.X), 1))
    judge = SoftLabels(np.ones(d_out), smoothing) if smoothing else likelihood
    return float(np.average(judge.loss(outputs, validation.y), weights=validation.weight))


def best_constant(likelihood: Likelihood, rows: Rows, d_out: int) -> Float64[Array, " d_out"]:
    """Constant outputs that fit the rows; a row counts as often as its weight says, roughly."""
    if rows.weight is None:
        return likelihood.constant_outputs(rows.y, d_out)
    ends = np.cumsum(rows.weight) / rows.weight.sum()
    drawn = np.searchsorted(ends, (np.arange(10 * len(ends)) + 0.5) / (10 * len(ends)))
    return likelihood.constant_outputs(rows.y[np.minimum(drawn, len(ends) - 1)], d_out)
