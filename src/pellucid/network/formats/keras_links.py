"""How the layers of a Keras model are called and linked, in the forms that its versions write."""

from collections.abc import Iterator
from typing import Any

from ..._errors import InvalidFile

DEEPEST = 20  # lists inside lists

Reference = tuple[str, int, int]  # name of a layer, number of its call, number of its output


def config_of(layer: dict[str, Any]) -> dict[str, Any]:
    """The settings of a layer."""
    config = layer.get("config")
    return config if isinstance(config, dict) else {}


def name_of(layer: dict[str, Any]) -> str:
    """The name of a layer; links refer to it."""
    return str(layer.get("name") or config_of(layer).get("name") or "")


def input_shape(layer: dict[str, Any]) -> tuple[int, ...] | None:
    """The shape of one input, where a layer states it."""
    config = config_of(layer)
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    if isinstance(shape, list) and len(shape) > 1:
        shape = shape[1:]
    elif isinstance(config.get("input_dim"), int):
        shape = [config["input_dim"]]
    else:
        return None
    if all(type(n) is int and 0 < n < 2**31 for n in shape):
        return tuple(shape)
    return None


def inbound(layer: dict[str, Any]) -> list[list[Reference]]:
    """The inputs of every call of a layer, in either form that Keras writes."""
    nodes = layer.get("inbound_nodes")
    if not isinstance(nodes, list):
        return []
    return [list(_tensors(node)) for node in nodes]


def _tensors(node: Any, depth: int = 0) -> Iterator[Reference]:
    if depth > DEEPEST:
        raise InvalidFile("the links between its layers are nested too deeply.")
    match node:
        case {"class_name": "__keras_tensor__", "config": {"keras_history": history}}:
            yield from references(history)
        case {"args": list(args)}:
            for inner in (*args, *_tensors_of_kwargs(node.get("kwargs"))):
                yield from _tensors(inner, depth + 1)
        case [str(), int(), int(), *_]:
            yield from references(node)
        case list():
            for inner in node:
                yield from _tensors(inner, depth + 1)


def _tensors_of_kwargs(kwargs: Any) -> list[Any]:
    return list(kwargs.values()) if isinstance(kwargs, dict) else []


def references(value: Any) -> list[Reference]:
    """One reference, or a list of them, as Keras writes outputs: ["dense", 0, 0]."""
    match value:
        case [str(name), int(call), int(output), *_]:
            return [(name, call, output)]
        case list():
            return [
                found for inner in value if isinstance(inner, list) for found in references(inner)
            ]
    return []
