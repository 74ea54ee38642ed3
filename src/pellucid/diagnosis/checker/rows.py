"""What a lower bound is about: the training rows and the architecture of a certificate."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from .formulas import ACTIVATIONS, GAUSSIAN_CONSTANT
from .result import Refused

SOFT_OUTPUTS = ("softmax", "double softmax", "double sigmoid")


@dataclass(frozen=True)
class TrainingRows:
    """Rows, targets and how the loss is measured on them.

    `y` holds labels, or numbers with the loss ((y - output) / loss_scale)^2 / 2 + log(2 pi) / 2.
    The outputs are output_offset + output_scale * (what the last layer gives).
    """

    X: Float64[Array, "n d_in"]
    y: Array
    likelihood: str
    loss_scale: float
    output_offset: float
    output_scale: float

    @property
    def n(self) -> int:
        """How many."""
        return len(self.y)

    @property
    def standardised(self) -> Float64[Array, " n"]:
        """Numbers as the loss sees them, shifted by their mean."""
        return (self.y - self.y.mean()) / self.loss_scale

    @property
    def least(self) -> float:
        """The lowest loss that a row can have."""
        return GAUSSIAN_CONSTANT if self.likelihood == "gaussian" else 0.0

    def constant_loss(self) -> float:
        """The mean loss of the best constant output."""
        if self.likelihood == "gaussian":
            return GAUSSIAN_CONSTANT + float((self.standardised**2).mean()) / 2
        return entropy_of_counts(np.bincount(self.y)) / self.n


@dataclass(frozen=True)
class Shape:
    """The architecture: widths with inputs and outputs, and what is applied to each layer."""

    widths: tuple[int, ...]
    activations: tuple[tuple[str, tuple[float, ...]], ...]
    output_activation: str

    @property
    def raw_outputs(self) -> bool:
        """Whether the last layer's own numbers meet the likelihood."""
        return self.output_activation == "identity"


def entropy_of_counts(counts: Array) -> float:
    """Total nats of that many rows of each class under the best constant probabilities."""
    total = int(counts.sum())
    return float(sum(k * math.log(total / k) for k in counts.tolist() if k > 0))


def read_shape(value: Any, likelihood: str) -> Shape:
    """The architecture that a certificate describes; refused where anything is strange."""
    if type(value) is not dict or set(value) != {"widths", "activations", "output_activation"}:
        raise Refused("the architecture does not have the fields of one")
    widths, activations = value["widths"], value["activations"]
    if type(widths) is not list or len(widths) < 2:
        raise Refused("the widths of the architecture are no list of widths")
    if not all(type(w) is int and 0 < w < 2**31 for w in widths):
        raise Refused("a width of the architecture is no whole number above 0")
    if type(activations) is not list or len(activations) != len(widths) - 2:
        raise Refused("the architecture does not have one activation per hidden layer")
    known = tuple(_read_activation(a) for a in activations)
    output = value["output_activation"]
    if type(output) is not str or (output not in ACTIVATIONS and output not in SOFT_OUTPUTS):
        raise Refused("the output activation of the architecture is unknown here")
    if likelihood in ("gaussian", "bernoulli") and widths[-1] != 1:
        raise Refused("the architecture has more than one output for one target")
    plain = {"categorical": "softmax", "bernoulli": "sigmoid"}.get(likelihood)
    if output == plain and (output == "sigmoid" or widths[-1] > 1):
        output = "identity"  # the likelihood's own link: the last layer gives its logits
    return Shape(tuple(widths), known, output)


def _read_activation(value: Any) -> tuple[str, tuple[float, ...]]:
    if type(value) is not list or len(value) != 2 or type(value[1]) is not list:
        raise Refused("an activation of the architecture is not [name, parameters]")
    name, parameters = value
    if type(name) is not str or name not in ACTIVATIONS:
        raise Refused("an activation of the architecture is unknown here")
    if len(parameters) != ACTIVATIONS[name][0] or not all(is_number(p) for p in parameters):
        raise Refused("an activation of the architecture has other parameters")
    return name, tuple(float(p) for p in parameters)


def is_number(value: Any) -> bool:
    """A finite float, and no bool or int that merely looks like one."""
    return type(value) is float and math.isfinite(value)


def read_numbers(value: Any, what: str) -> Float64[Array, "..."]:
    """A nested list of finite floats as an array."""

    def flat(part: Any) -> list[Any]:
        return [x for p in part for x in flat(p)] if type(part) is list else [part]

    if type(value) is not list or not all(is_number(x) for x in flat(value)):
        raise Refused(f"the {what} of the evidence are no finite numbers")
    return np.array(value, dtype=np.float64)
