"""What the speed is for: processor seconds until a stuck network's better parameters are found.

Three public cases of networks that usually stick although better parameters exist. Each program
starts anew until one start succeeds; with success share p and c processor seconds a start, that
takes c ln(0.05) / ln(1 - p) seconds with 95 % probability.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pellucid.likelihoods import as_likelihood

from . import peers_torch
from .checks import NotTheSameWork, same_losses
from .ours import Outcome, train_seeds
from .rows import Row, faster, missing
from .works import Work

SAME_SUCCESSES = 0.8


@dataclass(frozen=True)
class Problem:
    """A work whose starts succeed when the final training loss is below `threshold` nats."""

    work: Work
    threshold: float


def euclid() -> Problem:
    """sqrt(x^2 + y^2) with three relus (stats.stackexchange 363352): half of the starts lose one.

    The hexagonal pyramid has mean squared error 0.0033; success is 1.3 times that.
    """
    X = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    y = np.sqrt((X**2).sum(1))
    return Problem(
        Work("length of a vector, 2-3-1", X, y, (3,), 1500), 0.5 * 1.3 * 0.0033 + _GAUSSIAN
    )


def ring() -> Problem:
    """A disk in a ring, three layers of two tanh units (ai.stackexchange 18751): most stop at 0.18.

    Three layers of two can separate the sample; one layer cannot.
    """
    rng, n = np.random.default_rng(0), 200
    radius = np.concatenate([rng.uniform(0, 1, n), rng.uniform(2, 3, n)])
    angle = rng.uniform(0, 2 * np.pi, 2 * n)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)].astype(np.float32)
    y = np.repeat([0, 1], n)
    name = "disk in a ring, 2-2-2-2-2 tanh"
    return Problem(Work(name, X, y, (2, 2, 2), 600, activation="tanh"), 0.12)


def xor() -> Problem:
    """XOR with two sigmoid units (stats.stackexchange 213666): the others stop at ln(2) / 2."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    work = Work("XOR, 2-2-2 sigmoid", X, np.array([0, 1, 1, 0]), (2,), 2000, None, 0.05, "sigmoid")
    return Problem(work, 0.05)


_GAUSSIAN = math.log(2 * math.pi) / 2
PROBLEMS = (euclid, ring, xor)


@dataclass(frozen=True, eq=False)
class Trial:
    """Many starts of one program."""

    successes: np.ndarray
    cpu_per_start: float

    def seconds(self, p: float) -> float:
        """Processor seconds that find a success with 95 % probability."""
        if p <= 0:
            return math.inf
        return self.cpu_per_start * max(1.0, math.log(0.05) / math.log1p(-min(p, 1 - 1e-12)))

    @property
    def share(self) -> float:
        return float(self.successes.mean())

    def __str__(self) -> str:
        """Share of successes with its exact 95 % interval, and what follows from it."""
        from scipy.stats import binomtest

        n, k = len(self.successes), int(self.successes.sum())
        low, high = binomtest(k, n).proportion_ci(0.95, "exact")
        return (
            f"{k} of {n} starts ({low:.3f} to {high:.3f}), {1000 * self.cpu_per_start:.3g} ms "
            f"each, so {self.seconds(self.share):.3g} s ({self.seconds(high):.3g} to "
            f"{self.seconds(low):.3g})"
        )


def time_to_solution(
    problem: Problem, starts: int, peer_starts: int, steps: int
) -> tuple[Row, str]:
    """The row of one problem, and what was counted."""
    work = problem.work
    checked = same_losses(work, steps, jax=False)
    train_seeds(work, range(min(starts, 20)), 1)
    ours, theirs = _ours(problem, starts), _torch(problem, peer_starts)
    same = np.mean(ours.successes[:peer_starts] == theirs.successes)
    said = (
        f"{work.name}: {checked}; success is a loss below {problem.threshold:.4f} nats; "
        f"Pellucid {ours}; PyTorch {theirs}; both agree on {same:.0%} of the starts"
    )
    if same < SAME_SUCCESSES:
        raise NotTheSameWork(said)
    seconds, other = ours.seconds(ours.share), theirs.seconds(theirs.share)
    name = f"{work.name}, processor seconds to better parameters (95 %)"
    if math.isinf(seconds) or math.isinf(other):
        return missing(name, "PyTorch multi-start, no success in this run", 0.0), said
    return faster(name, "PyTorch multi-start, fused Adam", seconds, other), said


def _ours(problem: Problem, starts: int) -> Trial:
    start = time.process_time()
    outcome = train_seeds(problem.work, range(starts), 1)
    cpu = time.process_time() - start
    return Trial(_succeeded(problem, [outcome]), cpu / starts)


def _torch(problem: Problem, starts: int) -> Trial:
    start = time.process_time()
    outcomes = [
        peers_torch.loop(replace(problem.work, seed=seed), fused=True) for seed in range(starts)
    ]
    cpu = time.process_time() - start
    return Trial(_succeeded(problem, outcomes), cpu / starts)


def _succeeded(problem: Problem, outcomes: Sequence[Outcome]) -> np.ndarray:
    work, family = problem.work, as_likelihood(problem.work.likelihood)
    y = work.y if work.likelihood == "categorical" else work.y[:, None]
    networks = [net for outcome in outcomes for net in outcome.networks(work)]
    losses = [float(np.mean(family.loss(net(work.X), y))) for net in networks]
    return np.array(losses) < problem.threshold
