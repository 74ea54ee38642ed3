"""The parts of an HDF5 file: numbers at checked places, headers of objects, and their messages.

A reader of our own, because the library of HDF5 may hang or crash on a damaged file. It knows what
Keras and h5py write by default; places and lengths are checked against the file, and the number of
parts that are read is limited, so that every file ends.
"""

from dataclasses import dataclass, field
from typing import Literal

from ..._errors import InvalidFile

SIGNATURE = b"\x89HDF\r\n\x1a\n"
UNDEFINED = 2**64 - 1
MOST_PARTS = 200_000
NEWER = "is kept in a newer form of HDF5 that is not read: save it again with h5py's default libver"

# Types of messages in the header of an object.
DATASPACE, LINK_INFO, DATATYPE, LINK, EXTERNAL_FILES, LAYOUT = 1, 2, 3, 6, 7, 8
FILTERS, ATTRIBUTE, CONTINUATION, SYMBOL_TABLE, ATTRIBUTE_INFO = 11, 12, 16, 17, 21


def damaged() -> InvalidFile:
    """The error for places and marks that are not those of the format."""
    return InvalidFile("its HDF5 part is damaged or cut short.")


@dataclass
class Bytes:
    """The whole file; reading beyond its end, or too many parts, is an error."""

    data: bytes
    n_parts: int = 0
    n_entries: int = 0

    def at(self, start: int, n: int) -> bytes:
        """`n` bytes from a place."""
        if not 0 <= start <= len(self.data) or not 0 <= n <= len(self.data) - start:
            raise damaged()
        return self.data[start : start + n]

    def part(self, start: int, mark: bytes) -> int:
        """The place behind a mark that must stand there; counts the part."""
        self.n_parts += 1
        if self.n_parts > MOST_PARTS or self.at(start, len(mark)) != mark:
            raise damaged()
        return start + len(mark)

    def entries(self, n: int) -> None:
        """Count messages and names; more than the file has bytes for are read again and again."""
        self.n_entries += n
        if self.n_entries > MOST_PARTS + len(self.data):
            raise damaged()

    def number(self, start: int, n: int) -> int:
        """A whole number of `n` bytes, lowest first."""
        return int.from_bytes(self.at(start, n), "little")


@dataclass
class Cursor:
    """Reads one number after another from some bytes."""

    data: bytes
    place: int = 0

    def take(self, n: int) -> bytes:
        """The next `n` bytes."""
        if n < 0 or self.place + n > len(self.data):
            raise damaged()
        self.place += n
        return self.data[self.place - n : self.place]

    def number(self, n: int) -> int:
        """The next `n` bytes as a whole number."""
        return int.from_bytes(self.take(n), "little")

    def align(self, n: int) -> None:
        """Go on at the next multiple of `n`."""
        self.place += -self.place % n


@dataclass(frozen=True)
class Message:
    """One message of an object: its type, and its bytes."""

    kind: int
    body: bytes


@dataclass(frozen=True)
class Datatype:
    """What the entries of an array or an attribute are.

    `kind` is "f", "i" or "u" for numbers, "S" for text of fixed length, "vlen" for text in a heap,
    "other" for anything else.
    """

    kind: str
    size: int
    byteorder: Literal["<", ">"] = "<"


@dataclass(frozen=True)
class Attribute:
    """A named value at an object; its entries are still bytes."""

    name: str
    datatype: Datatype
    shape: tuple[int, ...] | None
    data: bytes


@dataclass
class Object:
    """A group or an array: its messages."""

    messages: list[Message] = field(default_factory=list)

    def bodies(self, kind: int) -> list[bytes]:
        """The messages of a type."""
        return [message.body for message in self.messages if message.kind == kind]


def root_address(file: Bytes) -> int:
    """Where the header of the root group stands."""
    if file.at(0, 8) != SIGNATURE:
        raise damaged()
    version = file.number(8, 1)
    if version in (0, 1):
        sizes, base = (file.number(13, 1), file.number(14, 1)), 24 + 4 * version
        place = base + 32 + 8
    elif version in (2, 3):
        sizes, base = (file.number(9, 1), file.number(10, 1)), 12
        place = 36
    else:
        raise damaged()
    if sizes != (8, 8) or file.number(base, 8) != 0:
        raise InvalidFile(f"its content {NEWER}.")
    return file.number(place, 8)


def read_object(file: Bytes, address: int) -> Object:
    """The messages of the object whose header stands there."""
    found = Object()
    if file.at(address, 4) == b"OHDR":
        _messages_2(file, address, found)
    else:
        _messages_1(file, address, found)
    return found


