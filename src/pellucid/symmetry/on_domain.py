"""Units that are constant or affine on a box: found, and replaced by as few as they need."""

import numpy as np

from .._kernels.region_arrays import PIECES, Pieces
from .._shapes import Array, Float64, Int
from ..network import Network
from ..regions import Box, linear_regions
from .transforms import Editable

#: most regions from which dead and always active units are read; beyond it, interval bounds
MOST_REGIONS = 20_000
#: entries of an affine part below this share of its largest are taken as 0
RANK = 1e-10


def fold_fixed(form: Editable, k: int, box: Box) -> None:
    """Replace the units of layer k that stay on one piece of their activation on the box.

    With slope 0 they are constants of the next bias. The others together hand on an affine map
    M h + m; the rows of M's reduced echelon form become units that are always on the piece where
    the activation is the identity.
    """
    activation = form.activations[k]
    if any(a.name not in PIECES for a in form.activations[: k + 1]) or not len(form.b[k]):
        return
    pieces = PIECES[activation.name](*activation.parameters)
    on = pieces_on(form, k, box)
    fixed = on >= 0
    if not fixed.any():
        return
    slope = np.array(pieces.slopes)[on[fixed]]
    intercept = np.array(pieces.intercepts)[on[fixed]]
    out = form.W[k + 1][:, fixed]
    M = (out * slope) @ form.W[k][fixed]
    form.b[k + 1] = form.b[k + 1] + out @ (slope * form.b[k][fixed] + intercept)
    form.order(k, np.flatnonzero(~fixed))
    R, pivots = reduced(M)
    if len(R):
        _add_affine(form, k, box, M[:, pivots], R, pieces)


def _add_affine(form: Editable, k: int, box: Box, U: Array, R: Array, pieces: Pieces) -> None:
    """Units z = c R h + shift on the piece where sigma(z) = z, that hand on U R h."""
    low, high = _bounds(R, np.zeros(len(R)), *_hidden_bounds(form, k, box))
    reach = np.where(high > low, high - low, 1.0)
    if len(pieces.kinks) == 1:  # above the kink at 0, in [reach, 2 reach]
        c, shift = np.ones(len(R)), reach - low
    else:  # the middle half between the kinks
        width = pieces.kinks[1] - pieces.kinks[0]
        c = width / (2 * reach)
        shift = pieces.kinks[0] + width / 4 - c * low
    form.W[k] = np.concatenate([form.W[k], c[:, None] * R])
    form.b[k] = np.concatenate([form.b[k], shift])
    form.W[k + 1] = np.concatenate([form.W[k + 1], U / c], axis=1)
    form.b[k + 1] = form.b[k + 1] - U @ (shift / c)


def reduced(M: Float64[Array, "m n"]) -> tuple[Array, list[int]]:
    """The reduced row echelon form without its zero rows, and the columns of its pivots."""
    R, pivots = M.copy(), []
    least = RANK * np.abs(M).max(initial=0.0)
    for j in range(R.shape[1]):
        i = len(pivots)
        if i == len(R):
            break
        best = i + int(np.abs(R[i:, j]).argmax())
        if not abs(R[best, j]) > least:
            continue
        R[[i, best]] = R[[best, i]]
        R[i] /= R[i, j]
        others = np.arange(len(R)) != i
        R[others] -= R[others, j : j + 1] * R[i]
        pivots.append(j)
    R = R[: len(pivots)]
    R[np.abs(R) <= RANK] = 0.0
    return R, pivots


def pieces_on(form: Editable, k: int, box: Box) -> Int[Array, " width"]:
    """The piece of its activation on which each unit of layer k stays on the box, or -1."""
    W, b = form.W[: k + 1], form.b[: k + 1]
    if not all(len(part) for part in b):
        return np.full(len(b[-1]), -1)
    activation = form.activations[k]
    pieces = PIECES[activation.name](*activation.parameters)
    width, kinks = len(b[-1]), len(pieces.kinks)
    if not kinks:
        return np.zeros(width, int)
    network = Network([*W, np.zeros((1, width))], [*b, np.zeros(1)], form.activations[: k + 1])
    regions = linear_regions(network, box, limit=MOST_REGIONS)
    if not regions.complete:
        return _by_bounds(form, k, box, pieces)
    bits = regions.patterns[:, regions.switches[:, 0] == k].reshape(-1, width, kinks)
    number = bits.sum(axis=2)
    return np.where((number == number[0]).all(axis=0), number[0], -1)


def _by_bounds(form: Editable, k: int, box: Box, pieces: Pieces) -> Int[Array, " width"]:
    low, high = _bounds(form.W[k], form.b[k], *_hidden_bounds(form, k, box))
    kinks = np.array(pieces.kinks)
    room = 1e-12 * (1 + np.maximum(np.abs(low), np.abs(high)))
    least = (low[:, None] + room[:, None] >= kinks).sum(axis=1)
    most = (high[:, None] - room[:, None] > kinks).sum(axis=1)
    clear = (low[:, None] - room[:, None] > kinks).sum(axis=1)
    return np.where((least == most) & (clear == most), most, -1)


def _hidden_bounds(form: Editable, k: int, box: Box) -> tuple[Array, Array]:
    """Interval bounds of the inputs of layer k on the box."""
    low, high = box.low, box.high
    for W, b, activation in zip(form.W[:k], form.b[:k], form.activations[:k], strict=True):
        z = _bounds(W, b, low, high)
        pieces = PIECES[activation.name](*activation.parameters)
        ends = [activation(z[0]), activation(z[1])]
        for kink in pieces.kinks:  # where a function with straight pieces may be extreme
            inside = np.clip(kink, *z)
            ends.append(activation(inside))
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
    return low, high


def _bounds(W: Array, b: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The least and largest W h + b for low <= h <= high."""
    above, below = np.maximum(W, 0.0), np.minimum(W, 0.0)
    return above @ low + below @ high + b, above @ high + below @ low + b
