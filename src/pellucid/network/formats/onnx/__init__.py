"""ONNX: networks from and to files of other programs; nothing in a file is run.

The library onnx, and what reads with it, are imported when they are needed.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..loaded import Loaded, Options

if TYPE_CHECKING:
    from ...graph import AffineGraph
    from ...network import Network

_TAGS = (b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42")  # of its other parts


def looks_like(start: bytes) -> bool:
    """Whether a file that begins so may be a model of ONNX: a small version, then a known part."""
    return start[:1] == b"\x08" and start[1:2] < b"\x20" and start[2:3] in _TAGS


def read(path: Path, options: Options | None = None) -> Loaded:
    """The network in an ONNX file; see `reading.read`."""
    from .reading import read as reader

    return reader(path, options)


def to_bytes(network: "Network | AffineGraph") -> bytes:
    """The content of an ONNX file with that network; see `writing.to_bytes`."""
    from .writing import to_bytes as writer

    return writer(network)


def write(network: "Network | AffineGraph", path: str | os.PathLike[str]) -> None:
    """Write a network as an ONNX file, whole or not at all."""
    from ...files import write_atomically

    write_atomically(Path(path), to_bytes(network))


__all__ = ["looks_like", "read", "to_bytes", "write"]
