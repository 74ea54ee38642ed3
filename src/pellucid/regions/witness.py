"""Patterns that are proved to occur: the signs of all switches at given points.

A sign is proved by a forward pass in floating point that carries a bound on its own error
(Higham 2002, chapter 3), and where that does not tell, in whole numbers. A point at which every
switch is off its kink, or vanishes on a whole neighbourhood, lies inside the region of its pattern.
"""

from dataclasses import dataclass

import numpy as np

from .._shapes import Array, Bool, Float64
from .chain import Chain
from .exact import Dyadic
from .maps import VANISHING, U


@dataclass(frozen=True)
class Witnessed:
    """What is known of the patterns at points; a sign that is 0 on a neighbourhood is bit 0."""

    bits: Bool[Array, "n n_switches"]
    proved: Bool[Array, " n"]  # the point lies inside the region of its pattern
    by_filter: int  # signs proved in floating point
    by_exact: int  # signs decided in whole numbers


def patterns_at(chain: Chain, x: Float64[Array, "n d_in"], on_kinks: bool = False) -> Witnessed:
    """The pattern at each point, and whether it is proved that the point lies inside its region.

    With ``on_kinks`` the pattern of a point on a kink, where a tie counts as inactive, is exact
    too; else nothing more is asked about such a point.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _patterns_at(chain, x, on_kinks)


def _patterns_at(chain: Chain, x: Float64[Array, "n d_in"], on_kinks: bool) -> Witnessed:
    n, by_exact = len(x), 0
    flat = np.zeros(x.shape, bool)  # units that are 0 on a neighbourhood
    bits, proved = np.zeros((n, chain.n_switches), bool), np.ones(n, bool)
    h, error = x, np.zeros(n)  # 2-norm of the error of h
    for layer, (W, b, pieces) in enumerate(
        zip(chain.weights, chain.biases, chain.pieces, strict=True)
    ):
        z = h @ W.T + b
        # |sum W_jk h_k| <= |W_j| |h|
        row, height = _norms(W), _norms(h)
        rounded = (W.shape[1] + 4) * U * (np.outer(height, row) + np.abs(b))
        made = 1.001 * (np.outer(error, row) + rounded)  # bound on |z - true z|
        kinks, slopes = np.array(pieces.kinks), np.array(pieces.slopes)
        s = z[:, :, None] - kinks
        bound = 1.001 * (made[:, :, None] + U * (np.abs(s) + np.abs(kinks))) + 1e-290
        above = s > 0
        unsure = ~(np.abs(s) > bound)  # NaN, from an overflow, is unsure too
        if unsure.any():
            unsure &= ~_vanishes(flat, W, b)[:, :, None] | (kinks != 0)
            above &= np.abs(s) > bound
            for i, unit, kink in np.argwhere(unsure & (proved | on_kinks)[:, None, None]):
                if proved[i] or on_kinks:
                    sign = exact_sign(chain, bits[i], x[i], layer, int(unit), int(kink))
                    by_exact += 1
                    proved[i] &= sign is not None
                    above[i, unit, kink] = sign == 1
        begin, end = chain.first[layer : layer + 2]
        bits[:, begin:end] = above.reshape(n, end - begin)
        number = above.sum(axis=2)
        slope, intercept = slopes[number], np.array(pieces.intercepts)[number]
        h = slope * z + intercept
        off = np.abs(slope) * made + 3 * U * (np.abs(slope * z) + np.abs(intercept))
        error = 1.001 * _norms(off) + 1e-290
        flat = (slope == 0) & (intercept == 0)
    return Witnessed(bits, proved, n * chain.n_switches - by_exact, by_exact)


def _norms(rows: Array) -> Array:
    """The 2-norm of each row, not below it where squares underflow."""
    return np.linalg.norm(rows, axis=1) + VANISHING * np.sqrt(rows.shape[1])


def _vanishes(flat: Array, W: Array, b: Array) -> Array:
    """Where z is a sum of zeros that stay zeros beside the point; bool (n, units)."""
    alive = (~flat).astype(float) @ (W != 0).T.astype(float)
    return (alive == 0) & (b == 0)


def exact_sign(chain: Chain, bits: Array, x: Array, layer: int, unit: int, kink: int) -> int | None:
    """The sign of a switch at x, with the bits of all layers before; None on a hyperplane.

    0 means that the switch vanishes on the whole region. The row of the switch is carried back
    through the layers: z = row h + constant, with row the product of weights and slopes so far.
    """
    row = Dyadic.of(chain.weights[layer][unit : unit + 1])
    constant = _column([chain.biases[layer][unit]]) + _column([-chain.pieces[layer].kinks[kink]])
    for k in range(layer - 1, -1, -1):
        pieces = chain.pieces[k]
        of_layer = bits[chain.first[k] : chain.first[k + 1]]
        number = of_layer.reshape(len(chain.biases[k]), len(pieces.kinks)).sum(axis=1)
        constant = constant + row @ _column(np.array(pieces.intercepts)[number])
        row = row * Dyadic.of(np.array(pieces.slopes)[number])
        constant = constant + row @ _column(chain.biases[k])
        row = row @ Dyadic.of(chain.weights[k])
    value = (constant + row @ _column(x)).numbers.item()
    if value:
        return 1 if value > 0 else -1
    return None if any(row.numbers.ravel().tolist()) else 0


def _column(values: Array | list) -> Dyadic:
    return Dyadic.of(np.array(values, np.float64)[:, None])
