"""Keras models as one HDF5 file, the older form, as Keras 3 opens it.

Keras 2 reads this form too, where it has the layers and activations by the names of Keras 3.
"""

import io
import json
from typing import Any

import numpy as np

from ..network import Network
from .keras_writing import VERSION, h5py_library, layers_of, model_of

MOST_BYTES = 60_000  # of an attribute: HDF5 takes less than 64 KiB


def to_bytes(network: Network) -> bytes:
    """The content of a `.h5` file: the description as an attribute, a group for each layer.

    `UnsupportedLayer` names an activation that no layer of Keras has.
    """
    layers = layers_of(network)
    model = model_of(network, layers)
    first = model["config"]["layers"][0]["config"]
    first["batch_input_shape"] = first.pop("batch_shape")  # as Keras 2 calls it; 3 knows both
    buffer = io.BytesIO()
    with h5py_library().File(buffer, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = VERSION, "tensorflow"
        file.attrs["model_config"] = json.dumps(model)
        weights = file.create_group("model_weights")
        weights.attrs["keras_version"], weights.attrs["backend"] = VERSION, "tensorflow"
        _keep_names(weights, "layer_names", [layer.name for layer in layers])
        for layer in layers:
            group = weights.create_group(layer.name)
            names = [f"{layer.name}/{name}:0" for name in layer.arrays]
            _keep_names(group, "weight_names", names)
            for name, array in zip(names, layer.arrays.values(), strict=True):
                group.create_dataset(name, data=array)
    return buffer.getvalue()


def _keep_names(group: Any, key: str, names: list[str]) -> None:
    """An attribute with names; several, numbered ones where it would be too large, as in Keras."""
    array = np.array([name.encode() for name in names], dtype="S")
    parts = np.array_split(array, -(-array.nbytes // MOST_BYTES) or 1)
    for i, part in enumerate(parts):
        group.attrs[key if len(parts) == 1 else f"{key}{i}"] = part
