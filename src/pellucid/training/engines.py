"""The table of engines, and which of them trains what.

An engine's name may be followed by a device where it knows several: "torch:cuda".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from .. import _kernels
from .._errors import InvalidInput, MissingDependency
from .._kernels import TrainingJob, TrainingResult
from .._kernels.checks import check_threads
from .._kernels.state import empty_result
from .._shapes import Array

Progress = Callable[[int, int], object]

#: multiply-adds of one step, and of a whole run, from which "auto" gives a job to a GPU: a GPU
#: needs some tenths of a millisecond to be told the work of a step, and torch seconds to load
GPU_STEP, GPU_RUN = 5e8, 2e12


@dataclass(frozen=True)
class Engine:
    """One member of the table.

    ``is_there`` says whether it can train on this machine, and loads nothing to find out. ``train``
    takes a device (or None), and then what `train_networks` takes.
    """

    name: str
    about: str
    is_there: Callable[[], bool]
    train: Callable[..., list[TrainingResult]]
    takes_device: bool = False


def train_networks(
    X: Array,
    y: Array,
    jobs: Sequence[TrainingJob],
    *,
    engine: str = "auto",
    progress: Progress | None = None,
    **options: Any,
) -> list[TrainingResult]:
    """`_kernels.train_networks` with every engine of the table, and "auto".

    Under "auto" each job goes to the engine that suits its size. The choice depends on the job, the
    number of rows and the machine alone, so that a network's result does not depend on what else is
    in the grid, or on the number of threads.
    """
    if engine != "auto":
        member, device = find_engine(engine)
        return member.train(device, X, y, jobs, progress=progress, **options)
    chosen = [choose(job, len(X)) for job in jobs]
    if set(chosen) <= {"kernel"}:
        return _kernels.train_networks(X, y, jobs, progress=progress, **options)
    results: list[TrainingResult] = [empty_result(job) for job in jobs]
    total, before = sum(job.steps for job in jobs), 0
    for name in dict.fromkeys(chosen):
        numbers = [i for i, of in enumerate(chosen) if of == name]
        part = [jobs[i] for i in numbers]
        train = _kernels.train_networks if name == "kernel" else partial(ENGINES[name].train, None)
        done = train(X, y, part, progress=_shifted(progress, before, total), **options)
        for i, result in zip(numbers, done, strict=True):
            results[i] = result
        before += sum(job.steps for job in part)
        if any(result.status == "interrupted" for result in done):
            break
    return results


def find_engine(name: str) -> tuple[Engine, str | None]:
    """The engine of that name, and the device that stands behind the colon."""
    known, _, device = name.partition(":") if isinstance(name, str) else ("", "", "")
    member = ENGINES.get(known)
    if member is None or (":" in name and not (member.takes_device and device)):
        raise InvalidInput(
            f"engine is {name!r}; choose one of auto, {', '.join(ENGINES)}, or torch with a "
            "device, such as torch:cpu or torch:cuda."
        )
    return member, device or None


def choose(job: TrainingJob, n: int) -> str:
    """Which engine "auto" takes for a job on n rows: the kernel, or torch where a GPU pays.

    On the processor torch is at no size clearly faster, one thread each: benchmarks/engines.py.
    """
    step = 3 * _kernels.n_parameters(job.widths) * min(job.batch_size or n, n)
    large = step >= GPU_STEP and step * job.steps >= GPU_RUN
    return "torch" if large and has_torch() and _has_gpu() else "kernel"


def has_torch() -> bool:
    """Whether torch is installed."""
    return find_spec("torch") is not None


def _has_gpu() -> bool:
    try:
        from . import torch_engine
    except (ImportError, OSError):  # an installation that does not load
        return False
    return torch_engine.has_gpu()


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of a part, told as progress of the whole."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def _train_kernel(_: None, *rows_and_jobs: Any, **options: Any) -> list[TrainingResult]:
    return _kernels.train_networks(*rows_and_jobs, engine="kernel", **options)


def _train_reference(_: None, *rows_and_jobs: Any, **options: Any) -> list[TrainingResult]:
    return _kernels.train_networks(*rows_and_jobs, engine="reference", **options)


def _train_torch(
    device: str | None, *rows_and_jobs: Any, threads: int = 0, **options: Any
) -> list[TrainingResult]:
    if not has_torch():
        raise MissingDependency(
            'engine="torch" needs PyTorch, which is not installed: pip install "pellucid[torch]" '
            "(in a clone: .venv/bin/pip install torch), or leave engine out."
        )
    from . import torch_engine

    check_threads(threads)
    engine = torch_engine.TorchEngine(torch_engine.find_device(device))
    with torch_engine.threads(threads):
        return _kernels.train_networks(*rows_and_jobs, engine=engine, **options)


ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "kernel",
            "compiled C++, one network to a thread",
            lambda: _kernels.native_module() is not None,
            _train_kernel,
        ),
        Engine("reference", "the kernel's NumPy twin", lambda: True, _train_reference),
        Engine(
            "torch",
            "PyTorch on any of its devices, one network after the other",
            has_torch,
            _train_torch,
            takes_device=True,
        ),
    )
}
