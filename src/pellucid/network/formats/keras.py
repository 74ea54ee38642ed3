"""Keras: `.keras` archives, `.h5` files and models in JSON with their weights, without Keras.

A model is its JSON description and arrays in HDF5. Chains become a `Network`; models that add or
join values become an `AffineGraph`. Code that a file may hold (Lambda layers) is never run.
"""

import json
import math
from pathlib import Path
from typing import Any

from ..._errors import InvalidFile, InvalidInput, UnsupportedLayer
from .chain import Chain
from .contents import Budget, open_archive, opening, read_bytes
from .hdf5 import open_hdf5
from .keras_layers import Layer, Value, apply
from .keras_links import config_of, inbound, input_shape, name_of, references
from .loaded import Loaded, Options

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
MODELS = ("Sequential", "Functional", "Model")
DEEPEST = 20  # models inside models


def read(path: Path, options: Options) -> Loaded:
    """The network of a Keras file: an archive, an HDF5 file, or JSON with weights beside it."""
    start = opening(path)
    if start.startswith(b"PK"):
        with open_archive(path) as archive:
            model = _parsed(archive.read(CONFIG))
            with open_hdf5(archive.read(WEIGHTS)) as tree:
                return _model(model, tree)
    if start.lstrip().startswith(b"{"):
        model = _parsed(read_bytes(path))
        _check_model(model)
        with open_hdf5(_beside(path, options)) as tree:
            return _model(model, tree)
    with open_hdf5(path) as tree:
        text = tree.attribute("", "model_config")
        if text is None:
            raise InvalidFile(
                "no model_config was found in it, so that it is no Keras model: weights alone need "
                "the model in JSON, model.to_json(), and load(json, weights=...)."
            )
        return _model(_parsed(str(text).encode()), tree)


def _beside(path: Path, options: Options) -> Path:
    """The file of the weights of a model in JSON."""
    if options.weights is not None:
        return options.weights
    names = [f"{path.stem}{end}" for end in (".weights.h5", "_weights.h5", ".h5")]
    found = [path.with_name(name) for name in names if path.with_name(name).is_file()]
    if not found:
        raise InvalidInput(
            "it is a model in JSON without its weights; name their file with weights= "
            f"(--weights), or put it beside the model as {names[0]}."
        )
    return found[0]


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        model = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise InvalidFile("its description of the model is no JSON.") from None
    if not isinstance(model, dict):
        raise InvalidFile("its description of the model is not that of Keras.")
    return model


def _check_model(model: dict[str, Any]) -> None:
    if model.get("class_name") not in MODELS:
        raise UnsupportedLayer(
            f"it describes a {str(model.get('class_name'))[:60]!r}; the models that are read are "
            "Sequential and Functional: rebuild it as one of them, or export it to ONNX."
        )


# ---- from the description to a network


def _model(model: dict[str, Any], tree: Any) -> Loaded:
    from .keras_weights import weights_of

    _check_model(model)
    layers = _layers_of(model)
    weights = weights_of(tree, [_named(layer) for layer in layers])
    if not _is_chain(model, layers):
        from .keras_graph import read_graph

        return read_graph(model, layers, weights)
    chain = Chain(budget=Budget(tree.size))
    value = Value(chain)
    _run(layers, weights, value, chain, 0)
    if not chain.n_layers:
        raise UnsupportedLayer("it has no Dense layer with weights.")
    heads = {value.head_of: value.head} if value.head else {}
    return Loaded(chain.network(), folded=tuple(chain.folded), heads=heads)


def _layers_of(model: dict[str, Any]) -> list[dict[str, Any]]:
    config = model.get("config")
    layers = config.get("layers") if isinstance(config, dict) else config
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        raise InvalidFile("its description of the model has no list of layers.")
    return layers


def _named(layer: dict[str, Any]) -> tuple[str, str]:
    return str(layer.get("class_name", "")), name_of(layer)


def _run(
    layers: list[dict[str, Any]], weights: Any, value: Value, chain: Chain, depth: int
) -> None:
    """The layers of a chain, and those of models inside it."""
    if depth > DEEPEST:
        raise InvalidFile("its models are nested too deeply.")
    for position, layer in enumerate(layers):
        kind, name = _named(layer)
        if value.shape is None:
            value.shape = input_shape(layer)
            if value.shape is not None:
                assert chain.budget is not None
                chain.budget.spend(32 * math.prod(value.shape))  # as a file may claim any shape
                chain.width = chain.width or math.prod(value.shape)
        if kind in MODELS:
            inner = _layers_of(layer)
            if not _is_chain(layer, inner):
                raise UnsupportedLayer(f"its inner model {name} is no chain of layers.")
            _run(
                inner, weights.inside(position, [_named(x) for x in inner]), value, chain, depth + 1
            )
        else:
            apply(Layer(kind, name, config_of(layer), weights.of(position)), value)


def _is_chain(model: dict[str, Any], layers: list[dict[str, Any]]) -> bool:
    """Whether every layer has the one before it as its only input."""
    if model.get("class_name") == "Sequential":
        return True
    names = [_named(layer)[1] for layer in layers]
    for before, layer in zip([None, *names], layers, strict=False):
        calls = inbound(layer)
        expected = [] if before is None else [[(before, 0, 0)]]
        if calls != expected:
            return False
    return outputs_are(model, names[-1:])


def outputs_are(model: dict[str, Any], names: list[str]) -> bool:
    """Whether the outputs of a functional model are those of these layers."""
    return [name for name, _, _ in references(config_of(model).get("output_layers"))] == names
