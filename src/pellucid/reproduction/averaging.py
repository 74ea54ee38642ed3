"""The average of a minimiser over the permutations of its units acts as a single unit."""

import numpy as np

from ..datasets import spirals
from ..likelihoods import as_likelihood
from ..network import Network
from ..symmetry import permutation_average
from .item import Outcome
from .spirals import grid

CHOSEN = 6  # of the chapter's trainings: 64 units, seed 0


def absolute() -> Network:
    """|x| as relu(x) + relu(-x)."""
    return Network([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]], ["relu"])


def squared_error(network: Network) -> float:
    """Mean squared error for |x| at 65 points of [-1, 1]."""
    x = np.linspace(-1, 1, 65)[:, None]
    return float(((network(x) - np.abs(x)) ** 2).mean())


def nats(network: Network) -> float:
    """Mean training loss on the spirals."""
    data, head = spirals(600, seed=0), as_likelihood("categorical")
    return float(head.loss(network(data.X).astype(np.float64), data.y).mean())


def n_units(network: Network) -> int:
    """How many different units the first hidden layer has."""
    rows = np.column_stack([network.weights[0], network.biases[0], network.weights[1].T])
    return len(np.unique(rows, axis=0))


def run() -> Outcome:
    """Losses before and after, for |x| and for the spirals."""
    network = grid().networks[CHOSEN]
    average = permutation_average(network)
    values = {
        "absolute_before": squared_error(absolute()),
        "absolute_after": squared_error(permutation_average(absolute())),
        "units_before": n_units(network),
        "units_after": n_units(average),
        "spirals_before": nats(network),
        "spirals_after": nats(average),
    }
    return Outcome(values)
