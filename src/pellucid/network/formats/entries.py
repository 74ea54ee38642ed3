"""Arrays of a file by name: their shapes are known before their bytes are read."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._errors import InvalidFile
from ..._shapes import Array


@dataclass(frozen=True)
class Entry:
    """An array of a file: its shape, its dtype by name, and how to read it."""

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Array]

    @property
    def is_real(self) -> bool:
        """Whether it holds real numbers, as weights are."""
        return self.dtype in ("float16", "bfloat16", "float32", "float64")

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)


def from_buffer(
    data: bytes | memoryview, dtype: str, shape: tuple[int, ...], byteorder: Literal["<", ">"] = "<"
) -> Array:
    """The array of these bytes, as float32 or float64; shorter floats fit into float32 exactly.

    `InvalidFile` is raised where the bytes are fewer or more than the shape needs.
    """
    raw = np.dtype("u2" if dtype == "bfloat16" else dtype).newbyteorder(byteorder)
    if len(data) != raw.itemsize * math.prod(shape):
        raise InvalidFile(
            f"an array of shape {list(shape)} needs {raw.itemsize * math.prod(shape)} bytes, and "
            f"there are {len(data)}."
        )
    values = np.frombuffer(data, raw).reshape(shape)
    if dtype == "bfloat16":
        return (values.astype("u4") << 16).view(np.float32)
    return values.astype(np.float64 if dtype == "float64" else np.float32)
