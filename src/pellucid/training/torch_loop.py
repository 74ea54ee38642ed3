"""The loop of a network that is trained by a group of processes on rows that stream by."""

import dataclasses
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from .._errors import InvalidFile, InvalidInput
from ..likelihoods import as_likelihood
from ..network import Network, initialize
from ..network.files import write_atomically
from ..network.formats.torch import from_torch
from .parquet_rows import Moments, ParquetRows, batches
from .settings import Settings
from .torch_group import Group
from .torch_likelihoods import row_losses
from .torch_tables import OPTIMIZERS


@dataclass(frozen=True)
class Task:
    """What is trained on what, the same in every process."""

    rows: ParquetRows
    settings: Settings  # of all processes together: steps and batch size, too
    likelihood: str
    d_out: int
    epochs: int
    steps_per_epoch: int
    scaling: Moments | None
    dtype: str
    buffer: int

    @property
    def widths(self) -> tuple[int, ...]:
        """(d_0, ..., d_L)."""
        return (len(self.rows.features), *self.settings.hidden, self.d_out)

    @property
    def identity(self) -> str:
        """What two runs must have in common for one to go on with the other's checkpoint."""
        rows = [list(map(os.path.basename, self.rows.paths)), self.rows.counts]
        rows += [self.rows.features, self.rows.target]
        about = [self.settings.to_dict(), rows, self.likelihood, self.widths, self.dtype]
        return json.dumps([*about, self.scaling is not None])


@dataclass
class State:
    """Where training stands."""

    epoch: int = 0
    step: int = 0
    status: str = "running"
    steps: list[int] = dataclasses.field(default_factory=list)
    losses: list[float] = dataclasses.field(default_factory=list)


def train_task(
    task: Task, group: Group, checkpoint: Path | None, say: Callable[[str], None]
) -> tuple[Network, State]:
    """Train, from the checkpoint if there is one, and return the network on scaled columns.

    Training diverges where a mean loss is infinite or NaN: one that is recorded, or that of an
    epoch's last batch after the last update. The network is then that of the last of these moments
    whose loss was finite.
    """
    start = initialize(
        task.widths, task.settings.activation, task.settings.scheme, task.settings.seed, task.dtype
    )
    module = start.to_torch().to(group.device)
    optimizer = OPTIMIZERS[task.settings.optimizer](task.settings, module.parameters())
    state = _resumed(task, group, checkpoint, module, optimizer)
    if state.epoch:
        say(f"goes on after epoch {state.epoch} of {task.epochs}")
    model, good = group.parallel(module), _copied(module)
    while state.epoch < task.epochs and state.status == "running":
        begun = time.monotonic()
        good = _epoch(task, group, model, module, optimizer, state, good)
        state.epoch += 1
        if state.status == "running":
            _write_checkpoint(task, group, checkpoint, module, optimizer, state)
            rate = task.rows.n / (time.monotonic() - begun)
            say(f"epoch {state.epoch} of {task.epochs}: loss {state.losses[-1]:.4g} nats, "
                f"{rate:,.0f} rows a second")  # fmt: skip
    if state.status == "diverged":
        module.load_state_dict(good)
    else:
        state.status = "finished"
    return from_torch(module.cpu()), state


def _epoch(
    task: Task,
    group: Group,
    model: nn.Module,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: State,
    good: dict[str, Tensor],
) -> dict[str, Tensor]:
    """One pass over the rows; returns the parameters of the last finite loss that was looked at."""
    settings, head = task.settings, as_likelihood(task.likelihood)
    losses = row_losses(head.name, head.parameters)
    x = y = torch.empty(0)
    for x, y in _local_batches(task, group, state.epoch):
        loss = losses(model(x), y).mean()
        if state.step % settings.recording_interval == 0:
            mean = group.mean(loss)
            if not np.isfinite(mean):
                state.status = "diverged"
                return good
            state.steps.append(state.step)
            state.losses.append(mean)
            good = _copied(module)
        optimizer.zero_grad()
        loss.backward()
        if settings.clip_norm:
            nn.utils.clip_grad_norm_(module.parameters(), settings.clip_norm)
        for parameters in optimizer.param_groups:
            parameters["lr"] = settings.learning_rate_at(state.step)
        optimizer.step()
        state.step += 1
    with torch.no_grad():
        after = group.mean(losses(module(x), y).mean())
    if np.isfinite(after):
        return _copied(module)
    state.status = "diverged"
    return good


def _local_batches(task: Task, group: Group, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The part of this process in every batch of one epoch, scaled, on its device.

    All processes have the same number of rows in every step: the same number of steps, and means
    over processes that are means over rows.
    """
    assert task.settings.batch_size is not None
    rows, kind = task.rows, getattr(torch, task.dtype)
    labelled = as_likelihood(task.likelihood).target_kind == "label"
    for X, y in batches(
        rows,
        rows.share(group.rank, group.size),
        rows.n // group.size,
        task.settings.batch_size // group.size,
        max(1, task.buffer // group.size),
        (task.settings.seed % 2**64, epoch, group.rank),
    ):
        if task.scaling is not None:
            X = (X - task.scaling.mean) / task.scaling.scale
        x = torch.from_numpy(np.ascontiguousarray(X, dtype=task.dtype))
        targets = torch.from_numpy(np.ascontiguousarray(y))
        if not labelled:
            targets = targets.to(kind)[:, None]
        yield x.to(group.device, non_blocking=True), targets.to(group.device, non_blocking=True)


def fold(network: Network, scaling: Moments) -> Network:
    """The same function on unscaled columns, in float64: W (x - m) / s + b."""
    exact = network.astype("float64")
    weights, biases = list(exact.weights), list(exact.biases)
    weights[0] = weights[0] / scaling.scale
    biases[0] = biases[0] - weights[0] @ scaling.mean
    return Network(tuple(weights), tuple(biases), exact.activations)


def _copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


# ---- checkpoints


def _write_checkpoint(
    task: Task,
    group: Group,
    path: Path | None,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: State,
) -> None:
    """The first process writes, whole or not at all; the others wait for it."""
    if path is None:
        return
    buffer = io.BytesIO()
    if group.rank == 0:
        kept = {"identity": task.identity, "state": dataclasses.asdict(state)}
        tensors = {"module": module.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(kept | tensors, buffer)
    group.from_first(lambda: write_atomically(path, buffer.getvalue()))


def _resumed(
    task: Task,
    group: Group,
    path: Path | None,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> State:
    """Load the checkpoint, if there is one, into module and optimizer."""

    def read() -> bytes | None:
        if path is None or not path.exists():
            return None
        try:
            return path.read_bytes()
        except OSError as error:
            raise InvalidFile(f"cannot read {path}: {(error.strerror or '').lower()}.") from None

    data = group.from_first(read)
    if data is None:
        return State()

    def restore() -> State:
        try:
            kept = torch.load(io.BytesIO(data), map_location=group.device, weights_only=True)
            identity = kept["identity"]
        except Exception:  # torch raises a dozen kinds for bytes that are not its own
            raise InvalidFile(f"{path} is no checkpoint of this program, or damaged.") from None
        if identity != task.identity:
            raise InvalidInput(
                f"{path} is the checkpoint of another run (other settings or rows); give "
                "--checkpoint another name, or remove the file."
            )
        module.load_state_dict(kept["module"])
        optimizer.load_state_dict(kept["optimizer"])
        return State(**kept["state"])

    return group.agreed(restore)
