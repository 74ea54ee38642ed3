"""Files of PyTorch, read without PyTorch: state dicts, checkpoints and TorchScript.

The pickle inside is followed by `pickles`, which imports nothing, and tensors are views of the
archive's bytes after every size has been checked.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..._errors import InvalidFile, UnsupportedLayer
from ..._shapes import Array
from ..activations import Activation
from .contents import Archive, Budget, opening, read_bytes
from .entries import Entry, from_buffer
from .loaded import Loaded, Options
from .pickles import BlockedGlobal, Global, Record, Table, first_global, read_pickle
from .state import choose, networks_of, unreadable

LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the number that opens files before 1.6
OWN_KEY = "pellucid"  # in the metadata of a state dict that we wrote: its activations

WAY_OUT = "load it in Python where it was made, and save its state_dict() or export it to ONNX"

DTYPES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
_NOTHING = (
    *("collections.Counter", "collections.defaultdict", "collections.deque"),
    *("builtins.set", "__builtin__.set", "builtins.bytearray", "builtins.complex"),
    *("torch.device", "torch.Size", "torch.Tensor", "torch.nn.parameter.Parameter"),
    *("_codecs.encode", "numpy.dtype", "numpy.ndarray"),
    *("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"),
    *("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"),
    *(f"numpy.dtypes.{kind}DType" for kind in ("Float32", "Float64", "Int32", "Int64", "Bool")),
    *(f"torch.{kind}" for kind in ("float16", "bfloat16", "float32", "float64", "int64", "int32")),
    *("argparse.Namespace", "types.SimpleNamespace", "torch.torch_version.TorchVersion"),
    *(f"datetime.{kind}" for kind in ("datetime", "date", "time", "timedelta", "timezone")),
    *(f"pathlib.{kind}Path" for kind in ("Posix", "Windows", "PurePosix", "PureWindows")),
    *(f"pathlib._local.{kind}Path" for kind in ("Posix", "Windows", "PurePosix", "PureWindows")),
)


@dataclass(frozen=True)
class _Storage:
    """Numbers in the file, by the key of their member."""

    dtype: str
    key: str
    numel: int


@dataclass
class _Tensor:
    """A view of a storage; nothing is read before it is asked for."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    def entry(self, read: Callable[[_Storage], Array], budget: Budget) -> Entry:
        return Entry(self.shape, self.storage.dtype, lambda: self._array(read, budget))

    def _array(self, read: Callable[[_Storage], Array], budget: Budget) -> Array:
        size = math.prod(self.shape)
        last = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True))
        if size and (last >= self.storage.numel or size > self.storage.numel):
            raise InvalidFile(
                f"a tensor of shape {list(self.shape)} does not fit into its storage of "
                f"{self.storage.numel} numbers."
            )
        budget.spend(8 * size)
        values = read(self.storage)[self.offset :]
        strides = [s * values.itemsize for s in self.stride]
        return np.lib.stride_tricks.as_strided(values, self.shape, strides).copy()


def read(path: Path, options: Options) -> Loaded:
    """The network of a state dict, a checkpoint, or a TorchScript file."""
    if opening(path).startswith(b"PK"):
        from .contents import open_archive

        with open_archive(path) as archive:
            return read_archive(archive, options)
    return _read_legacy(BytesIO(read_bytes(path)), options)


def read_archive(archive: Archive, options: Options, pickled: str = "") -> Loaded:
    """The same from an open archive; `pickled` is the member with the pickle if it is known."""
    names = [name for name in archive.sizes if name.split("/")[1:] == ["data.pkl"]]
    if not pickled and len(names) != 1:
        raise InvalidFile("its archive has no data.pkl, as files of torch.save have.")
    place = (pickled or names[0]).removesuffix("data.pkl")
    is_script = f"{place}constants.pkl" in archive
    order = archive.read(f"{place}byteorder") if f"{place}byteorder" in archive else b"little"
    known: dict[str, bytes] = {}

    def bytes_of(storage: _Storage) -> Array:
        if storage.key not in known:
            known[storage.key] = archive.read(f"{place}data/{storage.key}")
        return _numbers(known[storage.key], storage, ">" if order.strip() == b"big" else "<")

    value = _unpickled(BytesIO(archive.read(f"{place}data.pkl")), is_script)
    return _chosen(value, bytes_of, options, Budget(archive.file_size))


def _read_legacy(file: BytesIO, options: Options) -> Loaded:
    """The form before PyTorch 1.6: four pickles, the keys of the storages, their bytes."""
    if file.read(len(LEGACY_MAGIC)) != LEGACY_MAGIC:
        file.seek(0)
        if name := first_global(file, HARMLESS):
            raise BlockedGlobal(
                f"it is no file of torch.save but a pickle that asks for {name!r:.100}, and a "
                f"pickle is not opened, because that runs code: {WAY_OUT}."
            )
        raise InvalidFile("it is not a torch file: it has neither form of torch.save.")
    for _ in range(2):  # the version of the form, and sizes of C's types
        _unpickled(file)
    value = _unpickled(file)
    keys = _unpickled(file)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InvalidFile("its list of storages is damaged.")
    storages = {storage.key: storage for storage in _storages(value)}
    data = memoryview(file.read())
    places, position = {}, 0
    for key in keys:
        if key not in storages:
            raise InvalidFile(f"its storage {key!r:.40} belongs to no tensor.")
        start = position + 8
        n_bytes = np.dtype(_itemtype(storages[key])).itemsize * storages[key].numel
        if int.from_bytes(data[position:start], "little") != storages[key].numel:
            raise InvalidFile(f"its storage {key!r:.40} has another length than its tensors say.")
        position = start + n_bytes
        if position > len(data):
            raise InvalidFile("it is cut short: the numbers of its last tensors are missing.")
        places[key] = (start, position)

    def bytes_of(storage: _Storage) -> Array:
        if storage.key not in places:
            raise InvalidFile(f"its storage {storage.key!r:.40} is missing.")
        return _numbers(data[slice(*places[storage.key])], storage, "<")

    return _chosen(value, bytes_of, options, Budget(len(data)))


