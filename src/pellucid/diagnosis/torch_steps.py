"""Some steps of a training, looked at: the gradient that the optimizer is given, and its rows."""

import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

MOST_LOOKS = 24
"""Steps that are kept; half as many at least, of a training that has them."""
DECAYS = ("weight_decay", "lambd")
"""What torch's optimizers call a weight decay."""

Tensors = dict[str, torch.Tensor]


@dataclass
class Forward:
    """A forward of the module, and how many gradients have come back through its outputs.

    `rows` are row numbers of X, -1 where a row is none of them; `modes` says of every part whether
    it was in training mode.
    """

    rows: list[int]
    shape: tuple[int, ...]
    modes: tuple[bool, ...]
    n_gradients: int = 0


@dataclass(frozen=True)
class Step:
    """What an optimizer was given, and the state of the module that the gradients are taken at.

    `gradients` are those of the parameters that the optimizer holds, times -1 where it maximises;
    `forwards` those that they come from. `complete` says that every parameter of the module has
    one, `moved` that parameters were changed since the last step.
    """

    number: int
    state: Tensors
    gradients: Tensors
    forwards: list[Forward]
    complete: bool
    moved: bool


@dataclass
class Looked:
    """The steps that were looked at, and what is known of all steps of the module's parameters.

    `kinds` are the optimizers by name, `foreign` those that are not torch's own, `decays` the
    weight decays, and `parts` the parameters that each optimizer holds.
    """

    steps: list[Step] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    decays: set[float] = field(default_factory=set)
    parts: set[frozenset[int]] = field(default_factory=set)


class Rows:
    """Finds rows of a tensor by their bytes; `firsts` are the first rows that are equal to each."""

    def __init__(self, X: torch.Tensor):
        self.X = X
        self.known: dict[bytes, int] = {}
        self.firsts = [self.known.setdefault(key, i) for i, key in enumerate(self._keys(X))]
        self.repeated = {j for i, first in enumerate(self.firsts) if i != first for j in (i, first)}

    def _keys(self, batch: torch.Tensor) -> Iterable[bytes]:
        numbers = batch.detach().cpu().to(self.X.dtype).contiguous().numpy().tobytes()
        width = len(numbers) // max(len(batch), 1)
        return (numbers[i * width : (i + 1) * width] for i in range(len(batch)))

    def first(self, batch: torch.Tensor) -> list[int]:
        """The number of a row that is equal to each; -1 where none is."""
        if batch.dtype == self.X.dtype and torch.equal(batch, self.X):
            return list(range(len(batch)))
        return [self.known.get(key, -1) for key in self._keys(batch)]

    def find(self, batch: torch.Tensor) -> tuple[int, ...]:
        """The number of each row, -1 where it has none, or several."""
        return tuple(-1 if i in self.repeated else i for i in self.first(batch))


@contextmanager
def looking(module: nn.Module, rows: Rows) -> Iterator[Looked]:
    """Look at steps of the optimizers that hold parameters of `module`, in this block."""
    looks = _Looks(module, rows)
    with ExitStack() as stack:
        for hook in (
            module.register_forward_hook(looks.leaves),
            register_optimizer_step_pre_hook(looks.begins),
            register_optimizer_step_post_hook(looks.ends),
        ):
            stack.callback(hook.remove)
        yield looks.found


