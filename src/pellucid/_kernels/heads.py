"""What the engines must know of a likelihood: its parameters, its outputs and its targets."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from .jobs import TrainingJob

MOST = 1000  # levels or components
SCALE = (1e-12, 1e12)
COUNT = (1.0, float(MOST))
Parameters = tuple[float, ...]


def _one(parameters: Parameters) -> int:
    return 1


def _two(parameters: Parameters) -> int:
    return 2


@dataclass(frozen=True)
class Head:
    """One likelihood. Each parameter lies in its ``bounds``; None stands for any number of levels.

    ``outputs`` is how many outputs of the network one target takes.
    """

    bounds: tuple[tuple[float, float], ...] | None = ()
    outputs: Callable[[Parameters], int] = _one
    labels: bool = False


#: the likelihoods in the order of the compiled module (a test compares)
HEADS: dict[str, Head] = {
    "gaussian": Head(),
    "bernoulli": Head(),
    "categorical": Head(labels=True),
    "mean_variance": Head(((0, 1), SCALE), _two),
    "laplace": Head((SCALE,), _two),
    "student_t": Head(((0, 1e12), SCALE), lambda p: 2 if p[0] else 3),
    "poisson": Head(),
    "negative_binomial": Head((), _two),
    "ordinal": Head(labels=True),
    "quantile": Head(None, len),
    "mixture": Head((COUNT, SCALE), lambda p: 3 * int(p[0])),
}
LIKELIHOODS = tuple(HEADS)


def takes_labels(likelihood: str) -> bool:
    """Whether its targets are whole labels (n,), not real numbers (n, columns)."""
    return HEADS[likelihood].labels


def n_targets(job: TrainingJob) -> int:
    """Columns of targets that the outputs are for; 0 for labels."""
    head = HEADS[job.likelihood]
    return 0 if head.labels else job.widths[-1] // head.outputs(job.likelihood_parameters)


def n_labels(job: TrainingJob) -> int:
    """Classes that the outputs are for."""
    return job.widths[-1] + (job.likelihood == "ordinal")


def check_head(job: TrainingJob) -> None:
    """The likelihood's parameters, and its outputs against the widths."""
    head, given = HEADS[job.likelihood], job.likelihood_parameters
    bounds = head.bounds if head.bounds is not None else ((1e-9, 1 - 1e-9),) * len(given)
    fits = len(given) == len(bounds) and (head.bounds is not None or 0 < len(given) <= MOST)
    if job.likelihood == "mixture":
        fits = fits and given[0] == int(given[0])
    if not fits or not all(low <= p <= high for p, (low, high) in zip(given, bounds, strict=True)):
        raise InvalidInput(
            f"the {job.likelihood} likelihood got parameters {given!r:.80}; it needs "
            f"{'1 to 1000 levels' if head.bounds is None else list(bounds)} (bounds of each)."
        )
    each = head.outputs(given)
    if job.widths[-1] % each:
        raise InvalidInput(
            f"the {job.likelihood} likelihood needs {each} outputs for each target; a network has "
            f"{job.widths[-1]}."
        )


def check_optimizer(job: TrainingJob) -> None:
    """L-BFGS compares losses, so the gradient must be that of the loss."""
    if job.likelihood == "mean_variance" and job.likelihood_parameters[0]:
        raise InvalidInput(
            f"optimizer lbfgs got mean_variance with beta {job.likelihood_parameters[0]:g}; under "
            "beta-NLL the gradient is not that of the loss: take beta 0 or another optimizer."
        )


def check_numbers(y: Array, jobs: list[TrainingJob], name: str) -> None:
    """The columns of targets (n, columns) against the outputs, and their range."""
    for job in jobs:
        columns = n_targets(job)
        if columns != y.shape[1]:
            each = job.widths[-1] // columns
            outputs = f"{job.widths[-1]} outputs" + (f", {each} a target" if each > 1 else "")
            raise InvalidInput(f"a network has {outputs}, but {name} has {y.shape[1]} columns.")
    names = {job.likelihood for job in jobs}
    if "bernoulli" in names and (y.min() < 0 or y.max() > 1):
        raise InvalidInput(f"{name} must lie between 0 and 1 for the bernoulli likelihood.")
    counts = sorted(names & {"poisson", "negative_binomial"})
    if counts and (y.min() < 0 or (y != np.floor(y)).any()):
        raise InvalidInput(f"{name} must hold whole numbers from 0 for the {counts[0]} likelihood.")
