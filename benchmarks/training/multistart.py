"""What the speed is for: processor seconds until a stuck network's better parameters are found.

Three public cases of networks that usually stick although better parameters exist. With success
share p a program has to train the fewest k starts with 1 - (1 - p)^k >= 0.95; PyTorch trains them
one after the other or all at once, whichever takes less. What many starts take is told as well.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from . import peers_torch
from .checks import same_grid, same_losses
from .ours import Outcome, train_seeds
from .rows import Row, faster, missing
from .timing import MOMENT, WHILE, Choice, Timed, fastest, in_turn
from .works import NotTheSameWork, Work

#: starts that may end otherwise, as a share of those that succeed
OTHERWISE = 0.05
#: starts of PyTorch in one batch, where there are more than that
AT_ONCE = 64


@dataclass(frozen=True)
class Problem:
    """A work whose starts succeed when the final training loss is below `threshold` nats.

    `starts`: how many the share of successes is counted on.
    """

    work: Work
    threshold: float
    starts: int


def euclid() -> Problem:
    """sqrt(x^2 + y^2) with three relus (stats.stackexchange 363352): half of the starts lose one.

    The hexagonal pyramid has mean squared error 0.0033; success is 1.3 times that.
    """
    X = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32)
    y = np.sqrt((X**2).sum(1))
    work = Work("length of a vector, 2-3-1", X, y, (3,), 1500)
    return Problem(work, 0.5 * 1.3 * 0.0033 + _GAUSSIAN, 256)


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
    return Problem(Work(name, X, y, (2, 2, 2), 600, activation="tanh"), 0.12, 512)


def xor() -> Problem:
    """XOR with two sigmoid units (stats.stackexchange 213666): the others stop at ln(2) / 2."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    work = Work("XOR, 2-2-2 sigmoid", X, np.array([0, 1, 1, 0]), (2,), 2000, None, 0.05, "sigmoid")
    return Problem(work, 0.05, 1024)


_GAUSSIAN = math.log(2 * math.pi) / 2
PROBLEMS = (euclid, ring, xor)


def time_to_solution(problem: Problem, repeats: int, steps: int) -> tuple[list[Row], list[str]]:
    """The rows of one problem, and what was counted.

    Both programs train the same many starts, whose successes are counted, and then the fewest
    starts that hold a success with 95 % probability.
    """
    work, seeds = problem.work, range(problem.starts)
    checked = same_losses(work, steps, jax=False)
    said = same_grid([work], seeds[:8], steps, jax=False)
    many = compare(work, seeds, 1)
    both = successes(problem, many)
    share = float(both.mean())
    low, high = _interval(share, len(seeds))
    otherwise = np.sum(both[0] != both[1])
    said.append(
        f"{work.name}: {checked}; success is a loss below {problem.threshold:.4f} nats; "
        f"{share:.3f} of {len(seeds)} starts succeed ({low:.3f} to {high:.3f}), {otherwise} in "
        f"one program alone; a part of the steps: {many.tried}"
    )
    name = f"{work.name}, {len(seeds):,} starts, processor seconds"
    rows = [faster(name, many.against, many.ours.seconds, many.theirs.seconds)]
    name = f"{work.name}, processor seconds to better parameters (95 %)"
    if not share:
        return [*rows, missing(name, "PyTorch; no start of either succeeded", None)], said
    needed = starts_needed(share)
    few = compare(work, range(needed), repeats)
    said.append(f"{work.name}: {needed} starts are needed; a part of the steps: {few.tried}")
    return [*rows, faster(name, few.against, few.ours.seconds, few.theirs.seconds)], said


def starts_needed(share: float) -> int:
    """The least k with 1 - (1 - p)^k >= 0.95."""
    return max(1, math.ceil(math.log(0.05) / math.log1p(-min(share, 1 - 1e-12))))


@dataclass(frozen=True)
class Compared:
    """Processor seconds of the same starts."""

    ours: Timed
    theirs: Timed
    against: str
    tried: Choice


def compare(work: Work, seeds: Sequence[int], repeats: int) -> Compared:
    """Pellucid and PyTorch's best form, on one thread."""
    shares = {share: work.part(share) for share in (MOMENT, WHILE)}
    forms = {f"PyTorch, {name}, fused Adam": form for name, form in _forms(len(seeds)).items()}
    tried = fastest(
        {n: (lambda share, f=f: f(shares[share], seeds)) for n, f in forms.items()}, process_time
    )
    programs = {"Pellucid": lambda w, s: [train_seeds(w, s, 1)], tried.best: forms[tried.best]}
    timed = in_turn(
        {
            n: (lambda warming, p=p: p(shares[WHILE] if warming else work, seeds))
            for n, p in programs.items()
        },
        repeats,
        process_time,
    )
    return Compared(timed["Pellucid"], timed[tried.best], tried.best, tried)


Form = Callable[[Work, Sequence[int]], list[Outcome]]


def _forms(starts: int) -> dict[str, Form]:
    """How PyTorch trains several starts."""
    forms: dict[str, Form] = {
        "bmm, all starts at once": lambda w, s: [peers_torch.bmm(w, s, fused=True)],
        "one start after the other": lambda w, s: [peers_torch.loops(w, s, fused=True)],
    }
    if starts > AT_ONCE:
        forms[f"bmm, {AT_ONCE} starts at once"] = lambda w, s: [
            peers_torch.bmm(w, s[i : i + AT_ONCE], fused=True) for i in range(0, len(s), AT_ONCE)
        ]
    return forms


def successes(problem: Problem, many: Compared) -> np.ndarray:
    """Which starts succeed (2, starts), Pellucid's first; both must agree on nearly each."""
    both = np.array([_succeeded(problem, timed.result) for timed in (many.ours, many.theirs)])
    ours, theirs = both
    otherwise, most = int(np.sum(ours != theirs)), max(ours.sum(), theirs.sum())
    if otherwise > OTHERWISE * most:
        raise NotTheSameWork(
            f"{problem.work.name}: Pellucid succeeds from {ours.sum()} starts, PyTorch from "
            f"{theirs.sum()}, and {otherwise} of {len(ours)} end otherwise"
        )
    return both


def _interval(share: float, n: int) -> tuple[float, float]:
    """The exact 95 % interval of a share of n."""
    from scipy.stats import binomtest

    low, high = binomtest(round(share * n), n).proportion_ci(0.95, "exact")
    return low, high


def _succeeded(problem: Problem, outcomes: Sequence[Outcome]) -> np.ndarray:
    work = problem.work
    for outcome in outcomes:
        if outcome.steps != work.steps:
            raise NotTheSameWork(f"{work.name}: {outcome.steps} of {work.steps} steps")
    losses = [work.loss(net) for outcome in outcomes for net in outcome.networks(work)]
    return np.array(losses) < problem.threshold
