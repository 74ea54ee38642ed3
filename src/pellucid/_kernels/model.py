"""A network with its loss and gradient: the twin of ``isa/network.hpp``, in textbook form."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._shapes import Array, Float
from .dropout import dropout_factors
from .jobs import ActivationFunctions, ReferenceFunctions, TrainingJob, Weights
from .weighting import Objective, SoftLabels


def split(
    parameters: Float[Array, " p"], widths: tuple[int, ...]
) -> list[tuple[Float[Array, "d_out d_in"], Float[Array, " d_out"]]]:
    """Views (W, b) of each layer on the flat parameters."""
    layers, start = [], 0
    for d_in, d_out in pairwise(widths):
        W = parameters[start : start + d_out * d_in].reshape(d_out, d_in)
        start += d_out * d_in
        b = parameters[start : start + d_out]
        start += d_out
        layers.append((W, b))
    return layers


#: from a hidden layer's number and its pre-activations to the factors of its units
Dropout = Callable[[int, Array], Any]


def keep(layer: int, z: Array) -> float:
    """No dropout."""
    return 1.0


def dropout_of(job: TrainingJob, step: int) -> Dropout:
    """What one step leaves out."""
    if not job.dropout:
        return keep
    return lambda layer, z: dropout_factors(job.seed, step, layer, z.shape, job.dropout, z.dtype)


@dataclass
class Model:
    """A network with its loss, as the loop sees it."""

    widths: tuple[int, ...]
    activations: list[ActivationFunctions]
    objective: Objective

    def loss(
        self,
        parameters: Float[Array, " p"],
        x: Float[Array, "n d_in"],
        y: Array,
        weights: Array | None = None,
    ) -> float:
        """Mean loss over the rows."""
        *_, (_, outputs) = self._forward(parameters, x)
        return self.objective.loss(outputs, y, weights)

    def _forward(
        self, parameters: Float[Array, " p"], x: Float[Array, "n d_in"], dropout: Dropout = keep
    ) -> list[Any]:
        layers, h, passed = split(parameters, self.widths), x, []
        for layer, (W, b) in enumerate(layers):
            z = h @ W.T + b
            passed.append((h, z))
            if layer < len(self.activations):
                h = self.activations[layer].value(z) * dropout(layer, z)
        return passed

    def pre_activations(
        self, parameters: Float[Array, " p"], x: Float[Array, "n d_in"]
    ) -> list[Array]:
        """z of each hidden layer."""
        return [z for _, z in self._forward(parameters, x)[:-1]]

    def loss_and_gradient(
        self,
        parameters: Float[Array, " p"],
        x: Float[Array, "n d_in"],
        y: Array,
        weights_of_rows: Array | None = None,
        dropout: Dropout = keep,
    ) -> tuple[float, Float[Array, " p"]]:
        """Mean loss over the rows and its gradient, in the order of the flat parameters."""
        passed = self._forward(parameters, x, dropout)
        outputs = passed[-1][1]
        loss = self.objective.loss(outputs, y, weights_of_rows)
        gradient = np.empty_like(parameters)
        weights, gradients = split(parameters, self.widths), split(gradient, self.widths)
        delta = self.objective.gradient(outputs, y, weights_of_rows)  # d loss / d z, last layer
        for layer in reversed(range(len(weights))):
            dW, db = gradients[layer]
            h, _ = passed[layer]
            dW[:] = delta.T @ h
            db[:] = delta.sum(axis=0)
            if layer:
                W, _ = weights[layer]
                z_below = passed[layer - 1][1]
                slope = self.activations[layer - 1].derivative(z_below)
                delta = (delta @ W) * (slope * dropout(layer - 1, z_below))
        return loss, gradient


def make_model(job: TrainingJob, functions: ReferenceFunctions, weights: Weights) -> Model:
    """The network and the loss of a job."""
    activations = [functions.activation(name, values) for name, values in job.activations]
    return Model(job.widths, activations, _objective(job, functions, weights))


def _objective(job: TrainingJob, functions: ReferenceFunctions, weights: Weights) -> Objective:
    """The likelihood, softened where class weights or label smoothing ask for it."""
    if weights.classes is None and not job.label_smoothing:
        return Objective(functions.likelihood(job.likelihood, job.likelihood_parameters))
    each = np.ones(job.widths[-1]) if weights.classes is None else weights.classes
    return Objective(SoftLabels(each, job.label_smoothing), weights.classes)
