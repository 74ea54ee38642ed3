"""How well a module does on rows: accuracy or R2, whatever its outputs look like."""

import math
from dataclasses import dataclass

import torch
from torch import nn

from .torch_code import Code
from .torch_state import are_finite

BETTER = {"accuracy": 0.05, "R2": 0.1}
"""What a remedy must gain to count as one."""


@dataclass(frozen=True)
class Score:
    """Accuracy or R2 on training rows and on held-out rows."""

    name: str
    training: float
    held_out: float

    def better_than(self, other: "Score") -> bool:
        """Whether both parts gain, one of them by what counts."""
        need = BETTER[self.name]
        gains = self.training - other.training, self.held_out - other.held_out
        return max(gains) >= need and min(gains) >= -need / 2


def score_of(code: Code, module: nn.Module, half: float | None = None) -> Score:
    """The score of a module; `half` is the output at which a single unit decides (0 or 0.5)."""
    if half is None:
        family = code.recognised.family
        half = 0.5 if family is not None and family.wants == "probabilities" else 0.0
    parts = [
        _score(code.outputs_of(module, X), y, half, are_finite(module.state_dict().values()))
        for X, y in ((code.X, code.y), (code.X_new, code.y_new))
    ]
    return Score(kind_of(code.outputs, code.y), *parts)


def kind_of(outputs: torch.Tensor, y: torch.Tensor) -> str:
    """Return "accuracy" for labels, one-hot rows and 0/1 targets of a single unit, else "R2"."""
    return "accuracy" if _is_classes(outputs, y) else "R2"


def _is_classes(outputs: torch.Tensor, y: torch.Tensor) -> bool:
    if not y.is_floating_point():
        return True
    return bool(((y == 0) | (y == 1)).all())


def _score(outputs: torch.Tensor, y: torch.Tensor, half: float, finite: bool) -> float:
    if not finite or not bool(torch.isfinite(outputs).all()):
        return -math.inf
    out = outputs.double()
    if _is_classes(outputs, y):
        return _accuracy(out, y, half)
    out, target = out.reshape(len(y), -1), y.double().reshape(len(y), -1)
    if out.shape != target.shape:
        return math.nan
    spread = float(((target - target.mean(0)) ** 2).sum())
    return 1.0 - float(((out - target) ** 2).sum()) / spread if spread > 0 else math.nan


def _accuracy(out: torch.Tensor, y: torch.Tensor, half: float) -> float:
    if out.ndim == 2 and out.shape[1] > 1:
        labels = y.argmax(1) if y.shape == out.shape else y.reshape(-1)
        return float((out.argmax(1) == labels).double().mean())
    said = out.reshape(len(y)) > half
    return float((said == (y.reshape(len(y)) > 0.5)).double().mean())


def trivial_score(y: torch.Tensor) -> float:
    """The accuracy of the most frequent class; 0 for R2."""
    if y.is_floating_point() and not bool(((y == 0) | (y == 1)).all()):
        return 0.0
    labels = y.argmax(1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)
    return float(torch.unique(labels, return_counts=True)[1].max()) / len(labels)
