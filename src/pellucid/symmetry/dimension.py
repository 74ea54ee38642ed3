"""How many directions of the parameters change the function."""

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Network
from .transforms import checked_network


def functional_dimension(network: Network, X: ArrayLike) -> int:
    """The rank of the derivative of all outputs at the rows of X by all parameters.

    For activations with sigma(c z) = c sigma(z), at most the parameters less the hidden units, as
    each unit has one scale that changes nothing (Grigsby, Lindsey, Meyerhoff and Wu 2022). It is a
    numerical rank: singular values below 1e-9 of the largest count as 0. More rows than parameters
    are needed, and rows in every region that matters: what no row sees is not counted.
    """
    checked_network(network)
    try:
        rows = np.atleast_2d(np.asarray(X, np.float64))
    except (TypeError, ValueError):
        raise InvalidInput("X must be an array of numbers with rows of equal length.") from None
    if not rows.size or not np.isfinite(rows).all():
        raise InvalidInput("X must have at least one row, and finite numbers only.")
    J = jacobian(network, rows)
    singular = np.linalg.svd(J, compute_uv=False)
    return int((singular > 1e-9 * singular.max(initial=0.0)).sum())


def jacobian(network: Network, X: Float64[Array, "n d_in"]) -> Float64[Array, "n_d_out p"]:
    """Derivatives of every output at every row by the parameters, as `parameters()` has them."""
    full = network.astype("float64")
    forward = full.forward(X)
    n, K = len(X), full.d_out
    delta = full.output_activation.derivative(forward.z[-1])[:, :, None] * np.eye(K)
    blocks: list[Array] = []
    for k in reversed(range(len(full.weights))):
        h = forward.h[k - 1] if k else forward.x
        # dz_k / dW = delta h^T, dz_k / db = delta
        by_weight = np.einsum("noi,nj->noij", delta, h).reshape(n * K, -1)
        blocks = [by_weight, delta.reshape(n * K, -1), *blocks]
        if k:
            slope = full.activations[k - 1].derivative(forward.z[k - 1])
            delta = (delta @ full.weights[k]) * slope[:, None, :]
    return np.concatenate(blocks, axis=1)
