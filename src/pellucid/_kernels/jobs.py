"""What goes into the training of one network and what comes out: plain numbers, no network type."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._shapes import Array


@dataclass(frozen=True, eq=False)
class TrainingState:
    """Where an interrupted run stood, for the same job to go on from, bit for bit.

    ``arrays`` is for the engine that made it and for nobody else: whoever stores a state keeps the
    names, types, shapes and bytes. ``steps_done`` is for reading.
    """

    engine: str
    steps_done: int
    arrays: dict[str, Array]


@dataclass(frozen=True, eq=False)
class LayerRecords:
    """What was measured in each layer at ``steps`` (m,), before the update of that step.

    ``gradient_norm`` (m, L): Euclid's norm of the gradient of the batch's mean loss with respect to
    W and b. ``update_ratio`` (m, L): norm of the update of W and b over their norm; 0 where nothing
    moved, and inf where all of them were 0 before. ``dead`` (m, L - 1): share of the hidden units
    with a piecewise linear activation whose slope is 0 on every row of the batch. ``saturated`` (m,
    L - 1): share of those with a smooth activation whose slope is below 1 % of its steepest on more
    than 99 % of the rows. All without dropout.
    """

    steps: Array
    gradient_norm: Array
    update_ratio: Array
    dead: Array
    saturated: Array


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Everything about the training of one network.

    ``parameters`` is flat: W1 row by row, b1, W2 row by row, b2, and so on, with W of shape (d_out,
    d_in). Its type, float32 or float64, is the one that all of the job is computed in.
    ``activations`` holds one (name, parameters) pair for each hidden layer;
    ``likelihood_parameters`` are those of ``likelihood``, as `heads` lists them. ``batch_size`` 0
    means all rows at every step; ``clip_norm`` 0 means no limit; ``patience`` 0 means no early
    stopping; ``measure_every`` 0 means that no layer is measured. ``seed`` starts the shuffling of
    minibatches and dropout. ``state``, of an interrupted result of the same job, is where to go on
    from.
    """

    widths: tuple[int, ...]
    parameters: Array
    activations: tuple[tuple[str, tuple[float, ...]], ...]
    likelihood: str
    optimizer: str
    learning_rate: float
    likelihood_parameters: tuple[float, ...] = ()
    momentum: float = 0.0
    nesterov: bool = False
    alpha: float = 0.99
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    history_size: int = 10
    schedule: str = "constant"
    warmup: int = 0
    step_size: int = 0
    plateau_patience: int = 10
    gamma: float = 0.1
    eta_min: float = 0.0
    pct_start: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    dropout: float = 0.0
    l1: float = 0.0
    clip_norm: float = 0.0
    label_smoothing: float = 0.0
    patience: int = 0
    steps: int = 1000
    batch_size: int = 0
    seed: int = 0
    record_every: int = 1
    measure_every: int = 0
    state: TrainingState | None = None


ValidationRows = tuple[Array, Array] | tuple[Array, Array, Array | None]
"""Held-out inputs and their targets, and how much each row counts, unless all count alike."""


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each training row (n,) and each class (d_L,) counts, or None for 1 each."""

    samples: Array | None = None
    classes: Array | None = None

    def in_type(self, dtype: Any) -> "Weights":
        """The same weights in a job's own number type."""
        each = (self.samples, self.classes)
        return Weights(*(None if w is None else w.astype(dtype, copy=False) for w in each))


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """A trained network's parameters and its recorded losses.

    ``losses[i]`` belongs to step ``steps[i]``: the mean loss (nats per row) of that step's batch
    before the update of that step. The last entry, at ``steps_done``, is the mean over all rows
    after the last update. ``validation_losses`` are means over the validation rows at the same
    moments, and empty without such rows.

    ``status`` is "finished", "interrupted", "diverged", "stopped early" or, with L-BFGS,
    "converged": the gradient's largest entry was at most 1e-7, or no step lowered the objective
    (one that was tried counts among ``steps_done``). Under ``patience`` the
    parameters are those of ``best_step``, the recorded step with the lowest validation loss,
    whatever the status; otherwise ``best_step`` is None. After divergence the last loss is nan,
    ``steps_done`` is the step at which that was seen, and ``parameters`` are those of the
    last recorded step whose loss was finite (the initial ones if there was none). A network that
    an interrupt kept from starting has no recorded losses and the parameters it was given.

    ``state`` is there where an interrupted network had begun at least one step. The run that goes
    on from it equals the uninterrupted one bit for bit, its records included (the record that the
    interrupted result ends with is not among them).

    ``layers`` is there where ``measure_every`` is above 0: steps 0, m, 2m, ..., as far as their
    updates were made.
    """

    parameters: Array
    steps: Array
    losses: Array
    validation_losses: Array
    status: str
    steps_done: int
    best_step: int | None = None
    layers: LayerRecords | None = None
    state: TrainingState | None = None

    def __repr__(self) -> str:
        loss = f"{self.losses[-1]:.4g}" if len(self.losses) else "none"
        return f"TrainingResult({self.status} after {self.steps_done} steps, loss {loss})"


@runtime_checkable
class ActivationFunctions(Protocol):
    """What the twin needs of an activation."""

    def value(self, z: Any) -> Any:
        """a(z), element by element."""
        ...

    def derivative(self, z: Any) -> Any:
        """a'(z), element by element."""
        ...


@runtime_checkable
class LikelihoodFunctions(Protocol):
    """What the twin needs of a likelihood."""

    def loss(self, outputs: Any, y: Any) -> Any:
        """Loss of each row, in nats."""
        ...

    def gradient(self, outputs: Any, y: Any) -> Any:
        """Gradient of each row's loss with respect to its outputs."""
        ...


@dataclass(frozen=True)
class ReferenceFunctions:
    """Where the twin looks up activations and likelihoods, so that no table is written twice.

    ``activation(name, parameters)`` and ``likelihood(name, parameters)`` return the objects above.
    """

    activation: Callable[[str, tuple[float, ...]], ActivationFunctions]
    likelihood: Callable[[str, tuple[float, ...]], LikelihoodFunctions]


def n_parameters(widths: tuple[int, ...]) -> int:
    """Sum over layers of d_out (d_in + 1)."""
    return sum(d_out * (d_in + 1) for d_in, d_out in pairwise(widths))


def with_plain_numbers(job: TrainingJob) -> TrainingJob:
    """The same job, with Python's numbers for NumPy's.

    Those of NumPy compute in their own type: a seed of 32 bits overflows, a rate of 32 bits rounds.
    """
    return replace(job, **{f.name: _plain(getattr(job, f.name)) for f in fields(job)})


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def n_moments(steps: int, every: int) -> int:
    """How many of 0, every, 2 every, ... are below ``steps``; none where ``every`` is 0."""
    return -(-steps // every) if every else 0


def n_records(job: TrainingJob) -> int:
    """Losses recorded at steps 0, r, 2r, ... below ``steps``, and one at the end."""
    return n_moments(job.steps, job.record_every) + 1


def n_measures(job: TrainingJob) -> int:
    """Steps 0, m, 2m, ... below ``steps``, at which the layers are measured."""
    return n_moments(job.steps, job.measure_every)
