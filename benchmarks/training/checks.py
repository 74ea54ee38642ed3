"""That all programs did the same work; whatever differs ends the run before anything is timed."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from . import ours, peers_jax, peers_torch
from .ours import Outcome
from .timing import Timed
from .works import NotTheSameWork, Work

SAME_LOSS = 1e-4
#: wide networks meet the kink of a relu at some row in every few steps, and XLA sums otherwise
SAME_LOSS_JAX = 5e-3
SAME_SCORE = 0.03
#: of the losses in the end
SAME_END = 0.1


def same_losses(work: Work, steps: int, jax: bool) -> str:
    """Losses of the first steps of one network, relative to the plain PyTorch loop."""
    short = work.shortened(steps)
    loop = peers_torch.loop(short, record=True).losses[:steps]
    programs: dict[str, tuple[Callable[..., Outcome], float]] = {
        "Pellucid": (ours.train, SAME_LOSS)
    }
    if jax:
        programs["JAX"] = (peers_jax.train, SAME_LOSS_JAX)
    said = []
    for name, (program, allowed) in programs.items():
        worst = departure(program(short, record=True).losses[:steps], loop).max()
        said.append(f"{name} {worst:.1e}")
        if not worst <= allowed:
            raise NotTheSameWork(f"{work.name}: {name} departs from PyTorch by {worst:.1e}")
    return f"losses of {steps} steps within {', '.join(said)} of PyTorch's"


def same_grid(works: Sequence[Work], seeds: Sequence[int], steps: int, jax: bool) -> list[str]:
    """Losses of the first steps of every network of the grid, against float64.

    Now and then one float32 sum falls on the other side of a ReLU kink and the run departs from
    there on; the float64 run says which program has departed, and by how much. In each shape one
    network in eight may; another recipe would take all of them away within a few steps.
    """
    programs: dict[str, Callable[..., Outcome]] = {
        "Pellucid": lambda w, s, record: ours.train_seeds(w, s, 1, record),
        "bmm": peers_torch.bmm,
        "vmap": peers_torch.vmapped,
    }
    if jax:
        programs["JAX vmap"] = peers_jax.vmapped
    said = []
    for work in works:
        each = []
        short = work.shortened(steps)
        exact = peers_torch.bmm(short, seeds, record=True, dtype=torch.float64).losses
        for name, program in programs.items():
            worst = departure(program(short, seeds, record=True).losses, exact)
            each.append(f"{name} {worst.max():.1e}")
            departed = int(np.sum(~(worst <= SAME_LOSS)))
            if departed > len(seeds) // 8:
                raise NotTheSameWork(f"{work.name}: {departed} networks depart: {each[-1]}")
        said.append(
            f"{work.name} from {len(seeds)} starts: losses of {steps} steps within "
            f"{', '.join(each)} of PyTorch's in float64"
        )
    return said


def departure(losses: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The largest relative difference of each network."""
    if losses.shape != exact.shape:
        raise NotTheSameWork(f"losses of shapes {losses.shape} and {exact.shape}")
    return np.max(np.abs(losses / exact - 1), axis=0)


def same_ends(work: Work, timed: Mapping[str, Timed]) -> str:
    """All steps were taken, and the networks are as good in the end: means over the starts."""
    for name, t in timed.items():
        if t.result.steps != work.steps:
            raise NotTheSameWork(f"{work.name}: {name} took {t.result.steps} of {work.steps} steps")
    networks = {name: t.result.networks(work) for name, t in timed.items()}
    losses = {name: float(np.mean([work.loss(n) for n in ns])) for name, ns in networks.items()}
    scores = {name: float(np.mean([work.score(n) for n in ns])) for name, ns in networks.items()}
    said = f"losses in the end {_each(losses)}; scores {_each(scores)}"
    if _spread(scores) > SAME_SCORE or _spread(losses) > SAME_END * max(losses.values()):
        raise NotTheSameWork(f"{work.name}: {said}")
    return said


def _each(values: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.4g} ({name})" for name, value in values.items())


def _spread(values: Mapping[str, float]) -> float:
    return max(values.values()) - min(values.values())


def every_step(works: Sequence[Work], seeds: Sequence[int], timed: Sequence[Outcome]) -> None:
    """The timed bits of Pellucid are those of a run that tells the loss of each step."""
    told = ours.train_shapes(works, seeds, 1, record=True)
    for work, outcome in zip(works, told, strict=True):
        if outcome.losses.shape != (work.steps, len(seeds)):
            raise NotTheSameWork(f"{work.name}: losses of {len(outcome.losses)} steps")
    if differ := networks_that_differ(told, timed):
        raise NotTheSameWork(f"{works[0].name}: {differ} networks are not those of every step")


def networks_that_differ(a: Sequence[Outcome], b: Sequence[Outcome]) -> int:
    """In a bit, of the networks of each shape from each start."""
    return sum(
        p.tobytes() != q.tobytes()
        for one, two in zip(a, b, strict=True)
        for p, q in zip(one.parameters, two.parameters, strict=True)
    )
