"""The processes that torchrun started, and what they agree on; one alone where it did not."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from .._errors import PellucidError

T = TypeVar("T")

PATIENCE = timedelta(days=1)
"""Waiting for a slow process; a dead one ends its connections, and the others, at once."""


class Refused(Exception):
    """A user's mistake that every process knows of; the first one tells it."""


@dataclass(frozen=True)
class Group:
    """One process among the others: its number, how many there are, and its device."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def joined(cls) -> "Group":
        """Meet the others: NCCL on GPUs, one for each process of a machine, and Gloo elsewhere."""
        gpu = torch.cuda.is_available()
        device = torch.device("cpu")
        if gpu:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            torch.cuda.set_device(device)
        if "RANK" not in os.environ:
            return cls(0, 1, device)
        backend = "cpu:gloo,cuda:nccl" if gpu else "gloo"
        distributed.init_process_group(backend, timeout=PATIENCE)
        return cls(distributed.get_rank(), distributed.get_world_size(), device)

    def leave(self) -> None:
        """Part from the others."""
        if distributed.is_initialized():
            distributed.destroy_process_group()

    def gather(self, value: T) -> list[T]:
        """The value of every process, in order, in every process."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        distributed.all_gather_object(values, value)
        return values

    def agreed(self, work: Callable[[], T]) -> T:
        """What the work returns here; `Refused` in every process if a user's mistake stops one."""
        result, mistake = None, None
        try:
            result = work()
        except PellucidError as error:
            mistake = str(error)
        for told in self.gather(mistake):
            if told is not None:
                raise Refused(told)
        return result  # type: ignore[return-value]  # None only where there was a mistake

    def from_first(self, work: Callable[[], T]) -> T:
        """What the work returns in the first process, in every process."""
        value = self.agreed(lambda: work() if self.rank == 0 else None)
        values: list[Any] = [value]
        if self.size > 1:
            distributed.broadcast_object_list(values, src=0)
        return values[0]

    def mean(self, value: Tensor) -> float:
        """The mean of a number over the processes."""
        total = value.detach().to(torch.float64)
        if self.size > 1:
            distributed.all_reduce(total)
        return total.item() / self.size

    def parallel(self, module: nn.Module) -> nn.Module:
        """The module, whose gradients are then means over the processes."""
        if self.size == 1:
            return module
        return nn.parallel.DistributedDataParallel(
            module, device_ids=[self.device] if self.device.type == "cuda" else None
        )
