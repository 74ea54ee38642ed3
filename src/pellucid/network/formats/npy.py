"""Arrays of NumPy inside archives, without pickle."""

import io
import math
from collections.abc import Callable
from tokenize import TokenError

import numpy as np

from ..._errors import InvalidFile
from ..._shapes import Array
from .contents import Archive
from .entries import Entry

_NO_HEADER = (
    *(ValueError, KeyError, TypeError, SyntaxError, EOFError, RecursionError, MemoryError),
    TokenError,
)


def member(archive: Archive, name: str) -> Entry:
    """One .npy member of an archive: its shape at once, its numbers when they are asked for.

    `InvalidFile` is raised for what is no array, or claims another size than it has.
    """
    data = archive.read(name)
    shape, dtype, is_fortran, start = _header(name, data)
    return Entry(shape, dtype.name, _reader(data, shape, dtype, is_fortran, start))


def _reader(
    data: bytes, shape: tuple[int, ...], dtype: np.dtype, is_fortran: bool, start: int
) -> Callable[[], Array]:
    def read() -> Array:
        values = np.frombuffer(data, dtype, math.prod(shape), start)
        values = values.reshape(shape, order="F" if is_fortran else "C")
        if dtype.kind != "f":
            return values
        return values.astype(np.float64 if dtype.itemsize > 4 else np.float32)

    return read


def _header(name: str, data: bytes) -> tuple[tuple[int, ...], np.dtype, bool, int]:
    """Shape, dtype and order, and where the numbers begin; checked against the member's length."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, is_fortran, dtype = read(file)
    except _NO_HEADER:
        raise InvalidFile(f"its member {name[:80]} is no array of NumPy.") from None
    if dtype.hasobject:
        raise InvalidFile(
            f"its member {name[:80]} holds Python objects, which only pickle could read: save "
            "plain arrays."
        )
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise InvalidFile(
            f"its member {name[:80]} claims the shape {str(shape)[:80]} of {dtype}, and has "
            f"{len(data) - file.tell()} bytes."
        )
    return shape, dtype, is_fortran, file.tell()
