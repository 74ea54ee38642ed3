"""The folder of a checkpoint: study.json, finished-000001.safetensors, ..., running.safetensors.

Each file is written under another name, flushed to the disk and renamed, so that it is whole at any
moment. A safetensors file holds many results: one array for each type of number, and in its
metadata a description (JSON) of what lies where. Reading follows no pointer and runs no code.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, PellucidWarning
from .._kernels.jobs import LayerRecords, TrainingJob, TrainingResult, TrainingState
from .._shapes import Array
from ..network.files import write_atomically

FORMAT, VERSION = "pellucid checkpoint", "1"
STUDY, RUNNING, LOCK = "study.json", "running.safetensors", "lock"
PART = re.compile(r"finished-(\d{6})\.safetensors")
TEMPORARY = re.compile(r"\.pellucid-[0-9a-f]{8}\.(tmp|old)")  # what a killed process leaves
PART_BYTES = 8 * 2**20  # a part grows up to this: bounded work at each checkpoint, and few files
LARGEST_STUDY = 2**20
KINDS = {kind.__name__: kind for kind in (TrainingResult, TrainingState, LayerRecords)}

Results = dict[int, TrainingResult]
Fingerprint = Mapping[str, str]


class Folder:
    """The checkpoint of one training, locked by this process. `opened` makes it.

    `finished` holds the results of the networks that need no more training, `running` those of the
    ones that were paused, with their states; both by the number of the network.
    """

    def __init__(self, path: Path, fingerprint: Fingerprint, jobs: list[TrainingJob]):
        self._path, self._jobs = path, jobs
        self._fingerprint = dict(fingerprint)
        self._id = _id(self._fingerprint)
        self.finished, self._part, self._open = self._read_parts()
        paused = self._read(path / RUNNING, _fits_running) if (path / RUNNING).exists() else {}
        self.running = {i: r for i, r in paused.items() if i not in self.finished}
        if paused and not self.running:  # killed between the last part and the removal
            with contextlib.suppress(OSError):
                (path / RUNNING).unlink()

    def begin(self) -> None:
        """Write what the folder is for; this fails at once where nothing can be written."""
        about = {"format": FORMAT, "version": VERSION, "training": self._fingerprint}
        self._write(STUDY, json.dumps(about, indent=2).encode())

    def save(self, finished: Results, running: Results) -> None:
        """Add `finished` to what is kept, and replace the paused networks by `running`."""
        if finished:
            self.finished |= finished
            self._open |= finished
            data = _pack(self._open, self._id)
            self._write(f"finished-{self._part:06d}.safetensors", data)
            if len(data) >= PART_BYTES:
                self._part, self._open = self._part + 1, {}
        self.running = running
        if running:
            self._write(RUNNING, _pack(running, self._id))
        else:
            (self._path / RUNNING).unlink(missing_ok=True)

    def _write(self, name: str, data: bytes) -> None:
        try:
            write_atomically(self._path / name, data)
        except InvalidFile as error:
            raise InvalidFile(
                f"{str(error).rstrip('.')}; the checkpoint stays as it was before: see to the "
                "place, and the same call goes on from there."
            ) from None

    def _read_parts(self) -> tuple[Results, int, Results]:
        """All finished results, and the number and the content of the part that still grows."""
        finished: Results = {}
        part: Results = {}
        number = 1
        for path in sorted(p for p in self._path.iterdir() if PART.fullmatch(p.name)):
            part = self._read(path, _fits_finished)
            number = int(path.name[9:15])
            finished |= part
            if path.stat().st_size >= PART_BYTES:
                number, part = number + 1, {}
        return finished, number, part

    def _read(self, path: Path, fits: Callable[[TrainingResult, TrainingJob], bool]) -> Results:
        """The results in one file, each of which must be one of its job."""
        try:
            results = _unpack(path.read_bytes(), self._id)
            if not all(
                0 <= i < len(self._jobs) and fits(result, self._jobs[i])
                for i, result in results.items()
            ):
                raise ValueError("what it holds does not fit the networks")
        except OSError as error:
            raise InvalidFile(f"cannot read {path}: {_reason(error)}.") from None
        except (ValueError, RecursionError) as error:
            raise InvalidFile(
                f"the checkpoint file {path} is damaged ({error}); remove this file, and the same "
                "call trains its networks again."
            ) from None
        return results


@contextlib.contextmanager
def opened(path: Path, fingerprint: Fingerprint, jobs: list[TrainingJob]) -> Iterator[Folder]:
    """The folder at `path`, made where it is missing and locked; another's is refused."""
    with locked(path):
        _check_study(path, fingerprint)
        _remove(path, TEMPORARY)
        yield Folder(path, fingerprint, jobs)


def clear(path: Path) -> None:
    """Remove the checkpoint at `path`, if there is one: its own files, and nothing else."""
    if not (path / STUDY).exists():
        return
    with locked(path):
        _read_study(path)
        _remove(path, PART)
        for name in (RUNNING, STUDY):
            (path / name).unlink(missing_ok=True)


