"""A witness of an optimization failure, evaluated afresh.

A witness is a network of the user's own shape whose training objective is lower by at least a tenth
of (trivial - reference) and whose held-out loss is not worse, neither beyond noise nor by a tenth.
This module shares no code with the search that found it: it reads the files, runs the networks in
float64 and computes the losses on its own. What is strange is refused.
"""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._shapes import Array, Float64
from .formulas import ACTIVATIONS, LOSSES, deviation
from .result import CheckResult, Refused

CLAIM_VERSION = 2
LEAST_SHARE = 0.1
"""The objective must fall by at least this share of (trivial - reference); no more may be lost."""
AGREEMENT = 1e-6
"""Claimed and recomputed losses agree within this share of (trivial - reference), and rounding."""
ROUNDING = 1e-10
"""What float64 sums may be off, relative to the number itself."""
NOISE = 2.0
"""Standard errors of the paired held-out difference that count as noise."""
CHUNK = 10_000
NUMBERS = (
    "weight_decay",
    "target_offset",
    "target_scale",
    "loss_scale",
    "trivial",
    "reference",
    "objective",
    "user_objective",
    "held_out_loss",
    "user_held_out_loss",
    "share",
)
FIELDS = (
    "version",
    "likelihood",
    "widths",
    "activations",
    "input_offset",
    "input_scale",
    *NUMBERS,
)
"""The fields of a claim; no other may be there, none may be missing."""


def check_witness(
    claim: Mapping[str, Any],
    witness: bytes,
    user: bytes,
    X: ArrayLike,
    y: ArrayLike,
    held_out: ArrayLike,
) -> CheckResult:
    """Accept or refuse the claim that `witness` is a better network of the user's shape.

    Parameters
    ----------
    claim
        The claimed numbers, with exactly the keys `FIELDS`. Losses of a regression are those of
        (y - output) / loss_scale, loss_scale being the deviation t of the training targets.
        `weight_decay` is the coefficient of the recipe's penalty, 0 where there is none. It adds
        weight_decay / (2 r^2) |theta|^2 to the mean loss, r = loss_scale / target_scale: theta are
        the parameters on the recipe's columns, (x - input_offset) / input_scale, and on its target,
        (y - target_offset) / target_scale, and r^2 is its loss in units of the one used here.
    witness, user
        Two networks as files, that take the rows of `X` and return outputs on the scale of `y`.
    X, y, held_out
        All rows (n, d_in), their targets (labels or numbers), and which rows training did not see.

    Returns
    -------
    CheckResult
        Refusals are answers, not exceptions: nothing in the arguments makes this function raise.
    """
    try:
        return _check(claim, witness, user, X, y, held_out)
    except Refused as refusal:
        return CheckResult(False, str(refusal))
    except Exception as error:  # whatever is that strange is refused
        return CheckResult(False, f"it could not be evaluated ({type(error).__name__}: {error})")


def _check(
    claim: Mapping[str, Any], witness: bytes, user: bytes, X: Any, y: Any, held_out: Any
) -> CheckResult:
    _check_claim(claim)
    rows, targets, mask = _read_rows(claim, X, y, held_out)
    _check_scaling(claim, rows, targets, mask)
    _check_gap(claim, targets[~mask])
    better, own = _read_network(witness, "witness"), _read_network(user, "user's network")
    for network, name in ((better, "witness"), (own, "user's network")):
        _check_architecture(claim, network, name)
    losses, user_losses = (_losses(claim, net, rows, targets) for net in (better, own))
    objective = _objective(claim, better, losses[~mask])
    user_objective = _objective(claim, own, user_losses[~mask])
    _agree(claim, "objective", objective)
    _agree(claim, "user_objective", user_objective)
    _agree(claim, "held_out_loss", float(losses[mask].mean()))
    _agree(claim, "user_held_out_loss", float(user_losses[mask].mean()))
    _check_share(claim, user_objective - objective)
    difference, error = _check_held_out(claim, losses[mask] - user_losses[mask])
    return CheckResult(True, "accepted", objective, user_objective, difference, error)


# ---- the claim and the rows


def _check_claim(claim: Mapping[str, Any]) -> None:
    if set(claim) != set(FIELDS):
        raise Refused("the claim does not have the fields of a claim")
    if type(claim["version"]) is not int or claim["version"] != CLAIM_VERSION:
        raise Refused("the claim is of an unknown version")
    for name in NUMBERS:
        if type(claim[name]) is not float or not math.isfinite(claim[name]):
            raise Refused(f"{name} of the claim is no finite number")
    if claim["weight_decay"] < 0 or claim["target_scale"] <= 0 or claim["loss_scale"] <= 0:
        raise Refused("weight_decay, target_scale or loss_scale of the claim has the wrong sign")
    if claim["likelihood"] not in LOSSES:
        raise Refused("the likelihood of the claim is unknown")


