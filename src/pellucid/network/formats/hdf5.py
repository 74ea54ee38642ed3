"""HDF5 files as a tree of groups and arrays: what Keras writes, and nothing outside the file."""

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..._errors import InvalidFile
from ..._shapes import Array
from . import hdf5_parts as parts
from .contents import allowed_size, read_bytes
from .hdf5_parts import (
    MOST_PARTS,
    NEWER,
    UNDEFINED,
    Attribute,
    Bytes,
    Cursor,
    Filter,
    Object,
    damaged,
)

DEFLATE, SHUFFLE, FLETCHER32 = 1, 2, 3
SOFT = 2  # the kind of a link in a table of symbols
COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2


class Tree:
    """Groups and arrays of one file, by paths such as `layers/dense/vars/0`.

    Only links to objects of the file are followed. An array is read if the file stores as many
    bytes as it claims, or unpacks them within what its size allows. `size` is that of the file.
    """

    def __init__(self, data: bytes):
        self.size = len(data)
        self._file = Bytes(data)
        self._left = allowed_size(len(data))
        self._root = parts.root_address(self._file)
        self._groups: dict[int, dict[str, int]] = {}
        self._objects: dict[int, Object] = {}

    def __contains__(self, path: str) -> bool:
        return self._found(path) is not None

    def children(self, path: str) -> list[str]:
        """The names below a group, in the order of the file; [] where there is no group."""
        address = self._found(path)
        return [] if address is None else list(self._links(address))

    def attribute(self, path: str, name: str) -> Any:
        """An attribute of a group, as text or a list of texts; None if there is none."""
        place = self._object(path)
        self._check_dense(place, path)
        for body in place.bodies(parts.ATTRIBUTE):
            attribute = parts.attribute_of(body)
            if attribute.name == name:
                return self._texts(attribute)
        return None

    def array(self, path: str) -> Array:
        """The numbers of an array, as float32 or float64."""
        place = self._object(path)
        bodies = [place.bodies(kind) for kind in (parts.DATASPACE, parts.DATATYPE, parts.LAYOUT)]
        if not all(len(body) == 1 for body in bodies):
            raise InvalidFile(f"{path} is no array of numbers.")
        if place.bodies(parts.EXTERNAL_FILES):
            raise InvalidFile(f"{path} lies in another file, which is not opened.")
        shape, datatype = parts.shape_of(bodies[0][0]), parts.datatype_of(bodies[1][0])
        if datatype.kind not in ("f", "i", "u") or shape is None:
            raise InvalidFile(f"{path} is no array of numbers.")
        dtype = np.dtype(f"{datatype.byteorder}{datatype.kind}{datatype.size}")
        claimed = math.prod(shape) * dtype.itemsize
        if claimed > self._left:
            raise InvalidFile(
                f"{path} claims the shape {list(shape)}, {claimed} bytes, more than a file of this "
                "size can hold."
            )
        self._left -= claimed
        filters = [f for body in place.bodies(parts.FILTERS) for f in parts.filters_of(body)]
        values = self._stored(path, bodies[2][0], shape, dtype, filters)
        return values.astype(np.float64 if dtype.itemsize > 4 else np.float32)

    # ---- groups

    def _found(self, path: str) -> int | None:
        """The address of what stands at a path."""
        address = self._root
        for part in filter(None, path.split("/")):
            links = self._links(address)
            if part not in links:
                return None
            address = links[part]
            if address == UNDEFINED:
                raise InvalidFile(f"{path} is a link to elsewhere, which is not followed.")
        return address

    def _object(self, path: str) -> Object:
        address = self._found(path)
        if address is None:
            raise InvalidFile(f"it has no {path}.")
        return self._at(address)

    def _at(self, address: int) -> Object:
        if address not in self._objects:
            self._objects[address] = parts.read_object(self._file, address)
        return self._objects[address]

    def _links(self, address: int) -> dict[str, int]:
        """The names in a group and their addresses; UNDEFINED for links to elsewhere."""
        if address not in self._groups:
            place = self._at(address)
            links: dict[str, int] = {}
            for body in place.bodies(parts.SYMBOL_TABLE):
                cursor = Cursor(body)
                self._table(cursor.number(8), self._heap(cursor.number(8)), links, 0)
            for body in place.bodies(parts.LINK):
                name, target = _link(body)
                links[name] = target
            for body in place.bodies(parts.LINK_INFO):
                cursor = Cursor(body)
                cursor.take(1)
                cursor.take(8 if cursor.number(1) & 1 else 0)
                if cursor.number(8) != UNDEFINED:
                    raise InvalidFile(f"a large group {NEWER}.")
            self._groups[address] = links
        return self._groups[address]

    def _heap(self, address: int) -> bytes:
        """The names of a group, one after another."""
        start = self._file.part(address, b"HEAP\0") + 3
        return self._file.at(self._file.number(start + 16, 8), self._file.number(start, 8))

    def _table(self, address: int, names: bytes, links: dict[str, int], depth: int) -> None:
        """The entries of a tree of tables of symbols."""
        if depth > 20:
            raise damaged()
        if self._file.at(address, 4) == b"SNOD":
            start = self._file.part(address, b"SNOD\1") + 1
            n = self._file.number(start, 2)
            self._file.entries(n)
            for i in range(n):
                cursor = Cursor(self._file.at(start + 2 + 40 * i, 40))
                offset, target, kind = cursor.number(8), cursor.number(8), cursor.number(4)
                if offset >= len(names):
                    raise damaged()
                name = names[offset : names.find(b"\0", offset)].decode("utf-8", "replace")
                links[name] = UNDEFINED if kind == SOFT else target
            return
        start = self._file.part(address, b"TREE\0") + 1
        for i in range(self._file.number(start, 2)):
            child = self._file.number(start + 18 + 16 * i + 8, 8)
            self._table(child, names, links, depth + 1)

    # ---- attributes

    def _check_dense(self, place: Object, path: str) -> None:
        for body in place.bodies(parts.ATTRIBUTE_INFO):
            cursor = Cursor(body)
            cursor.take(1)
            cursor.take(2 if cursor.number(1) & 1 else 0)
            if cursor.number(8) != UNDEFINED:
                raise InvalidFile(f"what is noted at {path or 'its root'} {NEWER}.")

    def _texts(self, attribute: Attribute) -> str | list[str] | None:
        """One text for a scalar, else a list; None for what is no text."""
        if attribute.shape is None:
            return []
        n, size = math.prod(attribute.shape), attribute.datatype.size
        if n == 0:
            return []
        if attribute.datatype.kind not in ("S", "vlen") or n * size > len(attribute.data):
            return None
        entries = [attribute.data[i * size : (i + 1) * size] for i in range(n)]
        if attribute.datatype.kind == "vlen":
            entries = [self._from_heap(entry) for entry in entries]
        texts = [entry.rstrip(b"\0").decode("utf-8", "replace") for entry in entries]
        return texts if attribute.shape else texts[0]

    def _from_heap(self, entry: bytes) -> bytes:
        """A text of any length, which lies in a collection of such texts."""
        cursor = Cursor(entry)
        length, address, index = cursor.number(4), cursor.number(8), cursor.number(4)
        start = self._file.part(address, b"GCOL\1") + 3
        stop = address + self._file.number(start, 8)
        place = start + 8
        while place + 16 <= stop:
            self._file.part(place, b"")
            found, size = self._file.number(place, 2), self._file.number(place + 8, 8)
            if found == index:
                return self._file.at(place + 16, min(size, length))
            if found == 0:
                break
            place += 16 + size + -size % 8
        raise damaged()

    # ---- arrays

    def _stored(
        self,
        path: str,
        layout: bytes,
        shape: tuple[int, ...],
        dtype: np.dtype,
        filters: list[Filter],
    ) -> Array:
        cursor = Cursor(layout)
        version, kind = cursor.number(1), cursor.number(1)
        n_bytes = math.prod(shape) * dtype.itemsize
        if version not in (3, 4) or (version == 4 and kind not in (COMPACT, CONTIGUOUS)):
            raise InvalidFile(f"{path} {NEWER}.")
        if kind == COMPACT:
            data = cursor.take(cursor.number(2))
        elif kind == CONTIGUOUS:
            address, stored = cursor.number(8), cursor.number(8)
            if address == UNDEFINED or stored != n_bytes:
                raise InvalidFile(
                    f"{path} claims the shape {list(shape)}, {n_bytes} bytes, and the file stores "
                    f"{0 if address == UNDEFINED else stored} for it."
                )
            data = self._file.at(address, n_bytes)
        elif kind == CHUNKED:
            return self._chunks(path, cursor, shape, dtype, filters)
        else:
            raise damaged()
        if filters or len(data) != n_bytes:
            raise damaged()
        return np.frombuffer(data, dtype).reshape(shape)

    def _chunks(
        self,
        path: str,
        cursor: Cursor,
        shape: tuple[int, ...],
        dtype: np.dtype,
        filters: list[Filter],
    ) -> Array:
        """An array in boxes of equal shape, each of which may be packed."""
        rank = cursor.number(1) - 1
        address = cursor.number(8)
        box = tuple(cursor.number(4) for _ in range(rank))
        if rank != len(shape) or 0 in box or not {f.number for f in filters} <= _UNPACK.keys():
            raise InvalidFile(f"{path} is packed in a way that is not read: save it plain.")
        size = math.prod(box) * dtype.itemsize
        n_chunks = math.prod(-(-n // step) for n, step in zip(shape, box, strict=True))
        if n_chunks > MOST_PARTS or n_chunks * size > self._left + math.prod(shape):
            raise InvalidFile(
                f"{path} claims {n_chunks} chunks of {size} bytes, which is too much."
            )
        values = np.empty(shape, dtype)
        missing = set(product(*(range(0, n, step) for n, step in zip(shape, box, strict=True))))
        for offset, skipped, packed in self._chunk_tree(address, rank, 0):
            if offset not in missing:
                raise damaged()
            missing.remove(offset)
            data = _unpacked(packed, filters, skipped, size, dtype.itemsize)
            chunk = np.frombuffer(data, dtype).reshape(box)
            place = tuple(slice(o, o + n) for o, n in zip(offset, box, strict=True))
            part = values[place]
            part[...] = chunk[tuple(slice(0, n) for n in part.shape)]
        if missing:
            raise InvalidFile(f"{path} claims the shape {list(shape)}, and parts are not stored.")
        return values

    def _chunk_tree(
        self, address: int, rank: int, depth: int
    ) -> Iterator[tuple[tuple[int, ...], int, bytes]]:
        """(offset, mask of the filters left out, packed bytes) of every chunk."""
        if depth > 20:
            raise damaged()
        start = self._file.part(address, b"TREE\1")
        level, n = self._file.number(start, 1), self._file.number(start + 1, 2)
        key = 8 + 8 * (rank + 1)
        for i in range(n):
            cursor = Cursor(self._file.at(start + 19 + i * (key + 8), key + 8))
            size, skipped = cursor.number(4), cursor.number(4)
            offset = tuple(cursor.number(8) for _ in range(rank + 1))[:rank]
            child = cursor.number(8)
            if level:
                yield from self._chunk_tree(child, rank, depth + 1)
            else:
                self._file.part(child, b"")
                yield offset, skipped, self._file.at(child, size)


@contextmanager
def open_hdf5(source: Path | bytes) -> Iterator[Tree]:
    """The tree of a file, or of the bytes of one; `InvalidFile` if it is damaged."""
    yield Tree(source if isinstance(source, bytes) else read_bytes(source))


def _link(body: bytes) -> tuple[str, int]:
    """The name and the address of a link message."""
    cursor = Cursor(body)
    version, flags = cursor.number(1), cursor.number(1)
    if version != 1:
        raise damaged()
    kind = cursor.number(1) if flags & 8 else 0
    cursor.take((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = cursor.take(cursor.number(1 << (flags & 3))).decode("utf-8", "replace")
    return name, UNDEFINED if kind else cursor.number(8)


def _unpacked(data: bytes, filters: list[Filter], skipped: int, size: int, itemsize: int) -> bytes:
    """A chunk of `size` bytes as it was before it was packed, the last step undone first."""
    for i in reversed(range(len(filters))):
        if not skipped >> i & 1:
            data = _UNPACK[filters[i].number](data, size, itemsize)
    if len(data) != size:
        raise damaged()
    return data


def _inflate(data: bytes, size: int, itemsize: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, size + 8)  # a checksum may follow
    except zlib.error:
        raise damaged() from None


def _unshuffle(data: bytes, size: int, itemsize: int) -> bytes:
    """Bytes were ordered by their place in the number: all first ones, all second ones, ...."""
    n = len(data) // itemsize
    body = np.frombuffer(data, np.uint8, n * itemsize).reshape(itemsize, n)
    return body.T.tobytes() + data[n * itemsize :]


_UNPACK = {
    DEFLATE: _inflate,
    SHUFFLE: _unshuffle,
    FLETCHER32: lambda data, size, itemsize: data[:-4],
}
