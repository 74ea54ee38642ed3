"""What a model was given in its last steps: references to its batches, never copies of them."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
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

    def __init__(self, arguments: tuple[Any, ...], named: dict[str, Any], versions: Any):
        self.arguments, self.named, self.versions = arguments, named, versions
        self.reached: bool | None = None

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing was written to its tensors since."""
        return self.versions == _versions(self.arguments, self.named)

    def passed(self, _: Any) -> None:
        """A hook of the graph's: `backward` comes through."""
        self.reached = True


class _Step:
    """The forwards of one step: the first one and the last ones of the `n_rest` that came after."""

    def __init__(self, number: int, first: _Noted):
        self.number, self.first = number, first
        self.rest: deque[_Noted] = deque(maxlen=KEPT - 1)
        self.n_rest = 0

    @property
    def noted(self) -> list[_Noted]:
        return [self.first, *self.rest]

    @property
    def pointers(self) -> list[int]:
        """Where the tensors lie in memory; sparse ones are never filled anew."""
        given = [tensor for one in self.noted for tensor in tensors((one.arguments, one.named))]
        return [t.data_ptr() for t in given if t.layout == _STRIDED and t.numel()]

    def batches(self, in_memory: Counter[int]) -> list[Batch]:
        """Those that are still as they were and had their part in the gradient.

        `in_memory` counts what was given at each place in memory.
        """
        numbers = [1, *range(self.n_rest - len(self.rest) + 2, self.n_rest + 2)]
        found = []
        for one, number in zip(self.noted, numbers, strict=True):
            has_part = number == self.n_rest + 1 if one.reached is None else one.reached
            if has_part and one.is_unchanged:
                given = tensors((one.arguments, one.named))
                is_own = all(in_memory[t.data_ptr()] <= 1 for t in given if t.layout == _STRIDED)
                found.append(Batch(one.arguments, one.named, number, is_own))
        return found


