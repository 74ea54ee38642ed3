"""A job's network and its objective in torch: all parameters in one vector, W and b views of it."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from .._kernels import TrainingJob
from .._shapes import Array, Float
from .torch_likelihoods import row_losses
from .torch_random import dropout_factors
from .torch_tables import ACTIVATIONS

#: numbers of the widest layer that are held at once where no gradient is wanted
_AT_ONCE = 1 << 24


class Objective:
    """The weighted mean loss of a batch, as `_kernels.weighting` defines it."""

    def __init__(self, job: TrainingJob, class_weights: Tensor | None):
        self.rows: Callable[..., Tensor] = row_losses(job.likelihood, job.likelihood_parameters)
        self.class_weights = class_weights
        if job.likelihood == "categorical":
            soft = {"class_weights": class_weights, "smoothing": job.label_smoothing}
            self.rows = partial(self.rows, **soft)

    def __call__(self, outputs: Tensor, y: Tensor, u: Tensor | None) -> Float[Tensor, ""]:
        """The mean; 0, with gradient 0, for a batch that weighs nothing."""
        losses = self.rows(outputs, y)
        counts = self.counts(y, u)
        if counts is None:
            return losses.mean()
        total = counts.sum()
        shares = (torch.ones_like(counts) if u is None else u) / total
        return (losses * torch.where(total > 0, shares, 0.0)).sum()

    def counts(self, y: Tensor, u: Tensor | None) -> Tensor | None:
        """What each row adds to the divisor: u_i w_(y_i); None for 1 each."""
        if self.class_weights is None:
            return u
        w = self.class_weights[y]
        return w if u is None else u * w


class TorchNetwork:
    """The network of a job on a device.

    ``theta`` (p,) holds all parameters in the job's order, and ``theta.grad`` the last gradient.
    The tensors that torch differentiates by are views of ``theta``, so that clipping and
    optimizers see one vector, however many layers there are.
    """

    def __init__(
        self,
        job: TrainingJob,
        parameters: Float[Array, " p"],
        objective: Objective,
        device: torch.device,
    ):
        self.job, self.objective = job, objective
        self.theta = torch.from_numpy(parameters.copy()).to(device)
        self.theta.grad = torch.zeros_like(self.theta)
        self.activations = [partial(_activation, name, values) for name, values in job.activations]
        self.layers: list[tuple[Tensor, Tensor]] = []
        start = 0
        for d_in, d_out in pairwise(job.widths):
            W = self.theta[start : start + d_out * d_in].view(d_out, d_in)
            start += d_out * d_in
            b = self.theta[start : start + d_out]
            start += d_out
            self.layers.append((W.requires_grad_(), b.requires_grad_()))

    def outputs(
        self, x: Float[Tensor, "n d_in"], dropout_step: int | None = None
    ) -> Float[Tensor, "n d_out"]:
        """The logits; with the masks of a step where one is given."""
        job, h = self.job, x
        for layer, ((W, b), activation) in enumerate(
            zip(self.layers[:-1], self.activations, strict=True)
        ):
            z = F.linear(h, W, b)
            h = activation(z)
            if dropout_step is not None and job.dropout:
                h = h * dropout_factors(job.seed, dropout_step, layer, z, job.dropout)
        return F.linear(h, *self.layers[-1])

    @torch.no_grad()
    def pre_activations(self, x: Float[Tensor, "n d_in"]) -> list[Tensor]:
        """z of each hidden layer."""
        found, h = [], x
        for (W, b), activation in zip(self.layers[:-1], self.activations, strict=True):
            found.append(F.linear(h, W, b))
            h = activation(found[-1])
        return found

    def loss_and_gradient(
        self, x: Tensor, y: Tensor, u: Tensor | None, step: int | None
    ) -> Float[Tensor, ""]:
        """The mean loss over the rows; its gradient is then in ``theta.grad``."""
        loss = self.objective(self.outputs(x, step), y, u)
        gradients = torch.autograd.grad(loss, [p for layer in self.layers for p in layer])
        torch.cat([g.reshape(-1) for g in gradients], out=self.theta.grad)
        return loss.detach()

    @torch.no_grad()
    def loss(self, x: Tensor, y: Tensor, u: Tensor | None) -> float:
        """The mean loss over the rows, taken some at a time."""
        size = max(1, _AT_ONCE // max(self.job.widths))
        if len(x) <= size:
            return self.objective(self.outputs(x), y, u).item()
        total = weight = 0.0
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            u_part = None if u is None else u[part]
            losses = self.objective.rows(self.outputs(x[part]), y[part])
            counts = self.objective.counts(y[part], u_part)
            total += (losses if u_part is None else losses * u_part).sum().item()
            weight += len(losses) if counts is None else counts.sum().item()
        return total / weight

    @torch.no_grad()
    def adjust_gradient(self) -> None:
        """Add the L1 penalty's gradient, then clip by the global norm."""
        g, job = self.theta.grad, self.job
        assert g is not None
        if job.l1:
            g.add_(torch.sign(self.theta), alpha=job.l1)
        if job.clip_norm:
            g.mul_((job.clip_norm / (torch.linalg.vector_norm(g) + 1e-6)).clamp(max=1.0))


def _activation(name: str, values: tuple[float, ...], z: Tensor) -> Tensor:
    return ACTIVATIONS[name](z, *values)
