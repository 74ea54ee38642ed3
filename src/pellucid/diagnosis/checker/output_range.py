"""The range of the outputs: what the last activation cannot give, no parameters give."""

import math
from typing import Any

import numpy as np

from .formulas import GAUSSIAN_CONSTANT
from .result import Refused
from .rows import Shape, TrainingRows

RANGES: dict[str, tuple[float, float]] = {
    "relu": (0.0, math.inf),
    "abs": (0.0, math.inf),
    "softplus": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "double sigmoid": (0.0, 1.0),
    "double softmax": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "softsign": (-1.0, 1.0),
    "hardtanh": (-1.0, 1.0),
    "elu": (-1.0, math.inf),
    "gelu": (-0.1699713, math.inf),
    "gelu_tanh": (-0.1700408, math.inf),
    "silu": (-0.2784646, math.inf),
}
"""Intervals that hold every value of an activation; minima are rounded down."""


def output_range_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """The loss of the best outputs in range, chosen for each row on its own."""
    if evidence:
        raise Refused("the evidence does not have the fields of its kind")
    name = shape.output_activation
    if name not in RANGES:
        raise Refused("the output activation of the architecture has no range")
    if name == "softmax" and shape.widths[-1] == 1:
        return _one_softmax(rows) * (1 - 1e-10)
    low, high = RANGES[name]
    if rows.likelihood == "gaussian":
        if name == "softmax" or name.startswith("double"):
            raise Refused("such outputs do not go with numbers")
        least = rows.output_offset + rows.output_scale * low
        most = rows.output_offset + rows.output_scale * high
        beyond = np.maximum(np.maximum(least - rows.y, rows.y - most), 0.0) / rows.loss_scale
        beyond = np.maximum(beyond - 1e-10, 0.0)  # of y - offset, in deviations
        return GAUSSIAN_CONSTANT + float((beyond**2).mean()) / 2 * (1 - 1e-10)
    if rows.likelihood == "bernoulli":
        of_0, of_1 = float(np.logaddexp(0.0, low)), float(np.logaddexp(0.0, -high))
        share = float(rows.y.mean())
        return (share * of_1 + (1 - share) * of_0) * (1 - 1e-10)
    return math.log1p((shape.widths[-1] - 1) * math.exp(low - high)) * (1 - 1e-10)


def _one_softmax(rows: TrainingRows) -> float:
    """A softmax over one unit is 1 for every row: no better than the best constant."""
    if rows.likelihood != "gaussian":
        return rows.constant_loss()
    error = (rows.y - (rows.output_offset + rows.output_scale)) / rows.loss_scale
    return GAUSSIAN_CONSTANT + float((error**2).mean()) / 2
