"""Networks of four sizes trained on the spirals from three seeds each."""

from functools import cache

from ..datasets import spirals
from ..network import Network
from ..regions import Box, linear_regions
from ..training import Grid, train_many
from .item import Outcome

HIDDEN = ([4], [16], [64], [8, 8, 8])
SEEDS = range(3)
WINDOW = Box([-1.2, -1.2], [1.2, 1.2])


@cache
def grid() -> Grid:
    """The chapter's twelve trainings: Adam, rate 0.01, 3,000 steps on all 600 points."""
    data = spirals(600, seed=0)
    return train_many(
        data.X,
        data.y,
        hidden=[list(h) for h in HIDDEN],
        seed=SEEDS,
        learning_rate=0.01,
        steps=3000,
        progress=False,
    )


def accuracy(network: Network) -> float:
    """The share of 4,000 fresh points that are told right."""
    fresh = spirals(4000, seed=1)
    return float((network(fresh.X).argmax(axis=1) == fresh.y).mean())


def run() -> Outcome:
    """Parameters and accuracies, and the figure of three networks of seed 0."""
    networks = grid().networks
    n = len(SEEDS)
    values: dict[str, list] = {"parameters": [network.n_parameters for network in networks[::n]]}
    for i, hidden in enumerate(HIDDEN):
        key = "accuracy_" + "_".join(map(str, hidden))
        values[key] = [accuracy(network) for network in networks[n * i : n * (i + 1)]]
    return Outcome(values, {"spirals": _figure})


def _figure():
    from ..plot import region_panels

    data = spirals(600, seed=0)
    shown = grid().networks[: 3 * len(SEEDS) : len(SEEDS)]
    titles = [
        f"{hidden[0]} units: accuracy {accuracy(network):.2f}"
        for hidden, network in zip(HIDDEN, shown, strict=False)
    ]
    return region_panels(
        [linear_regions(network, WINDOW) for network in shown],
        titles,
        "class",
        data=(data.X, data.y),
        classes=["class 0", "class 1"],
        names=data.feature_names,
    )
