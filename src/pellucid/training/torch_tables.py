"""Activations and optimizers of the torch engine, under the names they have here."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

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
