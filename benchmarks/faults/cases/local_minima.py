"""Starts from which training does not find parameters that the network has."""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from ..case import Case, Recipe, twin
from ..torch_form import batches, fit, mlp, squared_error
from .registry import rebuilt

OPTIMIZATION = ("optimization failure",)


def xor(copies: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """The four rows of XOR, each so many times, and their classes."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return np.tile(X, (copies, 1)), np.tile([0, 1, 1, 0], copies)


def probability_error(p: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Squared error of a probability."""
    return squared_error(p, y.float())


def binary_cross_entropy(p: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of a probability of class 1."""
    return nn.functional.binary_cross_entropy(p.reshape(-1), y.reshape(-1).float())


@rebuilt(
    "stats363352",
    "https://stats.stackexchange.com/questions/363352/my-neural-network-cant-even-learn-euclidean-distance",
)
def distance_from_the_origin(new) -> Case:
    """Three ReLUs could draw a hexagonal pyramid; half of the starts end in a valley."""
    X = np.random.default_rng(0).normal(size=(1000, 2))
    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=np.linalg.norm(X, axis=1),
        recipe=Recipe((3,), learning_rate=0.01, steps=1500),
        seed=6,
        measure="variance unexplained",
        limit=0.1,
        note="three ReLUs end in a valley where other starts reach the hexagonal pyramid",
    )
    return replace(case, repaired=twin(case, "the same from another start", seed=0))


@rebuilt(
    "stats213666",
    "https://stats.stackexchange.com/questions/213666/is-it-normal-that-a-neural-network-sometimes-doesnt-learn-xor",
)
def xor_from_positive_weights(new) -> Case:
    """2-2-1 sigmoids on XOR whose weights all start positive."""
    X, y = xor()

    def positive(seed: int) -> nn.Module:
        net = mlp((2, 2, 1), nn.Sigmoid, nn.Sigmoid(), seed)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.uniform_(0, 1)
        return net

    def train_fn(model, X, y) -> None:
        fit(model, X, y, probability_error, torch.optim.SGD(model.parameters(), 0.5), 4000, 1)

    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=y,
        model_fn=positive,
        loss=probability_error,
        train_fn=train_fn,
        seed=1,
        measure="wrong rows",
        limit=0.2,
        note="XOR with two sigmoids from weights in [0, 1]; the network can represent XOR",
    )

    def symmetric(seed: int) -> nn.Module:
        net = mlp((2, 2, 1), nn.Sigmoid, nn.Sigmoid(), seed)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.uniform_(-2, 2)
        return net

    note = "weights of both signs, same network and rate"
    return replace(case, repaired=twin(case, note, model_fn=symmetric, seed=0))


@rebuilt(
    "stats450100",
    "https://stats.stackexchange.com/questions/450100/understanding-relu-does-this-unlucky-intialized-network-assign-all-instances",
)
def one_dead_unit(new) -> Case:
    """One ReLU that is off on every row gets no gradient, for ever."""
    X = np.random.default_rng(0).uniform(0, 1, (300, 2))
    y = (X.sum(1) > 1).astype(np.int64)

    def off(seed: int) -> nn.Module:
        net = mlp((2, 1, 1), output=nn.Sigmoid(), seed=seed)
        nn.init.constant_(net[0].get_parameter("weight"), -0.05)
        nn.init.zeros_(net[0].get_parameter("bias"))
        return net

    def train_fn(model, X, y) -> None:
        fit(model, X, y, binary_cross_entropy, torch.optim.SGD(model.parameters(), 0.1), 2500, 64)

    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=y,
        model_fn=off,
        loss=binary_cross_entropy,
        train_fn=train_fn,
        measure="wrong rows",
        limit=0.2,
        note="the only unit has negative weights on positive columns: constant output",
    )
    fixed = twin(case, "centred columns, the same start", X=4 * (X - X.mean(0)))
    return replace(case, repaired=fixed)


@rebuilt(
    "jl72115",
    "https://discourse.julialang.org/t/unstable-learning-of-neural-net-with-few-nodes-using-flux/72115",
)
def two_inputs_and_few_units(new) -> Case:
    """One binary input; where all units are off for 1, both inputs get the same output."""
    X = np.tile([[0.0], [1.0]], (50, 1))

    def biases_at_zero(seed: int) -> nn.Module:
        net = mlp((1, 4, 1), seed=seed)
        for layer in net:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        return net

    def absolute_error(outputs, y) -> torch.Tensor:
        return (outputs.reshape(-1) - y.reshape(-1)).abs().mean()

    def train_fn(model, X, y) -> None:
        steps, optimizer = 1000, torch.optim.SGD(model.parameters(), 0.1)
        decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 - s / steps)
        for rows in batches(len(X), 1, steps, shuffle=False):
            optimizer.zero_grad()
            absolute_error(model(X[rows]), y[rows]).backward()
            optimizer.step()
            decay.step()

    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=X[:, 0] + 1.0,
        model_fn=biases_at_zero,
        loss=absolute_error,
        train_fn=train_fn,
        seed=1,
        measure="variance unexplained",
        limit=0.2,
        note="four ReLUs, absolute error: units that are off for input 1 stay off",
    )
    return replace(case, repaired=twin(case, "the same from another start", seed=0))


@rebuilt(
    "so9169280",
    "https://stackoverflow.com/questions/9169280/implementing-a-perceptron-with-backpropagation-algorithm",
)
def parity_of_four_bits(new) -> Case:
    """4-4-1 sigmoids can represent parity; small steps stay on the plateau at one half."""
    bits = (np.arange(16)[:, None] >> np.arange(4)) & 1
    X, y = np.tile(bits.astype(float), (8, 1)), np.tile(bits.sum(1) % 2, 8)

    def trained_by(loss, optimizer, rate, steps, size):
        def train_fn(model, X, y) -> None:
            fit(model, X, y, loss, optimizer(model.parameters(), rate), steps, size)

        return train_fn

    case = new(
        truth=OPTIMIZATION,
        X=X,
        y=y.astype(np.int64),
        model_fn=lambda seed: mlp((4, 4, 1), nn.Sigmoid, nn.Sigmoid(), seed),
        loss=probability_error,
        train_fn=trained_by(probability_error, torch.optim.SGD, 0.1, 4000, 16),
        seed=0,
        measure="wrong rows",
        limit=0.2,
        note="parity of four bits with four sigmoids: the outputs stay at one half",
    )
    adam = trained_by(binary_cross_entropy, torch.optim.Adam, 0.05, 4000, None)
    note = "cross-entropy and Adam, same network"
    fixed = twin(case, note, train_fn=adam, loss=binary_cross_entropy, seed=0)
    return replace(case, repaired=fixed)
