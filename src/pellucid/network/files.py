"""Networks on disk, and networks that another library holds in memory."""

import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidInput, PellucidError, UnsupportedLayer
from .activations import Activation
from .formats.loaded import Loaded, Options
from .formats.table import for_writing, recognised
from .graph import AffineGraph
from .network import Network
from .serialization import (
    OPENING,
    Header,
    header_length,
    networks_from_bytes,
    read_header,
    to_bytes,
)


def save(
    network: Network | AffineGraph,
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write the network to a file: whole, or not at all.

    The suffix of `path` chooses the format: `.onnx`, `.pt` (a state dict), `.keras`, `.h5`,
    `.nnet`, `.npz`, or Pellucid's own (a safetensors file) for `.pellucid`, `.safetensors` and any
    other.
    `metadata` are texts to keep with it, in our own format alone. The bytes go to a temporary file
    in the same folder, which then takes the name `path`; a crash leaves the old or the new file.

    `InvalidFile` is raised where the folder cannot be written, and where `path` is a folder, a
    device, or a read-only file; `UnsupportedLayer` where the format has no such network.
    """
    path = Path(path)
    if metadata and for_writing(path).name != "safetensors":
        raise InvalidInput(
            f"got metadata for {path}; only Pellucid's own files (.pellucid) keep texts."
        )
    write_atomically(path, content(network, path, metadata))


def content(
    network: Network | AffineGraph, path: Path, metadata: Mapping[str, str] | None = None
) -> bytes:
    """The bytes that `save` writes; `UnsupportedLayer` where the format has no such network."""
    row = for_writing(path)
    if row.name == "safetensors" and isinstance(network, Network):
        return to_bytes(network, metadata)
    try:
        return row.to_bytes(network)
    except UnsupportedLayer as error:
        raise UnsupportedLayer(f"cannot write {path}: {error}") from None


def load(
    path_or_object: Any,
    *,
    activation: str | Activation | None = None,
    name: str | None = None,
    output: str | None = None,
    raw: bool = False,
    weights: str | os.PathLike[str] | None = None,
) -> Network | AffineGraph:
    """A network from a file of any kind that is known, or from an object of another library.

    A chain of layers is a `Network`, and anything else an `AffineGraph`. A softmax at the end is
    left off: the network gives the logits (`network.read` says so, and what was folded).
    Files are told by their content; none can run code. Objects are a `torch.nn.Module`, and fitted
    scikit-learn MLPs and pipelines of scalers that end in one.

    Parameters
    ----------
    path_or_object
        The path of a file, or the object.
    activation
        The activation of the hidden layers, where a file (a state dict) does not say it.
    name
        Which network, where a file holds several: part of the names of its layers.
    output
        Which output, where a network has several.
    raw
        Leave out the normalisation that a NNET file states.
    weights
        The file of the weights, where `path_or_object` is a Keras model in JSON.

    Raises
    ------
    InvalidFile
        A missing or damaged file, or one of a kind that is not read.
    UnsupportedLayer
        A layer that is neither affine nor an activation.
    InvalidInput
        A file that needs `activation`, `name` or `weights`.
    """
    return read(
        path_or_object, activation=activation, name=name, output=output, raw=raw, weights=weights
    ).network


def read(
    path_or_object: Any,
    *,
    activation: str | Activation | None = None,
    name: str | None = None,
    output: str | None = None,
    raw: bool = False,
    weights: str | os.PathLike[str] | None = None,
) -> Loaded:
    """As `load`, with what the reader knows besides: what was folded, and the range of validity."""
    place = None if weights is None else Path(weights)
    options = Options(activation, name, output, raw, place)
    if isinstance(path_or_object, str | os.PathLike):
        path = Path(path_or_object)
        with naming(path), np.errstate(all="ignore"):  # a file may hold any numbers
            return recognised(path).read(path, options)
    libraries = {kind.__module__.split(".")[0] for kind in type(path_or_object).__mro__}
    if "torch" in libraries:
        from .formats.torch import read_module

        return read_module(path_or_object)
    if "sklearn" in libraries:
        from .formats.sklearn import read_model

        return read_model(path_or_object)
    raise InvalidInput(
        f"got a {type(path_or_object).__name__}; load takes the path of a file, a torch module or "
        f"a fitted scikit-learn MLPClassifier or MLPRegressor."
    )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of the file before whatever is wrong with it."""
    if "\0" in str(path):
        raise InvalidFile(f"{str(path)!r} is no path of a file.")
    try:
        yield
    except PellucidError as error:
        begin = f"cannot read a network from {path}: "
        text = str(error).removeprefix(begin)  # it may quote names of the file
        text = "".join(c if c.isprintable() else "?" for c in text)
        raise type(error)(begin + text) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidFile(f"cannot read a network from {path}: {reason.lower()}.") from None
    except MemoryError:
        raise InvalidFile(f"{path} holds a network that does not fit into memory.") from None
    except _UNFORESEEN as error:
        raise InvalidFile(
            f"cannot read a network from {path}: it is damaged in a way that its reader did not "
            f"foresee ({type(error).__name__})."
        ) from error


_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_metadata(path_or_bytes: Any) -> dict[str, str]:
    """The texts that were kept with a network: from the path of its file, or from its bytes.

    `InvalidFile` is raised for a missing, damaged or foreign file.
    """
    if isinstance(path_or_bytes, str | os.PathLike):
        path = Path(path_or_bytes)
        with naming(path):
            return _read(path).kept
    if isinstance(path_or_bytes, bytes):
        return read_header(path_or_bytes[:OPENING], path_or_bytes[8:], len(path_or_bytes)).kept
    raise InvalidInput(
        f"got a {type(path_or_bytes).__name__}; read_metadata takes the path of a file, or its "
        "bytes."
    )


def read_networks(path: str | os.PathLike[str]) -> tuple[Network, ...]:
    """All networks of one of our own files: one, or the members of an ensemble.

    `InvalidFile` is raised for a missing, damaged or foreign file.
    """
    path = Path(path)
    with naming(path):
        _read(path)  # turns away what is no file of ours, unread
        return networks_from_bytes(path.read_bytes())


def _read(path: Path) -> Header:
    """The header alone; a file that does not fit it is turned away unread."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidFile("it is not a file.")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        opening = file.read(OPENING)
        length = header_length(opening, size)
        file.seek(8)
        return read_header(opening, file.read(length), size)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name in its folder, flush it to the disk, and rename it.

    `InvalidFile` is raised where that fails, and where it would replace anything but a regular
    file that may be written. A link is followed: the file that it leads to is replaced.
    """
    with all_or_none() as write:
        write(path, data)


@contextmanager
def all_or_none() -> Iterator[Callable[[Path, bytes | None], Path]]:
    """Several files that belong together: all of them change, or none does.

    Yields a function of a path and its new bytes (None: the file is removed) that returns the
    temporary file with these bytes. At the end the files take their names, the first one last; an
    error or an interruption before leaves what was there.
    """
    changes: list[_Change] = []

    def write(path: Path, data: bytes | None) -> Path:
        with _one_sentence(path):
            changes.append(_Change(path, data))
            changes[-1].prepare()
        return changes[-1].new

    try:
        yield write
        for change in reversed(changes):
            with _one_sentence(change.path):
                change.apply(keep_old=len(changes) > 1)
    except BaseException:
        for change in changes:
            change.undo()
        raise
    finally:
        for change in changes:
            change.clean()


def replaceable(path: Path) -> Path:
    """The place that a file of this name takes, links followed; `InvalidFile` if it is taken.

    Free is a name that does not exist, or that of a regular file which is not read-only.
    """
    with _one_sentence(path):
        place = Path(os.path.realpath(path))
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return place
        if stat.S_ISDIR(mode):
            raise InvalidFile(f"cannot write {path}: it is a folder.")
        if not stat.S_ISREG(mode):
            raise InvalidFile(f"cannot write {path}: it is a device, a pipe or a socket.")
        if not mode & 0o222 or not os.access(path, os.W_OK):
            raise InvalidFile(f"cannot write {path}: it is read-only.")
    return place


class _Change:
    """One file on its way to new bytes (or, with None, out of its folder)."""

    def __init__(self, path: Path, data: bytes | None):
        self.path, self.data = path, data
        self.place = replaceable(path)
        self.existed = self.place.exists()
        self.is_prepared = False
        name = f".pellucid-{secrets.token_hex(4)}"  # short: the name itself may be at its longest
        self.new, self.old = (self.place.with_name(name + end) for end in (".tmp", ".old"))

    def prepare(self) -> None:
        """Write the bytes beside the place, with the permissions of the file that they replace."""
        if self.data is None:
            return
        mode = stat.S_IMODE(self.place.stat().st_mode) if self.existed else 0o666
        with open(self.new, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            file.write(self.data)
            file.flush()
            os.fsync(file.fileno())
        if self.existed:
            os.chmod(self.new, mode)  # with the bits that the umask took away
        self.is_prepared = True

    def apply(self, keep_old: bool) -> None:
        """Put the new bytes in place; `keep_old` moves the old ones aside, so that undo can."""
        if self.existed and (keep_old or self.data is None):
            os.replace(self.place, self.old)
        if self.data is not None:
            os.replace(self.new, self.place)

    def undo(self) -> None:
        """Bring back what was there, wherever `apply` was stopped."""
        with suppress(OSError):
            if self.old.exists():
                os.replace(self.old, self.place)
            elif self.is_prepared and not self.existed and not self.new.exists():
                self.place.unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove both temporary files."""
        for temporary in (self.new, self.old):
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    """Tell what the operating system answered as an `InvalidFile`."""
    try:
        yield
    except InvalidFile:  # a ValueError, too
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot write {path}: {reason}.") from None
    except ValueError:  # a path with a null character
        raise InvalidFile(f"cannot write {str(path)!r}: it is no path of a file.") from None