# ---- whose folder it is


def _check_study(path: Path, fingerprint: Fingerprint) -> None:
    found = _read_study(path)
    if found is None:
        return
    differ = sorted(k for k in {*found, *fingerprint} if found.get(k) != fingerprint.get(k))
    if not differ:
        return
    if "networks" in differ:
        differ = ["networks"]
    told = (_difference(k, found.get(k), fingerprint.get(k)) for k in differ[:4])
    raise InvalidFile(
        f"{path} holds the checkpoint of another training: {', '.join(told)} "
        f"{'differs' if len(differ) == 1 else 'differ'}; name another folder, or remove this one "
        "to begin anew."
    )


def _difference(name: str, there: object, here: object) -> str:
    shown = ("networks", "engine", "pellucid")
    if name in shown and there is not None and here is not None:
        what = {"networks": "the number of networks", "pellucid": "the version of Pellucid"}
        return f"{what.get(name, f'the {name}')} (there: {there!s:.40}; here: {here!s:.40})"
    return f"{name!r:.40}"


def _read_study(path: Path) -> Fingerprint | None:
    """What the folder is for; None for a new one. A folder of anything else is refused."""
    try:
        data = (path / STUDY).read_bytes()[: LARGEST_STUDY + 1]
    except FileNotFoundError:
        others = [p.name for p in path.iterdir() if p.name != LOCK and not TEMPORARY.match(p.name)]
        if others:
            raise InvalidFile(
                f"{path} is no checkpoint of Pellucid, and not empty (it holds {others[0]!r:.60}); "
                "name a new or an empty folder."
            ) from None
        return None
    except OSError as error:
        raise InvalidFile(f"cannot read {path / STUDY}: {_reason(error)}.") from None
    try:
        about = json.loads(data)
        version, found = about["version"], about["training"]
        if about["format"] != FORMAT or not isinstance(found, dict):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidFile(
            f"{path / STUDY} is damaged, or of another program; name another folder."
        ) from None
    if version != VERSION:
        raise InvalidFile(
            f"{path} is a checkpoint of version {version!r:.20}, and this Pellucid reads version "
            f"{VERSION}; name another folder."
        )
    return found


def _remove(path: Path, names: re.Pattern[str]) -> None:
    for file in path.iterdir():
        if names.fullmatch(file.name) and file.is_file():
            with contextlib.suppress(OSError):
                file.unlink()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep every other process (and thread) out of the folder for as long as the block runs.

    The lock is the operating system's (flock) and ends with the process that holds it, however it
    ends: a `lock` file that is left behind locks nothing.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InvalidFile(
            f"cannot make the checkpoint folder {path} ({_reason(error)}); name another place."
        ) from None
    try:
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise InvalidFile(f"cannot lock {path}: {_reason(error)}.") from None
        yield  # what cannot be written needs no lock to be read
        return
    try:
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    import fcntl
    import warnings

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 100).decode(errors="replace").strip()
        holder = holder if holder.isprintable() and holder else "another process"
        raise InvalidFile(
            f"{path} is in use by {holder}; wait for it, or name another folder."
        ) from None
    except OSError as error:
        warnings.warn(
            f"{path} cannot be locked ({_reason(error)}); see that no second process uses it.",
            PellucidWarning,
            stacklevel=2,
        )
        return
    with contextlib.suppress(OSError):  # on a full disk: the name of the holder is for people
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


# ---- the bytes of a file


def _pack(results: Results, study: str) -> bytes:
    """The content of a file; equal results give equal bytes."""
    from safetensors.numpy import save

    arrays: dict[str, list[Array]] = {}
    described = [[i, _describe(results[i], arrays)] for i in sorted(results)]
    joined = {kind: np.concatenate(parts) for kind, parts in sorted(arrays.items())}
    about = json.dumps(described, separators=(",", ":"))  # in the order of the arrays
    digest = _digest(about, joined)
    header = {"format": FORMAT, "version": VERSION, "study": study}
    return save(joined, {**header, "results": about, "sha256": digest})


