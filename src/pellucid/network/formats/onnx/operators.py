"""One operator of a model: its name for messages, its attributes, the inputs that it was given."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array
from .tensors import Store, shortest
from .values import Constant, Value


@dataclass(frozen=True, eq=False)
class Operator:
    """A node of the model's graph, as the functions that read it see it."""

    kind: str
    name: str
    opset: int
    attributes: dict[str, Any]
    outputs: tuple[str, ...]  # "" for one that nobody reads

    @property
    def place(self) -> str:
        """How messages name it."""
        if self.name:
            return f"node {self.name!r:.80} ({self.kind})"
        return f"the {self.kind} that gives {(self.outputs or ('nothing',))[0]!r:.80}"

    def get(self, name: str, default: Any) -> Any:
        """An attribute, of the type of its default (None: any)."""
        value = self.attributes.get(name, default)
        if default is not None and type(value) is not type(default):
            raise InvalidFile(f"has the attribute {name} = {value!r:.40}, of a wrong type.")
        return value

    def integers(self, name: str, default: Sequence[int] | None) -> list[int] | None:
        """A list of integers, or the default."""
        value = self.attributes.get(name)
        if value is None:
            return None if default is None else list(default)
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise InvalidFile(f"has the attribute {name} = {value!r:.40}; it must be integers.")
        return value


def read_attributes(node: Any, store: Store) -> dict[str, Any]:
    """The attributes of a node: int, float, str, list of such, or the array of a tensor."""
    return {attribute.name: _attribute(attribute, store) for attribute in node.attribute}


def _attribute(attribute: Any, store: Store) -> Any:
    kind = attribute.type or _guessed_type(attribute)
    if kind == 1:
        return shortest(attribute.f)
    if kind == 2:
        return int(attribute.i)
    if kind == 3:
        return attribute.s.decode("utf-8", "replace")
    if kind == 4:
        return store.array(attribute.t, attribute.t.name or attribute.name)
    if kind == 6:
        return [shortest(f) for f in attribute.floats]
    if kind == 7:
        return [int(i) for i in attribute.ints]
    if kind == 8:
        return [s.decode("utf-8", "replace") for s in attribute.strings]
    raise UnsupportedLayer(
        f"has the attribute {attribute.name!r:.80}, which is no number, text or tensor."
    )


def _guessed_type(attribute: Any) -> int:
    """The type of an attribute of an old file, which does not say it."""
    for kind, field in ((4, "t"), (3, "s"), (2, "i"), (1, "f")):
        if attribute.HasField(field):
            return kind
    return next((k for k, f in ((6, "floats"), (8, "strings")) if len(getattr(attribute, f))), 7)


# ---- inputs


def required(inputs: Sequence[Value | None], i: int) -> Value:
    """Input i, which must be there."""
    value = inputs[i] if i < len(inputs) else None
    if value is None:
        raise InvalidFile(f"has no input {i}.")
    return value


def optional(inputs: Sequence[Value | None], i: int) -> Value | None:
    """Input i, or None."""
    return inputs[i] if i < len(inputs) else None


def constant(inputs: Sequence[Value | None], i: int, what: str) -> Constant:
    """Input i, whose numbers must be known."""
    value = required(inputs, i)
    if not isinstance(value, Constant):
        raise UnsupportedLayer(f"has {what} that depend on the inputs; they must be constant.")
    return value


def integers(inputs: Sequence[Value | None], i: int, what: str) -> list[int]:
    """Input i as a list of integers."""
    return whole_numbers(constant(inputs, i, what).array, what)


def whole_numbers(array: Array, what: str) -> list[int]:
    """The numbers of an array of integers."""
    if array.dtype.kind != "i" or array.size > 64:
        raise InvalidFile(f"has {what} that are no short list of integers.")
    return [int(number) for number in array.ravel()]


def axis_of(axis: int, rank: int) -> int:
    """An axis from 0; negative ones count from the end."""
    if not -rank <= axis < rank:
        raise InvalidFile(f"has the axis {axis}, and its input has {rank} axes.")
    return axis % rank


def shape_text(shape: Sequence[int]) -> str:
    """A shape for messages."""
    return f"{[int(d) for d in shape]!s:.120}"


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all are broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " and ".join(map(shape_text, shapes))
        raise InvalidFile(f"has inputs of the shapes {texts}, which do not fit.") from None
