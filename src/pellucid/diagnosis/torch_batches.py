"""What a model was given in its last steps: references to its batches, never copies of them."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .torch_state import device_type

KEPT = 8
"""Batches of one step that are kept: the last ones, where more are accumulated."""

_SLOT = "_compiled_call_impl"


@dataclass(frozen=True)
class Batch:
    """The arguments of one forward, and its number among those of the step, from 1.

    `is_own` tells that no other kept batch lies in the same memory, which could have been filled
    anew in between.
    """

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    number: int
    is_own: bool = True


class _Noted:
    """One forward: what it was given, how often that had been written to by then, and whether
    `backward` came through its output since; None where that is not looked at.
    """

    __slots__ = ("arguments", "named", "reached", "versions")

    def __init__(self, arguments: tuple[Any, ...], named: dict[str, Any]):
        self.arguments, self.named = arguments, named
        self.versions = _versions(arguments, named)
        self.reached: bool | None = None

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing was written to its tensors since."""
        return self.versions == _versions(self.arguments, self.named)

    def passed(self, _: Any) -> None:
        """A hook of the graph's: `backward` comes through."""
        self.reached = True


class Batches:
    """Notes what `model` is called with while gradients are recorded.

    `gradient(is_first)` gives the sum of a gradient, 0 where there is none so far. Once it is not
    finite, nothing is added until the next step: the last one noted was the last that had its part
    in it. `autocast` is the dtype of autocast when it was last asked for, None where it was off.
    Nothing is left in copies and pickles that are made of the model meanwhile.
    """

    def __init__(self, model: nn.Module, gradient: Callable[[], float]):
        self.autocast: torch.dtype | None = None
        self.asks_autocast = True  # at the next forward
        self._model, self._gradient = model, gradient
        self._device = device_type(model)
        self._around: Callable[[], Any] | None = None
        self._open = ExitStack()
        self._call: _Call | None = None
        self._handle: Any = None
        self._before: deque[tuple[int, Any, Any, int, Any]] = deque(maxlen=1)
        self._forget()

    def _forget(self) -> None:
        self._first: _Noted | None = None  # the usual step has one forward: no list for it
        self._rest: deque[_Noted] = deque(maxlen=KEPT - 1)
        self._n_rest = 0
        self._are_several = False
        self._before.clear()

    def keep(self, steps: int) -> None:
        """Keep the batches of so many steps besides those of the present one; at first of one."""
        self._before = deque(self._before, maxlen=steps)

    def begin(self) -> None:
        """Note every forward from here on."""
        if _has_replicas():
            hook = _Hook(self.note)
            self._handle = self._model.register_forward_pre_hook(hook, with_kwargs=True)
        else:
            self._call = _Call(self._model, self)
            vars(self._model)[_SLOT] = self._call

    def run_inside(self, around: Callable[[], Any] | None) -> None:
        """Have every forward from here on run inside `around()`; None for no longer.

        Where hooks note the forwards, all that runs until then is inside.
        """
        self._around = around
        self._open.close()
        if around is not None and self._call is None:
            self._open.enter_context(around())

    def end(self) -> None:
        """Leave the model as it was, and let go of the batches."""
        self.run_inside(None)
        if self._handle is not None:
            self._handle.remove()
        if self._call is not None:
            self._call.take_away()
        self._handle = self._call = None
        self._forget()

    def after_step(self, step: int, skipped: Any) -> None:
        """What came belongs to `step`; the next forward belongs to the next one.

        `skipped` is a number that a scaler leaves, and not 0 where it skips this step. Of several
        evaluations in one step the last is kept.
        """
        if self._first is None:
            return
        before = self._before
        if before and before[-1][0] == step:
            before.pop()
        if self._n_rest:
            before.append((step, self._first, self._rest, self._n_rest, skipped))
            self._rest, self._n_rest = deque(maxlen=KEPT - 1), 0
        else:
            self._are_several = False
            before.append((step, self._first, (), 0, skipped))
        self._first = None

    @property
    def arrived(self) -> int:
        """How many came since the last step; the first and the last of them are kept."""
        return (self._first is not None) + self._n_rest

    @property
    def now(self) -> list[Batch]:
        """Those of them that are kept, still as they were, and had their part in the gradient."""
        return _batches(self._first, self._rest, self._n_rest, {})

    @property
    def last(self) -> list[Batch]:
        """The last one of them, whether it had its part or not; none if it was written to."""
        noted = self._rest[-1] if self._rest else self._first
        if noted is None or not noted.is_unchanged:
            return []
        return [Batch(noted.arguments, noted.named, self.arrived)]

    def before(self, now: int) -> dict[int, list[Batch]]:
        """The last steps and the same of their batches, the oldest first; `now` is this step."""
        steps = [*self._before, (now, self._first, self._rest, 0, None)]
        given = {
            (step, pointer)
            for step, first, rest, *_ in steps
            for one in (first, *rest)
            if one is not None
            for pointer in _pointers(one)
        }
        in_memory = Counter(pointer for _, pointer in given)
        return {
            step: _batches(first, rest, n_rest, in_memory)
            for step, first, rest, n_rest, skipped in self._before
            if skipped is None or not bool(skipped)
        }

    def note(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> _Noted | None:
        """A forward is called; what is noted of it is given back if more is to be seen of it."""
        if not _is_grad_enabled():
            return None
        if self.asks_autocast:
            self._ask_autocast()
        if self._first is None:
            self._first = noted = _Noted(arguments, named)
            return None if self._around is None and not self._are_several else noted
        return self._one_more(_Noted(arguments, named))

    def run(self, noted: _Noted, inner: Callable[..., Any]) -> Any:
        """The output of a forward, of which `noted` will tell whether `backward` came through."""
        with nullcontext() if self._around is None else self._around():
            output = inner(*noted.arguments, **noted.named)
        for tensor in tensors(output):
            if tensor.grad_fn is not None:
                noted.reached = False
                tensor.grad_fn.register_prehook(noted.passed)
        return output

    def _one_more(self, noted: _Noted) -> _Noted | None:
        self._are_several = True
        gradient = self._gradient()
        if gradient - gradient != 0.0:
            return None
        if gradient == 0.0:  # what came through was thrown away again
            for one in (self._first, *self._rest):
                if one is not None and one.reached:
                    one.reached = False
        self._rest.append(noted)
        self._n_rest += 1
        return noted

    def _ask_autocast(self) -> None:
        is_on = torch.is_autocast_enabled(self._device)
        self.autocast = torch.get_autocast_dtype(self._device) if is_on else None
        self.asks_autocast = False


class _Call:
    """Stands where torch puts a compiled call: faster than a hook, and left out of every copy."""

    def __init__(self, model: nn.Module, batches: Batches):
        self._model = model
        self._note: Callable[..., _Noted | None] = batches.note
        self._run = batches.run
        self.had = vars(model).get(_SLOT)
        self._inner = self.had or model._call_impl

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if _is_compiling():
            return self._inner(*arguments, **named)
        noted = self._note(arguments, named)
        if noted is None:
            return self._inner(*arguments, **named)
        return self._run(noted, self._inner)

    def take_away(self) -> None:
        """Put back what was there; where another call came on top, only stop noting."""
        slots = vars(self._model)
        if slots.get(_SLOT) is not self:
            self._note = _nothing
        elif self.had is None:
            del slots[_SLOT]
        else:
            slots[_SLOT] = self.had

    def __reduce__(self) -> Any:
        """A model with its own way of being copied gets None: no compiled call."""
        return type(None), ()


class _Hook:
    """A hook of torch: slower, and right where `DataParallel` replicates the model."""

    def __init__(self, note: Callable[..., Any]):
        self._note = note

    def __call__(self, module: nn.Module, arguments: Any, named: Any) -> None:
        if not _is_compiling():
            self._note(arguments, named)

    def __reduce__(self) -> Any:
        """A copy gets a function of Python's own that takes anything and does nothing."""
        return getattr, (nullcontext(), "__exit__")


def is_compiled(module: nn.Module) -> bool:
    """Whether `torch.compile` made it, or its call."""
    call = vars(module).get(_SLOT)
    while isinstance(call, _Call):
        call = call.had
    return call is not None or hasattr(module, "_orig_mod")


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from tensors(inner)


def _batches(
    first: _Noted | None, rest: Iterable[_Noted], n_rest: int, in_memory: dict[int, int]
) -> list[Batch]:
    """Those of a step that are still as they were and had their part: first, and the last ones.

    `in_memory` counts the steps that were given a place in memory.
    """
    if first is None:
        return []
    rest = list(rest)
    numbers = [1, *range(n_rest - len(rest) + 2, n_rest + 2)]
    of_step = Counter(p for one in (first, *rest) for p in _pointers(one))
    return [
        Batch(
            one.arguments,
            one.named,
            number,
            all(of_step[p] == 1 and in_memory.get(p, 1) == 1 for p in _pointers(one)),
        )
        for one, number in zip((first, *rest), numbers, strict=True)
        if one.is_unchanged and (number == n_rest + 1 if one.reached is None else one.reached)
    ]


def _pointers(noted: _Noted) -> set[int]:
    """Where its tensors lie in memory; sparse ones are never filled anew."""
    given = tensors((noted.arguments, noted.named))
    return {t.data_ptr() for t in given if t.layout == torch.strided and t.numel()}


def _versions(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """How often each tensor was written to; inference tensors, which cannot be, have no count."""
    try:
        if not named and len(arguments) == 1 and type(arguments[0]) is torch.Tensor:
            return arguments[0]._version
        return [tensor._version for tensor in tensors((arguments, named))]
    except RuntimeError:
        return None


def _nothing(*_: Any) -> None:
    """Note nothing any more."""


def _has_replicas() -> bool:
    """Whether `DataParallel` could make replicas, whose compiled call would be the original's."""
    return torch.cuda.device_count() > 1 or torch.xpu.device_count() > 1


_is_grad_enabled = torch.is_grad_enabled
_is_compiling = torch.compiler.is_compiling