class Batches:
    """Notes what `model` is called with while gradients are recorded.

    `step` is the one that the next forward belongs to. `gradient()` gives the sum of a gradient, 0
    where there is none so far. Once it is not finite, nothing is added until the next step: the
    last one noted was the last that had its part in it. `autocast` is the dtype of autocast when it
    was last asked for, None where it was off. Nothing is left in copies and pickles that are made
    of the model meanwhile.
    """

    def __init__(self, model: nn.Module, gradient: Callable[[], float]):
        self.step = 1
        self.autocast: torch.dtype | None = None
        self._asks_autocast = True  # at the next forward
        self._model, self._gradient = model, gradient
        self._device = device_type(model)
        self._around: Callable[[], Any] | None = None
        self._open = ExitStack()
        self._call: _Call | None = None
        self._handle: Any = None
        self._skipped: deque[tuple[int, Any]] = deque(maxlen=1)
        # of a step with one forward, a tuple: its number, and what _Noted takes
        self.kept: deque[Any] = deque(maxlen=2)
        self.newest = 0  # the last step of those
        self.is_amid = False  # in evaluations of the step before `step`
        self.is_usual = False  # one forward in a step, of which no more is to be seen

    def keep(self, steps: int) -> None:
        """Keep the batches of so many steps besides those of the present one; at first of one."""
        self.kept = deque(self.kept, maxlen=steps + 1)
        self._skipped = deque(self._skipped, maxlen=steps)

    def begin(self) -> None:
        """Note every forward from here on."""
        if _has_replicas():
            hook = _Hook(self.note)
            self._handle = self._model.register_forward_pre_hook(hook, with_kwargs=True)
        else:
            self._call = _Call(self._model, self)
            vars(self._model)[_SLOT] = self._call

    def ask_autocast(self) -> None:
        """Ask for it at the next forward."""
        self._asks_autocast, self.is_usual = True, False

    def run_inside(self, around: Callable[[], Any] | None) -> None:
        """Have every forward from here on run inside `around()`; None for no longer.

        Where hooks note the forwards, all that runs until then is inside.
        """
        self._around, self.is_usual = around, False
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
        self.kept.clear()
        self._skipped.clear()
        self.newest = 0

    def scaled(self, step: int, skips: Any) -> None:
        """A scaler has a part in `step`, and `skips` is not 0 if it skips it."""
        self._skipped.append((step, skips))

    def evaluated(self) -> None:
        """An evaluation in the step before `step` ends; of several the last is kept."""
        if self._present is None:
            return
        self._present.number = self.step - 1
        if len(self.kept) > 1 and self._kept(-2).number == self.step - 1:
            del self.kept[-2]
        self.newest = 0  # the next forward is another evaluation's

    def _kept(self, place: int) -> _Step:
        one = self.kept[place]
        if isinstance(one, tuple):
            number, *given = one
            self.kept[place] = one = _Step(number, _Noted(*given))
        return one

    @property
    def _present(self) -> _Step | None:
        """What came since the last step, or in this evaluation."""
        is_there = self.kept and self.newest == self.step
        return self._kept(-1) if is_there else None

    @property
    def arrived(self) -> int:
        """How many came since the last step; the first and the last of them are kept."""
        present = self._present
        return 0 if present is None else 1 + present.n_rest

    @property
    def now(self) -> list[Batch]:
        """Those of them that are kept, still as they were, and had their part in the gradient."""
        present = self._present
        return [] if present is None else present.batches(Counter(present.pointers))

    @property
    def last(self) -> list[Batch]:
        """The last one of them, whether it had its part or not; none if it was written to."""
        present = self._present
        noted = None if present is None else present.noted[-1]
        if noted is None or not noted.is_unchanged:
            return []
        return [Batch(noted.arguments, noted.named, self.arrived)]

    @property
    def before(self) -> dict[int, list[Batch]]:
        """The last steps and the same of their batches, the oldest first."""
        steps = [self._kept(i) for i in range(len(self.kept))]
        present = self._present
        if present is not None and self.is_amid:
            present.number = self.step - 1
        others = Counter(p for number, p in {(s.number, p) for s in steps for p in s.pointers})
        skipped = {number for number, skips in self._skipped if bool(skips)}
        past = steps if present is None else steps[:-1]
        return {
            one.number: one.batches(others | Counter(one.pointers))
            for one in past
            if one.number not in skipped
        }

    def note(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> _Noted | None:
        """A forward is called; what is noted of it is given back if more is to be seen of it."""
        if not _is_grad_enabled():
            return None
        if self._asks_autocast:
            self._ask_autocast()
        noted = _Noted(arguments, named, _versions(arguments, named))
        if self.newest != self.step:
            are_several = bool(self.kept) and self._kept(-1).n_rest > 0
            self.is_usual = self._around is None and not are_several and self._call is not None
            self.kept.append(_Step(self.step, noted))
            self.newest = self.step
            return None if self.is_usual else noted
        return self._one_more(noted)

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
        present = self._kept(-1)
        self.is_usual = False
        gradient = self._gradient()
        if gradient - gradient != 0.0:
            return None
        if gradient == 0.0:  # what came through was thrown away again
            for one in present.noted:
                if one.reached:
                    one.reached = False
        present.rest.append(noted)
        present.n_rest += 1
        return noted

    def _ask_autocast(self) -> None:
        is_on = torch.is_autocast_enabled(self._device)
        self.autocast = torch.get_autocast_dtype(self._device) if is_on else None
        self._asks_autocast = False


class _Call:
    """Stands where torch puts a compiled call: faster than a hook, and left out of every copy."""

    def __init__(self, model: nn.Module, batches: Batches):
        self._model = model
        self._batches: Batches | None = batches
        self.had = vars(model).get(_SLOT)
        self._inner = self.had or model._call_impl

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        batches = self._batches
        if _is_compiling() or batches is None:
            return self._inner(*arguments, **named)
        if batches.is_usual and batches.newest != batches.step and _is_grad_enabled():
            # the same as `note` does, without more calls: they are a part of each step's time
            batches.newest = step = batches.step
            try:
                is_one = not named and len(arguments) == 1 and type(arguments[0]) is _Tensor
                versions = arguments[0]._version if is_one else _versions(arguments, named)
            except RuntimeError:  # an inference tensor
                versions = _versions(arguments, named)
            batches.kept.append((step, arguments, named, versions))
            return self._inner(*arguments, **named)
        noted = batches.note(arguments, named)
        if noted is None:
            return self._inner(*arguments, **named)
        return batches.run(noted, self._inner)

    def take_away(self) -> None:
        """Put back what was there; where another call came on top, only stop noting."""
        slots = vars(self._model)
        if slots.get(_SLOT) is not self:
            self._batches = None
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


def _versions(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """How often each tensor was written to; inference tensors, which cannot be, have no count."""
    given = [tensor for tensor in tensors((arguments, named)) if not tensor.is_inference()]
    return given[0]._version if len(given) == 1 else [tensor._version for tensor in given]


def _has_replicas() -> bool:
    """Whether `DataParallel` could make replicas, whose compiled call would be the original's."""
    return torch.cuda.device_count() > 1 or torch.xpu.device_count() > 1


_is_grad_enabled = torch.is_grad_enabled
_is_compiling = torch.compiler.is_dynamo_compiling
_STRIDED = torch.strided
_Tensor = torch.Tensor
