"""One hidden relu layer with weight decay, of any width: what the penalty leaves to the loss.

On the recipe's own columns and target the objective is mean loss + decay / 2 |theta|^2 = L + P.
Slopes s_i whose sums S(u) = mean s_i (x_i . u)_+ stay within rho decay for all |u| <= 1 prove
L + rho P >= B, since |a|^2 + |w|^2 >= 2 |a||w| for every unit (Pilanci and Ergen 2020). The network
of the evidence has L + P = F. Whatever is as low in the objective has L >= (B - rho F) / (1 - rho).

That S stays within its limit is shown on boxes of directions, which are halved until a linear
function above S is clearly below the limit on each.
"""

import math
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from .formulas import LOSSES, deviation
from .result import Refused
from .rows import Shape, TrainingRows, is_number, read_numbers

UNIT = 2.0**-53
FIELDS = {"weight_decay", "input_offset", "input_scale", "share", "slopes", "network"}
AGREEMENT = 1e-6
"""Relative agreement of offsets and scales with those of the training rows."""
LARGEST_RANK = 3
DEPENDENT = 1e-9
ROUNDING = 1e-12
"""What sums of float64 numbers may be off, relative to the sum of their sizes."""
BATCH = 500_000
MOST_PRODUCTS = 2_000_000_000
"""Boxes times rows, after which nothing is proved."""


def convex_bound(rows: TrainingRows, shape: Shape, evidence: dict[str, Any]) -> float:
    """The least loss of parameters whose objective is no higher than that of the evidence."""
    if set(evidence) != FIELDS:
        raise Refused("the evidence does not have the fields of its kind")
    outputs = _outputs(rows, shape)
    decay, share = evidence["weight_decay"], evidence["share"]
    if not is_number(decay) or not is_number(share) or not (decay > 0 and 0 < share < 1):
        raise Refused("the weight decay of the evidence and the share of it are none")
    X, t = _scaled_columns(rows, evidence), _targets(rows)
    s = read_numbers(evidence["slopes"], "slopes")
    if s.shape != (rows.n,):
        raise Refused("the evidence does not have a slope for each row")
    _check_sums(np.column_stack([X, np.ones(rows.n)]), s, share * decay / math.sqrt(outputs))
    bound = _dual(rows, t, s, share * decay / outputs)
    objective = _objective(rows, t, X, read_network(evidence["network"], shape), decay)
    r = rows.loss_scale / rows.output_scale if rows.likelihood == "gaussian" else 1.0
    value = (bound - share * objective) / (1 - share)
    return rows.least + (value - ROUNDING * abs(value)) / r**2


def _outputs(rows: TrainingRows, shape: Shape) -> int:
    """One output, or the logits of two classes."""
    outputs = 2 if rows.likelihood == "categorical" else 1
    hidden = [name for name, _ in shape.activations]
    if hidden != ["relu"] or not shape.raw_outputs or shape.widths[-1] != outputs:
        raise Refused("the architecture is not one hidden relu layer with a single raw output")
    if rows.likelihood != "gaussian" and not set(rows.y.tolist()) <= {0, 1}:
        raise Refused("there are more than two classes")
    return outputs


# ---- the columns and the target of the recipe


def _scaled_columns(rows: TrainingRows, evidence: dict[str, Any]) -> Float64[Array, "n d"]:
    """As they are, or all numbers standardised; indicators may stay as they are."""
    offset = read_numbers(evidence["input_offset"], "offsets of the columns")
    scale = read_numbers(evidence["input_scale"], "scales of the columns")
    if offset.shape != (rows.X.shape[1],) or scale.shape != offset.shape:
        raise Refused("the evidence does not scale the columns of the data")
    given = list(zip(offset.tolist(), scale.tolist(), strict=True))
    raw = [pair == (0.0, 1.0) for pair in given]
    standard = [_is_standard(x, *pair) for x, pair in zip(rows.X.T, given, strict=True)]
    as_given = (rows.output_offset, rows.output_scale) == (0.0, 1.0)
    if not all(a or b for a, b in zip(raw, standard, strict=True)):
        raise Refused("the scale of the columns is not the mean and deviation of their rows")
    if rows.likelihood == "gaussian" and as_given and not all(raw):
        raise Refused("the columns are scaled and the target is not")
    return (rows.X - offset) / scale


