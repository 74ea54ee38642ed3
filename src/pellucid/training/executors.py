"""The table of executors: where the networks of one grid are trained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _kernels
from .._errors import InvalidInput
from . import engines

TrainNetworks = Callable[..., list[_kernels.TrainingResult]]
"""A function with the arguments and the result of `engines.train_networks`."""


@dataclass(frozen=True)
class Executor:
    """One member of the family: its name, where it trains, the function that does."""

    name: str
    where: str
    train_networks: TrainNetworks


def _on_ray(*arguments: Any, **options: Any) -> list[_kernels.TrainingResult]:
    from .ray_executor import train_networks

    return train_networks(*arguments, **options)


EXECUTORS: dict[str, Executor] = {
    executor.name: executor
    for executor in (
        Executor("local", "the processors of this machine", engines.train_networks),
        Executor("ray", "the machines of a Ray cluster", _on_ray),
    )
}


def as_executor(name: str | None) -> Executor:
    """Look an executor up; None is "local"."""
    if name is None:
        return EXECUTORS["local"]
    if not isinstance(name, str) or name not in EXECUTORS:
        raise InvalidInput(f"executor is {name!r}; choose one of {', '.join(EXECUTORS)}, or None.")
    return EXECUTORS[name]
