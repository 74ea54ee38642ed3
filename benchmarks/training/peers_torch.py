"""PyTorch's side: the plain loop, and its two batched forms for many networks of one shape."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

from .ours import Outcome
from .works import Work

ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid}


def module(work: Work, seed: int) -> torch.nn.Sequential:
    """The network, built as everybody builds it; Pellucid's scheme "torch" starts alike."""
    *hidden, last = _linear(work.widths, seed)
    layers = [part for layer in hidden for part in (layer, ACTIVATIONS[work.activation]())]
    return torch.nn.Sequential(*layers, last)


def _linear(widths: tuple[int, ...], seed: int) -> list[torch.nn.Linear]:
    torch.manual_seed(seed)
    return [torch.nn.Linear(d_in, d_out) for d_in, d_out in pairwise(widths)]


@functools.cache
def _stacked(widths: tuple[int, ...], seeds: Sequence[int]) -> list[torch.Tensor]:
    """The weights and biases of all starts; made once, so that timing does not count them."""
    each = [[p for layer in _linear(widths, s) for p in (layer.weight, layer.bias)] for s in seeds]
    return [torch.stack(same).detach() for same in zip(*each, strict=True)]


def rows(work: Work, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.from_numpy(work.y)
    if work.likelihood == "gaussian":
        y = y.to(dtype)[:, None]
    return torch.from_numpy(work.X).to(dtype), y


def criterion(work: Work) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Mean loss in nats; the Gaussian one without its constant (`as_nats` adds it)."""
    if work.likelihood == "categorical":
        return torch.nn.functional.cross_entropy
    return lambda outputs, y: 0.5 * torch.nn.functional.mse_loss(outputs, y)


def criterion_of_each(
    work: Work, y: torch.Tensor, networks: int
) -> Callable[[torch.Tensor], torch.Tensor]:
    """The same for outputs (networks, rows, d_out): one mean a network."""
    if work.likelihood == "gaussian":
        return lambda outputs: 0.5 * (outputs - y).square().mean((1, 2))
    labels = y.repeat(networks)

    def of_labels(outputs: torch.Tensor) -> torch.Tensor:
        flat = outputs.flatten(0, 1)
        of_rows = torch.nn.functional.cross_entropy(flat, labels, reduction="none")
        return of_rows.reshape(networks, -1).mean(1)

    return of_labels


def as_nats(work: Work, losses: Any) -> np.ndarray:
    constant = np.log(2 * np.pi) / 2 if work.likelihood == "gaussian" else 0.0
    return np.asarray(losses, dtype=np.float64) + constant


def loop(
    work: Work, record: bool = False, fused: bool = False, dtype: torch.dtype = torch.float32
) -> Outcome:
    """The plain training loop; the losses are read only when asked for."""
    model, (x, y), loss_of = module(work, work.seed).to(dtype), rows(work, dtype), criterion(work)
    optimizer = torch.optim.Adam(model.parameters(), lr=work.learning_rate, fused=fused)
    losses, steps = [], 0
    for chosen in _batches(work):
        xb, yb = (x, y) if chosen is None else (x[chosen], y[chosen])
        optimizer.zero_grad()
        loss = loss_of(model(xb), yb)
        loss.backward()
        optimizer.step()
        steps += 1
        if record:
            losses.append([loss.item()])
    flat = torch.cat([p.detach().ravel() for p in model.parameters()])
    return Outcome(flat.numpy()[None], steps, as_nats(work, losses))


def _batches(work: Work) -> Any:
    order = work.order()
    if order is None:
        return [None] * work.steps
    return (b for epoch in torch.from_numpy(order) for b in epoch.split(work.batch_size or 0))


def loops(work: Work, seeds: Sequence[int], fused: bool = False) -> Outcome:
    """All starts, one after the other."""
    each = [loop(replace(work, seed=seed), fused=fused) for seed in seeds]
    return Outcome(np.concatenate([outcome.parameters for outcome in each]), each[0].steps)


def bmm(
    work: Work,
    seeds: Sequence[int],
    record: bool = False,
    fused: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Outcome:
    """All starts of one shape at once: weights stacked, one batched product (bmm) a layer."""
    stacked = [layer.to(dtype, copy=True) for layer in _stacked(work.widths, seeds)]
    weights = [W.mT.contiguous().requires_grad_() for W in stacked[::2]]
    biases = [b[:, None].requires_grad_() for b in stacked[1::2]]
    x, y = rows(work, dtype)
    x, loss_of = x.expand(len(seeds), -1, -1), criterion_of_each(work, y, len(seeds))
    activation = ACTIVATIONS[work.activation]()
    optimizer = torch.optim.Adam([*weights, *biases], lr=work.learning_rate, fused=fused)
    losses, steps = [], 0
    for _ in range(work.steps):
        optimizer.zero_grad()
        h = x
        for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
            h = torch.baddbmm(b, h, W)
            if i < len(work.hidden):
                h = activation(h)
        loss = loss_of(h)
        loss.sum().backward()
        optimizer.step()
        steps += 1
        if record:
            losses.append(loss.detach().numpy().copy())
    arrays = [p for W, b in zip(weights, biases, strict=True) for p in (W.mT, b)]
    return Outcome(_flat(arrays), steps, as_nats(work, losses))


def vmapped(work: Work, seeds: Sequence[int], record: bool = False, fused: bool = False) -> Outcome:
    """All starts of one shape at once by `torch.func.vmap` over the networks."""
    parameters, _ = stack_module_state([module(work, seed) for seed in seeds])
    base = module(work, 0).to("meta")
    (x, y), criterion_of = rows(work, torch.float32), criterion(work)

    def loss_of(one: dict[str, torch.Tensor]) -> torch.Tensor:
        return criterion_of(functional_call(base, one, (x,)), y)

    step = vmap(grad_and_value(loss_of))
    optimizer = torch.optim.Adam(list(parameters.values()), lr=work.learning_rate, fused=fused)
    losses, steps = [], 0
    for _ in range(work.steps):
        gradients, loss = step(parameters)
        for name, p in parameters.items():
            p.grad = gradients[name]
        optimizer.step()
        steps += 1
        if record:
            losses.append(loss.detach().numpy().copy())
    return Outcome(_flat(list(parameters.values())), steps, as_nats(work, losses))


BATCHED = {"bmm": bmm, "vmap": vmapped}


def _flat(arrays: list[torch.Tensor]) -> np.ndarray:
    return torch.cat([a.detach().flatten(1) for a in arrays], dim=1).numpy()
