"""The second chapter's worked example, and every shape that it states."""

import numpy as np

from ..likelihoods import as_likelihood
from ..network import Network, as_activation, initialize
from . import with_torch
from .item import Outcome

# In the lesson's row notation: x W + b, one column for each unit.
X = np.array([[0.5, -1.0, 2.0, 1.5]])
TARGET = 1
W1 = np.array([[1.0, 0.0, -1.0], [0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, -0.5, 0.5]])
B1 = np.array([0.1, 0.0, -0.2])
W2 = np.array([[1.0, 0.0, -0.5], [0.5, 1.0, 0.0], [-1.0, 0.5, 1.0]])
B2 = np.array([0.2, -0.1, 0.0])
BATCH = 120


def network() -> Network:
    """The lesson's network of 4 measurements, 3 hidden units and 3 classes."""
    return Network([W1.T, W2.T], [B1, B2], ["relu"])


def run_example() -> Outcome:
    """Forward and backward pass of the flower, with the numbers that the lesson prints."""
    one, head = network(), as_likelihood("categorical")
    forward = one.forward(X)
    backward = one.backward(X, [TARGET], head)
    relu = as_activation("relu")
    dz, da = backward.delta[1][0], backward.delta[0][0]
    values = {
        "relu": relu.value([2.4, -1.1, 0.7, -0.3]),
        "a": forward.z[0][0],
        "h": forward.h[0][0],
        "z": forward.z[1][0],
        "class": int(forward.outputs[0].argmax()),
        "p": head.predict(forward.outputs)[0],
        "dz": dz,
        "dh": dz @ one.weights[1],
        "relu_slope": relu.derivative(forward.z[0][0]),
        "da": da,
        "loss": backward.loss,
    }
    return Outcome(values)


def run_shapes() -> Outcome:
    """Shapes of one example, of a batch, of gradients, and of registered parameters."""
    one = network()
    single, batch = one.forward(X[0]), one.forward(np.tile(X, (BATCH, 1)))
    backward = one.backward(X, [TARGET], "categorical")
    gradients = [
        shape(array)
        for W, b in zip(backward.weight_gradients, backward.bias_gradients, strict=True)
        for array in (W.T, b)  # in the lesson's orientation
    ]
    flower = initialize([4, 8, 3])
    stored = zip(("hidden", "output"), flower.weights, flower.biases, strict=True)
    values = {
        "single": [shape(part[0]) for part in (single.x, single.z[0], single.h[0], single.z[1])],
        "batch": [shape(part) for part in (batch.x, batch.z[0], batch.h[0], batch.z[1])],
        "parameters": [shape(array) for array in (W1, B1, W2, B2)],
        "gradients": gradients,
        "stored": [
            text
            for name, W, b in stored
            for text in (f"{name}.weight {list(W.shape)}", f"{name}.bias {list(b.shape)}")
        ],
        "count": flower.n_parameters,
    }
    if with_torch.is_installed():
        return Outcome(values | {"registered": with_torch.registered_shapes()})
    return Outcome(values, missing={"registered": with_torch.NEEDED})


def shape(array: np.ndarray) -> str:
    """A shape as the lesson writes it: (120,4)."""
    inside = ",".join(map(str, array.shape))
    return f"({inside},)" if array.ndim == 1 else f"({inside})"
