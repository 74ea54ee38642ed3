"""What a model was given in its last steps: references to its batches, never copies of them."""

from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

KEPT = 8
"""Batches of one step that are kept: the last ones, where more are accumulated."""

_SLOT = "_compiled_call_impl"


@dataclass(frozen=True)
class Batch:
    """The arguments of one forward, and its number among those of the step, from 1."""

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    number: int


class Batches:
    """Notes what `model` is called with while gradients are recorded.

    Once `is_spoiled()`, nothing is added until the next step: the last one noted was the last that
    had its part in it. `autocast` is the dtype of autocast when it was last asked for, None where
    it was off. Nothing is left in copies and pickles that are made of the model meanwhile.
    """

    def __init__(self, model: nn.Module, is_spoiled: Callable[[], bool]):
        self.autocast: torch.dtype | None = None
        self.asks_autocast = True  # at the next forward
        self._model, self._is_spoiled = model, is_spoiled
        self._device = next((p.device.type for p in model.parameters()), "cpu")
        self._call: _Call | None = None
        self._handle: Any = None
        self._before: deque[tuple[int, Any, Any, int]] = deque(maxlen=1)
        self._forget()

    def _forget(self) -> None:
        self._first: Any = None  # the usual step has one forward: no list for it
        self._rest: deque[Any] = deque(maxlen=KEPT - 1)
        self._n_rest = 0
        self._before.clear()

    def keep(self, steps: int) -> None:
        """Keep the batches of so many steps besides those of the present one; at first of one."""
        self._before = deque(self._before, maxlen=steps)

    def begin(self) -> None:
        """Note every forward from here on."""
        if _has_replicas():
            hook = _Hook(self._note)
            self._handle = self._model.register_forward_pre_hook(hook, with_kwargs=True)
        else:
            self._call = _Call(self._model, self._note)
            vars(self._model)[_SLOT] = self._call

    def end(self) -> None:
        """Leave the model as it was, and let go of the batches."""
        if self._handle is not None:
            self._handle.remove()
        if self._call is not None:
            self._call.take_away()
        self._handle = self._call = None
        self._forget()

    def after_step(self, step: int) -> None:
        """What came belongs to `step`; the next forward belongs to the next one."""
        if self._n_rest:
            self._before.append((step, self._first, self._rest, self._n_rest))
            self._rest, self._n_rest = deque(maxlen=KEPT - 1), 0
        else:
            self._before.append((step, self._first, (), 0))
        self._first = None

    @property
    def arrived(self) -> int:
        """How many came since the last step; the first and the last of them are kept."""
        return (self._first is not None) + self._n_rest

    @property
    def now(self) -> list[Batch]:
        """Those of them that are kept."""
        return _numbered(self._first, self._rest, self._n_rest)

    @property
    def before(self) -> list[tuple[int, list[Batch]]]:
        """The last steps and what is kept of their batches, the oldest step first."""
        return [(step, _numbered(*kept)) for step, *kept in self._before]

    def _note(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not _is_grad_enabled():
            return
        if self.asks_autocast:
            self._ask_autocast()
        if self._first is None:
            self._first = arguments, named
        elif not self._is_spoiled():
            self._rest.append((arguments, named))
            self._n_rest += 1

    def _ask_autocast(self) -> None:
        is_on = torch.is_autocast_enabled(self._device)
        self.autocast = torch.get_autocast_dtype(self._device) if is_on else None
        self.asks_autocast = False


class _Call:
    """Stands where torch puts a compiled call: faster than a hook, and left out of every copy."""

    def __init__(self, model: nn.Module, note: Callable[..., None]):
        self._model, self._note = model, note
        self._had = vars(model).get(_SLOT)
        self._inner = self._had or model._call_impl

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self._note(arguments, named)
        return self._inner(*arguments, **named)

    def take_away(self) -> None:
        """Put back what was there; where another call came on top, only stop noting."""
        slots = vars(self._model)
        if slots.get(_SLOT) is not self:
            self._note = _nothing
        elif self._had is None:
            del slots[_SLOT]
        else:
            slots[_SLOT] = self._had

    def __reduce__(self) -> Any:
        """A model with its own way of being copied gets None: no compiled call."""
        return type(None), ()


class _Hook:
    """A hook of torch: slower, and right where `DataParallel` replicates the model."""

    def __init__(self, note: Callable[..., None]):
        self._note = note

    def __call__(self, module: nn.Module, arguments: Any, named: Any) -> None:
        self._note(arguments, named)

    def __reduce__(self) -> Any:
        """A copy gets a function of Python's own that takes anything and does nothing."""
        return getattr, (nullcontext(), "__exit__")


def _numbered(first: Any, rest: Any, n_rest: int) -> list[Batch]:
    """The first batch of a step and the last ones of the `n_rest` that came after it."""
    if first is None:
        return []
    numbers = range(n_rest - len(rest) + 2, n_rest + 2)
    others = [Batch(*batch, number=n) for batch, n in zip(rest, numbers, strict=True)]
    return [Batch(*first, number=1), *others]


def _nothing(*_: Any) -> None:
    """Note nothing any more."""


def _has_replicas() -> bool:
    """Whether `DataParallel` could make replicas, whose compiled call would be the original's."""
    return torch.cuda.device_count() > 1 or torch.xpu.device_count() > 1


_is_grad_enabled = torch.is_grad_enabled
