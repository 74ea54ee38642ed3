"""Watches a training loop from outside, for tools that want to be called at every step.

A case trains by its own function. Loss values are seen where `backward` is called on a scalar, and
steps where an optimizer makes one; nothing of the training changes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from ..case import Case
from ..measures import halves
from ..torch_form import tensors

VALIDATIONS = 100
"""How often the loss on held-out rows is taken during a training."""


@dataclass
class Watcher:
    """Called around every step: `before(optimizer)`, then `after(optimizer, loss)`."""

    before: Callable[[Any], None] = lambda optimizer: None
    after: Callable[[Any, float], None] = lambda optimizer, loss: None
    losses: list[float] = field(default_factory=list)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call the watcher for every step that any optimizer makes inside."""
    backward, seen = torch.Tensor.backward, [float("nan")]

    def noted(self: torch.Tensor, *arguments: Any, **settings: Any) -> None:
        if self.numel() == 1:
            seen[0] = float(self.detach())
        backward(self, *arguments, **settings)

    def before(optimizer: Any, *_: Any) -> None:
        watcher.before(optimizer)

    def after(optimizer: Any, *_: Any) -> None:
        watcher.losses.append(seen[0])
        watcher.after(optimizer, seen[0])

    hooks = register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)
    torch.Tensor.backward = noted
    try:
        yield
    finally:
        torch.Tensor.backward = backward
        for hook in hooks:
            hook.remove()


class Run:
    """A case's training on three quarters of its rows, with the loss on the others."""

    def __init__(self, case: Case):
        case = case.as_torch()
        assert case.model_fn is not None
        self.case = case
        self.rows, self.others = halves(case)
        self.model = case.model_fn(case.seed)
        self.X, self.y = tensors(case, self.rows)
        self.held_out = tensors(case, self.others)

    def train(self, watcher: Watcher) -> None:
        """Train and let the watcher see it."""
        assert self.case.train_fn is not None
        torch.manual_seed(self.case.seed)
        with watching(watcher):
            self.case.train_fn(self.model, self.X, self.y)

    def validation_loss(self) -> float:
        """The case's loss on the rows that are not trained on."""
        assert self.case.loss is not None
        training = self.model.training
        self.model.eval()
        with torch.no_grad():
            value = float(self.case.loss(self.model(self.held_out[0]), self.held_out[1]))
        self.model.train(training)
        return value


def every(losses: list[float], values: list[float]) -> tuple[list[float], list[float]]:
    """Curves with one point for each validation: the mean training loss since the last one."""
    parts = np.array_split(np.asarray(losses), max(len(values), 1))
    return [float(np.mean(part)) if len(part) else float("nan") for part in parts], values
