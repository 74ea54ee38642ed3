"""Reading a trained network: which hidden units are dead, always active or saturated."""

import numpy as np
from numpy.typing import ArrayLike

from .._kernels import units
from .._shapes import Array, Float
from ..network import Activation, Network
from .verdict import UnitHealth


def unit_health(network: Network, X: ArrayLike) -> tuple[UnitHealth, ...]:
    """Count dead, always active and saturated units of every hidden layer on the rows `X`.

    Parameters
    ----------
    network
        Any `Network`.
    X
        The rows (n, d_in) to judge by: usually the training rows, as the network takes them.

    Returns
    -------
    tuple of UnitHealth
        One per hidden layer. A piecewise linear unit is dead when its slope is 0 on every row
        (relu: z <= 0), so that it learns nothing from them, and always active when it has the
        same slope, not 0, on every row, so that it is an affine function there. A smooth unit is
        saturated when on more than 99 % of the rows its slope is below 1 % of its steepest.
    """
    z = network.forward(np.asarray(X)).z
    hidden = [(zl, layer.activation) for zl, layer in zip(z, network.hidden_layers, strict=False)]
    return tuple(health_of(i + 1, zl, sigma) for i, (zl, sigma) in enumerate(hidden))


def health_of(layer: int, z: Float[Array, "n width"], sigma: Activation) -> UnitHealth:
    """The counts of one layer, from its pre-activations."""
    slope = sigma.derivative(z)
    dead = always = flat = np.zeros(z.shape[1], dtype=bool)
    if sigma.name != "identity" and sigma.is_piecewise_linear:
        dead = units.dead(slope)
        always = (slope == slope[:1]).all(axis=0) & ~dead
    elif not sigma.is_piecewise_linear:
        flat = units.saturated(slope, sigma.derivative)
    return UnitHealth(layer, z.shape[1], int(dead.sum()), int(always.sum()), int(flat.sum()))
