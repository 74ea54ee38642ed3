"""skops: scikit-learn models in archives of JSON and arrays, read as data.

No class of the file is imported, and nothing in it is called: a model becomes a `Saved`, its class
by name and its attributes, which the reader of scikit-learn's own objects takes as well.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._errors import InvalidFile, PellucidError
from .contents import Archive, open_archive
from .loaded import Loaded, Options
from .npy import member

SCHEMA = "schema.json"
DEEPEST = 100
MOST_NODES = 200_000  # a network of 1,000 layers has 10,000


@dataclass
class _Context:
    """The archive, the nodes of the schema by their numbers, and how many were read so far."""

    archive: Archive
    nodes: dict[int, dict[str, Any]]
    n_read: int = 0


@dataclass(frozen=True)
class Unread:
    """A value that is left alone, such as a function."""

    kind: str


class Saved:
    """A model of a file: its attributes are read when they are asked for."""

    def __init__(self, node: dict[str, Any], context: _Context):
        self.kind = str(node.get("__class__"))
        self.module = str(node.get("__module__"))
        content = node.get("content")
        self._fields = content.get("content") if isinstance(content, dict) else None
        self._context = context

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not isinstance(self._fields, dict) or name not in self._fields:
            raise AttributeError(name)
        return _value(self._fields[name], self._context, 0)


def read(path: Path, options: Options) -> Loaded:
    """The network of an MLP or a pipeline that `skops.io.dump` saved."""
    from .sklearn import read_model

    with open_archive(path) as archive:
        try:
            schema = json.loads(archive.read(SCHEMA).decode())
        except (ValueError, RecursionError):
            raise InvalidFile(f"its {SCHEMA} is no JSON.") from None
        nodes: dict[int, dict[str, Any]] = {}
        _number(schema, nodes, 0)
        found = _value(schema, _Context(archive, nodes), 0)
        if isinstance(found, dict):  # a model with notes beside it
            models = [value for value in found.values() if isinstance(value, Saved)]
            found = models[0] if len(models) == 1 else found
        if not isinstance(found, Saved):
            raise InvalidFile("it holds no model of scikit-learn.")
        try:
            return read_model(found)
        except PellucidError:
            raise
        except (AttributeError, TypeError, ValueError):
            raise InvalidFile(
                f"the attributes of its {found.kind:.60} are not those of a fitted one."
            ) from None


def _number(node: Any, nodes: dict[int, dict[str, Any]], depth: int) -> None:
    """Collect the nodes that have numbers; others may refer to them."""
    if depth > 2 * DEEPEST:
        raise InvalidFile(f"its {SCHEMA} is nested too deeply.")
    if isinstance(node, dict):
        number = node.get("__id__")
        if isinstance(number, int) and node.get("__loader__") != "CachedNode":
            nodes[number] = node
    for inner in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        if isinstance(inner, dict | list):
            _number(inner, nodes, depth + 1)


def _value(node: Any, context: _Context, depth: int) -> Any:
    """The value that a node stands for; `Unread` for kinds that no network needs."""
    context.n_read += 1  # nodes may refer to the same ones again and again
    if depth > DEEPEST or context.n_read > MOST_NODES or not isinstance(node, dict):
        raise InvalidFile(f"its {SCHEMA} is damaged.")
    content, loader = node.get("content"), node.get("__loader__")
    if loader == "CachedNode" and node.get("__id__") in context.nodes:
        return _value(context.nodes[node["__id__"]], context, depth + 1)
    if loader == "ObjectNode":
        return Saved(node, context)
    if loader == "JsonNode" and isinstance(content, str):
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise InvalidFile(f"its {SCHEMA} has a text that is no JSON.") from None
    if loader == "NdArrayNode":
        return _array(node, context)
    if loader == "DictNode" and isinstance(content, dict):
        return {str(key): _value(inner, context, depth + 1) for key, inner in content.items()}
    if loader in ("ListNode", "TupleNode") and isinstance(content, list):
        values = [_value(inner, context, depth + 1) for inner in content]
        return tuple(values) if loader == "TupleNode" else values
    return Unread(str(loader))


def _array(node: dict[str, Any], context: _Context) -> Any:
    name = node.get("file")
    if node.get("type") != "numpy" or not isinstance(name, str):
        return Unread("NdArrayNode")
    values = member(context.archive, name).read()
    return values if node.get("__class__") == "ndarray" else np.asarray(values)[()]