def _read_rows(
    claim: Mapping[str, Any], X: Any, y: Any, held_out: Any
) -> tuple[Array, Array, Array]:
    rows, targets, mask = np.asarray(X), np.asarray(y), np.asarray(held_out)
    n = len(rows)
    if rows.dtype != np.float64 or rows.ndim != 2 or not np.isfinite(rows).all():
        raise Refused("the rows are not a table of finite float64 numbers")
    if targets.shape != (n,) or mask.shape != (n,) or mask.dtype != bool:
        raise Refused("rows, targets and the held-out mask do not belong together")
    if mask.sum() < 2 or (~mask).sum() < 2:
        raise Refused("there are not two training rows and two held-out rows")
    if claim["likelihood"] == "gaussian":
        if targets.dtype != np.float64 or not np.isfinite(targets).all():
            raise Refused("the targets are not finite float64 numbers")
    elif targets.dtype.kind != "i" or targets.min() < 0 or targets.max() >= _n_labels(claim):
        raise Refused("the targets are not labels of the network's outputs")
    return rows, targets, mask


def _n_labels(claim: Mapping[str, Any]) -> int:
    """One per output; a single logit tells two apart."""
    return 2 if claim["likelihood"] == "bernoulli" else claim["widths"][-1]


def _check_scaling(claim: Mapping[str, Any], rows: Array, targets: Array, mask: Array) -> None:
    """Each column is unscaled, or scaled by its own training mean and standard deviation.

    The loss of a regression is scaled by the standard deviation of the training targets, always.
    """
    offset, scale = claim["input_offset"], claim["input_scale"]
    if len(offset) != rows.shape[1] or len(scale) != rows.shape[1]:
        raise Refused("the input scaling does not fit the columns")
    for o, s, x in zip(offset, scale, rows[~mask].T, strict=True):
        _check_scale(o, s, x, "an input column")
    o, s = claim["target_offset"], claim["target_scale"]
    t = claim["loss_scale"]
    if claim["likelihood"] != "gaussian" and (o, s, t) != (0.0, 1.0, 1.0):
        raise Refused("class labels cannot be scaled")
    if claim["likelihood"] == "gaussian":
        _check_scale(o, s, targets[~mask], "the target")
        spread = deviation(targets[~mask])
        if not abs(t - spread) <= AGREEMENT * spread:
            raise Refused("loss_scale is not the standard deviation of the training targets")


def _check_scale(offset: Any, scale: Any, x: Array, what: str) -> None:
    if type(offset) is not float or type(scale) is not float:
        raise Refused(f"the scaling of {what} is no number")
    if (offset, scale) == (0.0, 1.0):
        return
    mean = float(x.mean())
    spread = deviation(x) if np.ptp(x) > 0 else 1.0
    near = abs(offset - mean) <= AGREEMENT * spread + 1e-12 * abs(mean)
    if not near or not abs(scale - spread) <= AGREEMENT * spread:
        raise Refused(f"the scaling of {what} is not its training mean and standard deviation")


def _gap(claim: Mapping[str, Any]) -> float:
    return claim["trivial"] - claim["reference"]


def _check_gap(claim: Mapping[str, Any], y: Array) -> None:
    """The best constant is at least as good on the rows it is fitted on as when cross-validated."""
    if not _gap(claim) > 0:
        raise Refused("the reference is no better than the constant prediction")
    if claim["likelihood"] == "gaussian":
        best = math.log(2 * math.pi) / 2 + (deviation(y) / claim["loss_scale"]) ** 2 / 2
    else:
        shares = np.bincount(y) / len(y)
        best = -float(sum(p * math.log(p) for p in shares if p > 0))
    if claim["trivial"] < best - AGREEMENT * _gap(claim) - ROUNDING * best:
        raise Refused("trivial of the claim is lower than any constant prediction can be")


def _agree(claim: Mapping[str, Any], name: str, value: float, unit: float = math.nan) -> None:
    """Within a share of the unit, the gap, and what rounding explains."""
    unit = _gap(claim) if math.isnan(unit) else unit
    if not abs(claim[name] - value) <= AGREEMENT * unit + ROUNDING * abs(value):
        raise Refused(f"{name} is claimed as {claim[name]:.9g} and comes out as {value:.9g}")


def _check_share(claim: Mapping[str, Any], gain: float) -> None:
    share = gain / _gap(claim)
    _agree(claim, "share", share, unit=1.0)
    if not share >= LEAST_SHARE:
        raise Refused(f"the objective falls by {share:.3f} of (trivial - reference) only")


