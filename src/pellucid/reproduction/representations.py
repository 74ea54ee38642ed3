"""What hidden layers represent: probes, similarity across seeds, and single units."""

from functools import cache

import numpy as np

from .._shapes import Array, Float64
from ..datasets import spirals
from ..network import Network
from ..training import train_many
from .item import Outcome

HIDDEN = [32, 32]
SEEDS = range(3)


@cache
def networks() -> tuple[Network, ...]:
    """Three trainings on the spirals that differ in their seed alone."""
    data = spirals(600, seed=0)
    found = train_many(
        data.X,
        data.y,
        hidden=[HIDDEN],
        seed=SEEDS,
        learning_rate=0.01,
        steps=2000,
        progress=False,
    )
    return tuple(found.networks)


def probe(h: Float64[Array, "n width"], fresh: Float64[Array, "m width"]) -> float:
    """Accuracy on fresh points of the best linear fit to the labels -1 and 1 on h."""
    y, told = 2.0 * spirals(600, seed=0).y - 1, spirals(4000, seed=1).y
    c = np.linalg.lstsq(np.column_stack([h, np.ones(len(h))]), y, rcond=1e-8)[0]
    scores = np.column_stack([fresh, np.ones(len(fresh))]) @ c
    return float(((scores > 0) == (told == 1)).mean())


def layers(network: Network, seed: int, n: int) -> list[Float64[Array, "n width"]]:
    """The inputs and every hidden representation of n spirals, in float64."""
    X = spirals(n, seed=seed).X
    return [np.asarray(X, np.float64), *(h.astype(np.float64) for h in network.forward(X).h)]


def similarity(a: Float64[Array, "n p"], b: Float64[Array, "n q"]) -> float:
    """Linear CKA (Kornblith et al. 2019): 1 for representations that are rotated and scaled."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    cross = np.linalg.norm(a.T @ b) ** 2
    return float(cross / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)))


def without(network: Network, unit: int) -> Network:
    """The network whose unit of the last hidden layer is silent."""
    W = [np.array(one) for one in network.weights]
    W[-1][:, unit] = 0
    return Network(W, network.biases, network.activations)


def pure(h: Float64[Array, "n width"], directions: Float64[Array, "width k"]) -> float:
    """Share of directions whose 50 top inputs of 4,000 are of one class, but for two at most."""
    top = np.argsort(-(h @ directions), axis=0, kind="stable")[:50]
    of_one = spirals(4000, seed=1).y[top].mean(axis=0)
    return float((np.abs(of_one - 0.5) >= 0.46).mean())


def correct(network: Network) -> float:
    """Share of 4,000 fresh points."""
    fresh = spirals(4000, seed=1)
    return float((network(fresh.X).argmax(axis=1) == fresh.y).mean())


def agreement(a: Network, b: Network) -> float:
    """Share of 4,000 fresh points that both give the same class."""
    X = spirals(4000, seed=1).X
    return float((a(X).argmax(axis=1) == b(X).argmax(axis=1)).mean())


def run() -> Outcome:
    """Probes by layer, similarity and distance across seeds, ablations, and top inputs.

    The inputs that excite a unit most look alike, but so do those of a random direction among the
    units (Szegedy et al. 2014).
    """
    first = networks()[0]
    pairs = zip(layers(first, 0, 600), layers(first, 1, 4000), strict=True)
    last = [layers(network, 1, 1000)[-1] for network in networks()]
    unlike = layers(first, 1, 1000)[0]
    theta = [network.parameters() for network in networks()]
    size = float(np.mean([np.linalg.norm(t) for t in theta]))
    h = layers(first, 1, 4000)[-1]
    live = np.eye(HIDDEN[-1])[:, (h > 0).any(axis=0)]
    random = np.random.default_rng(0).normal(size=(HIDDEN[-1], 1000))
    ablated = [correct(without(first, i)) for i in range(HIDDEN[-1])]
    values = {
        "probe": [probe(h, fresh) for h, fresh in pairs],
        "similar": min(similarity(last[0], last[1]), similarity(last[0], last[2])),
        "dissimilar": similarity(last[0], unlike),
        "agreement": agreement(*networks()[:2]),
        "distance": float(np.linalg.norm(theta[0] - theta[1])) / size,
        "median_loss": correct(first) - float(np.median(ablated)),
        "worst_loss": correct(first) - min(ablated),
        "pure": [pure(h, live), pure(h, random)],
    }
    return Outcome(values)
