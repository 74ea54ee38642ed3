"""Pickles and joblib files: refused, with the name that one of them would import."""

import gzip
import io
import zlib
from pathlib import Path

from ..._errors import InvalidFile
from .contents import allowed_size, read_bytes
from .loaded import Loaded, Options
from .pickles import first_global
from .torch_files import HARMLESS

WAY_OUT = (
    "load it in Python where it was made and pass the object itself, or save a scikit-learn model "
    "with skops.io.dump, and a PyTorch module as its state_dict()"
)


def read(path: Path, options: Options) -> Loaded:
    """Never a network: `InvalidFile` names the first thing that unpickling would import."""
    data = _unpacked(read_bytes(path))
    name = first_global(io.BytesIO(data), HARMLESS)
    asks = f" (this one asks for {name!r:.100})" if name else ""
    raise InvalidFile(
        f"it is a pickle, and loading a pickle runs whatever code its maker chose{asks}, so it is "
        f"not opened: {WAY_OUT}."
    )


def _unpacked(data: bytes) -> bytes:
    """The bytes of a compressed pickle, as far as they may grow."""
    limit = min(allowed_size(len(data)), 2**24)
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=io.BytesIO(data)).read(limit)
        if data[:1] == b"\x78":
            return zlib.decompressobj().decompress(data, limit)
    except (OSError, EOFError, zlib.error):
        pass
    return data
