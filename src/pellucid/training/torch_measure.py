"""What is measured in each layer: `_kernels.measure`, on a device."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._kernels import n_parameters
from .._kernels.units import PIECEWISE_LINEAR, dead, saturated
from .._shapes import Array, Float
from .torch_network import TorchNetwork
from .torch_tables import ACTIVATIONS


def measure(network: TorchNetwork, x: Tensor, y: Tensor, u: Tensor | None) -> dict[str, Any]:
    """Gradient norms and shares of units of one batch, without dropout.

    ``theta.grad`` must hold the gradient of this batch, and keeps it.
    """
    g = network.theta.grad
    assert g is not None
    of_step = g.clone() if network.job.dropout else g
    if network.job.dropout:
        network.loss_and_gradient(x, y, u, None)
    gradient_norm = layer_norms(network, g)
    g.copy_(of_step)
    shares: tuple[list[float], list[float]] = [], []
    for (name, values), z in zip(network.job.activations, network.pre_activations(x), strict=True):
        slope, sharp = _slope(name, values, z).cpu().numpy(), name in PIECEWISE_LINEAR
        shares[0].append(float(dead(slope).mean()) if sharp else 0.0)
        of_numbers = partial(_slope_of_numbers, name, values)
        shares[1].append(0.0 if sharp else float(saturated(slope, of_numbers).mean()))
    return {"gradient_norm": gradient_norm, "dead": shares[0], "saturated": shares[1]}


def layer_norms(network: TorchNetwork, vector: Float[Tensor, " p"]) -> Float[Array, " layers"]:
    """Euclid's norm over W and b of each layer; in float64 where the device has it."""
    widths = network.job.widths
    sizes = [n_parameters(pair) for pair in pairwise(widths)]
    wide = vector if vector.device.type == "mps" else vector.double()
    return torch.stack([part.norm() for part in wide.split(sizes)]).cpu().numpy().astype(np.float64)


def _slope(name: str, values: tuple[float, ...], z: Tensor) -> Tensor:
    """The derivative at each z, as autograd has it."""
    z = z.detach().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(ACTIVATIONS[name](z, *values).sum(), z)
    return slope


def _slope_of_numbers(name: str, values: tuple[float, ...], z: Array) -> Array:
    return _slope(name, values, torch.from_numpy(z)).numpy()