def _unpack(data: bytes, study: str) -> Results:
    """The results in a file; ValueError says what is wrong with other bytes."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        joined = load(data)
        length = struct.unpack("<Q", data[:8])[0]
        about = json.loads(data[8 : 8 + length])["__metadata__"]
    except SafetensorError:
        raise ValueError("it is cut short, or no safetensors file") from None
    except (KeyError, TypeError, AttributeError, struct.error):
        raise ValueError("its header says nothing about results") from None
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise ValueError("it is of another program or version")
    if about.get("study") != study:
        raise ValueError("it belongs to another training")
    described = about.get("results", "")
    if about.get("sha256") != _digest(described, joined):
        raise ValueError("its bytes have changed")
    source = _Source(joined)
    try:
        results = {i: source.value(tree) for i, tree in json.loads(described)}
    except (KeyError, TypeError, AttributeError, OverflowError):
        raise ValueError("its description cannot be read") from None
    if not source.is_empty() or not all(type(i) is int for i in results):
        raise ValueError("its arrays are not those that it describes")
    return results


def _digest(about: str, joined: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(about.encode())
    for kind in sorted(joined):
        digest.update(kind.encode())
        digest.update(np.ascontiguousarray(joined[kind]).data)
    return digest.hexdigest()


def _describe(value: Any, arrays: dict[str, list[Array]]) -> Any:
    """A value as JSON; its arrays go to the end of the one of their type."""
    if isinstance(value, np.ndarray):
        arrays.setdefault(value.dtype.name, []).append(np.ravel(value))
        return {"array": [value.dtype.name, *value.shape]}
    if is_dataclass(value):
        parts = {f.name: _describe(getattr(value, f.name), arrays) for f in fields(value)}
        return {type(value).__name__: parts}
    if isinstance(value, dict):
        return {"dict": {str(k): _describe(v, arrays) for k, v in value.items()}}
    if isinstance(value, float):
        return {"float": value.hex()}
    return int(value) if isinstance(value, np.integer) else value


class _Source:
    """Reads described values back, taking their arrays from the front of what is left."""

    def __init__(self, joined: Mapping[str, Array]):
        self._joined = joined
        self._taken = dict.fromkeys(joined, 0)

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, dict):
            if not isinstance(tree, int | str | None):
                raise TypeError
            return tree
        [(kind, parts)] = tree.items()
        if kind == "array":
            return self._array(*parts)
        if kind == "float":
            return float.fromhex(parts)
        values = {name: self.value(part) for name, part in parts.items()}
        return values if kind == "dict" else KINDS[kind](**values)

    def _array(self, kind: str, *shape: int) -> Array:
        start = self._taken[kind]
        if not all(type(d) is int and 0 <= d < 2**48 for d in shape) or len(shape) > 8:
            raise TypeError
        stop = self._taken[kind] = start + math.prod(shape)
        if stop > len(self._joined[kind]):
            raise ValueError("its arrays are not those that it describes")
        return self._joined[kind][start:stop].reshape(shape).copy()

    def is_empty(self) -> bool:
        return all(self._taken[kind] == array.size for kind, array in self._joined.items())


def _id(fingerprint: Fingerprint) -> str:
    return hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()


# ---- does a result belong to its job?


def _fits_finished(result: Any, job: TrainingJob) -> bool:
    return _fits(result, job) and result.status != "interrupted" and result.state is None


def _fits_running(result: Any, job: TrainingJob) -> bool:
    return (
        _fits(result, job)
        and result.status == "interrupted"
        and isinstance(result.state, TrainingState)
        and isinstance(result.state.arrays, dict)
        and all(isinstance(array, np.ndarray) for array in result.state.arrays.values())
        and isinstance(result.state.engine, str)
        and _is_step(result.state.steps_done, job)
    )


def _fits(result: Any, job: TrainingJob) -> bool:
    """Whether a result has the types and lengths that a result of this job has."""
    if not isinstance(result, TrainingResult):
        return False
    k = len(result.steps) if _is(result.steps, np.int64) else -1
    return (
        k >= 0
        and _is(result.parameters, job.parameters.dtype)
        and result.parameters.shape == job.parameters.shape
        and _is(result.losses, np.float64, k)
        and (_is(result.validation_losses, np.float64, k) or _is(result.validation_losses, None, 0))
        and isinstance(result.status, str)
        and re.fullmatch("[a-z ]{1,40}", result.status) is not None
        and _is_step(result.steps_done, job)
        and (result.best_step is None or result.best_step in result.steps.tolist())
        and _are_records(result.layers, len(job.widths) - 1)
    )


def _are_records(layers: Any, n_layers: int) -> bool:
    """Whether these are the records of that many layers, or none at all."""
    if not isinstance(layers, LayerRecords):
        return layers is None
    m = len(layers.steps) if _is(layers.steps, np.int64) else -1
    columns = {"gradient_norm": 0, "update_ratio": 0, "dead": 1, "saturated": 1}
    return all(
        isinstance(array := getattr(layers, name), np.ndarray)
        and array.dtype == np.float64
        and array.shape == (m, n_layers - fewer)
        for name, fewer in columns.items()
    )


def _is(array: Any, dtype: Any, k: int | None = None) -> bool:
    """Whether this is a 1-D array of that type and length."""
    return (
        isinstance(array, np.ndarray)
        and array.ndim == 1
        and (dtype is None or array.dtype == dtype)
        and (k is None or len(array) == k)
    )


def _is_step(step: Any, job: TrainingJob) -> bool:
    return type(step) is int and 0 <= step <= job.steps