def _itemtype(storage: _Storage) -> str:
    return "u2" if storage.dtype == "bfloat16" else storage.dtype


def _numbers(data: bytes | memoryview, storage: _Storage, byteorder: Literal["<", ">"]) -> Array:
    return from_buffer(data, storage.dtype, (storage.numel,), byteorder)


# ---- the pickle


def _unpickled(file: BytesIO, is_script: bool = False) -> Any:
    try:
        return read_pickle(file, HARMLESS, _storage, _is_script_class if is_script else _never)
    except BlockedGlobal as error:
        raise BlockedGlobal(f"{str(error).removesuffix('.')}: {WAY_OUT}.") from None


def _never(name: Global) -> bool:
    return False


def _is_script_class(name: Global) -> bool:
    """The classes of TorchScript, whose code lies in the file; here they are names of layers."""
    return name.module.split(".")[0] == "__torch__"


def _storage(identity: Any) -> _Storage:
    match identity:
        case ("storage", Global("torch", kind), str(key), _, int(numel), *_) if kind in DTYPES:
            return _Storage(DTYPES[kind], key, max(numel, 0))
    raise InvalidFile("its pickle refers to numbers of a kind that weights do not have.")


def _tensor(arguments: tuple[Any, ...]) -> _Tensor:
    match arguments:
        case (_Storage() as storage, int(offset), tuple(shape), tuple(stride), *_) if (
            len(shape) == len(stride)
            and offset >= 0
            and all(type(n) is int and n >= 0 for n in shape + stride)
        ):
            return _Tensor(storage, offset, shape, stride)
    raise InvalidFile("its pickle describes a tensor that is damaged.")


def _parameter(arguments: tuple[Any, ...]) -> Any:
    return arguments[0] if arguments else None


HARMLESS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "collections.OrderedDict": lambda arguments: Table(),
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    **{f"torch.{kind}": lambda arguments: None for kind in DTYPES},
    **{name: lambda arguments: Record(Global("", "")) for name in _NOTHING},
}


# ---- from values to networks


@dataclass
class _Search:
    """The state dicts inside a value: every mapping from names to tensors."""

    found: list[tuple[str, dict[str, _Tensor], Table | None]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def walk(self, value: Any, path: tuple[str, ...]) -> None:
        if not isinstance(value, dict | list | tuple | Record) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if len(path) > 50:
            raise InvalidFile("its values are nested too deeply.")
        if isinstance(value, Record):
            tensors = dict(_script_tensors(value, (), set()))
            if tensors:
                self.found.append((".".join(path), tensors, None))
            return
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        tensors = {key: v for key, v in pairs if isinstance(key, str) and isinstance(v, _Tensor)}
        if tensors:
            self.found.append(
                (".".join(path), tensors, value if isinstance(value, Table) else None)
            )
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            self.walk(inner, (*path, _label(key)))


def _label(key: Any) -> str:
    """A key as a part of a name; Python does not write numbers of thousands of digits."""
    return "a number" if isinstance(key, int) and abs(key) >= 10**18 else str(key)


def _script_tensors(
    module: Record, path: tuple[str, ...], seen: set[int]
) -> list[tuple[str, _Tensor]]:
    """The parameters of a TorchScript module and its parts, by dotted names, each part once."""
    if not isinstance(module.state, dict) or len(path) > 50 or id(module) in seen:
        return []
    seen.add(id(module))
    found: list[tuple[str, _Tensor]] = []
    for key, value in module.state.items():
        place = (*path, _label(key))
        if isinstance(value, _Tensor):
            found.append((".".join(place), value))
        elif isinstance(value, Record):
            found += _script_tensors(value, place, seen)
    return found


def _storages(value: Any) -> list[_Storage]:
    search = _Search()
    search.walk(value, ())
    return [tensor.storage for _, tensors, _ in search.found for tensor in tensors.values()]


def _chosen(
    value: Any, read: Callable[[_Storage], Array], options: Options, budget: Budget
) -> Loaded:
    search = _Search()
    search.walk(value, ())
    candidates, problems = [], []
    for place, tensors, table in search.found:
        entries = {name: tensor.entry(read, budget) for name, tensor in tensors.items()}
        try:
            candidates += networks_of(entries, place, _own_activations(table), options.name)
        except UnsupportedLayer as error:
            problems.append(error)
    if not candidates and problems:
        raise problems[0]
    if not candidates:
        raise unreadable("no layers were found in it: it holds no tensor that is named ...weight")
    return choose(candidates, options)


def _own_activations(table: Table | None) -> list[Activation] | None:
    """The activations of every layer, where we wrote the file."""
    metadata = table.attributes.get("_metadata") if table is not None else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(OWN_KEY), list):
        return None
    try:
        return [Activation(name, tuple(parameters)) for name, parameters in metadata[OWN_KEY]]
    except (ValueError, TypeError):
        raise InvalidFile("the description of its activations is damaged.") from None
