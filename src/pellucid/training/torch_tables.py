"""Activations, likelihoods and optimizers of the torch engine, under the names they have here."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .._shapes import Float

SOFTPLUS_THRESHOLD = 40.0  # log(1 + e^z) = z to the last bit of float64 beyond it

#: name -> function of z and the activation's parameters
ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "identity": lambda z: z,
    "relu": torch.relu,
    "leaky_relu": F.leaky_relu,
    "prelu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "abs": torch.abs,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "elu": F.elu,
    "gelu": F.gelu,
    "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"),
    "silu": F.silu,
    "softplus": lambda z: F.softplus(z, threshold=SOFTPLUS_THRESHOLD),
    "softsign": F.softsign,
}


def gaussian(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """(log 2 pi)/2 + (y - mu)^2 / 2, summed over the outputs."""
    return (math.log(2 * math.pi) / 2 + (y - outputs) ** 2 / 2).sum(dim=1)


def bernoulli(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """softplus(z) - y z, summed over the outputs."""
    return F.binary_cross_entropy_with_logits(outputs, y, reduction="none").sum(dim=1)


def categorical(
    outputs: Float[Tensor, "n d_out"],
    y: Tensor,
    class_weights: Tensor | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, " n"]:
    """Cross entropy against the softened labels of `_kernels.weighting`."""
    return F.cross_entropy(outputs, y, class_weights, reduction="none", label_smoothing=smoothing)


#: name -> loss of each row in nats
LIKELIHOODS: dict[str, Callable[..., Tensor]] = {
    "gaussian": gaussian,
    "bernoulli": bernoulli,
    "categorical": categorical,
}


#: makes an optimizer of parameters from a job or `Settings`
MakeOptimizer = Callable[[Any, Iterable[Tensor]], torch.optim.Optimizer]


def _sgd(s: Any, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        parameters,
        lr=s.learning_rate,
        momentum=s.momentum,
        nesterov=s.nesterov,
        weight_decay=s.weight_decay,
    )


def _rmsprop(s: Any, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.RMSprop(
        parameters,
        lr=s.learning_rate,
        alpha=s.alpha,
        eps=s.epsilon,
        momentum=s.momentum,
        weight_decay=s.weight_decay,
    )


def _adam(kind: Any) -> MakeOptimizer:
    def make(s: Any, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
        parameters = list(parameters)
        return kind(
            parameters,
            lr=s.learning_rate,
            betas=(s.beta1, s.beta2),
            eps=s.epsilon,
            weight_decay=s.weight_decay,
            fused=parameters[0].device.type in ("cpu", "cuda"),
        )

    return make


OPTIMIZERS: dict[str, MakeOptimizer] = {
    "sgd": _sgd,
    "rmsprop": _rmsprop,
    "adam": _adam(torch.optim.Adam),
    "adamw": _adam(torch.optim.AdamW),
}

#: name -> what torch's optimizer calls the vectors of a run's state that it uses
MEMORY: dict[str, dict[str, str]] = {
    "sgd": {"momentum_buffer": "first"},
    "rmsprop": {"momentum_buffer": "first", "square_avg": "second"},
    "adam": {"exp_avg": "first", "exp_avg_sq": "second"},
    "adamw": {"exp_avg": "first", "exp_avg_sq": "second"},
}
