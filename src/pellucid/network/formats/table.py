"""The table of formats: one row per kind of file, for `load`, `save`, the CLI and the docs."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._errors import InvalidFile, UnsupportedLayer
from ..graph import AffineGraph
from ..network import Network
from . import contents, nnet, onnx, safetensors
from .loaded import Loaded, Options
from .torch_files import LEGACY_MAGIC

HDF5 = b"\x89HDF\r\n\x1a\n"
NPY = b"\x93NUMPY"


@dataclass(frozen=True)
class Format:
    """One kind of file.

    `reader` is the module here that has `read(path, options)`, and `writer` the one that has
    `to_bytes(network)`, "" where such files are not written; they are imported when they are
    needed. `needs` is the library of another project that reading needs. `result` says in the docs
    what becomes of such a file.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str
    result: str
    needs: str = ""

    def read(self, path: Path, options: Options) -> Loaded:
        """The network of a file of this kind."""
        return _module(self.reader).read(path, options)

    def to_bytes(self, network: Network | AffineGraph) -> bytes:
        """The content of a file of this kind; only ONNX takes a graph that is no chain."""
        if isinstance(network, AffineGraph) and self.name != "onnx":
            raise UnsupportedLayer(
                f"a graph that is no chain of layers cannot be saved as {self.title}; save it as "
                ".onnx."
            )
        return _module(self.writer).to_bytes(network)


def _module(name: str) -> Any:
    return import_module(f".{name}", __package__)


_ROWS = (
    Format(
        "onnx",
        "ONNX",
        (".onnx",),
        "onnx",
        "onnx",
        "loads; what is no chain becomes an `AffineGraph`",
        "onnx",
    ),
    Format(
        "safetensors",
        "safetensors, Pellucid's own files",
        (".pellucid", ".safetensors"),
        "safetensors",
        "safetensors",
        "loads; arrays of another program need `activation=`",
    ),
    Format(
        "torch",
        "PyTorch state dict, checkpoint, TorchScript",
        (".pt", ".pth", ".ckpt"),
        "torch_files",
        "torch",
        "loads with `activation=`; `name=` picks one of several networks",
    ),
    Format(
        "keras",
        "Keras archive",
        (".keras",),
        "keras",
        "keras_writing",
        "loads; what is no chain becomes an `AffineGraph`",
    ),
    Format(
        "keras_h5",
        "Keras in HDF5",
        (".h5", ".hdf5"),
        "keras",
        "keras_h5_writing",
        "loads; weights alone need the model in JSON",
    ),
    Format(
        "keras_json",
        "Keras model in JSON with its weights",
        (".json",),
        "keras",
        "",
        "loads; `weights=` names the file of the weights",
    ),
    Format("nnet", "NNET", (".nnet",), "nnet", "nnet", "loads, normalisation folded; `raw=True`"),
    Format(
        "npz",
        "NumPy npz",
        (".npz",),
        "npz",
        "npz",
        "loads; names that do not say the activation need `activation=`",
    ),
    Format(
        "sb3",
        "Stable-Baselines3 agent",
        (),
        "sb3",
        "",
        "loads with `activation=` and `name=`",
    ),
    Format(
        "skops",
        "scikit-learn model saved with skops",
        (".skops",),
        "skops",
        "",
        "loads; an MLP, or a pipeline of scalers that ends in one",
    ),
    Format(
        "pickle",
        "pickle, joblib, cloudpickle",
        (".pkl", ".pickle", ".joblib", ".dill"),
        "pickled",
        "",
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
    if not row.writer:
        raise InvalidFile(
            f"cannot write {path}: {row.title} is not written; the suffixes are "
            f"{', '.join(s for r in _ROWS if r.writer for s in r.suffixes)}."
        )
    return row


def kinds() -> str:
    """All kinds that are read, for an error."""
    return ", ".join(row.title for row in _ROWS if row.name != "pickle")


def _by_content(path: Path, start: bytes) -> str | None:
    if start.startswith(b"PK\x03\x04"):
        return _kind_of_archive(path)
    if start.startswith(HDF5):
        return "keras_h5"
    if start.startswith(NPY):
        raise InvalidFile(
            "it is one array of NumPy (.npy), not a network: collect weights and biases in an .npz."
        )
    if start.startswith(LEGACY_MAGIC):
        return "torch"
    if safetensors.looks_like(start):  # whose length may begin as a pickle or an ONNX file does
        return "safetensors"
    if start[:1] == b"\x80" and start[1:2] <= b"\x05":
        return "pickle"
    if onnx.looks_like(start):
        return "onnx"
    if start.lstrip().startswith(b"{") and path.suffix.lower() != ".safetensors":
        return "keras_json"
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