class _Looks:
    """The hooks, and which step is next.

    The length of a training is not known before, so looks that become too many are thinned out: of
    every two one is kept, and later ones are twice as far apart. Which step of each stretch is
    looked at is drawn, so that nothing that recurs stays unseen.
    """

    def __init__(self, module: nn.Module, rows: Rows):
        self.module, self.rows = module, rows
        self.found = Looked()
        self.own = {id(p) for p in module.parameters()}
        self.draw = random.Random(0)
        self.apart = 1
        self.number = self.next = 0
        self.looked = False  # at this step
        self.forwards: list[Forward] = []  # since the last step
        self.after: list[torch.Tensor] | None = None  # the parameters after the last step

    def leaves(self, part: nn.Module, arguments: tuple[Any, ...], out: Any) -> None:
        """Note a forward, if gradients can come back through its outputs."""
        tensors = all(isinstance(v, torch.Tensor) and v.ndim for v in (*arguments[:1], out))
        if self.number != self.next or part is not self.module or not arguments or not tensors:
            return
        if not out.requires_grad:
            return
        modes = tuple(m.training for m in part.modules())
        batch = arguments[0]
        forward = Forward(self.rows.first(batch), tuple(batch.shape), modes)
        self.forwards.append(forward)

        def count(gradient: torch.Tensor) -> None:
            forward.n_gradients += 1

        out.register_hook(count)

    def begins(
        self, optimizer: torch.optim.Optimizer, arguments: tuple[Any, ...], more: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Look before a step; where it is given a closure, after the first call of that."""
        if not self._concerns(optimizer):
            return None
        self._note(optimizer)
        if self.number != self.next or self.found.foreign:
            return None
        moved = self._moved()
        closure = arguments[1] if len(arguments) > 1 else more.get("closure")
        if closure is None:
            self._look(optimizer, moved)
            return None

        def looked_at() -> Any:
            value = closure()
            if not self.looked:
                self._look(optimizer, moved)
            return value

        return arguments[:1], {**more, "closure": looked_at}

    def ends(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Go on to the next step."""
        if not self._concerns(optimizer):
            return
        if self.number == self.next:
            self._choose()
        self.number += 1
        self.forwards, self.looked = [], False
        if self.number == self.next:
            self.after = [p.detach().clone() for p in self.module.parameters()]

    def _concerns(self, optimizer: torch.optim.Optimizer) -> bool:
        return any(id(p) in self.own for group in optimizer.param_groups for p in group["params"])

    def _note(self, optimizer: torch.optim.Optimizer) -> None:
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        self.found.parts.add(frozenset(held & self.own))
        if not _is_of_torch(optimizer):
            self.found.foreign.add(type(optimizer).__name__)
        for group in optimizer.param_groups:
            self.found.kinds.add(kind_of(optimizer, group))
            self.found.decays.add(sum(float(group.get(name, 0.0)) for name in DECAYS))

    def _moved(self) -> bool:
        """Whether something has changed the parameters since the last step."""
        now = list(self.module.parameters())
        return self.after is not None and not all(map(torch.equal, self.after, now))

    def _look(self, optimizer: torch.optim.Optimizer, moved: bool) -> None:
        self.looked = True
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        sign = -1.0 if optimizer.param_groups[0].get("maximize") else 1.0
        named = dict(self.module.named_parameters())
        gradients = {
            name: sign * p.grad.detach()
            for name, p in named.items()
            if id(p) in held and p.grad is not None
        }
        state = {name: value.detach().clone() for name, value in self.module.state_dict().items()}
        forwards = [forward for forward in self.forwards if forward.n_gradients]
        complete = len(gradients) == len(named)
        self.found.steps.append(Step(self.number, state, gradients, forwards, complete, moved))

    def _choose(self) -> None:
        """The next step that is looked at: one of the next stretch."""
        if len(self.found.steps) >= MOST_LOOKS:
            pairs = zip(self.found.steps[::2], self.found.steps[1::2], strict=False)
            self.found.steps = [self.draw.choice(pair) for pair in pairs]
            self.apart *= 2
        start = (self.number // self.apart + 1) * self.apart
        self.next = start + self.draw.randrange(self.apart)


def kind_of(optimizer: torch.optim.Optimizer, group: dict[str, Any]) -> str:
    """The name of an optimizer; Adam that decays apart from the gradient is AdamW."""
    name = type(optimizer).__name__
    return "AdamW" if name == "Adam" and group.get("decoupled_weight_decay") else name


def _is_of_torch(optimizer: torch.optim.Optimizer) -> bool:
    """Whether its step is torch's, without hooks of somebody else's."""
    hooks = (*optimizer._optimizer_step_pre_hooks, *optimizer._optimizer_step_post_hooks)
    return type(optimizer).__module__.startswith("torch.optim.") and not hooks
