"""HDF5 files, with the parts of the format switched off that read elsewhere or grow."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..._errors import InvalidFile
from ..._shapes import Array
from .contents import allowed_size

_FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeDecodeError)


class Tree:
    """Groups and arrays of one file, by paths such as `layers/dense/vars/0`.

    Only hard links are followed, so nothing outside the file is read. An array is read if the file
    stores as many bytes as it claims, or unpacks them within what its size allows.
    """

    def __init__(self, file: h5py.File, file_size: int):
        self._file = file
        self._size = file_size
        self._left = allowed_size(file_size)

    def __contains__(self, path: str) -> bool:
        try:
            self._at(path)
        except InvalidFile:
            return False
        return True

    def children(self, path: str) -> list[str]:
        """The names below a group, in the order of the file; [] where there is no group."""
        place = self._at(path)
        return [str(name) for name in place] if isinstance(place, h5py.Group) else []

    def attribute(self, path: str, name: str) -> Any:
        """An attribute of a group, as text, an array, or a list of texts; None if there is none."""
        place = self._at(path)
        with _damaged(f"the attribute {name} of {path}"):
            if name not in place.attrs:
                return None
            found = h5py.h5a.open(place.id, name.encode())
            claimed = found.get_space().get_simple_extent_npoints() * found.get_type().get_size()
            if claimed > self._size:
                raise InvalidFile(f"the attribute {name} of {path} claims {claimed} bytes.")
            value = place.attrs[name]
            if isinstance(value, np.ndarray):
                return (
                    [_text(entry) for entry in value.ravel()]
                    if value.dtype.kind in "OSU"
                    else value
                )
            return _text(value)

    def array(self, path: str) -> Array:
        """The numbers of an array, as float32 or float64."""
        data = self._at(path)
        if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "fiu":
            raise InvalidFile(f"{path} is no array of numbers.")
        self._check(data, path)
        with _damaged(path):
            values: Any = data[()]
        return np.asarray(values, np.float64 if data.dtype.itemsize > 4 else np.float32)

    def _at(self, path: str) -> Any:
        place = self._file
        for part in filter(None, path.split("/")):
            with _damaged(path):
                link = place.get(part, getlink=True) if isinstance(place, h5py.Group) else None
                if not isinstance(link, h5py.HardLink):
                    raise InvalidFile(
                        f"it has no {path} of its own."
                        if link is None
                        else f"{path} is a link to elsewhere, which is not followed."
                    )
                place = place[part] if isinstance(place, h5py.Group) else place
        return place

    def _check(self, data: h5py.Dataset, path: str) -> None:
        with _damaged(path):
            properties = data.id.get_create_plist()
            if data.is_virtual or data.external:
                raise InvalidFile(f"{path} lies in another file, which is not opened.")
            filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
            if not set(filters) <= set(_FILTERS):
                raise InvalidFile(f"{path} is packed in a way that is not read; save it plain.")
            stored, claimed = data.id.get_storage_size(), data.nbytes
        if claimed > self._left or (not filters and stored < claimed):
            raise InvalidFile(
                f"{path} claims the shape {list(data.shape)}, {claimed} bytes, and the file stores "
                f"{stored} for it."
            )
        self._left -= claimed


@contextmanager
def open_hdf5(source: Path | bytes) -> Iterator[Tree]:
    """The tree of a file, or of the bytes of one; `InvalidFile` if it is damaged."""
    size = len(source) if isinstance(source, bytes) else os.path.getsize(source)
    try:
        file = h5py.File(BytesIO(source) if isinstance(source, bytes) else source, "r")
    except _DAMAGE:
        raise InvalidFile("its HDF5 part is damaged or cut short.") from None
    with file:
        yield Tree(file, size)


@contextmanager
def _damaged(what: str) -> Iterator[None]:
    try:
        yield
    except InvalidFile:
        raise
    except _DAMAGE:
        raise InvalidFile(f"{what} is damaged.") from None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
