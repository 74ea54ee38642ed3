"""What the last activation cannot give."""

import math

import numpy as np

from ..wording import agreeing
from .architecture import Architecture
from .found import Found
from .rows import Rows, entropy, link_of

INF = math.inf
GELU_MINIMUM, GELU_TANH_MINIMUM, SILU_MINIMUM = -0.169972, -0.170041, -0.278465
"""Rounded down."""
RANGES = {
    **dict.fromkeys(("relu", "abs", "softplus"), (0.0, INF)),
    **dict.fromkeys(("sigmoid", "double sigmoid", "double softmax"), (0.0, 1.0)),
    **dict.fromkeys(("tanh", "softsign", "hardtanh"), (-1.0, 1.0)),
    "elu": (-1.0, INF),
    "gelu": (GELU_MINIMUM, INF),
    "gelu_tanh": (GELU_TANH_MINIMUM, INF),
    "silu": (SILU_MINIMUM, INF),
}


def find_output_range(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """Each row gets the best output within the range of the output activation."""
    link, k = link_of(rows, architecture), architecture.widths[-1]
    if link == "softmax" and k == 1:
        return Found(
            _constant_one(rows),
            "a softmax over one unit gives 1 for every row: the network is constant",
            {},
        )
    if link not in RANGES or (link == "double softmax" and rows.likelihood != "categorical"):
        return None
    low, high = RANGES[link]
    if rows.is_regression:
        return _regression(rows, link, low, high)
    if rows.likelihood == "bernoulli":
        share = float(np.mean(rows.y))
        value = share * _softplus(-high) + (1 - share) * _softplus(low)
    else:
        value = math.log1p((k - 1) * math.exp(low - high))
    sentence = f"logits that went through {link} lie between {low:g} and {high:g}"
    if link == "double softmax":
        sentence = (
            f"softmax is applied twice: the logits are probabilities, and no loss of {k} classes "
            f"is below ln(1 + {k - 1}/e) = {value:.4f} nats"
        )
    return Found(value, sentence, {})


def _regression(rows: Rows, link: str, low: float, high: float) -> Found | None:
    """(distance of the target from the range)^2 / 2."""
    if link.startswith("double"):
        return None
    y = (rows.y - rows.output_offset) / rows.output_scale
    beyond = np.maximum(np.maximum(low - y, y - high), 0.0) * rows.output_scale / rows.loss_scale
    n_beyond = int((beyond > 0).sum())
    return Found(
        rows.least + float((beyond**2).mean()) / 2,
        f"{link} outputs lie between {low:g} and {high:g}, and {n_beyond} of {rows.n} targets "
        f"{agreeing(n_beyond, 'does', 'do')} not",
        {},
    )


def _constant_one(rows: Rows) -> float:
    if not rows.is_regression:
        return float(entropy(np.bincount(rows.y).astype(float))) / rows.n
    error = (rows.y - rows.output_offset - rows.output_scale) / rows.loss_scale
    return rows.least + float((error**2).mean()) / 2


def _softplus(z: float) -> float:
    return float(np.logaddexp(0.0, z))
