"""Differences of networks with smooth activations that rounding cannot explain."""

import numpy as np

from .._kernels.region_arrays import PIECES
from .._shapes import Array, Float64
from ..network import Network
from ..regions.maps import U

#: units in the last place by which a smooth activation's value may be off
ULPS = 8
#: a bound on the slope of every smooth activation in the table but elu, whose alpha may be larger
STEEPEST = 1.2


def proved_gaps(a: Network, b: Network, x: Float64[Array, "n d_in"]) -> Float64[Array, " n"]:
    """By how much the outputs differ at least, at each of some points; not above 0: not proved."""
    with np.errstate(all="ignore"):
        (f, of_f), (g, of_g) = _outputs(a, x), _outputs(b, x)
        gaps = (np.abs(f - g) * (1 - 4 * U) - 1.01 * (of_f + of_g)).max(axis=1)
    return np.nan_to_num(gaps, nan=-1.0, posinf=-1.0)


def _outputs(network: Network, x: Array) -> tuple[Array, Array]:
    """The outputs in float64, and a bound on the error of each (Higham 2002, chapter 3)."""
    h, error = x, np.zeros_like(x)
    for W, b, activation in network.layers:
        W, b = W.astype(np.float64), b.astype(np.float64)
        z = h @ W.T + b
        made = (W.shape[1] + 4) * U * (np.abs(h) @ np.abs(W).T + np.abs(b))
        error = 1.001 * (error @ np.abs(W).T + made) + 1e-290
        h = activation(z)
        slopes = (abs(p) for p in activation.parameters)
        steepest = max(1.0 if activation.name in PIECES else STEEPEST, *slopes, 0.0)
        size = np.maximum(np.abs(h), np.minimum(1.0, np.abs(z)))  # values that cancel to near 0
        error = 1.001 * (steepest * error + 2 * ULPS * U * size) + 1e-290
    return h, error
