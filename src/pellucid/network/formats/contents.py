"""The bytes of a file, with a bound on what they may grow to: shared by all readers."""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..._errors import InvalidFile

FREE_GROWTH = 32 * 2**20  # bytes that a small file may become
LARGEST_GROWTH = 16  # beyond that: so many times the size of the file
MOST_MEMBERS = 100_000
LARGEST_FILE = 4 * 2**30


def allowed_size(file_size: int) -> int:
    """How many bytes the arrays of a file of this size may have in memory."""
    return FREE_GROWTH + LARGEST_GROWTH * file_size


class Budget:
    """Bytes that may still be made of a file, whatever it claims or refers to again and again."""

    def __init__(self, file_size: int):
        self.left = allowed_size(file_size)

    def spend(self, n_bytes: int) -> None:
        """Account for an array before it is made; `InvalidFile` where it is too much."""
        self.left -= n_bytes
        if self.left < 0:
            raise InvalidFile(
                "its arrays are used again and again, or claimed to be larger than they are: they "
                "would take more memory than a file of this size may."
            )


def read_bytes(path: Path) -> bytes:
    """All bytes of a regular file; `InvalidFile` for anything else and for an empty one."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidFile("it is not a file.")
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise InvalidFile(f"it has more than {LARGEST_FILE} bytes.")
        data = file.read()
    if not data:
        raise InvalidFile("it is empty (0 bytes).")
    return data


def opening(path: Path, n_bytes: int = 512) -> bytes:
    """The first bytes of a regular file, and `InvalidFile` if there are none."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidFile("it is not a file.")
    with open(path, "rb") as file:
        start = file.read(n_bytes)
    if not start:
        raise InvalidFile("it is empty (0 bytes).")
    return start


class Archive:
    """A zip archive whose members are read only as far as the size of the file allows.

    Sizes that the archive claims are checked before a byte is unpacked, and no member gives more
    than it claims.
    """

    def __init__(self, file: zipfile.ZipFile, file_size: int):
        self._file = file
        self.file_size = file_size
        self._left = allowed_size(file_size)
        self.sizes = {info.filename: info.file_size for info in file.infolist()}
        if len(self.sizes) > MOST_MEMBERS:
            raise InvalidFile(f"its archive has {len(self.sizes)} members, too many to be read.")

    def __contains__(self, name: str) -> bool:
        return name in self.sizes

    def ending(self, end: str) -> list[str]:
        """The members whose names end so."""
        return [name for name in self.sizes if name.endswith(end)]

    def read(self, name: str) -> bytes:
        """The bytes of one member."""
        if name not in self.sizes:
            raise InvalidFile(f"its archive has no member {name}.")
        size = self.sizes[name]
        if size > self._left:
            raise InvalidFile(
                f"its member {name} unpacks to {size} bytes, too many for a file of this size: "
                "save it without compression."
            )
        try:
            with self._file.open(name) as member:
                data = member.read(size)
        except (*_DAMAGE, RuntimeError, NotImplementedError):
            raise InvalidFile(f"its member {name} is damaged or encrypted.") from None
        if len(data) != size:
            raise InvalidFile(f"its member {name} is cut short.")
        self._left -= size
        return data


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The archive that a file is; `InvalidFile` where its list of members is damaged."""
    try:
        file = zipfile.ZipFile(path)
    except (*_DAMAGE, NotImplementedError):
        raise InvalidFile("its zip archive is damaged or cut short.") from None
    with file:
        yield Archive(file, os.path.getsize(path))
