"""The bytes of a protobuf file before it is parsed: its parts counted, its large tensors set apart.

An empty message takes two bytes in a file and a hundred in memory, so that a small file could
fill the memory: the walk over the bytes stops at a number of parts that no network needs. It also
tells a file that is cut short from one that is no ONNX file at all. The numbers of large tensors
stay where they are in the file's bytes: a parser would copy them twice.
"""

from collections.abc import Iterator
from typing import Any

from ...._errors import InvalidFile

MOST_PARTS = 120_000  # of all messages and fields; a network of 1,000 layers has 30,000
MOST_DEPTH = 30

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9  # numbers of the fields on the way to a tensor's numbers
LARGE = 2**16  # bytes from which a tensor is set apart

NOT_ONNX = "it is not an ONNX file"
CUT_SHORT = "it is damaged or cut short: {} ends after the end of the file"


def check(data: bytes | memoryview, descriptor: Any) -> None:
    """Walk over all messages of a file; `InvalidFile` where they do not fit together."""
    view, known = memoryview(data), _Kinds()
    parts = 0
    waiting = [(0, len(view), descriptor, 0)]
    while waiting:
        start, stop, kind, depth = waiting.pop()
        fields = known.fields(kind)
        at = start
        while at < stop:
            parts += 1
            if parts > MOST_PARTS:
                raise InvalidFile(f"it has more than {MOST_PARTS:,} parts, which no network needs.")
            key, at = _varint(view, at, stop)
            number, wire = key >> 3, key & 7
            at, end = _skip(view, at, stop, wire, f"{kind.name} {fields.get(number, ('?',))[0]}")
            if number not in fields and depth == 0:
                raise InvalidFile(f"{NOT_ONNX} (or it is damaged).")
            inner = fields.get(number, ("?", None))[1]
            if inner is not None and wire == 2:
                if depth == MOST_DEPTH:
                    raise InvalidFile(f"its messages are nested more than {MOST_DEPTH} deep.")
                waiting.append((at, end, inner, depth + 1))
            at = end


class _Kinds:
    """For each kind of message: number of a field -> (name, kind of the message in it or None)."""

    def __init__(self):
        self.kept: dict[str, dict[int, tuple[str, Any]]] = {}

    def fields(self, kind: Any) -> dict[int, tuple[str, Any]]:
        name = kind.full_name
        if name not in self.kept:
            self.kept[name] = {f.number: (f.name, f.message_type) for f in kind.fields}
        return self.kept[name]


def _varint(view: memoryview, at: int, stop: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends."""
    value = shift = 0
    while at < stop and shift < 70:
        byte = view[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise InvalidFile(f"{NOT_ONNX}, or it is damaged or cut short.")


def _skip(view: memoryview, at: int, stop: int, wire: int, name: str) -> tuple[int, int]:
    """Where the content of a field begins and ends."""
    if wire == 0:
        return at, _varint(view, at, stop)[1]
    if wire == 2:
        length, at = _varint(view, at, stop)
        end = at + length
    elif wire in (1, 5):
        end = at + (8 if wire == 1 else 4)
    else:
        raise InvalidFile(f"{NOT_ONNX} (or it is damaged).")
    if end > stop:
        if "?" in name:
            raise InvalidFile(f"{NOT_ONNX} (or it is damaged).")
        raise InvalidFile(CUT_SHORT.format(name) + ".")
    return at, end


# ---- large tensors


def without_large_tensors(data: bytes) -> tuple[bytes, list[tuple[bytes, memoryview]]]:
    """A checked model without its large initializers; and these, as (message, its numbers)."""
    apart: list[tuple[bytes, memoryview]] = []
    view, parts = memoryview(data), []
    for number, wire, start, content, end in _fields(view, 0, len(view)):
        if (number, wire) == (GRAPH, 2):
            graph = b"".join(_graph_without(view, content, end, apart))
            parts += [_tag(GRAPH, len(graph)), graph]
        else:
            parts.append(view[start:end])
    return b"".join(parts), apart


def _graph_without(
    view: memoryview, at: int, stop: int, apart: list[tuple[bytes, memoryview]]
) -> Iterator[memoryview]:
    """The fields of a graph, but large tensors go to `apart`."""
    for number, wire, start, content, end in _fields(view, at, stop):
        if (number, wire) == (INITIALIZER, 2) and end - content >= LARGE:
            apart.append(_tensor(view, content, end))
        else:
            yield view[start:end]


def _tensor(view: memoryview, at: int, stop: int) -> tuple[bytes, memoryview]:
    """A tensor's message without its numbers, and the numbers (none: an empty view)."""
    parts, raw = [], view[:0]
    for number, wire, start, content, end in _fields(view, at, stop):
        if (number, wire) == (RAW_DATA, 2):
            raw = view[content:end]
        else:
            parts.append(view[start:end])
    return b"".join(parts), raw


def _fields(view: memoryview, at: int, stop: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(number, wire type, start, start of the content, end) of every field of a message."""
    while at < stop:
        start = at
        key, at = _varint(view, at, stop)
        content, end = _skip(view, at, stop, key & 7, "")
        yield key >> 3, key & 7, start, content, end
        at = end


def _tag(number: int, length: int) -> bytes:
    """What stands before a message of that length."""
    numbers = [number << 3 | 2]
    while length > 127:
        numbers.append(length & 127 | 128)
        length >>= 7
    return bytes([*numbers, length])
