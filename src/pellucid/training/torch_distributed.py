"""One large network on rows that do not fit into memory, by any number of processes.

    torchrun --nproc-per-node=2 -m pellucid.training.torch_distributed --data rows --target y ...

Every process reads its own share of the rows, and PyTorch's DistributedDataParallel averages the
gradients, so that a step is that of one process on the whole batch.
"""

import argparse
import dataclasses
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidInput, PellucidError
from ..likelihoods import as_likelihood
from ..network import read_metadata, save
from ..network.files import replaceable
from .history import History
from .parquet_rows import Moments, ParquetRows, find_files, moments, open_rows
from .settings import Settings, check_size, settings_from
from .torch_group import Group, Refused
from .torch_loop import State, Task, fold, train_task
from .torch_tables import OPTIMIZERS

RECORDS = 200  # recorded losses in all
MOST_CLASSES = 100_000


def read_history(path: str | os.PathLike[str]) -> History:
    """The recorded losses that are kept with a network which this module trained."""
    kept = json.loads(read_metadata(path).get("history", "{}"))
    if not kept:
        raise InvalidFile(f"{path} holds no history.")
    return History(np.array(kept["steps"], np.int64), np.array(kept["loss"]), np.empty(0))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise InvalidInput(f"{message}; --help lists the options.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "torchrun --nproc-per-node=N -m pellucid.training.torch_distributed",
        description="Train one network on Parquet files larger than memory.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", nargs="+", required=True, metavar="PATH", help="Parquet files, or folders.")
    add("--target", required=True, help="Column to predict; all others are inputs.")
    add("--drop", nargs="+", default=[], metavar="COLUMN", help="Columns to leave out.")
    add("--out", type=Path, required=True, help="File for the network.")
    add("--checkpoint", type=Path, help="File to go on from; written after every epoch.")
    add("--hidden", default="512,512", help="Hidden widths, such as 512,512 (the default).")
    add("--likelihood", help="As in pellucid.train; by the target if not given.")
    add("--epochs", type=int, default=1, help="Passes over all rows (1).")
    add("--batch-size", type=int, default=1024, help="Rows in a step, of all processes (1024).")
    add("--learning-rate", type=float, default=0.001, help="Learning rate (0.001).")
    for name in ("optimizer", "activation", "scheme", "schedule"):
        default = getattr(Settings, name)
        add(f"--{name}", default=default, help=f"As in pellucid.train ({default}).")
    for name in ("momentum", "weight_decay", "clip_norm", "gamma", "eta_min"):
        add(f"--{name.replace('_', '-')}", type=float, help="As in pellucid.train.")
    for name in ("seed", "warmup", "step_size", "record_every"):
        add(f"--{name.replace('_', '-')}", type=int, help="As in pellucid.train.")
    add("--dtype", choices=("float32", "float64"), default="float32", help="Computation in.")
    add("--raw", action="store_true", help="Take the columns as they are; else they are scaled.")
    add("--buffer-rows", type=int, default=262_144, help="Rows that wait to be shuffled, in all.")
    return parser


