"""Training in PyTorch, on any of its devices: the steps, records and results of the kernel."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .._errors import InvalidInput, MissingDependency
from .._kernels import TrainingJob, TrainingResult
from .._kernels.jobs import ValidationRows, Weights
from .._kernels.measure import ratios
from .._kernels.state import start
from .._shapes import Array, Float
from .torch_measure import layer_norms, measure
from .torch_network import Objective, TorchNetwork
from .torch_random import Batches
from .torch_update import UPDATES

NAME = "torch"
_NO_WEIGHTS = Weights()
_NEVER = 1 << 62


def has_gpu() -> bool:
    """Whether torch sees an NVIDIA or AMD GPU."""
    return torch.cuda.is_available()


def find_device(name: str | None) -> torch.device:
    """The device of that name, checked; by default "cuda" where torch sees one, else "cpu"."""
    if name is None:
        return torch.device("cuda" if has_gpu() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type == "meta":
        raise InvalidInput(f"engine is 'torch:{name}'; torch knows no device {name!r} to train on.")
    try:
        torch.zeros(1, device=device).cpu()
    # what torch raises for no driver, for a build without the device, and for an operation it lacks
    except (RuntimeError, AssertionError, NotImplementedError):
        raise MissingDependency(
            f"engine is 'torch:{name}' and torch {torch.__version__} cannot use such a device "
            "here; name another, such as torch:cpu."
        ) from None
    return device


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let torch use n threads inside one network while a block runs; 0 leaves its own number."""
    before = torch.get_num_threads()
    torch.set_num_threads(n or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Inputs, targets and row weights on the device."""

    x: Float[Tensor, "n d_in"]
    y: Tensor
    u: Tensor | None = None

    def take(self, rows: Tensor | None) -> "tuple[Tensor, Tensor, Tensor | None]":
        if rows is None:
            return self.x, self.y, self.u
        return self.x[rows], self.y[rows], None if self.u is None else self.u[rows]


class TorchEngine:
    """Trains one network after the other; their rows go to the device once.

    An instance is what `_kernels.train_networks` takes as an engine.
    """

    name = NAME

    def __init__(self, device: torch.device):
        self.device = device
        self._uploaded: dict[tuple[int, torch.dtype], tuple[Array, Tensor]] = {}

    def _upload(self, array: Array | None, dtype: torch.dtype) -> Any:
        if array is None:
            return None
        held, tensor = self._uploaded.get((id(array), dtype), (None, None))
        if held is not array:
            tensor = torch.from_numpy(array).to(self.device, dtype)
            self._uploaded[id(array), dtype] = array, tensor
        return tensor

    def _rows(self, X: Array, y: Array, dtype: torch.dtype, u: Array | None = None) -> _Rows:
        of_y = torch.int64 if y.dtype.kind in "iu" else dtype
        return _Rows(self._upload(X, dtype), self._upload(y, of_y), self._upload(u, dtype))

    def __call__(
        self,
        X: Array,
        y: Array,
        job: TrainingJob,
        *,
        validation: ValidationRows | None = None,
        stopped: Callable[[], bool] = lambda: False,
        stepped: Callable[[], None] = lambda: None,
        weights: Weights = _NO_WEIGHTS,
    ) -> TrainingResult:
        """Train one network; ``stopped`` is asked and ``stepped`` told once a step."""
        dtype = getattr(torch, job.parameters.dtype.name)
        if dtype == torch.float64 and self.device.type == "mps":
            raise InvalidInput("torch:mps computes in float32 only; got a job in float64.")
        objective = Objective(job, self._upload(weights.classes, dtype))
        rows = self._rows(X, y, dtype, weights.samples)
        held_out = None
        if validation is not None:
            held_out = self._rows(validation[0], validation[1], dtype, *validation[2:])
        return _Training(job, objective, rows, held_out).train(stopped, stepped)


class _Probe:
    """The first step whose loss was not finite.

    The CPU is asked at every step. Another device notes the step itself and is asked when something
    is recorded or measured, so that it need not wait in between.
    """

    def __init__(self, device: torch.device):
        self._at_once = device.type == "cpu"
        self._first = torch.tensor(_NEVER, device=device)

    def finds(self, step: int, loss: Float[Tensor, ""], asked: bool) -> int | None:
        """Note the loss of a step; the first bad step so far, if asked."""
        if self._at_once:
            return None if math.isfinite(loss.item()) else step
        bad = torch.where(torch.isfinite(loss), _NEVER, step)
        self._first = torch.minimum(self._first, bad)
        return self.found() if asked else None

    def found(self) -> int | None:
        first = int(self._first.item())
        return None if first == _NEVER else first


class _Training:
    """One job on its way: `_kernels.reference`, with the vectors of a run on the device."""

    def __init__(self, job: TrainingJob, objective: Objective, rows: _Rows, held_out: _Rows | None):
        self.job, self.rows, self.held_out = job, rows, held_out
        device, n = rows.x.device, len(rows.x)
        self.run = start(job, n, job.parameters.dtype, held_out is not None, NAME)
        self.network = TorchNetwork(job, self.run.parameters, objective, device)
        self.kept = torch.from_numpy(self.run.kept).to(device)
        self.batches = Batches(self.run, job.batch_size, device)
        self.update = UPDATES[job.optimizer](job, self.network, self.run, self.loss_and_gradient)
        self.probe = _Probe(device)

    def train(self, stopped: Callable[[], bool], stepped: Callable[[], None]) -> TrainingResult:
        """All steps that are left, and the result."""
        status = "finished"
        while status == "finished" and self.run.step < self.job.steps:
            status = "interrupted" if stopped() else self.one_step()
            if status == "finished":
                stepped()
        return self.finish(status)

    def one_step(self) -> str:
        """From the batch to the update; anything but "finished" ends the run."""
        job, run, network = self.job, self.run, self.network
        recording = run.step % job.record_every == 0
        measuring = job.measure_every > 0 and run.step % job.measure_every == 0
        x, y, u = self.rows.take(self.batches.next())
        loss = network.loss_and_gradient(x, y, u, run.step)
        bad = self.probe.finds(run.step, loss, recording or measuring)
        if bad is not None or (recording and not self.finite()):
            run.step = run.step if bad is None else bad
            return "diverged"
        status = self.update.status_at(loss)
        if status != "finished":
            return status
        if recording and not self.record(loss.item()):
            return "stopped early"  # what ends a run records this step
        measured = measure(network, x, y, u) if measuring else {}
        before = network.theta.clone() if measuring else network.theta
        status = self.update()
        if measuring:
            update = layer_norms(network, network.theta - before)
            run.measure(update_ratio=ratios(update, layer_norms(network, before)), **measured)
        run.step += 1
        return status

    def loss_and_gradient(self) -> Float[Tensor, ""]:
        """Of all rows, where L-BFGS looks at other parameters."""
        return self.network.loss_and_gradient(self.rows.x, self.rows.y, self.rows.u, None)

    def record(self, loss: float) -> bool:
        """Add a record; False where patience is at its end."""
        validation, validated = self.validation_loss(), self.held_out is not None
        keep = partial(self.kept.copy_, self.network.theta)
        return self.run.go_on(self.job, loss, validation, validated, keep)

    def finite(self) -> bool:
        return bool(torch.isfinite(self.network.theta).all())

    def validation_loss(self) -> float:
        rows = self.held_out
        return float("nan") if rows is None else self.network.loss(rows.x, rows.y, rows.u)

    def finish(self, status: str) -> TrainingResult:
        """The last record, and the parameters that come back."""
        run, validated = self.run, self.held_out is not None
        bad = self.probe.found()
        if bad is not None:
            run.step, status = bad, "diverged"
        self.to_host()
        return run.finish(
            self.job,
            status,
            validated,
            lambda: self.network.loss(self.rows.x, self.rows.y, self.rows.u),
            self.validation_loss,
        )

    def to_host(self) -> None:
        """Bring the vectors back into the run."""
        self.run.parameters[:] = self.network.theta.cpu().numpy()
        self.run.kept[:] = self.kept.cpu().numpy()
        self.update.to_host()
