"""What is measured in each layer at chosen steps: the twin of ``isa/measure.hpp``."""

import numpy as np

from .._shapes import Array, Float, Int
from .jobs import LayerRecords, TrainingJob, n_measures, n_moments
from .model import Model, split
from .units import PIECEWISE_LINEAR, dead, saturated

#: names and types in a state; all but the first hold one number for each layer, step by step
MEASURED = {
    "measured_steps": np.int64,
    "gradient_norm": np.float64,
    "update_ratio": np.float64,
    "dead": np.float64,
    "saturated": np.float64,
}
Numbers = dict[str, list[float]]


def room(job: TrainingJob) -> dict[str, Array]:
    """Empty arrays for everything that the job will measure."""
    return {
        name: np.empty(n_measures(job) * columns, MEASURED[name])
        for name, columns in _columns(job).items()
    }


def _columns(job: TrainingJob) -> dict[str, int]:
    layers = len(job.widths) - 1
    return dict(zip(MEASURED, (1, layers, layers, layers - 1, layers - 1), strict=True))


def first_rows(job: TrainingJob, arrays: dict[str, Array], m: int) -> dict[str, Array]:
    """The flat arrays cut to m measured steps, as copies."""
    return {name: arrays[name][: m * n].copy() for name, n in _columns(job).items()}


def fits(job: TrainingJob, arrays: dict[str, Array], done: int) -> bool:
    """Whether flat arrays hold what the job measures in its first ``done`` steps."""
    steps = arrays["measured_steps"]
    exact = all(len(arrays[name]) == len(steps) * n for name, n in _columns(job).items())
    return exact and are_moments(steps, done, job.measure_every)


def are_moments(steps: Int[Array, " k"], done: int, every: int) -> bool:
    """Whether these are 0, every, 2 every, ... below ``done``: an engine writes on behind them."""
    k = len(steps)
    return k == n_moments(done, every) and np.array_equal(steps, every * np.arange(k))


def layer_records(job: TrainingJob, arrays: dict[str, Array]) -> LayerRecords | None:
    """The flat arrays in their shapes; None where nothing was to be measured."""
    if job.measure_every == 0:
        return None
    steps, *numbers = (arrays[name] for name in MEASURED)
    hidden = len(job.widths) - 2
    shapes = [(len(steps), n) for n in (hidden + 1, hidden + 1, hidden, hidden)]
    return LayerRecords(steps, *(a.reshape(s) for a, s in zip(numbers, shapes, strict=True)))


def norms(vector: Float[Array, " p"], widths: tuple[int, ...]) -> Float[Array, " layers"]:
    """Euclid's norm over W and b of each layer, in float64."""
    squares = np.square(vector.astype(np.float64))
    return np.sqrt([W.sum() + b.sum() for W, b in split(squares, widths)])


def ratios(
    updates: Float[Array, " layers"], sizes: Float[Array, " layers"]
) -> Float[Array, " layers"]:
    """Norms of updates over those of what they update; 0 where nothing moved, from 0 as well."""
    with np.errstate(all="ignore"):
        return np.where(updates == 0, 0.0, updates / sizes)


def unit_shares(
    job: TrainingJob, model: Model, parameters: Float[Array, " p"], x: Float[Array, "n d_in"]
) -> tuple[list[float], list[float]]:
    """Dead and saturated share of each hidden layer on the rows x, without dropout."""
    shares: tuple[list[float], list[float]] = [], []
    for (name, _), activation, z in zip(
        job.activations, model.activations, model.pre_activations(parameters, x), strict=True
    ):
        slope, sharp = activation.derivative(z), name in PIECEWISE_LINEAR
        shares[0].append(float(dead(slope).mean()) if sharp else 0.0)
        shares[1].append(0.0 if sharp else float(saturated(slope, activation.derivative).mean()))
    return shares
