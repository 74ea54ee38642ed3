"""One update of all parameters: the twin of ``isa/optimizers.hpp`` and ``isa/penalties.hpp``."""

from collections.abc import Callable

import numpy as np

from .._shapes import Array, Float
from .jobs import TrainingJob
from .state import Run


def sgd(job: TrainingJob, run: Run, g: Float[Array, " p"], lr: float) -> None:
    """As torch: momentum without dampening."""
    if job.weight_decay:
        g = g + job.weight_decay * run.parameters
    if job.momentum:
        run.first[:] = job.momentum * run.first + g
        g = g + job.momentum * run.first if job.nesterov else run.first
    run.parameters[:] -= lr * g


def rmsprop(job: TrainingJob, run: Run, g: Float[Array, " p"], lr: float) -> None:
    """As torch, not centered."""
    if job.weight_decay:
        g = g + job.weight_decay * run.parameters
    run.second[:] = job.alpha * run.second + (1 - job.alpha) * g * g
    r = g / (np.sqrt(run.second) + job.epsilon)
    if job.momentum:
        run.first[:] = job.momentum * run.first + r
        r = run.first
    run.parameters[:] -= lr * r


def adam(job: TrainingJob, run: Run, g: Float[Array, " p"], lr: float) -> None:
    """Adam and AdamW, with bias correction and epsilon outside the root."""
    t = run.step + 1
    if job.optimizer == "adamw":
        run.parameters[:] *= 1 - lr * job.weight_decay
    elif job.weight_decay:
        g = g + job.weight_decay * run.parameters
    run.first[:] += (1 - job.beta1) * (g - run.first)
    run.second[:] = job.beta2 * run.second + (1 - job.beta2) * g * g
    root = np.sqrt(run.second) / np.sqrt(1 - job.beta2**t).item() + job.epsilon
    run.parameters[:] -= (lr / (1 - job.beta1**t)) * run.first / root


#: changes ``run.parameters`` by a gradient and a rate
UPDATES: dict[str, Callable[[TrainingJob, Run, Array, float], None]] = {
    "sgd": sgd,
    "rmsprop": rmsprop,
    "adam": adam,
    "adamw": adam,
}


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
