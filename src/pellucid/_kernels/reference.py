"""The training kernel's NumPy twin: the same loop in textbook form, one network at a time.

It serves two purposes: as the expected value in the kernel's tests (in float32, and in float64
against PyTorch), and as the engine where no compiler built the kernel.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .._shapes import Array, Float, Int
from .dropout import dropout_factors
from .jobs import (
    ActivationFunctions,
    ReferenceFunctions,
    TrainingJob,
    TrainingResult,
    Weights,
)
from .random_bits import splitmix64
from .schedules import learning_rate
from .weighting import Objective, SoftLabels

_NO_WEIGHTS = Weights()


def shuffle(order: Int[Array, " n"], bits: Iterator[int]) -> None:
    """Fisher and Yates, in place; j = floor(u (i + 1)) with u the high 32 bits as a fraction."""
    for i in range(len(order) - 1, 0, -1):
        j = ((next(bits) >> 32) * (i + 1)) >> 32
        order[i], order[j] = order[j], order[i]


def batches(n: int, batch_size: int, seed: int) -> Iterator[Any]:
    """Rows of one step after the other, for ever; the last batch of an epoch may be short."""
    if batch_size == 0 or batch_size >= n:
        while True:
            yield slice(None)
    order, bits = np.arange(n), splitmix64(seed)
    while True:
        shuffle(order, bits)
        for start in range(0, n, batch_size):
            yield order[start : start + batch_size].copy()


def split(
    parameters: Float[Array, " p"], widths: tuple[int, ...]
) -> list[tuple[Float[Array, "d_out d_in"], Float[Array, " d_out"]]]:
    """Views (W, b) of each layer on the flat parameters."""
    layers, start = [], 0
    for d_in, d_out in pairwise(widths):
        W = parameters[start : start + d_out * d_in].reshape(d_out, d_in)
        start += d_out * d_in
        b = parameters[start : start + d_out]
        start += d_out
        layers.append((W, b))
    return layers


#: from a hidden layer's number and its pre-activations to the factors of its units
Dropout = Callable[[int, Array], Any]


def _keep(layer: int, z: Array) -> float:
    return 1.0


def _dropout(job: TrainingJob, step: int) -> Dropout:
    if not job.dropout:
        return _keep
    return lambda layer, z: dropout_factors(job.seed, step, layer, z.shape, job.dropout, z.dtype)


@dataclass
class Model:
    """A network with its loss, as the loop sees it."""

    widths: tuple[int, ...]
    activations: list[ActivationFunctions]
    objective: Objective

    def loss(
        self,
        parameters: Float[Array, " p"],
        x: Float[Array, "n d_in"],
        y: Array,
        weights: Array | None = None,
    ) -> float:
        """Mean loss over the rows."""
        *_, (_, outputs) = self._forward(parameters, x)
        return self.objective.loss(outputs, y, weights)

    def _forward(
        self, parameters: Float[Array, " p"], x: Float[Array, "n d_in"], dropout: Dropout = _keep
    ) -> list[Any]:
        layers, h, passed = split(parameters, self.widths), x, []
        for layer, (W, b) in enumerate(layers):
            z = h @ W.T + b
            passed.append((h, z))
            if layer < len(self.activations):
                h = self.activations[layer].value(z) * dropout(layer, z)
        return passed

    def loss_and_gradient(
        self,
        parameters: Float[Array, " p"],
        x: Float[Array, "n d_in"],
        y: Array,
        weights_of_rows: Array | None = None,
        dropout: Dropout = _keep,
    ) -> tuple[float, Float[Array, " p"]]:
        """Mean loss over the rows and its gradient, in the order of the flat parameters."""
        passed = self._forward(parameters, x, dropout)
        outputs = passed[-1][1]
        loss = self.objective.loss(outputs, y, weights_of_rows)
        gradient = np.empty_like(parameters)
        weights, gradients = split(parameters, self.widths), split(gradient, self.widths)
        delta = self.objective.gradient(outputs, y, weights_of_rows)  # d loss / d z, last layer
        for layer in reversed(range(len(weights))):
            dW, db = gradients[layer]
            h, _ = passed[layer]
            dW[:] = delta.T @ h
            db[:] = delta.sum(axis=0)
            if layer:
                W, _ = weights[layer]
                z_below = passed[layer - 1][1]
                slope = self.activations[layer - 1].derivative(z_below)
                delta = (delta @ W) * (slope * dropout(layer - 1, z_below))
        return loss, gradient


def make_update(job: TrainingJob, parameters: Float[Array, " p"]) -> Callable[[Array, float], None]:
    """The optimizer, as PyTorch defines it: ``update(gradient, rate)`` changes ``parameters``."""
    first, second = np.zeros_like(parameters), np.zeros_like(parameters)
    decay, t = job.weight_decay, 0

    def sgd(g: Array, lr: float) -> None:
        if decay:
            g = g + decay * parameters
        if job.momentum:
            first[:] = job.momentum * first + g
            g = g + job.momentum * first if job.nesterov else first
        parameters[:] -= lr * g

    def rmsprop(g: Array, lr: float) -> None:
        if decay:
            g = g + decay * parameters
        second[:] = job.alpha * second + (1 - job.alpha) * g * g
        r = g / (np.sqrt(second) + job.epsilon)
        if job.momentum:
            first[:] = job.momentum * first + r
            r = first
        parameters[:] -= lr * r

    def adam(g: Array, lr: float) -> None:
        nonlocal t
        t += 1
        if job.optimizer == "adamw":
            parameters[:] *= 1 - lr * decay
        elif decay:
            g = g + decay * parameters
        first[:] += (1 - job.beta1) * (g - first)
        second[:] = job.beta2 * second + (1 - job.beta2) * g * g
        root = np.sqrt(second) / np.sqrt(1 - job.beta2**t).item() + job.epsilon
        parameters[:] -= (lr / (1 - job.beta1**t)) * first / root

    return {"sgd": sgd, "rmsprop": rmsprop, "adam": adam, "adamw": adam}[job.optimizer]


def adjusted(
    job: TrainingJob, parameters: Float[Array, " p"], g: Float[Array, " p"]
) -> Float[Array, " p"]:
    """The gradient with that of the L1 penalty added, then clipped by its global norm."""
    if job.l1:
        g = g + job.l1 * np.sign(parameters)
    if job.clip_norm:
        norm = np.sqrt(np.sum(np.square(g, dtype=np.float64)))
        factor = float(job.clip_norm / (norm + 1e-6))
        g = g if factor >= 1 else g * factor
    return g


@dataclass
class _Record:
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    def add(self, step: int, loss: float, validation: float) -> None:
        self.steps.append(step)
        self.losses.append(loss)
        self.validation.append(validation)


@dataclass
class _Best:
    """The lowest validation loss so far; nan is never lower."""

    loss: float = float("inf")
    step: int | None = None
    waited: int = 0

    def improves(self, validation: float, step: int) -> bool:
        self.waited += 1
        if not validation < self.loss:
            return False
        self.loss, self.step, self.waited = validation, step, 0
        return True


def train_reference(
    X: Float[Array, "n d_in"],
    y: Array,
    job: TrainingJob,
    functions: ReferenceFunctions,
    *,
    validation: tuple[Array, Array] | None = None,
    stopped: Callable[[], bool] = lambda: False,
    stepped: Callable[[], None] = lambda: None,
    weights: Weights = _NO_WEIGHTS,
    dtype: Any = np.float32,
) -> TrainingResult:
    """Train one network; ``stopped`` is asked and ``stepped`` told once a step.

    float64 (``dtype``) is for oracles; the kernel computes in float32.
    """
    as_targets = np.int64 if job.likelihood == "categorical" else dtype
    X, y = X.astype(dtype), y.astype(as_targets)
    held_out = _held_out(validation, dtype, as_targets)
    model = Model(
        job.widths,
        [functions.activation(name, values) for name, values in job.activations],
        _objective(job, functions, weights),
    )
    parameters = np.array(job.parameters, dtype=dtype)
    update, rows_of = make_update(job, parameters), batches(len(X), job.batch_size, job.seed)
    record, kept, best = _Record(), parameters.copy(), _Best()
    status, step = "finished", 0
    with np.errstate(all="ignore"):
        while step < job.steps and not stopped():
            rows, recording = next(rows_of), step % job.record_every == 0
            u = None if weights.samples is None else weights.samples[rows]
            loss, gradient = model.loss_and_gradient(
                parameters, X[rows], y[rows], u, _dropout(job, step)
            )
            if not np.isfinite(loss) or (recording and not np.isfinite(parameters).all()):
                status = "diverged"
                break
            if recording:
                validation_loss = held_out(model, parameters)
                if not job.patience or best.improves(validation_loss, step):
                    kept[:] = parameters
                elif best.waited >= job.patience:
                    status = "stopped early"  # what ends a run records this step
                    break
                record.add(step, loss, validation_loss)
            gradient = adjusted(job, parameters, gradient)
            update(gradient, learning_rate(job, step))
            step += 1
            stepped()
        if status == "finished" and step < job.steps:
            status = "interrupted"
        if status != "diverged":
            loss = model.loss(parameters, X, y, weights.samples)
            if not (np.isfinite(loss) and np.isfinite(parameters).all()):
                status = "diverged"
        if status == "diverged":
            record.add(step, float("nan"), float("nan"))
            parameters = kept
        else:
            validation_loss = held_out(model, parameters)
            record.add(step, loss, validation_loss)
            better = not job.patience or best.improves(validation_loss, step)
            if not better and best.step is not None:
                parameters = kept
    return TrainingResult(
        parameters=parameters,
        steps=np.array(record.steps, dtype=np.int64),
        losses=np.array(record.losses, dtype=np.float64),
        validation_losses=np.array(record.validation if validation else [], dtype=np.float64),
        status=status,
        steps_done=step,
        best_step=best.step,
    )


def _objective(job: TrainingJob, functions: ReferenceFunctions, weights: Weights) -> Objective:
    """The likelihood, softened where class weights or label smoothing ask for it."""
    if weights.classes is None and not job.label_smoothing:
        return Objective(functions.likelihood(job.likelihood))
    each = np.ones(job.widths[-1]) if weights.classes is None else weights.classes
    return Objective(SoftLabels(each, job.label_smoothing), weights.classes)


def _held_out(
    validation: tuple[Array, Array] | None, dtype: Any, as_targets: Any
) -> Callable[[Model, Array], float]:
    """A function from the parameters to the mean loss over the validation rows (nan without)."""
    if validation is None:
        return lambda model, parameters: float("nan")
    X, y = validation[0].astype(dtype), validation[1].astype(as_targets)
    return lambda model, parameters: model.loss(parameters, X, y)