def _messages_1(file: Bytes, address: int, found: Object) -> None:
    start = file.part(address, b"\x01")
    n_messages, size = file.number(start + 1, 2), file.number(start + 7, 4)
    blocks = [(address + 16, size)]
    for place, length in blocks:
        file.part(place, b"")
        cursor = Cursor(file.at(place, length))
        while cursor.place + 8 <= length and len(found.messages) < n_messages:
            kind, size = cursor.number(2), cursor.number(2)
            cursor.take(4)
            file.entries(1)
            body = cursor.take(size)
            found.messages.append(Message(kind, body))
            if kind == CONTINUATION:
                blocks.append(_continuation(body))


def _messages_2(file: Bytes, address: int, found: Object) -> None:
    start = file.part(address, b"OHDR\x02")
    flags = file.number(start, 1)
    start += 1 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    blocks = [(start + width, file.number(start, width))]
    extra = 2 if flags & 4 else 0
    for place, length in blocks:
        file.part(place, b"")
        cursor = Cursor(file.at(place, length))
        while cursor.place + 4 + extra <= length:
            kind, size = cursor.number(1), cursor.number(2)
            cursor.take(1 + extra)
            file.entries(1)
            body = cursor.take(size)
            found.messages.append(Message(kind, body))
            if kind == CONTINUATION:
                at, n = _continuation(body)
                blocks.append((file.part(at, b"OCHK"), n - 8))


def _continuation(body: bytes) -> tuple[int, int]:
    cursor = Cursor(body)
    return cursor.number(8), cursor.number(8)


# ---- messages


def shape_of(body: bytes) -> tuple[int, ...] | None:
    """The shape that a dataspace states; None for one without values."""
    cursor = Cursor(body)
    version, rank, _ = cursor.number(1), cursor.number(1), cursor.number(1)
    if version == 2 and cursor.number(1) == 2:
        return None
    if version == 1:
        cursor.take(5)
    if version not in (1, 2) or rank > 32:
        raise damaged()
    return tuple(cursor.number(8) for _ in range(rank))


def datatype_of(body: bytes) -> Datatype:
    """The type that a datatype message states."""
    cursor = Cursor(body)
    kind = cursor.number(1) & 15
    bits, size = cursor.number(3), cursor.number(4)
    byteorder: Literal["<", ">"] = ">" if bits & 1 else "<"
    if kind == 0 and size in (1, 2, 4, 8):
        return Datatype("i" if bits & 8 else "u", size, byteorder)
    if kind == 1 and _is_ieee(cursor, bits, size):
        return Datatype("f", size, byteorder)
    if kind == 3:
        return Datatype("S", size)
    if kind == 9 and bits & 15 == 1:
        return Datatype("vlen", size)
    return Datatype("other", size)


def _is_ieee(cursor: Cursor, bits: int, size: int) -> bool:
    """Whether a float has the exponent and mantissa of IEEE 754."""
    cursor.take(4)
    exponent = (cursor.number(1), cursor.number(1))
    mantissa = (cursor.number(1), cursor.number(1))
    known = {2: ((10, 5), (0, 10)), 4: ((23, 8), (0, 23)), 8: ((52, 11), (0, 52))}
    return not bits & 0x40 and known.get(size) == (exponent, mantissa)


def attribute_of(body: bytes) -> Attribute:
    """The attribute that a message holds."""
    cursor = Cursor(body)
    version, flags = cursor.number(1), cursor.number(1)
    if version not in (1, 2, 3) or flags:  # flags: types that are shared between objects
        raise InvalidFile(f"an attribute {NEWER}.")
    sizes = [cursor.number(2) for _ in range(3)]
    if version == 3:
        cursor.take(1)
    parts = []
    for size in sizes:
        parts.append(cursor.take(size))
        if version == 1:
            cursor.take(-size % 8)
    name, datatype, dataspace = parts
    text = name.rstrip(b"\0").decode("utf-8", "replace")
    rest = body[cursor.place :]
    return Attribute(text, datatype_of(datatype), shape_of(dataspace), rest)


@dataclass(frozen=True)
class Filter:
    """One step of packing: its number, and the numbers that steer it."""

    number: int
    values: tuple[int, ...]


def filters_of(body: bytes) -> list[Filter]:
    """The steps with which chunks were packed, in that order."""
    cursor = Cursor(body)
    version, n = cursor.number(1), cursor.number(1)
    if version == 1:
        cursor.take(6)
    found = []
    for _ in range(n):
        number = cursor.number(2)
        length = cursor.number(2) if version == 1 or number >= 256 else 0
        cursor.take(2)
        n_values = cursor.number(2)
        cursor.take(length + (-length % 8 if version == 1 else 0))
        values = tuple(cursor.number(4) for _ in range(n_values))
        if version == 1 and n_values % 2:
            cursor.take(4)
        found.append(Filter(number, values))
    return found
