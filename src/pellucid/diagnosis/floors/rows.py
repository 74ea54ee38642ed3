"""What every bound works on: the training rows, their targets, and the unit of the loss."""

from dataclasses import dataclass

import numpy as np

from ..._shapes import Array, Float64
from ..problem import GAUSSIAN_CONSTANT, Problem
from .architecture import Architecture

MINIMA = {"gaussian": GAUSSIAN_CONSTANT, "bernoulli": 0.0, "categorical": 0.0}
"""The lowest loss that a row can have, for the likelihoods that have bounds."""


@dataclass(frozen=True)
class Rows:
    """The training rows of a problem.

    `u` is the target as the loss sees it: for numbers (y - mean) / t, and (u - output)^2 / 2 is
    the loss above its minimum; for labels u is empty and `y` holds them. The outputs of the user's
    network are output_offset + output_scale * (what its last layer gives). `penalty` / 2 |theta|^2
    is added to the mean loss of the target as the recipe scales it, theta being the parameters on
    the columns (X - input_offset) / input_scale; 0 where the user's penalty leaves biases out.
    """

    X: Float64[Array, "n d"]
    y: Array
    u: Float64[Array, " m"]
    likelihood: str
    loss_scale: float
    output_offset: float
    output_scale: float
    penalty: float
    input_offset: Float64[Array, " d"]
    input_scale: Float64[Array, " d"]

    @property
    def n(self) -> int:
        """How many."""
        return len(self.y)

    @property
    def is_regression(self) -> bool:
        """Whether targets are numbers."""
        return self.likelihood == "gaussian"

    @property
    def least(self) -> float:
        """The lowest loss that a row can have."""
        return MINIMA[self.likelihood]


def training_rows(problem: Problem) -> Rows:
    """The training rows of a problem, for bounds."""
    kept = ~problem.held_out
    y = np.asarray(problem.y)[kept]
    standard, own = problem.standard, problem.scaling
    regression = problem.likelihood.name == "gaussian"
    u = (y - y.mean()) / standard.target_scale if regression else np.empty(0)
    return Rows(
        X=problem.raw_X[kept] + 0.0,
        y=y,
        u=u,
        likelihood=problem.likelihood.name,
        loss_scale=float(standard.target_scale),
        output_offset=float(own.target_offset),
        output_scale=float(own.target_scale),
        penalty=problem.penalty if problem.penalizes_biases else 0.0,
        input_offset=own.input_offset,
        input_scale=own.input_scale,
    )


def link_of(rows: Rows, architecture: Architecture) -> str:
    """The output activation, "identity" where the likelihood's own link is meant."""
    output, d_out = architecture.output_activation, architecture.widths[-1]
    if rows.likelihood == "categorical" and output == "softmax" and d_out > 1:
        return "identity"
    if rows.likelihood == "bernoulli" and output == "sigmoid":
        return "identity"
    return output


def entropy(counts: Array) -> Array:
    """Total nats of `counts` (..., k) rows of each class under their own shares."""
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(total / counts), 0.0)
    return terms.sum(axis=-1)
