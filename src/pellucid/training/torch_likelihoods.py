"""The likelihoods of the torch engine: losses of each row, which torch differentiates.

The formulas are those of the package `likelihoods`, whose names and parameters they have.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from .._shapes import Float
from ..likelihoods import special
from .torch_tables import SOFTPLUS_THRESHOLD

HALF_LOG_2PI = math.log(2 * math.pi) / 2


def gaussian(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """(log 2 pi)/2 + (y - mu)^2 / 2, summed over the outputs."""
    return (HALF_LOG_2PI + (y - outputs) ** 2 / 2).sum(dim=1)


def bernoulli(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """softplus(z) - y z, summed over the outputs."""
    return F.binary_cross_entropy_with_logits(outputs, y, reduction="none").sum(dim=1)


def categorical(
    outputs: Float[Tensor, "n d_out"],
    y: Tensor,
    class_weights: Tensor | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, " n"]:
    """Cross entropy against the softened labels of `_kernels.weighting`."""
    return F.cross_entropy(outputs, y, class_weights, reduction="none", label_smoothing=smoothing)


def mean_variance(
    outputs: Float[Tensor, "n d_out"], y: Tensor, beta: float, smallest_scale: float
) -> Float[Tensor, " n"]:
    """The normal's, with gradients that are multiplied by v^beta."""
    mu, r = _by_target(outputs, 2)
    log_v = special.floored(r, smallest_scale**2, torch)
    loss = HALF_LOG_2PI + (log_v + (y - mu) ** 2 * torch.exp(-log_v)) / 2
    if beta:
        weighted = loss * torch.exp(beta * log_v).detach()
        loss = loss.detach() + (weighted - weighted.detach())
    return loss.sum(dim=1)


def laplace(
    outputs: Float[Tensor, "n d_out"], y: Tensor, smallest_scale: float
) -> Float[Tensor, " n"]:
    """log 2 + log b + |y - mu| / b."""
    mu, t = _by_target(outputs, 2)
    log_b = special.floored(t, smallest_scale, torch)
    return (math.log(2) + log_b + (y - mu).abs() * torch.exp(-log_b)).sum(dim=1)


def student_t(
    outputs: Float[Tensor, "n d_out"], y: Tensor, nu: float, smallest_scale: float
) -> Float[Tensor, " n"]:
    """As `likelihoods.StudentT`; nu is the third output where it is 0."""
    mu, t, *log_nu = _by_target(outputs, 2 if nu else 3)
    log_s = special.floored(t, smallest_scale, torch)
    degrees = torch.exp(_clipped(log_nu[0])) if log_nu else torch.full_like(mu, nu)
    u = (mu - y) * torch.exp(-log_s)
    tail = (degrees + 1) / 2 * torch.log1p(u * u / degrees)
    return (HALF_LOG_2PI - special.half_step(degrees / 2, torch) + log_s + tail).sum(dim=1)


def poisson(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """e^eta - y eta + log y!, as `likelihoods.Poisson` has it."""
    positive = y > 0
    t = outputs - torch.log(torch.where(positive, y, 1.0))
    excess = torch.where(positive, y * (torch.expm1(t) - t), torch.exp(outputs))
    return (excess + special.log_factorial_rest(y, torch)).sum(dim=1)


def negative_binomial(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """As `likelihoods.NegativeBinomial`."""
    eta, rho = _by_target(outputs, 2)
    mu, r = torch.exp(eta), torch.exp(_clipped(rho))
    quotient = torch.clamp((r + mu) / (r + y), max=torch.finfo(r.dtype).max)
    ratio = special.log_near_1((mu - y) / (r + y), quotient, torch)
    near = (r * (y - mu) / (mu * (r + y))).detach().abs() < 0.5
    m = torch.where(near, mu, 1.0)  # a mean near 0 would make nan of the gradients left out
    v = r * (y - m) / (m * (r + y))
    far = ratio - (eta - torch.log(torch.where(y > 0, y, 1.0)))
    by_count = y * torch.where(near, torch.log1p(torch.where(near, v, 0.0)), far)
    gammas = torch.log1p(y / r) / 2 + special.binet(r, torch) - special.binet(r + y, torch)
    return (r * ratio + by_count + gammas + special.log_factorial_rest(y, torch)).sum(dim=1)


def ordinal(outputs: Float[Tensor, "n d_out"], y: Tensor) -> Float[Tensor, " n"]:
    """softplus(-c_y) + softplus(c_(y-1)) + softplus(-z_y), without what the ends lack."""
    steps = torch.cat([outputs[:, :1], _softplus(outputs[:, 1:])], dim=1)
    c = torch.cumsum(steps, dim=1)
    losses = F.pad(_softplus(-c), (0, 1)) + F.pad(_softplus(c), (1, 0))
    losses = losses + F.pad(_softplus(-outputs[:, 1:]), (1, 1))
    return losses.gather(1, y[:, None])[:, 0]


def quantile(outputs: Float[Tensor, "n d_out"], y: Tensor, *levels: float) -> Float[Tensor, " n"]:
    """The pinball losses, summed over levels and targets."""
    u = y[:, :, None] - outputs.reshape(len(outputs), -1, len(levels))
    tau = torch.tensor(levels, dtype=outputs.dtype, device=outputs.device)
    return torch.where(u > 0, tau * u, (tau - 1) * u).sum(dim=(1, 2))


def mixture(
    outputs: Float[Tensor, "n d_out"], y: Tensor, components: float, smallest_scale: float
) -> Float[Tensor, " n"]:
    """-logsumexp_k(log softmax(a)_k + log N(y; mu_k, s_k^2))."""
    z = outputs.reshape(len(outputs), -1, 3, int(components))
    a, mu, t = z.unbind(dim=2)
    log_s = special.floored(t, smallest_scale, torch)
    u = (mu - y[:, :, None]) * torch.exp(-log_s)
    joint = torch.log_softmax(a, dim=2) - log_s - u * u / 2
    return (HALF_LOG_2PI - torch.logsumexp(joint, dim=2)).sum(dim=1)


#: name -> loss of each row in nats, from outputs, targets and the likelihood's parameters
LIKELIHOODS: dict[str, Callable[..., Tensor]] = {
    "gaussian": gaussian,
    "bernoulli": bernoulli,
    "categorical": categorical,
    "mean_variance": mean_variance,
    "laplace": laplace,
    "student_t": student_t,
    "poisson": poisson,
    "negative_binomial": negative_binomial,
    "ordinal": ordinal,
    "quantile": quantile,
    "mixture": mixture,
}


def row_losses(name: str, parameters: tuple[float, ...]) -> Callable[..., Tensor]:
    """The function of outputs and targets for a likelihood with its parameters."""
    losses = LIKELIHOODS[name]
    return lambda outputs, y, **soft: losses(outputs, y, *parameters, **soft)


def _by_target(outputs: Float[Tensor, "n d_out"], each: int) -> tuple[Tensor, ...]:
    return outputs.reshape(len(outputs), -1, each).unbind(dim=2)


def _clipped(log: Tensor) -> Tensor:
    return torch.clamp(log, -special.LARGEST_LOG, special.LARGEST_LOG)


def _softplus(x: Tensor) -> Tensor:
    return F.softplus(x, threshold=SOFTPLUS_THRESHOLD)
