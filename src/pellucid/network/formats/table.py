"""The table of formats: one row per kind of file, for `load`, `save`, the CLI and the docs."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._errors import InvalidFile
from ..network import Network
from . import contents, nnet, safetensors
from .loaded import Loaded, Options

HDF5 = b"\x89HDF\r\n\x1a\n"
NPY = b"\x93NUMPY"
_AFTER_THE_VERSION = (b"\x12", b"\x1a", b"\x22", b"\x32", b"\x3a", b"\x42")  # tags of a ModelProto
TORCH_BEFORE_1_6 = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


@dataclass(frozen=True)
class Format:
    """One kind of file.

    `module` has `read(path, options)` and, where `is_written`, `to_bytes(network)`; it is imported
    when it is needed. `needs` is the library that reading needs, with the extra that installs it.
    `result` says in the docs what becomes of such a file.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    module: str
    is_written: bool
    result: str
    needs: str = ""

    def read(self, path: Path, options: Options) -> Loaded:
        """The network of a file of this kind."""
        return self._module().read(path, options)

    def to_bytes(self, network: Network) -> bytes:
        """The content of a file of this kind."""
        return self._module(self.module_of_writer or self.module).to_bytes(network)

    @property
    def module_of_writer(self) -> str:
        """Where writing needs the library that reading does without."""
        return "torch" if self.name == "torch" else ""

    def _module(self, name: str = "") -> Any:
        return import_module(f".{name or self.module}", __package__)


_ROWS = (
    Format(
        "onnx",
        "ONNX",
        (".onnx",),
        "onnx",
        False,
        "loads; what is no chain becomes an `AffineGraph`",
        "onnx",
    ),
    Format(
        "safetensors",
        "safetensors, Pellucid's own files",
        (".pellucid", ".safetensors"),
        "safetensors",
        True,
        "loads; arrays of another program need `activation=`",
    ),
    Format(
        "torch",
        "PyTorch state dict, checkpoint, TorchScript",
        (".pt", ".pth", ".ckpt"),
        "torch_files",
        True,
        "loads with `activation=`; `name=` picks one of several networks",
    ),
    Format(
        "keras",
        "Keras (.keras, .h5, JSON with weights)",
        (".keras", ".h5", ".hdf5", ".json"),
        "keras",
        False,
        "loads; `weights=` names the weights of a model in JSON",
        "h5py",
    ),
    Format("nnet", "NNET", (".nnet",), "nnet", True, "loads, normalisation folded; `raw=True`"),
    Format(
        "npz",
        "NumPy npz",
        (".npz",),
        "npz",
        True,
        "loads; names that do not say the activation need `activation=`",
    ),
    Format(
        "sb3",
        "Stable-Baselines3 agent",
        (),
        "sb3",
        False,
        "loads with `activation=` and `name=`",
    ),
    Format(
        "skops",
        "scikit-learn model saved with skops",
        (".skops",),
        "skops",
        False,
        "loads; an MLP, or a pipeline of scalers that ends in one",
    ),
    Format(
        "pickle",
        "pickle, joblib, cloudpickle",
        (".pkl", ".pickle", ".joblib", ".dill"),
        "pickled",
        False,
        "refused, because unpickling runs code",
    ),
)
FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}


def recognised(path: Path) -> Format:
    """The kind of a file: by its first bytes, and by its suffix where these do not tell.

    `InvalidFile` says what a file is that holds no network, or names the kinds.
    """
    start = contents.opening(path)
    by_suffix = next((row for row in _ROWS if path.suffix.lower() in row.suffixes), None)
    found = _by_content(path, start)
    if found is not None:
        return FORMATS[found]
    if by_suffix is None:
        raise InvalidFile(f"its content is none of the kinds that are read: {kinds()}.")
    return by_suffix


def for_writing(path: Path) -> Format:
    """The kind that a path is written as, by its suffix; our own where it has an unknown one."""
    row = next(
        (row for row in _ROWS if path.suffix.lower() in row.suffixes), FORMATS["safetensors"]
    )
    if not row.is_written:
        raise InvalidFile(
            f"cannot write {path}: {row.title} is not written; the suffixes are "
            f"{', '.join(s for r in _ROWS if r.is_written for s in r.suffixes)}."
        )
    return row


def kinds() -> str:
    """All kinds that are read, for an error."""
    return ", ".join(row.title for row in _ROWS if row.module != "pickled")


def _by_content(path: Path, start: bytes) -> str | None:
    if start.startswith(b"PK\x03\x04"):
        return _kind_of_archive(path)
    if start.startswith(HDF5):
        return "keras"
    if start.startswith(NPY):
        raise InvalidFile(
            "it is one array of NumPy (.npy), not a network: collect weights and biases in an .npz."
        )
    if start.startswith(TORCH_BEFORE_1_6):
        return "torch"
    if start[:1] == b"\x80" and start[1:2] <= b"\x05":
        return "pickle"
    if start[:1] == b"\x08" and 0 < start[1] < 32 and start[2:3] in _AFTER_THE_VERSION:
        return "onnx"
    if start.lstrip().startswith(b"{") and path.suffix.lower() != ".safetensors":
        return "keras"
    if safetensors.looks_like(start):
        return "safetensors"
    if nnet.looks_like(start):
        return "nnet"
    return None


def _kind_of_archive(path: Path) -> str:
    with contents.open_archive(path) as archive:
        if "config.json" in archive and "model.weights.h5" in archive:
            return "keras"
        if "schema.json" in archive:
            return "skops"
        if "policy.pth" in archive:
            return "sb3"
        if any(name.split("/")[1:] == ["data.pkl"] for name in archive.sizes):
            return "torch"
        if archive.sizes and all(name.endswith(".npy") for name in archive.sizes):
            return "npz"
    raise InvalidFile(
        "it is a zip archive, but none of those that hold a network (torch, Keras, npz, skops, "
        "Stable-Baselines3)."
    )
