"""The bytes of a network: a safetensors file whose header says how the arrays belong together.

The layout is that of safetensors: eight bytes with the length of the header, a JSON header, the
arrays. The header's `__metadata__` holds "format" ("pellucid"), "version" and "network" (JSON:
activations and their parameters); any other text may stand beside them. A file of version 2 holds
several networks, one after the other, and a list of their descriptions. Reading follows no pointer
and runs no code: the header is checked against the length of the file before an array is made.
"""

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidInput, PellucidError
from .._shapes import Array
from .activations import Activation
from .network import Network

FORMAT, VERSION, SEVERAL = "pellucid", "1", "2"
LONGEST_HEADER = 16 * 2**20  # bytes; the header of a thousand layers has 200,000
RESERVED = ("format", "version", "network")
OPENING = 64  # bytes that tell a file of ours: the length, and the start of the header
DTYPES = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}


def to_bytes(
    network: Network,
    metadata: Mapping[str, str] | None = None,
    others: Sequence[Network] = (),
) -> bytes:
    """The network as the content of a file; `metadata` are texts to keep with it.

    `others` are further networks of the same dtype. Equal networks give equal bytes.
    """
    metadata = dict(metadata or {})
    _check_metadata(metadata)
    networks = (network, *others)
    names, arrays = _all_names([len(one.weights) for one in networks]), []
    for one in networks:
        arrays += _arrays(one)
    entries, start = {}, 0
    for name, array in zip(names, arrays, strict=True):
        code = next(code for code, dtype in DTYPES.items() if dtype == array.dtype)
        stop = start + array.nbytes
        entries[name] = {"dtype": code, "shape": array.shape, "data_offsets": [start, stop]}
        start = stop
    described = [_description(one) for one in networks]
    about = {
        "format": FORMAT,
        "version": SEVERAL if others else VERSION,
        "network": json.dumps(described if others else described[0]),
        **metadata,
    }
    header = json.dumps({"__metadata__": about, **entries}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the arrays start at a multiple of eight
    return b"".join((struct.pack("<Q", len(header)), header, *(a.tobytes() for a in arrays)))


def from_bytes(data: bytes) -> Network:
    """The network that `to_bytes` wrote; `InvalidFile` says what is wrong with other bytes."""
    first, *others = networks_from_bytes(data)
    if others:
        raise InvalidFile(f"it holds {len(others) + 1} networks: networks_from_bytes reads them.")
    return first


def networks_from_bytes(data: bytes) -> tuple[Network, ...]:
    """All networks of a file, which is one but in a file of version 2."""
    header = read_header(data[:OPENING], data[8:], len(data))
    places = layouts(header, len(data))
    return build_all(places, data[header.start :])


@dataclass(frozen=True)
class Header:
    """What stands before the arrays: checked names, and where the arrays begin."""

    about: dict[str, str]
    entries: dict[str, Any]
    start: int

    @property
    def kept(self) -> dict[str, str]:
        """The texts that were kept with the network, beside what describes it."""
        return {key: text for key, text in self.about.items() if key not in RESERVED}


@dataclass(frozen=True)
class Place:
    """One array: where it lies behind the header, in bytes."""

    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Layout:
    """A header that fits its file: the arrays W1, b1, W2, ... and the activations."""

    places: tuple[Place, ...]
    activations: list[Activation]
    output_activation: Activation


def header_length(opening: bytes, file_size: int) -> int:
    """The length of the header, if a file of that size that starts like this can have it."""
    if len(opening) < 8:
        raise InvalidFile(f"it has {file_size} bytes, too few for a pellucid file.")
    length = struct.unpack("<Q", opening[:8])[0]
    if length > file_size - 8 and opening[8:].startswith(_START):
        raise InvalidFile("it is cut short: the end of its header and its arrays are missing.")
    if length > min(file_size - 8, LONGEST_HEADER) or length < 2:
        raise InvalidFile("it is not a pellucid file" + _guess(opening) + ".")
    return length


def read_header(opening: bytes, rest: bytes, file_size: int) -> Header:
    """The header of a file, from its opening and all that follows its first eight bytes."""
    length = header_length(opening, file_size)
    try:
        header = json.loads(rest[:length].decode(), object_pairs_hook=_no_duplicates)
        about = header.pop("__metadata__", {})
        is_ours = about.get("format") == FORMAT
    except (ValueError, RecursionError, AttributeError, TypeError):
        raise InvalidFile("its header is not that of a pellucid file, or damaged.") from None
    if not is_ours:
        raise InvalidFile(
            "it is a safetensors file of another program: build a Network from its arrays."
        )
    if about.get("version") not in (VERSION, SEVERAL):
        raise InvalidFile(
            f"it is a pellucid file of version {about.get('version')!r:.20}, and this pellucid "
            f"reads version {VERSION} and {SEVERAL}: update pellucid."
        )
    if not all(isinstance(text, str) for text in about.values()):
        raise InvalidFile("its metadata are damaged.")
    return Header(about, header, 8 + length)


def layouts(header: Header, file_size: int) -> list[Layout]:
    """Where the arrays of each network lie; they must fill the file to its last byte."""
    described = _read_descriptions(header.about)
    counts = [len(activations) + 1 for activations, _ in described]
    names = _all_names(counts)
    if list(header.entries) != names:
        raise InvalidFile("its arrays are not those of the layers that its header describes.")
    places, end = [], 0
    for name in names:
        places.append(_read_entry(name, header.entries[name], end))
        end = places[-1].stop
    spare = file_size - header.start - end
    if spare:
        raise InvalidFile(
            "it is cut short: its last arrays are missing."
            if spare < 0
            else f"it has {spare} bytes too many."
        )
    if len({place.dtype for place in places}) > 1:
        raise InvalidFile("its arrays mix float32 and float64.")
    ends = np.cumsum([2 * count for count in counts]).tolist()
    return [
        Layout(tuple(places[end - 2 * count : end]), *one)
        for one, count, end in zip(described, counts, ends, strict=True)
    ]


def build_all(places: list[Layout], data: bytes) -> tuple[Network, ...]:
    """All networks, from the bytes behind the header."""
    return tuple(build(one, data) for one in places)


def build(layout: Layout, data: bytes) -> Network:
    """The network from the bytes behind the header."""
    arrays = [
        np.frombuffer(data, place.dtype, math.prod(place.shape), place.start).reshape(place.shape)
        for place in layout.places
    ]
    try:
        return Network(arrays[::2], arrays[1::2], layout.activations, layout.output_activation)
    except PellucidError as error:
        raise InvalidFile(f"its network does not fit together: {error}") from None


def _read_entry(name: str, entry: Any, start: int) -> Place:
    """One array, which must lie right behind the one before."""
    damaged = InvalidFile(f"the header of its array {name} is damaged.")
    try:
        dtype, shape, offsets = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    except (KeyError, TypeError):
        raise damaged from None
    axes = 2 if name.endswith("weight") else 1
    if not (_whole_numbers(shape, axes) and _whole_numbers(offsets, 2)):
        raise damaged
    stop = start + dtype.itemsize * math.prod(shape)
    if offsets != [start, stop]:
        raise damaged
    return Place(dtype, tuple(shape), start, stop)


def _read_descriptions(about: dict[str, str]) -> list[tuple[list[Activation], Activation]]:
    """The activations of each network."""
    try:
        found = json.loads(about["network"])
        several = found if about["version"] == SEVERAL else [found]
        if not isinstance(several, list) or not several:
            raise ValueError("no list")
        return [
            (
                [Activation(name, parameters) for name, parameters in one["activations"]],
                Activation(*one["output_activation"]),
            )
            for one in several
        ]
    except (PellucidError, ValueError, TypeError, KeyError, RecursionError, AttributeError):
        raise InvalidFile("the description of its activations is damaged.") from None


def _description(network: Network) -> dict[str, Any]:
    hidden = [[sigma.name, sigma.parameters] for sigma in network.activations]
    output = network.output_activation
    return {"activations": hidden, "output_activation": [output.name, output.parameters]}


def _all_names(n_layers: list[int]) -> list[str]:
    """Names of all arrays; where there are several networks, their numbers stand before."""
    return [
        (f"networks.{k}." if len(n_layers) > 1 else "") + f"layers.{i}.{part}"
        for k, n in enumerate(n_layers)
        for i in range(n)
        for part in ("weight", "bias")
    ]


def _arrays(network: Network) -> list[Array]:
    pairs = zip(network.weights, network.biases, strict=True)
    return [part.astype(part.dtype.newbyteorder("<")) for pair in pairs for part in pair]


def _check_metadata(metadata: dict[str, str]) -> None:
    for key, text in metadata.items():
        if key in RESERVED or not (isinstance(key, str) and isinstance(text, str)):
            raise InvalidInput(
                f"got metadata {key!r}: {text!r:.40}; keys and values must be text, and the keys "
                f"{', '.join(RESERVED)} are taken."
            )


def _whole_numbers(values: Any, n: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == n
        and all(type(value) is int and 0 <= value < 2**63 for value in values)
    )


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicated key")
    return dict(pairs)


_START = b'{"__metadata__":{"format":"pellucid"'


def _guess(prefix: bytes) -> str:
    """What a foreign file may be, from its first bytes."""
    if prefix.startswith(b"PK"):
        return " but a zip archive: load a PyTorch model in Python and pass the module itself"
    if prefix.startswith(b"\x80"):
        return " but a pickle: load the model in Python and pass the object itself"
    if prefix.startswith(b"\x89HDF"):
        return " but an HDF5 file"
    return ""