def _check_held_out(claim: Mapping[str, Any], d: Array) -> tuple[float, float]:
    """The mean paired difference of the held-out losses, and its standard error."""
    difference, error = float(d.mean()), float(d.std(ddof=1) / math.sqrt(len(d)))
    if not difference <= NOISE * error:
        raise Refused(
            f"its held-out loss is worse by {difference:.3g} nats, beyond noise ({error:.3g})"
        )
    share = difference / _gap(claim)
    if not share <= LEAST_SHARE:
        raise Refused(
            f"its held-out loss is worse by {difference:.3g} nats: within noise ({error:.3g}), but "
            f"{share:.3f} of (trivial - reference), more than {LEAST_SHARE:g}"
        )
    return difference, error


# ---- the networks


@dataclass(frozen=True)
class _Network:
    weights: list[Float64[Array, "_ _"]]
    biases: list[Float64[Array, " _"]]
    activations: list[Any]  # [name, parameters] of every hidden layer
    output_activation: list[Any]


def _read_network(data: bytes, name: str) -> _Network:
    """The arrays by the safetensors library, the activations from its metadata."""
    from safetensors.numpy import load

    arrays = load(data)
    length = struct.unpack("<Q", data[:8])[0]
    about = json.loads(data[8 : 8 + length])["__metadata__"]
    if about["format"] != "pellucid" or about["version"] != "1":
        raise Refused(f"the {name} is no pellucid file of version 1")
    described = json.loads(about["network"])
    n_layers = len(described["activations"]) + 1
    names = [f"layers.{i}.{part}" for i in range(n_layers) for part in ("weight", "bias")]
    if sorted(arrays) != sorted(names):
        raise Refused(f"the arrays of the {name} are not those of its layers")
    if {a.dtype for a in arrays.values()} not in ({np.dtype("<f4")}, {np.dtype("<f8")}):
        raise Refused(f"the {name} is not all float32 or all float64")
    if not all(np.isfinite(a).all() for a in arrays.values()):
        raise Refused(f"the {name} holds numbers that are not finite")
    W, b = (
        [arrays[f"layers.{i}.{part}"].astype(np.float64) for i in range(n_layers)]
        for part in ("weight", "bias")
    )
    return _Network(W, b, described["activations"], described["output_activation"])


def _check_architecture(claim: Mapping[str, Any], network: _Network, name: str) -> None:
    widths = claim["widths"]
    shapes = [W.shape for W in network.weights]
    if shapes != [(d_out, d_in) for d_in, d_out in pairwise(widths)]:
        raise Refused(f"the {name} does not have the widths of the claim")
    if [b.shape for b in network.biases] != [(d_out,) for d_out in widths[1:]]:
        raise Refused(f"the biases of the {name} do not fit its widths")
    if network.activations != claim["activations"]:
        raise Refused(f"the {name} does not have the activations of the claim")
    if network.output_activation[0] != "identity":
        raise Refused(f"the {name} does not return raw outputs")
    for sigma, parameters in network.activations:
        if sigma not in ACTIVATIONS or len(parameters) != ACTIVATIONS[sigma][0]:
            raise Refused(f"the {name} has an activation that is unknown here")


def _losses(claim: Mapping[str, Any], network: _Network, X: Array, y: Array) -> Array:
    """Nats of every row."""
    loss = LOSSES[claim["likelihood"]]
    parts = []
    for i in range(0, len(X), CHUNK):
        h = X[i : i + CHUNK]
        for W, b, (name, parameters) in zip(
            network.weights, network.biases, [*network.activations, ("identity", [])], strict=True
        ):
            h = ACTIVATIONS[name][1](h @ W.T + b, *parameters)
        parts.append(loss(h, y[i : i + CHUNK], claim["loss_scale"]))
    losses = np.concatenate(parts)
    if not np.isfinite(losses).all():
        raise Refused("a loss is not finite")
    return losses


def _objective(claim: Mapping[str, Any], network: _Network, losses: Array) -> float:
    """Mean nats + weight_decay / (2 r^2) |theta|^2, theta on the recipe's columns and target."""
    mean = float(losses.mean())
    if claim["weight_decay"] == 0.0:
        return mean
    W, b = list(network.weights), list(network.biases)
    W[-1] = W[-1] / claim["target_scale"]
    b[-1] = (b[-1] - claim["target_offset"]) / claim["target_scale"]
    b[0] = b[0] + W[0] @ np.array(claim["input_offset"])
    W[0] = W[0] * np.array(claim["input_scale"])
    r = claim["loss_scale"] / claim["target_scale"]
    squares = sum(float(((part / r) ** 2).sum()) for part in (*W, *b))
    return mean + claim["weight_decay"] / 2 * squares
