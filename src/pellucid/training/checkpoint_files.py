"""The folder of a checkpoint: study.json, finished-000001.safetensors, ..., running.safetensors.

Each file is written under another name, flushed to the disk and renamed, so that it is whole at any
moment. `checkpoint_bytes` says what is in it.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from .._errors import InvalidFile, PellucidWarning
from .._kernels.jobs import TrainingJob, TrainingResult
from ..network.files import write_atomically
from .checkpoint_bytes import FORMAT, VERSION, Results, fits_finished, fits_running, pack, unpack

STUDY, RUNNING, LOCK = "study.json", "running.safetensors", ".pellucid-lock"
PART = re.compile(r"finished-(\d{6})\.safetensors")
TEMPORARY = re.compile(r"\.pellucid-[0-9a-f]{8}\.(tmp|old)")  # what a killed process leaves
PART_BYTES = 8 * 2**20  # a part grows up to this: bounded work at each checkpoint, and few files
LARGEST_STUDY = 2**20
HOLDER = re.compile(r"process \d+ on [ -~]+")  # what a lock says

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
        paused = self._read(path / RUNNING, fits_running) if (path / RUNNING).exists() else {}
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
            data = pack(self._open, self._id)
            self._write(f"finished-{self._part:06d}.safetensors", data)
            if len(data) >= PART_BYTES:
                self._part, self._open = self._part + 1, {}
        self.running = running
        if running:
            self._write(RUNNING, pack(running, self._id))
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
            part = self._read(path, fits_finished)
            number = int(path.name[9:15])
            finished |= part
            if path.stat().st_size >= PART_BYTES:
                number, part = number + 1, {}
        return finished, number, part

    def _read(self, path: Path, fits: Callable[[TrainingResult, TrainingJob], bool]) -> Results:
        """The results in one file, each of which must be one of its job."""
        try:
            results = unpack(path.read_bytes(), self._id)
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
    if os.path.isdir(path):  # nothing is written into another's folder, the lock neither
        _check_study(path, fingerprint)
    with locked(path):
        _check_study(path, fingerprint)
        _remove(path, TEMPORARY)
        yield Folder(path, fingerprint, jobs)


def clear(path: Path) -> None:
    """Remove the checkpoint at `path`, if there is one: its own files, and nothing else."""
    if not os.path.exists(path / STUDY):
        return
    _read_study(path)
    with locked(path):
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
    ends: a lock file that is left behind locks nothing.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InvalidFile(
            f"cannot make the checkpoint folder {path} ({_reason(error)}); name another place."
        ) from None
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path / LOCK, flags, 0o666)
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

    there = os.read(descriptor, 100).decode(errors="replace").strip()
    is_ours = HOLDER.fullmatch(there) is not None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidFile(
            f"{path} is in use by {there if is_ours else 'another process'}; wait for it, or name "
            "another folder."
        ) from None
    except OSError as error:
        warnings.warn(
            f"{path} cannot be locked ({_reason(error)}); see that no second process uses it.",
            PellucidWarning,
            stacklevel=2,
        )
        return
    if there and not is_ours:
        return  # another's file, which locks as well
    with contextlib.suppress(OSError):  # on a full disk: the name of the holder is for people
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _id(fingerprint: Fingerprint) -> str:
    return hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()
