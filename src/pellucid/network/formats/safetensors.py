"""safetensors: our own files, and arrays of other programs under the names of a state dict."""

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..._errors import InvalidFile, InvalidInput
from ..._shapes import Array
from ..network import Network
from ..serialization import FORMAT, LONGEST_HEADER, OPENING, build_all, header_length, layouts
from ..serialization import read_header as read_header
from ..serialization import to_bytes as to_bytes
from .entries import Entry, from_buffer
from .loaded import Loaded, Options
from .state import choose, networks_of, unreadable

DTYPES = {
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "BF16": "bfloat16",
    "BOOL": "bool",
}


def looks_like(start: bytes) -> bool:
    """Whether a file that starts so has the length and the opening brace of a header."""
    return (
        len(start) > 9 and start[8:9] == b"{" and start[:8] < b"\xff" * 8 and start[6:8] == b"\0\0"
    )


def read(path: Path, options: Options) -> Loaded:
    """Our own network as it was saved, or the network that arrays of another program make."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        begin = file.read(OPENING)
        length = _header_length(begin, size)
        file.seek(8)
        text = file.read(length)
        if is_own(text):
            header = read_header(begin, text, size)
            places = layouts(header, size)  # before anything is read
            return _chosen(build_all(places, file.read()), options)
    entries = {
        name: _entry(path, name, entry, 8 + length, size - 8 - length)
        for name, entry in _parsed(text).items()
        if name != "__metadata__"
    }
    _check_apart(_parsed(text))
    candidates = networks_of(entries, wanted=options.name)
    if not candidates:
        raise unreadable("no layers were found in it: it holds no array that is named ...weight")
    return choose(candidates, options)


def _chosen(networks: "tuple[Network, ...]", options: Options) -> Loaded:
    """The only network of a file of ours, or the one whose number is asked for."""
    if len(networks) == 1:
        return Loaded(networks[0])
    names = [f"networks.{k}" for k in range(len(networks))]
    wanted = options.name or ""
    found = [k for k, name in enumerate(names) if wanted in (name, str(k))]
    if not found:
        raise InvalidInput(
            f"it holds {len(networks)} networks, {names[0]} to {names[-1]}: give the name of one."
        )
    return Loaded(networks[found[0]], names[found[0]])


def is_own(header: bytes) -> bool:
    """Whether a header is that of a file of ours; it need not be whole."""
    try:
        about = _parsed(header).get("__metadata__")
    except InvalidFile:
        return header.startswith(b'{"__metadata__":{"format":"pellucid"')
    return isinstance(about, dict) and about.get("format") == FORMAT


def _header_length(begin: bytes, size: int) -> int:
    if is_own(begin[8:]):
        return header_length(begin, size)
    length = int.from_bytes(begin[:8], "little")
    if len(begin) < 8 or length > min(size - 8, LONGEST_HEADER) or length < 2:
        raise InvalidFile(
            f"the length of its safetensors header is invalid: its first 8 bytes say {length}, "
            f"and the file has {size} bytes."
        )
    return length


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise InvalidFile("its safetensors header is damaged.")
    return header


def _check_apart(header: dict[str, Any]) -> None:
    """No byte belongs to two arrays, as the format has it: else little would become much."""
    spans = [
        (*entry["data_offsets"], name) for name, entry in header.items() if name != "__metadata__"
    ]
    spans = sorted((a, b, name) for a, b, name in spans if a < b)
    for (_, end, first), (start, _, second) in pairwise(spans):
        if start < end:
            raise InvalidFile(
                f"its arrays {first[:80]!r} and {second[:80]!r} have bytes in common."
            )


def _entry(path: Path, name: str, entry: Any, start: int, available: int) -> Entry:
    """One array, its place checked against the file before it is read."""
    match entry:
        case {"dtype": str(code), "shape": list(shape), "data_offsets": [int(a), int(b)]} if (
            code in DTYPES and all(type(n) is int and n >= 0 for n in shape)
        ):
            pass
        case _:
            raise InvalidFile(f"the header of its array {name[:80]!r} is damaged.")
    if not 0 <= a <= b:
        raise InvalidFile(f"the header of its array {name[:80]!r} is damaged.")
    if b > available:
        raise InvalidFile(
            f"it is cut short: its array {name[:80]!r} ends at byte {b} of the data, and there are "
            f"{max(available, 0)}."
        )
    dtype = DTYPES[code]
    itemsize = {"bfloat16": 2, "bool": 1}.get(dtype) or int(
        "".join(filter(str.isdigit, dtype))
    ) // 8
    if math.prod(shape) * itemsize != b - a:
        raise InvalidFile(
            f"its array {name[:80]!r} claims the shape {str(shape)[:80]} and has {b - a} bytes."
        )

    def read() -> Array:
        with open(path, "rb") as file:
            file.seek(start + a)
            return from_buffer(file.read(b - a), dtype, tuple(shape))

    return Entry(tuple(shape), dtype, read)
