"""The parts of a protobuf file counted before it is parsed.

An empty message takes two bytes in a file and a hundred in memory, so that a small file could
fill the memory: the walk over the bytes stops at a number of parts that no network needs. It also
tells a file that is cut short from one that is no ONNX file at all.
"""

from typing import Any

from ...._errors import InvalidFile

MOST_PARTS = 500_000  # of all messages and fields; a network of 1,000 layers has 30,000
MOST_DEPTH = 30

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
