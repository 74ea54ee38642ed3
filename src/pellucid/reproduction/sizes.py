"""Large networks: more parameters than rows, and confidence that grows with size."""

from functools import cache

import numpy as np

from ..datasets import held_out_rows, load_dataset, moons, spirals
from ..likelihoods import as_likelihood
from ..network import Network
from ..training import train_many
from .item import Outcome

WIDTHS: tuple[int, ...] = (2, 8, 32, 128, 512)
NOISE = 0.35
WIDE = 512


@cache
def on_noisy_moons() -> tuple[Network, ...]:
    """Networks of growing width, trained on 150 overlapping points until little changes."""
    data = moons(150, seed=0, noise=NOISE)
    found = train_many(
        data.X,
        data.y,
        hidden=[[n] for n in WIDTHS],
        seed=0,
        learning_rate=0.01,
        steps=4000,
        progress=False,
    )
    return tuple(found.networks)


def overconfidence(network: Network) -> float:
    """Mean confidence less accuracy, on 4,000 fresh points; 0 would be right on average."""
    fresh = moons(4000, seed=1, noise=NOISE)
    p = as_likelihood("categorical").predict(network(fresh.X).astype(np.float64))
    return float(p.max(axis=1).mean() - (p.argmax(axis=1) == fresh.y).mean())


@cache
def wide() -> Network:
    """512 hidden units trained on 600 points of the spirals."""
    data = spirals(600, seed=0)
    found = train_many(
        data.X, data.y, hidden=[[WIDE]], seed=0, learning_rate=0.01, steps=1000, progress=False
    )
    return found.networks[0]


def on_random_labels() -> dict[str, float]:
    """512 units on the penguins with their species, and with the same labels in random order."""
    table = load_dataset("penguins")
    unseen = held_out_rows(table, 0.25, 0)
    X, y = table.encoder(~unseen).transform(table), np.asarray(table.y)
    found, shuffled = {}, np.random.default_rng(0).permutation(y[~unseen])
    for name, labels in (("true", y[~unseen]), ("random", shuffled)):
        grid = train_many(
            X[~unseen],
            labels,
            hidden=[[WIDE]],
            seed=0,
            learning_rate=0.003,
            steps=1000,
            progress=False,
        )
        chosen = grid.networks[0](X).argmax(axis=1)
        found[f"{name}_labels"] = float((chosen[~unseen] == labels).mean())
        found[f"{name}_labels_held_out"] = float((chosen[unseen] == y[unseen]).mean())
    return found


def run() -> Outcome:
    """Parameters and accuracies of the wide network, and confidence by width."""
    data, fresh = spirals(600, seed=0), spirals(4000, seed=1)
    gaps = [overconfidence(network) for network in on_noisy_moons()]
    values = {
        "parameters_per_row": wide().n_parameters / 600,
        "training_accuracy": float((wide()(data.X).argmax(axis=1) == data.y).mean()),
        "test_accuracy": float((wide()(fresh.X).argmax(axis=1) == fresh.y).mean()),
        "overconfidence": gaps,
        "growth": gaps[-1] - gaps[0],
        **on_random_labels(),
    }
    return Outcome(values, {"overconfidence": lambda: _figure(gaps)})


def _figure(gaps: list[float]):
    from ..plot import measured

    series = {"moons, 150 training rows": dict(zip(WIDTHS, gaps, strict=True))}
    return measured(series, "hidden units", "confidence less accuracy", log="x")
