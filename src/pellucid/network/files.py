"""Networks on disk, and networks that another library holds in memory."""

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._errors import InvalidFile, InvalidInput
from .network import Network
from .serialization import build, header_length, layout, read_header, to_bytes


def save(
    network: Network, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write the network to a file: whole, or not at all.

    The bytes go to a temporary file in the same folder, which then takes the name `path`; a crash
    leaves the old file or the new one. `InvalidFile` is raised where the folder cannot be written.
    """
    write_atomically(Path(path), to_bytes(network, metadata))


def load(path_or_module: Any) -> Network:
    """A network from a file of `save`, a `torch.nn.Sequential`, or a fitted scikit-learn MLP.

    `InvalidFile` is raised for a missing, damaged or foreign file, `UnsupportedLayer` for a module
    that is no chain of linear layers and activations.
    """
    if isinstance(path_or_module, str | os.PathLike):
        return _load_file(Path(path_or_module))
    libraries = {kind.__module__.split(".")[0] for kind in type(path_or_module).__mro__}
    if "torch" in libraries:
        from .formats.torch import from_torch

        return from_torch(path_or_module)
    if "sklearn" in libraries:
        from .formats.sklearn import from_sklearn

        return from_sklearn(path_or_module)
    raise InvalidInput(
        f"got a {type(path_or_module).__name__}; load takes the path of a file, a torch module or "
        f"a fitted scikit-learn MLPClassifier or MLPRegressor."
    )


def _load_file(path: Path) -> Network:
    try:
        return _read(path)
    except InvalidFile as error:
        raise InvalidFile(f"cannot read a network from {path}: {error}") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidFile(f"cannot read a network from {path}: {reason.lower()}.") from None
    except MemoryError:
        raise InvalidFile(f"{path} holds a network that does not fit into memory.") from None
    except ValueError:  # a path with a null character
        raise InvalidFile(f"{str(path)!r} is no path of a file.") from None


def _read(path: Path) -> Network:
    """Header first, so that a file which does not fit its header is turned away unread."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidFile("it is not a file.")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        prefix = file.read(8)
        text = file.read(header_length(prefix, size))
        places = layout(read_header(prefix, text, size), size)
        return build(places, file.read())


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name in its folder, flush it to the disk, and rename it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot write {path}: {reason}.") from None
