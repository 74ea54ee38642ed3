"""What an update does to each layer: norms of its gradient, its move and its parameters."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from .torch_state import norms, stored
from .torch_units import Units

FOUND_EVERY = 8
"""Measurements after which the layers are looked up anew, as a model may change."""


@dataclass(frozen=True)
class LayerMeasurement:
    """One layer at one step: norms over its weights and biases, shares of its units.

    `dead` and `saturated` are 0 where the layer's units were not looked at: those of the output,
    and those that go into no other layer by an activation alone.
    """

    step: int
    layer: str
    gradient_norm: float
    update_ratio: float
    dead: float
    saturated: float


class Layers:
    """The layers of `model` that have a weight matrix, and the `rows` measured of them.

    Only parameters that the optimizer moves are copied, from `before` its update to `after` it.
    """

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer):
        self.rows: list[LayerMeasurement] = []
        self.moved_elsewhere: set[str] = set()
        self.left_out: dict[str, int] = {}  # layers that the optimizer lacks: their bits, summed up
        self._model, self._optimizer = model, optimizer
        self._measured = 0
        self._old: dict[int, torch.Tensor] = {}
        self._find()

    def _find(self) -> None:
        """Walk through the model, which may have changed."""
        self._held = self._held_now()
        named = dict(self._model.named_parameters())
        self.are_lazy = any(map(is_lazy, named.values()))
        self._named = {n: p for n, p in named.items() if id(p) in self._held and not is_lazy(p)}
        self._parts = _with_weights(self._model)
        self._own = {name: _own(part) for name, part in self._parts.items()}

    def _held_now(self) -> set[int]:
        return {id(p) for group in self._optimizer.param_groups for p in group["params"]}

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def names(self) -> list[str]:
        """Their names in the model."""
        return list(self._parts)

    def label(self, name: str) -> str:
        """What a layer is called; a model that is one layer, by its kind."""
        return name or type(self._parts[name]).__name__

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """The model's parameters that the optimizer moves, with their names, found anew."""
        self._find()
        return self.trained_lately

    @property
    def trained_lately(self) -> dict[str, nn.Parameter]:
        """The same as they were found last."""
        return {n: p for n, p in self._named.items() if p.requires_grad}

    def before(self) -> None:
        """Copy what the next update will move."""
        if self.are_lazy or self._measured % FOUND_EVERY == 0 or self._held != self._held_now():
            self._find()
        self._measured += 1
        moved = {id(p) for p in self.trained_lately.values()}
        self._old = {}
        for name, own in self._own.items():
            if any(id(p) in moved for p in own):
                self._old |= {id(p): p.detach().clone() for p in own if id(p) in moved}
            elif any(p.requires_grad for p in own):
                bits = sum(map(_bits, own))
                if self.left_out.setdefault(name, bits) != bits:
                    self.moved_elsewhere.add(name)
                self.left_out[name] = bits

    def after(self, step: int, units: dict[str, Units]) -> bool:
        """Add a row for each layer; whether all that is trained is finite beyond doubt."""
        old, self._old = self._old, {}
        parts = list(self._own.values())
        moved = [[p for p in part if id(p) in old] for part in parts]
        now, before = _flat(moved), [old[id(p)] for part in moved for p in part]
        differences = iter(_all_differences(now, before) if now else [])
        moves = [[next(differences) for _ in part] for part in moved]
        gradients = [[stored(p.grad) for p in part if p.grad is not None] for part in parts]
        sizes: list[list[torch.Tensor]] = [
            [old.get(id(p), p) for p in part] if is_moved else []
            for part, is_moved in zip(parts, moved, strict=True)
        ]
        others: list[torch.Tensor] = [p for p in self.trained_lately.values() if id(p) not in old]
        of_all = _norms([*gradients, *moves, *sizes, others])
        n = len(parts)
        for i, name in enumerate(self._parts):
            gradient, move, size = of_all[i : 3 * n : n]
            self.rows.append(self._row(step, name, gradient, move, size, units.get(name)))
        return all(map(math.isfinite, of_all[n:]))

    def _row(
        self, step: int, name: str, gradient: float, move: float, size: float, units: Units | None
    ) -> LayerMeasurement:
        share = 0.0 if units is None else units.share
        state = "" if units is None else units.state
        return LayerMeasurement(
            step=step,
            layer=self.label(name),
            gradient_norm=gradient,
            update_ratio=move / size if size > 0 else (math.inf if move else 0.0),
            dead=share if state == "inactive" else 0.0,
            saturated=share if state == "saturated" else 0.0,
        )


def _with_weights(model: nn.Module) -> dict[str, nn.Module]:
    """The parts that have a weight matrix of their own, of numbers that can be trained."""
    matrices = {}
    for name, part in model.named_modules():
        weight = dict(part.named_parameters(recurse=False)).get("weight")
        if weight is not None and not is_lazy(weight) and weight.ndim == 2 and _is_real(weight):
            matrices[name] = part
    return matrices


def _own(part: nn.Module) -> list[nn.Parameter]:
    return [p for p in part.parameters(recurse=False) if _is_real(p)]


def _is_real(parameter: nn.Parameter) -> bool:
    """Whether it holds numbers that have a norm; those of a byte are quantised ones."""
    is_number = parameter.is_floating_point() or parameter.is_complex()
    return is_number and parameter.element_size() > 1


def _bits(parameter: nn.Parameter) -> int:
    """All stored bits, added up as whole numbers: another sum means other numbers."""
    values = parameter.detach()
    values = torch.view_as_real(values) if values.is_complex() else values
    return int(values.view(_WHOLE[values.element_size()]).sum(dtype=torch.int64))


def _flat(groups: list[Any]) -> list[torch.Tensor]:
    return [tensor.detach() for group in groups for tensor in group]


def _norms(groups: list[list[torch.Tensor]]) -> list[float]:
    """Euclid's norm of each group."""
    values = iter(norms([tensor for group in groups for tensor in group]))
    return [math.hypot(*(next(values) for _ in group)) for group in groups]


_WHOLE = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_all_differences: Any = vars(torch)["_foreach_sub"]  # one call, as torch's optimizers make
