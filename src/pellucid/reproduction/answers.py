"""The answers of the second chapter's quiz, each with something that can be computed."""

import numpy as np

from ..datasets import concentric
from ..network import Network, initialize
from ..training import train
from . import lesson, with_torch
from .item import Outcome

SETTINGS = {"learning_rate": 0.01, "steps": 1500, "seed": 0, "progress": False}
RATE = 0.1


def run() -> Outcome:
    """One row or two for each question."""
    values = (
        _shapes()
        | _capacity()
        | {
            "blocked": float(
                lesson.network().backward(lesson.X, [1], "categorical").delta[0][0, 1]
            ),
            "collapse": collapse(),
            "optimizer": [sgd_error("gaussian"), sgd_error("bernoulli")],
        }
    )
    if with_torch.is_installed():
        listed = with_torch.registers_plain_tensor()
        return Outcome(values | {"registered": "Yes" if listed else "No"})
    return Outcome(values, missing={"registered": with_torch.NEEDED})


def _shapes() -> dict:
    one = initialize([10, 20, 4])
    other = initialize([7, 12, 5])
    return {
        "weights": [lesson.shape(W.T) for W in one.weights],
        "logits": lesson.shape(one(np.zeros((64, 10)))),
        "layers": [f"Linear({W.shape[1]},{W.shape[0]})" for W in other.weights],
    }


def _capacity() -> dict:
    """A class inside a ring: a linear model, a hidden layer, a linear model on that layer."""
    data = concentric(600, seed=0)

    def accuracy(network: Network, X: np.ndarray) -> float:
        return float((network(X).argmax(axis=1) == data.y).mean())

    linear = train([2, 2], data.X, data.y, **SETTINGS).network
    hidden = train([2, 8, 2], data.X, data.y, **SETTINGS).network
    h = hidden.forward(data.X).h[0]
    probe = train([8, 2], h, data.y, **SETTINGS).network
    return {
        "linear": accuracy(linear, data.X),
        "hidden": accuracy(hidden, data.X),
        "representation": accuracy(probe, h),
    }


def collapse() -> float:
    """How far two linear layers are from the one with W' = W1 W2 and b' = b1 W2 + b2."""
    one = initialize([4, 8, 3], "identity", seed=0, dtype="float64")
    (V1, V2), (c1, c2) = one.weights, one.biases
    single = Network([V2 @ V1], [V2 @ c1 + c2])
    x = np.random.default_rng(0).normal(size=(100, 4))
    return float(np.abs(one(x) - single(x)).max())


def sgd_error(likelihood: str) -> float:
    """How far one step of the same optimizer is from the gradient of whichever loss is given."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(32, 4)), rng.integers(0, 2, 32).astype(float)
    start = initialize([4, 8, 1], seed=0)
    run = train(
        start,
        X,
        y,
        likelihood=likelihood,
        optimizer="sgd",
        learning_rate=RATE,
        steps=1,
        progress=False,
    )
    one = start.astype("float64").backward(X, y, likelihood)
    pairs = zip(one.weight_gradients, one.bias_gradients, strict=True)
    gradient = np.concatenate([part.ravel() for pair in pairs for part in pair])
    step = start.parameters() - RATE * gradient
    return float(np.abs(run.network.parameters() - step).max())
