"""What a user's outputs mean: how they become logits or numbers that a diagnosis can judge."""

from dataclasses import dataclass

import numpy as np
import torch

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from .torch_loss import BY_NAME, LossFamily
from .torch_outputs import OutputKind

LARGE_LOGIT = 100.0
"""The logit of a probability that float cannot tell from 1; BCELoss caps there, too."""
TEMPERATURES = np.geomspace(1e-2, 1e2, 81)


@dataclass(frozen=True)
class Head:
    """The task of a user's outputs, and whether the verdict's loss is the user's own objective.

    `output` is "identity" where the loss takes the network's outputs as they are (after a softmax
    or sigmoid that belongs to it); else what comes between: "double softmax", "relu", ...
    `bounded` says that the loss is a likelihood's own of what `output` gives, so that what `output`
    cannot give is a lower bound of the user's objective.
    """

    classes: int | None
    single: bool
    exact: bool
    output: str
    rescaled: bool = False
    bounded: bool = False

    def network(self, read: Network) -> Network:
        """A network read from a module, in the form that the diagnosis judges."""
        if self.classes is None:
            return read
        if self.output == "softmax":  # over one unit: always certain of class 1
            return _constant_logits(read)
        if read.output_activation.name == "sigmoid":  # the link, or K probabilities one by one
            return Network(read.weights, read.biases, read.activations)
        return read

    def outputs(self, out: Float64[Array, "n k"], kind: OutputKind) -> Float64[Array, "n d_out"]:
        """A module's own outputs, in the same form."""
        if self.classes is None:
            return out
        with np.errstate(divide="ignore"):
            if self.single:
                z = out[:, 0]
                if kind.name in ("sigmoid", "softmax"):
                    z = np.clip(np.log(z) - np.log1p(-z), -LARGE_LOGIT, LARGE_LOGIT)
                return z[:, None]
            if kind.name in ("softmax", "sigmoid"):
                return np.clip(np.log(out), -LARGE_LOGIT, LARGE_LOGIT)
        return out


def head_of(
    y: torch.Tensor, outputs: torch.Tensor, family: LossFamily | None, kind: OutputKind
) -> Head:
    """Decide from targets, outputs and loss what the network is for."""
    n_units = outputs.shape[1] if outputs.ndim == 2 else 1
    likelihood = family.likelihood if family is not None else None
    wants = family.wants if family is not None else ""
    if n_units > 1 and (_is_one_hot(y, n_units) or _are_labels(y)):
        return _of_classes(n_units, likelihood, wants, kind)
    binary = bool(((y == 0) | (y == 1)).all())
    if n_units == 1 and binary and (likelihood == "bernoulli" or not y.is_floating_point()):
        return _of_one_unit(likelihood, wants, kind)
    if n_units > 1:
        raise InvalidInput(
            f"the model has {n_units} outputs and the targets have shape {tuple(y.shape)}; a "
            "diagnosis takes class labels (n,), one-hot rows, or one number per row."
        )
    exact = likelihood == "gaussian" and kind.name == "identity"
    bounded = likelihood == "gaussian" and bool(kind.name)
    return Head(None, False, exact, kind.name or "unknown", bounded=bounded)


def usual_loss(y: torch.Tensor, kind: OutputKind) -> LossFamily:
    """The loss that a given module was probably trained with, where none is named."""
    one_hot = y.ndim == 2 and _is_one_hot(y, kind.n_units)
    if kind.n_units > 1 and (not y.is_floating_point() or one_hot):
        by_output = {
            "softmax": "negative log of the probability",
            "log_softmax": "negative log-likelihood",
        }
        usual = "cross entropy of one-hot targets" if one_hot else "cross entropy"
        return BY_NAME[usual if one_hot else by_output.get(kind.name, usual)]
    if kind.name == "sigmoid" and bool(((y == 0) | (y == 1)).all()):
        return BY_NAME["binary cross entropy"]
    if not y.is_floating_point() and bool(((y == 0) | (y == 1)).all()):
        return BY_NAME["binary cross entropy of logits"]
    return BY_NAME["squared error"]


def _of_classes(k: int, likelihood: str | None, wants: str, kind: OutputKind) -> Head:
    right = {
        "logits": ("identity", "log_softmax"),
        "probabilities": ("softmax",),
        "log probabilities": ("log_softmax",),
    }.get(wants, ())
    if likelihood == "categorical" and kind.name in right:
        return Head(k, False, True, "identity")
    if wants == "logits" and kind.name == "softmax":
        return Head(k, False, False, "double softmax", bounded=likelihood == "categorical")
    output = "identity" if kind.name in ("softmax", "log_softmax") else kind.name or "unknown"
    return Head(k, False, False, output, rescaled=likelihood != "categorical")


def _of_one_unit(likelihood: str | None, wants: str, kind: OutputKind) -> Head:
    if kind.name == "softmax":
        return Head(2, True, False, "softmax", bounded=likelihood == "bernoulli")
    right = {"logits": "identity", "probabilities": "sigmoid"}.get(wants)
    if likelihood == "bernoulli" and kind.name == right:
        return Head(2, True, True, "identity")
    double = wants == "logits" and kind.name == "sigmoid"
    output = "identity" if kind.name == "sigmoid" else kind.name or "unknown"
    return Head(2, True, False, "double sigmoid" if double else output)


def _are_labels(y: torch.Tensor) -> bool:
    """Whole numbers, one per row."""
    return not y.is_floating_point() and y.numel() == len(y)


def _is_one_hot(y: torch.Tensor, k: int) -> bool:
    if y.ndim != 2 or y.shape[1] != k:
        return False
    return bool(((y == 0) | (y == 1)).all()) and bool((y.sum(1) == 1).all())


# ---- other last layers


def _constant_logits(network: Network) -> Network:
    """One logit that is the same for every input, and nearly certain."""
    return Network(
        (*network.weights[:-1], np.zeros_like(network.weights[-1])),
        (*network.biases[:-1], np.full(1, LARGE_LOGIT, dtype=network.dtype)),
        network.activations,
    )


def scaled_outputs(network: Network, factor: float) -> Network:
    """The network with its last layer multiplied by a factor."""
    return Network(
        (*network.weights[:-1], network.weights[-1] * factor),
        (*network.biases[:-1], network.biases[-1] * factor),
        network.activations,
        network.output_activation,
    )


def best_temperature(z: Float64[Array, "n k"], labels: Array) -> float:
    """The factor by which scores become the best logits on these rows."""
    from scipy.special import logsumexp

    own = z[np.arange(len(z)), labels]
    losses = [float((logsumexp(t * z, axis=1) - t * own).mean()) for t in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(losses))])
