"""Keras models as `.keras` archives for Keras 3: a Sequential of Dense and activation layers."""

import io
import json
import zipfile
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import MissingDependency, UnsupportedLayer
from ..._shapes import Array
from ..activations import Activation
from ..network import Network
from .keras import CONFIG, WEIGHTS

METADATA = "metadata.json"
VERSION = "3.0.0"  # the first one whose archives look so
SAVED = "1980-01-01@00:00:00"  # equal networks give equal bytes

INSIDE = {  # activations that a Dense layer names
    **{name: name for name in ("relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "softsign")},
    "identity": "linear",
}


@dataclass(frozen=True)
class Written:
    """One layer as Keras describes it: class, name, settings, and its arrays by their names."""

    kind: str
    name: str
    config: dict[str, Any]
    arrays: dict[str, Array]


def to_bytes(network: Network) -> bytes:
    """The content of a `.keras` archive; equal networks give equal bytes.

    `UnsupportedLayer` names an activation that no layer of Keras has.
    """
    layers = layers_of(network)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        about = {"keras_version": VERSION, "date_saved": SAVED}
        for name, data in (
            (METADATA, json.dumps(about).encode()),
            (CONFIG, json.dumps(model_of(network, layers)).encode()),
            (WEIGHTS, _weights(layers)),
        ):
            archive.writestr(zipfile.ZipInfo(name), data)  # which has a fixed date
    return buffer.getvalue()


def layers_of(network: Network) -> list[Written]:
    """The layers, named as Keras names them: dense, dense_1, re_lu, ...."""
    counts: Counter[str] = Counter()
    found = []

    def add(kind: str, stem: str, config: dict[str, Any], arrays: dict[str, Array]) -> None:
        name = f"{stem}_{counts[stem]}" if counts[stem] else stem
        counts[stem] += 1
        common = {"name": name, "trainable": True, "dtype": network.dtype.name}
        found.append(Written(kind, name, common | config, arrays))

    for W, b, sigma in network.layers:
        name, behind = _activation(sigma)
        dense = {"units": len(W), "activation": name, "use_bias": True}
        add("Dense", "dense", dense, {"kernel": np.ascontiguousarray(W.T), "bias": b})
        if behind is not None:
            kind, stem, config = behind
            arrays = {}
            if kind == "PReLU":  # one slope for all units, which is an array there
                arrays["alpha"] = np.full(1, config.pop("alpha"), network.dtype)
            add(kind, stem, config, arrays)
    return found


def _activation(sigma: Activation) -> tuple[str, tuple[str, str, dict[str, Any]] | None]:
    """What the Dense layer names, and the layer (class, stem of its name, settings) behind it."""
    if sigma.name in INSIDE:
        return INSIDE[sigma.name], None
    if sigma.name == "elu" and sigma.parameters == (1.0,):
        return "elu", None
    if sigma.name == "hardtanh" and sigma.parameters == (-1.0, 1.0):
        return "hard_tanh", None
    return "linear", _layer_behind(sigma)


def _layer_behind(sigma: Activation) -> tuple[str, str, dict[str, Any]]:
    name, parameters = sigma.name, sigma.parameters
    if name == "leaky_relu" and parameters[0] >= 0:
        return "LeakyReLU", "leaky_re_lu", {"negative_slope": parameters[0]}
    if name in ("abs", "leaky_relu", "prelu"):  # LeakyReLU takes no slope below 0
        slope = -1.0 if name == "abs" else parameters[0]
        return "PReLU", "p_re_lu", {"shared_axes": [1], "alpha": slope}
    if name == "elu":
        return "ELU", "elu", {"alpha": parameters[0]}
    if name == "hardtanh" and parameters[0] == 0:
        settings = {"max_value": parameters[1], "negative_slope": 0.0, "threshold": 0.0}
        return "ReLU", "re_lu", settings
    raise UnsupportedLayer(f"no layer of Keras is the activation {sigma}; save it as .onnx.")


def model_of(network: Network, layers: list[Written]) -> dict[str, Any]:
    """The description of the model: a Sequential of an input and the layers."""
    shape = [None, network.d_in]
    first = {"batch_shape": shape, "dtype": network.dtype.name, "name": "input_layer"}
    described = [_described("InputLayer", first)]
    described += [_described(layer.kind, layer.config) for layer in layers]
    config = {"name": "sequential", "trainable": True, "dtype": network.dtype.name}
    model = _described("Sequential", config | {"layers": described}, "keras")
    return model | {"build_config": {"input_shape": shape}}


def _described(kind: str, config: dict[str, Any], module: str = "keras.layers") -> dict[str, Any]:
    return {"module": module, "class_name": kind, "config": config, "registered_name": None}


def _weights(layers: list[Written]) -> bytes:
    """`model.weights.h5`: layers/dense/vars/0 is the kernel, .../1 the bias."""
    buffer = io.BytesIO()
    with h5py_library().File(buffer, "w") as file:
        for layer in layers:
            group = file.create_group(f"layers/{layer.name}/vars")
            for i, array in enumerate(layer.arrays.values()):
                group.create_dataset(str(i), data=array)
    return buffer.getvalue()


def h5py_library() -> Any:
    """The package h5py, or one sentence on how to get it."""
    try:
        import h5py
    except ImportError:
        raise MissingDependency(
            "h5py is needed to write files of Keras and not installed: pip install "
            '"pellucid[formats]" (in a clone: .venv/bin/pip install h5py).'
        ) from None
    return h5py