def _is_standard(x: Float64[Array, " n"], offset: float, scale: float) -> bool:
    """Whether these are the mean and the deviation, 1 where there is none."""
    spread, size = deviation(x), float(np.abs(x).max())
    unit = spread if spread > AGREEMENT * size else size
    near = abs(offset - float(x.mean())) <= AGREEMENT * unit + 1e-15 * abs(offset)
    flat = scale == 1.0 and spread <= 1e-12 * size
    return near and (flat or abs(scale - spread) <= AGREEMENT * spread)


def _targets(rows: TrainingRows) -> Float64[Array, " n"]:
    if rows.likelihood == "gaussian":
        return (rows.y - rows.output_offset) / rows.output_scale
    return rows.y.astype(np.float64)


# ---- the dual value, and the objective of the network


def _dual(rows: TrainingRows, t: Array, s: Array, of_bias: float) -> float:
    """-mean l*(s) - mean(s)^2 / (2 of_bias), less rounding; l* is the conjugate of a row's loss."""
    if rows.likelihood == "gaussian":
        terms, least = np.stack([s * t, s * s / 2]), 0.0
    else:
        p = t + s
        if not ((p >= 0) & (p <= 1)).all():
            raise Refused("the slopes of the evidence are those of no probabilities")
        terms, least = np.stack([_negative_entropy(p), _negative_entropy(1 - p)]), 1.0
    size = float(np.abs(terms).sum(axis=0).mean()) + least
    mean = abs(float(s.mean())) + ROUNDING * float(np.abs(s).mean())
    return -float(terms.sum(axis=0).mean()) - ROUNDING * size - mean**2 / (2 * of_bias)


def _negative_entropy(p: Array) -> Array:
    return p * np.log(np.where(p > 0, p, 1.0))


def read_network(value: Any, shape: Shape) -> list[Array]:
    """Hidden weights and biases, output weights and biases; no more units than there are."""
    if type(value) is not list or len(value) != 4:
        raise Refused("the network of the evidence is none")
    arrays = [read_numbers(part, "network's numbers") for part in value]
    width = len(arrays[1])
    expected = [(width, shape.widths[0]), (width,), (shape.widths[-1], width), (shape.widths[-1],)]
    if [a.shape for a in arrays] != expected or width > shape.widths[1]:
        raise Refused("the network of the evidence does not have the shape of the architecture")
    return arrays


def _objective(rows: TrainingRows, t: Array, X: Array, network: list[Array], decay: float) -> float:
    """Mean loss above the least + decay / 2 |theta|^2, and what rounding may hide."""
    W, b, A, c = network
    f = np.maximum(X @ W.T + b, 0.0) @ A.T + c
    largest = (np.abs(X) @ np.abs(W).T + np.abs(b)) @ np.abs(A).T + np.abs(c)
    if rows.likelihood == "gaussian":
        losses = (t - f[:, 0]) ** 2 / 2
        hidden = (np.abs(t) + largest[:, 0]) ** 2
    else:
        losses = LOSSES[rows.likelihood](f, rows.y, 1.0)
        hidden = 1 + largest.sum(axis=1)
    penalty = decay / 2 * math.fsum(float((part**2).sum()) for part in network)
    return float(losses.mean()) + penalty + ROUNDING * (float(hidden.mean()) + penalty)


# ---- the sums over all directions


