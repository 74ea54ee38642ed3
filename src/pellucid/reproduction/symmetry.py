"""The twin of a network: its units in another order and rescaled, the same function."""

import math
from itertools import permutations
from typing import Any

import numpy as np

from ..network import Network
from ..symmetry import equivalent, permute, rescale
from . import with_torch
from .item import Outcome


def twin(network: Network, order: np.ndarray, factors: np.ndarray) -> Network:
    """Units of the first hidden layer in `order`, then each one times its factor."""
    return rescale(permute(network, 0, order), 0, factors)


def distance(a: Network, b: Network) -> float:
    """Euclid's distance between the parameters."""
    return float(np.linalg.norm(a.parameters() - b.parameters()))


def copies(network: Network) -> int:
    """How many different parameter settings the orders of the first hidden layer's units give."""
    orders = permutations(range(len(network.biases[0])))
    twins = (permute(network, 0, np.array(order)) for order in orders)
    return len({one.parameters().tobytes() for one in twins})


def run() -> Outcome:
    """The printed lines from PyTorch's stream, and the same exactly from powers of 2."""
    values = _exact()
    if with_torch.is_installed():
        draws = with_torch.twin_draws()
        network = Network([draws.W1, draws.W2], [draws.b1, draws.b2], ["relu"])
        other = twin(network, draws.order, draws.factors)
        values["same"] = np.allclose(network(draws.x), other(draws.x), atol=1e-6)
        values["distance"] = distance(network, other)
        return Outcome(values)
    return Outcome(values, missing={"same": with_torch.NEEDED, "distance": with_torch.NEEDED})


def _exact() -> dict[str, Any]:
    """Factors that are powers of 2 are not rounded: the decision in exact numbers says equal."""
    rng = np.random.default_rng(0)
    W, b = [rng.normal(size=(5, 3)), rng.normal(size=(1, 5))], [rng.normal(size=5), [0.0]]
    network = Network(W, b, ["relu"])
    other = twin(network, np.array([3, 0, 4, 1, 2]), np.array([0.5, 2.0, 4.0, 1.0, 0.25]))
    repeated = [0, 0, 1, 2, 3]  # two units alike, coming in and going out
    pair = Network([W[0][repeated], np.ones((1, 5))], [b[0][repeated], b[1]], ["relu"])
    return {
        "exactly_same": equivalent(network, other).answer,
        "permutations": math.factorial(5),
        "copies": copies(network),
        "copies_with_equal_units": copies(pair),
    }
