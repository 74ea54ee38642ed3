"""What a user's training does, seen from outside: its optimizer, batches, losses and shapes.

Hooks of torch, all taken away at the end. Nothing that the training computes is changed, except
where `rate` scales the learning rate, for a remedy that is tried.
"""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.overrides import TorchFunctionMode

from .._shapes import Array
from .torch_state import are_finite
from .torch_steps import Looked, Rows, kind_of, looking

MOST_BATCHES = 64
"""Batches whose rows are looked up."""
SNAPSHOTS = 1.15
"""The parameters are kept at steps that grow by this factor."""


class Enough(BaseException):
    """Ends a training that was only looked at; no user's `except Exception` catches it."""


@dataclass
class Seen:
    """What one training did. `batches` are row numbers of the first batches, as far as found.

    `looked` holds the steps that were looked at, where gradients were asked for.
    """

    steps: int = 0
    optimizer: str = ""
    settings: dict[str, float] = field(default_factory=dict)
    optimised: set[int] = field(default_factory=set)
    sizes: list[int] = field(default_factory=list)
    batches: list[tuple[int, ...]] = field(default_factory=list)
    training_modes: set[bool] = field(default_factory=set)
    broadcasts: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    losses: list[torch.Tensor] = field(default_factory=list)
    looked: Looked = field(default_factory=Looked)
    last_finite: dict[str, torch.Tensor] | None = None

    @property
    def loss_values(self) -> Array:
        """The losses whose gradients were taken, in order."""
        if not self.losses:
            return np.zeros(0)
        return np.array([float(value) for value in self.losses])

    @property
    def first_bad(self) -> int | None:
        """The number of the first loss that is not finite, from 0."""
        bad = np.flatnonzero(~np.isfinite(self.loss_values))
        return int(bad[0]) if len(bad) else None

    @property
    def batch_size(self) -> int | None:
        """The usual batch."""
        return max(set(self.sizes), key=self.sizes.count) if self.sizes else None


@contextmanager
def spying(
    module: nn.Module,
    X: torch.Tensor,
    *,
    steps: int | None = None,
    closely: bool = False,
    gradients: bool = False,
    rate: float = 1.0,
    more: Sequence[str] = (),
) -> Iterator[Seen]:
    """Watch what happens to `module` in this block; end it after `steps` updates, if given.

    `closely` also looks at the shapes inside every loss, `gradients` at what some steps of the
    optimizer are given. `rate` multiplies the learning rate of every step, whatever a schedule sets
    it to, and `more` names parameters that are added to the first optimizer.
    """
    seen = Seen()
    rows = Rows(X)
    next_snapshot = [0]

    def forward(part: nn.Module, arguments: tuple[Any, ...]) -> None:
        if not torch.is_grad_enabled() or not arguments:
            return
        seen.training_modes.add(part.training)
        batch = arguments[0]
        if isinstance(batch, torch.Tensor) and batch.ndim and len(seen.sizes) < 10_000:
            seen.sizes.append(len(batch))
            if len(seen.batches) < MOST_BATCHES:
                seen.batches.append(rows.find(batch))

    def before(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if seen.steps == 0 and not seen.optimizer:
            _describe(seen, optimizer)
        if id(optimizer) not in known:
            known[id(optimizer)] = optimizer
            if more and len(known) == 1:
                held = {id(p) for group in optimizer.param_groups for p in group["params"]}
                named = dict(module.named_parameters())
                fresh = [named[name] for name in more if id(named[name]) not in held]
                if fresh:
                    optimizer.add_param_group({"params": fresh})
            seen.optimised |= {id(p) for g in optimizer.param_groups for p in g["params"]}
        if rate != 1.0:
            rates[id(optimizer)] = _scale_rates(optimizer, rate)

    def after(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        seen.steps += 1
        for group, own_rate in rates.pop(id(optimizer), ()):
            group["lr"] = own_rate
        if seen.steps >= next_snapshot[0]:
            next_snapshot[0] = int(seen.steps * SNAPSHOTS) + 1
            _keep_if_finite(seen, module)
        if steps is not None and seen.steps >= steps:
            raise Enough

    known: dict[int, torch.optim.Optimizer] = {}
    rates: dict[int, list[tuple[dict[str, Any], Any]]] = {}
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # those of the user's own code
        hooks = (
            module.register_forward_pre_hook(forward),
            register_optimizer_step_pre_hook(before),
            register_optimizer_step_post_hook(after),
        )
        for hook in hooks:
            stack.callback(hook.remove)
        stack.enter_context(_losses_noted(seen))
        if gradients:
            seen.looked = stack.enter_context(looking(module, rows))
        if closely:
            stack.enter_context(_ShapesSeen(seen))
        with suppress(Enough):
            yield seen


@contextmanager
def _losses_noted(seen: Seen) -> Iterator[None]:
    """Note every number on which `backward` is called."""
    original = torch.Tensor.backward

    def backward(self: torch.Tensor, *arguments: Any, **more: Any) -> Any:
        if self.numel() == 1 and len(seen.losses) < 1_000_000:
            seen.losses.append(self.detach().reshape(()))
        return original(self, *arguments, **more)

    torch.Tensor.backward = backward
    try:
        yield
    finally:
        torch.Tensor.backward = original


def _scale_rates(optimizer: torch.optim.Optimizer, rate: float) -> list[tuple[dict[str, Any], Any]]:
    """Scale the rates for one step; the groups with the rates that a schedule goes on from."""
    own = [(group, group["lr"]) for group in optimizer.param_groups if "lr" in group]
    for group, own_rate in own:
        group["lr"] = own_rate * rate
    return own


def _describe(seen: Seen, optimizer: torch.optim.Optimizer) -> None:
    seen.optimizer = kind_of(optimizer, optimizer.param_groups[0])
    for name in ("lr", "momentum", "weight_decay"):
        values = {float(group.get(name, 0.0)) for group in optimizer.param_groups}
        if len(values) == 1:
            seen.settings[name] = values.pop()


def _keep_if_finite(seen: Seen, module: nn.Module) -> None:
    state = {k: v.detach().clone() for k, v in module.state_dict().items()}
    if are_finite(state.values()):
        seen.last_finite = state


class _ShapesSeen(TorchFunctionMode):
    """Notes where (n, 1) that depends on parameters meets an (n,) that does not."""

    def __init__(self, seen: Seen):
        super().__init__()
        self.seen = seen

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if getattr(func, "__name__", "") in _ELEMENTWISE:
            values = (*args, *(kwargs or {}).values())
            tensors = [v for v in values[:3] if isinstance(v, torch.Tensor)]
            for a, b in itertools.permutations(tensors[:2], 2):
                if a.requires_grad and not b.requires_grad and broadcasts(a.shape, b.shape):
                    self.seen.broadcasts.append((tuple(a.shape), tuple(b.shape)))
        return func(*args, **(kwargs or {}))


_ELEMENTWISE = (
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "sub", "__sub__", "__rsub__", "rsub"),
    *("subtract", "mul", "__mul__", "__rmul__", "multiply"),
)


def broadcasts(outputs: Any, target: Any) -> bool:
    """Whether these shapes are those of n rows, (n, 1) and (n,), which broadcast to (n, n)."""
    a, b = tuple(outputs), tuple(target)
    if len(a) > len(b):
        return len(a) == 2 and len(b) == 1 and a == (b[0], 1) and b[0] > 1
    return len(b) == 2 and len(a) == 1 and b == (a[0], 1) and a[0] > 1