def _check_sums(X: Float64[Array, "n d"], s: Float64[Array, " n"], limit: float) -> None:
    """|mean s_i (x_i . u)_+| <= limit for all |u| <= 1.

    In a basis Q of what the rows span, x = Q z + e: leaving out e changes a sum by mean |s||e|.
    """
    distinct, place = np.unique(X, axis=0, return_inverse=True)
    size, basis = np.linalg.svd(distinct, full_matrices=False)[1:]
    Q = basis[size > DEPENDENT * size[0]].T
    if Q.shape[1] > LARGEST_RANK:
        raise Refused("too many columns are independent to try every direction")
    Z = distinct @ Q
    off = np.linalg.norm(distinct - Z @ Q.T, axis=1)
    length = np.linalg.norm(distinct, axis=1)
    weights = np.bincount(place.reshape(-1), np.abs(s), len(distinct)) / len(s)
    total = np.bincount(place.reshape(-1), s, len(distinct)) / len(s)
    error = float(weights @ off) + 100 * (len(s) + 100) * UNIT * (float(weights @ length) + limit)
    defect = float(np.linalg.norm(Q.T @ Q - np.eye(Q.shape[1]))) + 1e-13
    _try_directions(Z, total, (limit - error) / (1 + defect))


def _try_directions(Z: Float64[Array, "k r"], s: Float64[Array, " k"], limit: float) -> None:
    """|sum s_i (z_i . p)_+| <= limit |p| for every p on the faces of a cube around 0."""
    r = Z.shape[1]
    if not limit > 0:
        raise Refused("the sums of the evidence cannot be told from their limit")
    weight = np.abs(s) @ np.abs(Z) + limit  # how much a step along each axis may matter
    centres = np.concatenate([np.eye(r), -np.eye(r)])
    halves = 1.0 - np.abs(centres)
    done = 0
    while len(centres):
        done += len(centres) * len(Z)
        if done > MOST_PRODUCTS or len(centres) > 4 * BATCH:
            raise Refused("the sums of the evidence come too near to their limit")
        step = max(1, BATCH // len(Z))
        left = [
            _not_below(Z, s, limit, centres[i : i + step], halves[i : i + step])
            for i in range(0, len(centres), step)
        ]
        kept = np.concatenate(left)
        centres, halves = _halved(centres[kept], halves[kept], weight)


def _halved(C: Array, H: Array, weight: Array) -> tuple[Array, Array]:
    """Both halves of every box, cut across the side that matters most."""
    i, j = np.arange(len(C)), (H * weight).argmax(axis=1)
    H = H.copy()
    H[i, j] /= 2
    step = np.zeros_like(C)
    step[i, j] = H[i, j]
    return np.concatenate([C - step, C + step]), np.concatenate([H, H])


def _not_below(Z: Array, s: Array, limit: float, C: Array, H: Array) -> Array:
    """Which boxes, of centres C and half sides H, are not shown to be within the limit.

    On low <= z <= high, alpha z <= z_+ <= alpha z + beta: above S lies a linear function, and
    limit |p| >= limit (p . c) / |c|. What is left is linear, and largest in a corner.
    """
    middle, reach = C @ Z.T, H @ np.abs(Z).T
    length = np.linalg.norm(C, axis=1)
    if (np.abs(np.maximum(middle, 0.0) @ s) > limit * length).any():
        raise Refused("the sums of the evidence exceed the limit that the weight decay sets")
    low, high = middle - reach, middle + reach
    alpha = np.clip(high / np.where(reach > 0, 2 * reach, 1.0), 0.0, 1.0)
    alpha = np.where(reach > 0, alpha, (middle > 0).astype(np.float64))
    beta = np.maximum(np.maximum((1 - alpha) * high, -alpha * low), 0.0)
    slope = (alpha * s) @ Z
    left = np.zeros(len(C), dtype=bool)
    for sign in (1.0, -1.0):
        rest = sign * slope - limit * C / length[:, None]
        above = beta @ np.maximum(sign * s, 0.0)
        left |= ~((rest * C).sum(axis=1) + (np.abs(rest) * H).sum(axis=1) + above <= 0)
    return left
