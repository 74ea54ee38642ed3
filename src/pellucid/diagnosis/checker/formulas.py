"""Losses and activations, written again on purpose: nothing is shared with the search."""

import math
from collections.abc import Callable

import numpy as np

from ..._shapes import Array
from .result import Refused

GAUSSIAN_CONSTANT = math.log(2 * math.pi) / 2


def deviation(x: Array) -> float:
    """The standard deviation, by way of numbers near 1, so that no square underflows."""
    d = x - x.mean()
    largest = float(np.abs(d).max())
    return largest * float(np.sqrt(np.mean((d / largest) ** 2))) if largest > 0 else 0.0


def _cross_entropy(z: Array, y: Array, scale: float) -> Array:
    from scipy.special import logsumexp

    return logsumexp(z, axis=1) - z[np.arange(len(z)), y]


def _unit_gaussian(mu: Array, y: Array, scale: float) -> Array:
    if mu.shape[1] != 1:
        raise Refused("the network has more than one output for one target")
    return math.log(2 * math.pi) / 2 + ((y - mu[:, 0]) / scale) ** 2 / 2


def _one_logit(z: Array, y: Array, scale: float) -> Array:
    if z.shape[1] != 1:
        raise Refused("the network has more than one logit for two classes")
    return np.logaddexp(0.0, z[:, 0]) - y * z[:, 0]


LOSSES: dict[str, Callable[[Array, Array, float], Array]] = {
    "categorical": _cross_entropy,
    "gaussian": _unit_gaussian,
    "bernoulli": _one_logit,
}


def _expit(z: Array) -> Array:
    from scipy.special import expit

    return expit(z)


def _normal_cdf(z: Array) -> Array:
    from scipy.special import ndtr

    return ndtr(z)


def _gelu_tanh(z: Array) -> Array:
    return z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2


ACTIVATIONS: dict[str, tuple[int, Callable[..., Array]]] = {
    "identity": (0, lambda z: z),
    "relu": (0, lambda z: np.where(z > 0, z, 0.0)),
    "leaky_relu": (1, lambda z, a: np.where(z > 0, z, a * z)),
    "prelu": (1, lambda z, a: np.where(z > 0, z, a * z)),
    "hardtanh": (2, lambda z, low, high: np.minimum(np.maximum(z, low), high)),
    "abs": (0, np.abs),
    "sigmoid": (0, _expit),
    "tanh": (0, np.tanh),
    "elu": (1, lambda z, a: np.where(z > 0, z, a * np.expm1(np.minimum(z, 0.0)))),
    "gelu": (0, lambda z: z * _normal_cdf(z)),
    "gelu_tanh": (0, _gelu_tanh),
    "silu": (0, lambda z: z * _expit(z)),
    "softplus": (0, lambda z: np.logaddexp(0.0, z)),
    "softsign": (0, lambda z: z / (1 + np.abs(z))),
}
"""Name -> how many parameters it takes, and its formula."""
