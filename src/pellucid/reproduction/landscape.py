"""The loss between two trained networks, and a saddle point that is left behind."""

from functools import cache

import numpy as np

from ..datasets import spirals
from ..network import Network
from ..symmetry import align, interpolation_path, permutation_average
from ..training import train, train_many
from .averaging import CHOSEN, n_units, nats
from .item import Outcome
from .spirals import grid

WIDTH = 256
POINTS = 25
SHIFT = 1e-3  # how far the start is moved off the saddle


@cache
def pair() -> tuple[Network, Network]:
    """Two trainings of 256 units on the spirals, the second with its units matched to the first."""
    data = spirals(600, seed=0)
    found = train_many(
        data.X,
        data.y,
        hidden=[[WIDTH]],
        seed=range(2),
        learning_rate=0.01,
        steps=2000,
        progress=False,
    )
    a, b = found.networks
    return a, align(a, b).network


@cache
def corner() -> Network:
    """The midpoint of both, trained for 1,000 steps: the corner of a path that bends."""
    a, b = pair()
    middle = a.with_parameters((a.parameters() + b.parameters()) / 2)
    return _train(middle, 0.003, 1000)


def _train(network: Network, rate: float, steps: int) -> Network:
    data = spirals(600, seed=0)
    run = train(network, data.X, data.y, learning_rate=rate, steps=steps, seed=0, progress=False)
    return run.network


@cache
def losses(bent: bool) -> dict[float, float]:
    """Training loss on the way from one network to the other, by percent of the way."""
    data = spirals(600, seed=0)
    a, b = pair()
    legs = ((a, corner()), (corner(), b)) if bent else ((a, b),)
    parts = [
        interpolation_path(p, q, data.X, data.y, n_points=POINTS, alignment=align(p, q, starts=1))
        for p, q in legs
    ]
    found: dict[float, float] = {}
    for i, path in enumerate(parts):
        at = 100 * (i + path.t) / len(parts)
        found |= dict(zip(at.round(1).tolist(), path.before.tolist(), strict=True))
    return found


def run() -> Outcome:
    """Barriers of the straight and the bent path, and what happens at the symmetric point."""
    symmetric = permutation_average(grid().networks[CHOSEN])
    stuck = _train(symmetric, 0.003, 3000)
    rng = np.random.default_rng(0)
    moved = symmetric.with_parameters(
        symmetric.parameters() + SHIFT * rng.normal(size=symmetric.n_parameters)
    )
    left = _train(moved, 0.003, 3000)
    values = {
        "ends": [nats(network) for network in pair()],
        "straight": max(losses(bent=False).values()),
        "bent": max(losses(bent=True).values()),
        "stuck_units": n_units(stuck),
        "stuck_loss": nats(stuck),
        "left_loss": nats(left),
    }
    return Outcome(values, {"path": _figure})


def _figure():
    from ..plot import measured

    series = {"straight": losses(bent=False), "bent once, corner trained": losses(bent=True)}
    return measured(series, "percent of the way", "training loss (nats)", log="y")
