"""What hidden units do on a batch, read from one forward: inactive ones and saturated ones.

A layer is hidden if its outputs go through an activation into another `nn.Linear`, as the graph of
the gradient says, for activations that are modules and for those that are calls. All others (heads,
gates, residual sums) are left alone: there a zero or a saturated output is no fault.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from .torch_batches import is_compiled
from .torch_state import Guard

FLAT = 0.01
"""A slope below this share of the steepest counts as saturated."""


@dataclass(frozen=True)
class Units:
    """For each unit of a layer: whether it was inactive, or saturated, on all of so many rows.

    `state` is "inactive" or "saturated", `mask` a bool tensor of shape (width,).
    """

    state: str
    mask: torch.Tensor
    rows: int

    @property
    def share(self) -> float:
        """The share of the units that were so."""
        return int(self.mask.sum()) / max(1, self.mask.numel())

    def also(self, other: "Units") -> "Units":
        """The same units on the rows of both."""
        return Units(self.state, self.mask & other.mask, self.rows + other.rows)


class Lasting:
    """What the units of a layer were in its measurements, kept in the width of one of them."""

    def __init__(self, first: Units):
        self._state = first.state
        self._rows = [first.rows]
        self._otherwise = (~first.mask).long()  # each unit's last measurement, from 1, if not so

    def add(self, units: Units) -> "Lasting":
        """With one more measurement; those of another kind begin anew."""
        if units.state != self._state or units.mask.shape != self._otherwise.shape:
            return Lasting(units)
        self._rows.append(units.rows)
        self._otherwise = torch.where(units.mask, self._otherwise, len(self._rows))
        return self

    def in_the_last(self, measurements: int, rows: int) -> tuple[int, Units] | None:
        """How many measurements the last half is, and the units that were so in all of them.

        At least so many measurements count; None where they are missing, or have too few rows.
        """
        n = max(measurements, math.ceil(len(self._rows) / 2))
        if len(self._rows) < n or sum(self._rows[-n:]) < rows:
            return None
        mask = self._otherwise <= len(self._rows) - n
        return n, Units(self._state, mask, sum(self._rows[-n:]))


class UnitsSeen:
    """Looks at the forwards of a model that run inside `looking`.

    The hooks are those of torch for all modules, so that none is in the model or in its copies.
    `failed` is called with what goes wrong in them. They stay away from a model that is compiled,
    which they would have compiled again.
    """

    def __init__(self, model: nn.Module, failed: Callable[[Exception], None]):
        self._names = {id(m): name for name, m in model.named_modules()}
        self._guard = Guard(failed)
        self._is_compiled = any(map(is_compiled, model.modules()))
        self._handles: list[Any] = []
        self._seen: dict[str, Units] = {}
        self._forget()

    def _forget(self) -> None:
        self._made: dict[Any, nn.Linear] = {}  # node of the graph -> layer whose output it made
        self._behind: dict[Any, tuple[str, Units]] = {}  # node of an activation -> its units

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look at what runs inside, and hold nothing of it afterwards but what was seen."""
        if self._handles or self._is_compiled:
            yield
            return
        self._handles = [
            register_module_forward_pre_hook(self._enters),
            register_module_forward_hook(self._leaves),
        ]
        try:
            yield
        finally:
            for handle in self._handles:
                handle.remove()
            self._handles = []
            self._forget()

    def end(self) -> dict[str, Units]:
        """What was seen of each hidden layer since the last `end`."""
        seen, self._seen = self._seen, {}
        return seen

    def _leaves(self, module: nn.Module, _: Any, output: Any) -> None:
        if _is_compiling() or id(module) not in self._names:
            return
        with self._guard:
            self._note_output(module, output)

    def _enters(self, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if _is_compiling() or not isinstance(module, nn.Linear):
            return
        if id(module) not in self._names or not arguments:
            return
        with self._guard:
            self._note_units(arguments[0])

    def _note_output(self, module: nn.Module, output: Any) -> None:
        node = getattr(output, "grad_fn", None)
        if node is None:
            return
        if isinstance(module, nn.Linear):
            self._made[node] = module
        elif node.name() in _ACTIVATIONS:
            found = self._units(node, output)
            if found is not None:
                self._behind[node] = found

    def _note_units(self, h: Any) -> None:
        """Note the hidden layer that `h` comes from, and its units: h <- activation <- layer."""
        start = getattr(h, "grad_fn", None)
        node = self._skipped(start)
        if node is None or node.name() not in _ACTIVATIONS:
            return
        found = self._behind.get(node)
        if found is None and (node is start or _ACTIVATIONS[node.name()][0] == "inactive"):
            found = self._units(node, h)  # dropout keeps a zero
        if found is not None:
            name, units = found
            earlier = self._seen.get(name)
            self._seen[name] = units if earlier is None else earlier.also(units)

    def _units(self, node: Any, values: torch.Tensor) -> tuple[str, Units] | None:
        """The layer whose outputs the activation got, and its units in the activation's values."""
        layer = self._made.get(self._skipped(node.next_functions[0][0]))
        if layer is None or values.ndim < 2 or values.shape[-1] != layer.out_features:
            return None
        state, is_so = _ACTIVATIONS[node.name()]
        rows = values.detach().reshape(-1, layer.out_features)
        return self._names[id(layer)], Units(state, is_so(rows).all(0), len(rows))

    def _skipped(self, node: Any) -> Any:
        """The first node, from this one backward, that does more than passing units on."""
        while node is not None and node not in self._made and _is_passed(node):
            node = node.next_functions[0][0]
        return node


def _is_passed(node: Any) -> bool:
    """Whether a node passes on the units of its first argument, each by itself."""
    if node.name() not in _PASSED:
        return False
    others = [other for other, _ in node.next_functions[1:] if other is not None]
    return node.name() in _NORMALISED or not others


_ACTIVATIONS: dict[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "ReluBackward0": ("inactive", lambda h: h == 0),
    "SigmoidBackward0": ("saturated", lambda s: 4 * s * (1 - s) < FLAT),
    "TanhBackward0": ("saturated", lambda t: 1 - t * t < FLAT),
}
"""Node of the graph -> what its units can be, and which values are so."""
_NORMALISED = {"NativeBatchNormBackward0", "NativeLayerNormBackward0"}
_PASSED = _NORMALISED | {
    "MulBackward0",  # by a constant: dropout
    "NativeDropoutBackward0",
    "ToCopyBackward0",
    "UnsafeViewBackward0",
    "ViewBackward0",
}
_is_compiling = torch.compiler.is_compiling