def _settings(options: argparse.Namespace, n: int, steps_per_epoch: int) -> Settings:
    steps = options.epochs * steps_per_epoch
    given = {
        "hidden": _widths(options.hidden),
        "batch_size": min(options.batch_size, n),
        "steps": steps,
        "record_every": max(1, steps // RECORDS),
    }
    names = {f.name for f in dataclasses.fields(Settings)} - set(given)
    values = {name: value for name, value in vars(options).items() if name in names}
    chosen = {name: value for name, value in values.items() if value is not None}
    if options.record_every is not None:
        given["record_every"] = options.record_every
    return settings_from(given | chosen)


def _widths(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")] if text != "none" else []
    except ValueError:
        raise InvalidInput(
            f"--hidden is {text!r}; it needs widths such as 512,512, or none."
        ) from None


def _task(options: argparse.Namespace, rows: ParquetRows, group: Group) -> Task:
    """Check everything but the rows themselves, then make the pass over them."""

    def checked() -> tuple[Settings, int]:
        batch, n = options.batch_size, rows.n // group.size * group.size
        for name in ("epochs", "batch_size", "buffer_rows"):
            if getattr(options, name) < 1:
                raise InvalidInput(f"--{name.replace('_', '-')} needs at least 1.")
        if n == 0:
            raise InvalidInput(f"{rows.n} rows are too few for {group.size} processes.")
        if batch % group.size:
            raise InvalidInput(
                f"--batch-size is {batch}, which {group.size} processes cannot share equally; "
                f"give a multiple of {group.size}."
            )
        steps = -(-n // batch)
        settings = _settings(options, n, steps)
        settings.learning_rate_at(0)  # refuses a schedule that follows the losses
        if settings.optimizer not in OPTIMIZERS:
            raise InvalidInput(
                f"--optimizer is {settings.optimizer}; on a stream of rows it needs to be one of "
                f"{', '.join(OPTIMIZERS)}."
            )
        if group.rank == 0:
            _check_places(options.out, options.checkpoint, rows)
        check_size((len(rows.features), *settings.hidden, 1))
        return settings, steps

    settings, steps = group.agreed(checked)
    mine = group.agreed(lambda: moments(rows, rows.share(group.rank, group.size)))
    first, *others = group.gather(mine)
    for part in others:
        first = first.merged(part)
    likelihood, d_out = group.agreed(lambda: _likelihood(options, rows, first))
    return Task(
        rows,
        settings,
        likelihood,
        d_out,
        options.epochs,
        steps,
        None if options.raw else first,
        options.dtype,
        options.buffer_rows,
    )


def _check_places(out: Path, checkpoint: Path | None, rows: ParquetRows) -> None:
    """Refuse places that cannot be written, or hold something that is not ours to replace."""
    inputs = {os.path.realpath(path) for path in rows.paths}
    for name, path in (("--out", out), ("--checkpoint", checkpoint)):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise InvalidFile(f"there is no folder {path.parent}; make it first.")
        if str(replaceable(path)) in inputs:
            raise InvalidFile(f"{name}: {path} is one of the files of rows; name another file.")
    if checkpoint is not None and replaceable(checkpoint) == replaceable(out):
        raise InvalidFile("--out and --checkpoint name the same file; name two.")
    if out.exists() and out.stat().st_size:
        try:
            read_metadata(out)
        except InvalidFile:
            raise InvalidFile(
                f"--out: {out} exists and is no network of Pellucid; it is not replaced: name "
                "another file."
            ) from None


def _likelihood(options: argparse.Namespace, rows: ParquetRows, found: Moments) -> tuple[str, int]:
    """The likelihood's name and the number of outputs, from the targets' type and range."""
    name = options.likelihood or ("categorical" if rows.has_labels else "gaussian")
    family, low, high = as_likelihood(name), found.lowest, found.highest
    if family.target_kind == "label":
        if not rows.has_labels or low < 0 or high >= MOST_CLASSES:
            raise InvalidInput(
                f"column {rows.target!r} runs from {low:g} to {high:g}; the {family.name} "
                "likelihood needs whole numbers 0, 1, ..., one for each class."
            )
        return str(family), family.n_outputs(np.array([high]))
    if family.target_kind == "binary" and (low < 0 or high > 1):
        raise InvalidInput(
            f"column {rows.target!r} runs from {low:g} to {high:g}; the bernoulli likelihood needs "
            "numbers from 0 to 1."
        )
    if family.target_kind == "count" and (low < 0 or not rows.has_labels):
        raise InvalidInput(
            f"column {rows.target!r} runs from {low:g} to {high:g}; the {family.name} likelihood "
            "needs a column of whole numbers from 0."
        )
    return str(family), family.outputs_per_target


def _metadata(task: Task, state: State, group: Group) -> dict[str, str]:
    return {
        "feature_names": json.dumps(task.rows.features),
        "target": task.rows.target,
        "classes": "null",
        "likelihood": task.likelihood,
        "settings": json.dumps(task.settings.to_dict()),
        "history": json.dumps({"steps": state.steps, "loss": state.losses}),
        "status": state.status,
        "processes": str(group.size),
    }


def _run(group: Group, arguments: Sequence[str]) -> None:
    def say(text: str) -> None:
        if group.rank == 0:
            print(text, flush=True)

    if {"-h", "--help"} & set(arguments):
        say(_parser().format_help())
        return
    options = group.agreed(lambda: _parser().parse_args(arguments))
    rows = group.from_first(
        lambda: open_rows(find_files(options.data), options.target, options.drop)
    )
    task = _task(options, rows, group)
    say(f"{rows.n:,} rows of {len(rows.paths)} files, network {'-'.join(map(str, task.widths))}, "
        f"{task.steps_per_epoch:,} steps an epoch, processes: {group.size}")  # fmt: skip
    network, state = train_task(task, group, options.checkpoint, say)
    folded = network if task.scaling is None else fold(network, task.scaling)
    group.from_first(lambda: save(folded, options.out, _metadata(task, state, group)))
    if state.status == "diverged":
        say(f"the loss was no finite number at step {state.step}; saved is the network of the last "
            "recorded loss before: try a lower learning rate")  # fmt: skip
    peaks = group.gather(_peak_memory())
    say(f"saved: {options.out}; peak memory {max(peaks) / 2**20:,.0f} MiB a process")


def _peak_memory() -> int:
    """Bytes of memory that this process held at most (Linux)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def main(arguments: Sequence[str]) -> int:
    """Run the program; 0: done, 2: a user's mistake, told once, 1: another process is gone."""
    group = Group.joined()
    try:
        _run(group, arguments)
        group.leave()
        return 0
    except Refused as mistake:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's, when it sees the first one end
        if group.rank == 0:
            _tell(str(mistake))
        group.gather(None)
        group.leave()
        return 2
    except PellucidError as mistake:  # while the rows are read a second time
        _tell(f"process {group.rank}: {mistake}")
        return 2
    except KeyboardInterrupt:
        return 130
    except RuntimeError as error:
        if not _is_lost_connection(error):
            raise
        _tell(
            f"process {group.rank} lost another process, so training stops; nothing was written "
            "but --checkpoint after each whole epoch: the same command goes on from there."
        )
        return 1


def _tell(text: str) -> None:
    print(f"pellucid: {text}", file=sys.stderr, flush=True)


def _is_lost_connection(error: RuntimeError) -> bool:
    return any(word in str(error).lower() for word in ("gloo", "nccl", "connection", "peer"))


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # Gloo's threads may outlive the group, and abort a Python that shuts down
