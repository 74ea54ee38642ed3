"""The stored tensors of a model as arrays, each claim checked against the bytes that are there."""

import math
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array

FLOAT, DOUBLE, FLOAT16, BFLOAT16 = 1, 11, 10, 16

#: number of ONNX's data type -> (its bytes, the field with its numbers, the dtype of that field)
STORED: dict[int, tuple[str, str, str]] = {
    1: ("<f4", "float_data", "<f4"),
    2: ("<u1", "int32_data", "<i4"),
    3: ("<i1", "int32_data", "<i4"),
    4: ("<u2", "int32_data", "<i4"),
    5: ("<i2", "int32_data", "<i4"),
    6: ("<i4", "int32_data", "<i4"),
    7: ("<i8", "int64_data", "<i8"),
    9: ("?", "int32_data", "<i4"),
    10: ("<f2", "int32_data", "<i4"),
    11: ("<f8", "double_data", "<f8"),
    12: ("<u4", "uint64_data", "<u8"),
    13: ("<u8", "uint64_data", "<u8"),
    16: ("<u2", "int32_data", "<i4"),  # bfloat16: the upper half of a float32
}
MOST_BESIDE = 2**31  # product of the other axes of a tensor that claims to have no entries
MOST_AXES = 32
MOST_INTEGERS = 2**22  # of one tensor: shapes and indices have few
NAMES = {8: "string", 14: "complex64", 15: "complex128"}


def dtype_name(data_type: int) -> str:
    """What ONNX calls a data type, for messages."""
    return NAMES.get(data_type, f"number {data_type}")


class Store:
    """Reads the tensors of one model; external data only out of files in the model's folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.kept: dict[tuple[str, int, int, int], Array] = {}
        self.files: dict[str, int] = {}  # size of each file of external data
        self.external_bytes = 0

    def array(self, tensor: Any, name: str, raw: memoryview | None = None) -> Array:
        """The numbers: float32 (for the narrow floats, too), float64, int64 or bool.

        `raw` holds them where they were set apart from the message.
        """
        shape = tuple(tensor.dims)
        if any(d < 0 for d in shape) or (
            0 in shape and math.prod(filter(None, shape)) > MOST_BESIDE
        ):
            raise InvalidFile(
                f"the tensor {name!r:.80} has the impossible shape {list(shape)!s:.120}."
            )
        if len(shape) > MOST_AXES:
            raise InvalidFile(f"the tensor {name!r:.80} has {len(shape)} axes.")
        if tensor.data_type not in STORED:
            raise UnsupportedLayer(
                f"the tensor {name!r:.80} holds values of type {dtype_name(tensor.data_type)}; it "
                f"must hold plain floats, integers or booleans."
            )
        flat = self._flat(tensor, name, shape, raw)
        return _widened(flat, tensor.data_type).reshape(shape)

    def _flat(
        self, tensor: Any, name: str, shape: tuple[int, ...], raw: memoryview | None
    ) -> Array:
        stored, field, kept = STORED[tensor.data_type]
        n, dtype = math.prod(shape), np.dtype(stored)
        if tensor.data_location == 1:
            return self._external(tensor, name, n, dtype)
        if dtype.kind in "iu" and n > MOST_INTEGERS:
            raise UnsupportedLayer(
                f"the tensor {name!r:.80} holds {n:,} integers; weights must be floats."
            )
        if raw or tensor.HasField("raw_data"):
            held = raw or tensor.raw_data
            _check_size(name, shape, n * dtype.itemsize, len(held))
            return np.frombuffer(held, dtype)
        values = getattr(tensor, field)
        if len(values) != n:
            raise InvalidFile(
                f"the tensor {name!r:.80} claims the shape {list(shape)!s:.120}, {n:,} numbers, "
                f"and holds {len(values):,}."
            )
        flat = np.fromiter(values, kept, n)
        if dtype.kind == "f" and kept == "<i4":  # the bits of a float16
            return flat.astype("<u2").view("<f2")
        return flat.astype(dtype)

    def _external(self, tensor: Any, name: str, n: int, dtype: np.dtype) -> Array:
        about = {entry.key: entry.value for entry in tensor.external_data}
        path = self._inside(about.get("location", ""), name)
        size = self.files[str(path)]
        offset = _whole(about.get("offset", "0"), name)
        length = _whole(about.get("length", str(n * dtype.itemsize)), name)
        if length != n * dtype.itemsize or offset + length > size:
            raise InvalidFile(
                f"the tensor {name!r:.80} of shape {list(tensor.dims)!s:.120} needs "
                f"{n * dtype.itemsize:,} bytes and claims {length:,} from byte {offset:,} of "
                f"{path.name}, which has {size:,}."
            )
        key = (str(path), offset, n, tensor.data_type)
        if key not in self.kept:
            self.external_bytes += length
            if self.external_bytes > 2 * sum(self.files.values()):
                raise InvalidFile("its tensors read the same external data again and again.")
            self.kept[key] = np.fromfile(path, dtype, n, offset=offset)
        return self.kept[key]

    def _inside(self, location: str, name: str) -> Path:
        """The file of external data, if it is a plain file in the folder of the model."""
        place = Path(location)
        parts = location.replace("\\", "/").split("/")
        if not location or "\0" in location or place.is_absolute() or ".." in parts:
            raise InvalidFile(
                f"the tensor {name!r:.80} lies in {location!r:.80}; external data must be in a "
                f"file below the folder of the model: put it there and name it without '..'."
            )
        folder = self.folder.resolve()
        path = self.folder / place
        try:
            real = path.resolve(strict=True)
            about = os.stat(real)
        except (OSError, RuntimeError):
            raise InvalidFile(
                f"the tensor {name!r:.80} lies in {location!r:.80}, which is not there: put that "
                f"file beside the model."
            ) from None
        if not real.is_relative_to(folder) or not stat.S_ISREG(about.st_mode):
            raise InvalidFile(
                f"the tensor {name!r:.80} lies in {location!r:.80}, which is no plain file in the "
                f"folder of the model (links that lead out are not followed)."
            )
        self.files[str(real)] = about.st_size
        return real


def _check_size(name: str, shape: tuple[int, ...], claimed: int, held: int) -> None:
    if claimed != held:
        raise InvalidFile(
            f"the tensor {name!r:.80} claims the shape {list(shape)!s:.120}, {claimed:,} bytes, "
            f"and holds {held:,}."
        )


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InvalidFile(
            f"the tensor {name!r:.80} lies at {text[:40]!r:.80} of its file, not a number."
        )
    return int(text)


def _widened(flat: Array, data_type: int) -> Array:
    """Narrow floats as float32, which holds them exactly; integers as int64."""
    if data_type == BFLOAT16:
        return (flat.astype(np.uint32) << 16).view(np.float32)
    if flat.dtype.kind == "f":
        wide = np.float64 if flat.dtype.itemsize == 8 else np.float32
        return flat.astype(wide, copy=False)
    return flat if flat.dtype == bool else flat.astype(np.int64, copy=False)


def shortest(number: float) -> float:
    """The shortest decimal that is this float32: what was written before it was rounded."""
    return float(str(np.float32(number)))
