"""What a run logged, as scalars by step: what TensorBoard and MLflow are given."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._errors import InvalidInput
from .history import History
from .run import Grid, Run

Scalar = tuple[str, int, float]
"""A name, the step, and the value."""


@dataclass(frozen=True)
class Logged:
    """One run under a name: its settings (nothing for a bare history), scalars and end."""

    name: str
    settings: dict[str, str | float | bool]
    scalars: tuple[Scalar, ...]
    status: str


def logged(what: Run | Grid | History) -> tuple[Logged, ...]:
    """Every run of what is to be logged."""
    if isinstance(what, Grid):
        digits = len(str(max(len(what) - 1, 0)))
        return tuple(_of_run(run, f"{i:0{digits}d}-") for i, run in enumerate(what))
    if isinstance(what, Run):
        return (_of_run(what, ""),)
    if isinstance(what, History):
        return (Logged("history", {}, tuple(_scalars(what)), "finished"),)
    raise InvalidInput(
        f"got a {type(what).__name__}; give a Run, a Grid of runs or the History of one to log."
    )


def _of_run(run: Run, prefix: str) -> Logged:
    widths = "-".join(map(str, run.network.widths))
    name = f"{prefix}{widths}-seed{run.settings.seed}"
    return Logged(name, _settings(run), tuple(_scalars(run.history)), run.status)


def _settings(run: Run) -> dict[str, str | float | bool]:
    plain: dict[str, Any] = run.settings.to_dict() | {"likelihood": run.likelihood}
    plain["hidden"] = "-".join(map(str, plain["hidden"])) or "none"
    return {name: value for name, value in plain.items() if isinstance(value, str | float | int)}


def _scalars(history: History) -> Iterator[Scalar]:
    """Losses and, where they were measured, the numbers of every layer; what is finite."""
    for name in ("loss", "validation_loss"):
        values = getattr(history, name)
        yield from _finite(name, history.steps[: len(values)], values)
    if history.layers is None:
        return
    for name in ("gradient_norm", "update_ratio", "dead", "saturated"):
        for i, values in enumerate(getattr(history.layers, name).T, start=1):
            yield from _finite(f"{name}/layer {i}", history.layers.steps, values)


def _finite(name: str, steps: Any, values: Any) -> Iterator[Scalar]:
    for step, value in zip(steps.tolist(), values.tolist(), strict=True):
        if math.isfinite(value):
            yield name, step, value
