"""Operators that only move entries: Reshape, Transpose, Slice, Split, Gather, Concat and others."""

import math
from collections.abc import Sequence

import numpy as np

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array
from .maps import stacked
from .operators import (
    Operator,
    axis_of,
    common_shape,
    constant,
    integers,
    optional,
    required,
    shape_text,
)
from .tensors import MOST_BESIDE
from .values import Constant, Head, Value
from .work import Work

Inputs = Sequence[Value | None]


def identity(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Identity, and what does nothing while a network is used."""
    return required(inputs, 0)


def dropout(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Dropout of a network in use: nothing."""
    training = optional(inputs, 2)
    if training is not None and constant(inputs, 2, "a training mode").array.any():
        raise UnsupportedLayer("drops values at random (training_mode); export in eval mode.")
    if op.opset < 7 and op.attributes.get("is_test") == 0:
        raise UnsupportedLayer("drops values at random (is_test = 0); export in eval mode.")
    if any(op.outputs[1:]):
        raise UnsupportedLayer("gives its mask, which is random; export in eval mode.")
    return required(inputs, 0)


def cast(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Cast: of constants to any type, of what depends on the inputs to another float only."""
    value, to = required(inputs, 0), op.attributes.get("to")
    to = _OLD_TYPES.get(to, to) if isinstance(to, str) else to
    if op.kind == "CastLike":
        like = required(inputs, 1)
        kind = like.array.dtype.kind if isinstance(like, Constant) else "f"
        to = {"f": 1, "i": 7}.get(kind, 9)
    if isinstance(value, Constant):
        return Constant(_cast_array(value.array, to), value.name)
    if to not in (1, 10, 11, 16):
        raise UnsupportedLayer("rounds values that depend on the inputs to whole numbers.")
    return value


_OLD_TYPES = {"FLOAT": 1, "DOUBLE": 11, "FLOAT16": 10, "INT32": 6, "INT64": 7, "BOOL": 9}


def _cast_array(array: Array, to: object) -> Array:
    if to in (1, 10, 11, 16):
        if array.dtype.kind != "f":
            return array.astype(np.float64)
        return array if to != 10 else array.astype(np.float16).astype(np.float32)
    if to == 9:
        return array != 0
    if to in (2, 3, 4, 5, 6, 7, 12, 13):
        with np.errstate(invalid="ignore"):
            return array.astype(np.int64)
    raise UnsupportedLayer("casts to a type that is no plain number.")


# ---- shapes


def reshape(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Reshape, with 0 (keep) and -1 (what is left) in the new shape."""
    value = required(inputs, 0)
    wanted = op.integers("shape", None)  # before opset 5
    if wanted is None:
        wanted = integers(inputs, 1, "shapes")
    if work.rows is not None and not isinstance(value, Constant):
        wanted = _for_one_row(work, wanted)
    shape = _reshaped(value.shape, wanted, bool(op.get("allowzero", 0)))
    return work.moved(value, lambda a: a.reshape(shape))


def _for_one_row(work: Work, wanted: list[int]) -> list[int]:
    """The new shape where the batch is cut to one row; its first axis must stay the rows'."""
    if not wanted or wanted[0] not in (work.rows, 0, -1):
        work.mixes_rows()
    return [1, *wanted[1:]]


def _reshaped(old: tuple[int, ...], wanted: list[int], keep_zeros: bool) -> tuple[int, ...]:
    size = math.prod(old)
    new = [
        old[i] if d == 0 and not keep_zeros and i < len(old) else d for i, d in enumerate(wanted)
    ]
    known = math.prod(d for d in new if d != -1)
    if new.count(-1) == 1 and known > 0 and size % known == 0:
        new[new.index(-1)] = size // known
    too_long = math.prod(d for d in new if d) > max(size, MOST_BESIDE)
    if any(d < 0 for d in new) or math.prod(new) != size or too_long:
        raise InvalidFile(
            f"reshapes {shape_text(old)} to {shape_text(wanted)}; the sizes do not agree."
        )
    return tuple(new)


def flatten(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Flatten to two axes."""
    value = required(inputs, 0)
    rank = len(value.shape)
    axis = op.get("axis", 1)
    if not -rank <= axis <= rank:
        raise InvalidFile(f"has the axis {axis}, and its input has {rank} axes.")
    axis = axis + rank if axis < 0 else axis
    if axis != 1:
        work.mixes_rows(value)
    first = math.prod(value.shape[:axis])
    return work.moved(value, lambda a: a.reshape(first, -1) if a.size else a.reshape(first, 0))


def squeeze(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Squeeze: remove axes of size 1."""
    value = required(inputs, 0)
    axes = _axes(op, inputs, 1)
    rank = len(value.shape)
    if axes is None:
        axes = [i for i, d in enumerate(value.shape) if d == 1]
    axes = [axis_of(axis, rank) for axis in axes]
    if any(value.shape[axis] != 1 for axis in axes):
        raise InvalidFile(f"removes the axes {axes} of {shape_text(value.shape)}, not all 1.")
    if 0 in axes:
        work.mixes_rows(value)
    shape = tuple(d for i, d in enumerate(value.shape) if i not in axes)
    return work.moved(value, lambda a: a.reshape(shape))


def unsqueeze(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Unsqueeze: new axes of size 1."""
    value = required(inputs, 0)
    axes = _axes(op, inputs, 1)
    if axes is None:
        raise InvalidFile("has no axes.")
    rank = len(value.shape) + len(axes)
    axes = [axis_of(axis, rank) for axis in axes]
    if len(set(axes)) < len(axes) or rank > 32:
        raise InvalidFile(f"adds the axes {axes}.")
    if 0 in axes:
        work.mixes_rows(value)
    sizes = iter(value.shape)
    shape = tuple(1 if i in axes else next(sizes) for i in range(rank))
    return work.moved(value, lambda a: a.reshape(shape))


def _axes(op: Operator, inputs: Inputs, i: int) -> list[int] | None:
    """Axes as an attribute (before opset 13), or as input i."""
    given = op.integers("axes", None)
    if given is None and optional(inputs, i) is not None:
        given = integers(inputs, i, "axes")
    return given


def transpose(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Transpose by a permutation of the axes; without one, their order is reversed."""
    value = required(inputs, 0)
    rank = len(value.shape)
    order = op.integers("perm", list(range(rank))[::-1]) or []
    if sorted(order) != list(range(rank)):
        raise InvalidFile(f"permutes the axes of {shape_text(value.shape)} by {order}.")
    if order[:1] != [0]:
        work.mixes_rows(value)
    return work.moved(value, lambda a: a.transpose(order))


# ---- parts


def slices(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Slice: ranges along axes."""
    value = required(inputs, 0)
    rank = len(value.shape)
    starts, ends, axes = (op.integers(name, None) for name in ("starts", "ends", "axes"))
    steps = None
    if starts is None or ends is None:  # from opset 10 on
        starts, ends = integers(inputs, 1, "starts"), integers(inputs, 2, "ends")
        axes = integers(inputs, 3, "axes") if optional(inputs, 3) is not None else None
        steps = integers(inputs, 4, "steps") if optional(inputs, 4) is not None else None
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise InvalidFile("has starts, ends, axes and steps that do not fit together.")
    where: list[slice] = [slice(None)] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = axis_of(axis, rank)
        if axis == 0:
            work.mixes_rows(value)
        where[axis] = _range(start, end, step, value.shape[axis])
    return work.moved(value, lambda a: a[tuple(where)])


def _range(start: int, end: int, step: int, size: int) -> slice:
    """A range as ONNX means it: bounds beyond the ends are cut, below -size, too."""
    start, end = (d + size if d < 0 else d for d in (start, end))
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    start, end = min(max(start, -1), size - 1), min(max(end, -1), size - 1)
    if start < 0:
        return slice(0, 0, 1)
    return slice(start, None if end < 0 else end, step)


def split(work: Work, op: Operator, inputs: Inputs) -> tuple[Value, ...]:
    """Split along an axis, in given or equal parts."""
    value = required(inputs, 0)
    axis = axis_of(op.get("axis", 0), len(value.shape))
    if axis == 0:
        work.mixes_rows(value)
    size, n = value.shape[axis], len(op.outputs)
    sizes = op.integers("split", None)
    if sizes is None and optional(inputs, 1) is not None:
        sizes = integers(inputs, 1, "sizes")
    if sizes is None:
        part = -(-size // n)
        sizes = [min(part, max(size - i * part, 0)) for i in range(n)]
    if len(sizes) != n or sum(sizes) != size or min(sizes) < 0:
        raise InvalidFile(f"splits an axis of size {size} into {n} parts of the sizes {sizes}.")
    ends = np.cumsum([0, *sizes])
    parts = []
    for i in range(n):
        where = (slice(None),) * axis + (slice(int(ends[i]), int(ends[i + 1])),)
        parts.append(work.moved(value, lambda a, where=where: a[where]))
    return tuple(parts)


def gather(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Gather: entries of an axis by their numbers."""
    value = required(inputs, 0)
    axis = axis_of(op.get("axis", 0), len(value.shape))
    index = constant(inputs, 1, "indices").array
    size = value.shape[axis]
    if index.dtype.kind != "i" or ((index < -size) | (index >= size)).any():
        raise InvalidFile(f"takes entries of an axis of size {size} that it does not have.")
    if axis == 0:
        work.mixes_rows(value)
    work.spend(math.prod(value.shape) // max(size, 1) * index.size)
    return work.moved(value, lambda a: np.take(a, index, axis=axis))


# ---- growth


def concat(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Concat along an axis."""
    values = [required(inputs, i) for i in range(len(inputs))]
    if not values:
        raise InvalidFile("has no inputs.")
    shapes = [value.shape for value in values]
    axis = axis_of(op.get("axis", 1), len(shapes[0]))  # before opset 4 it was 1 by default
    rest = {(len(s), s[:axis], s[axis + 1 :]) for s in shapes}
    if len(rest) > 1:
        raise InvalidFile(f"joins {' and '.join(map(shape_text, shapes))} along axis {axis}.")
    if all(isinstance(value, Constant) for value in values):
        work.spend(sum(math.prod(shape) for shape in shapes))
        arrays = [value.array for value in values if isinstance(value, Constant)]
        return Constant(np.concatenate(arrays, axis=axis), "a Concat of constants")
    if axis == 0:
        work.mixes_rows()
    parts = [work.affine(value) for value in values]
    flat_size = sum(part.size for part in parts)
    work.spend(len(parts) * flat_size + sum(part.entries() for part in parts))
    starts = np.cumsum([0, *(part.size for part in parts)])
    index = [
        np.arange(part.size).reshape(part.shape) + start
        for part, start in zip(parts, starts, strict=False)
    ]
    order = np.concatenate(index, axis=axis)
    return work.pick(stacked(parts, (flat_size,)), order)


def expand(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Expand: repeat along axes of size 1."""
    value = required(inputs, 0)
    shape = common_shape(value.shape, tuple(_sizes(integers(inputs, 1, "shapes"))))
    return _grown(work, value, shape, lambda a: np.broadcast_to(a, shape))


def tile(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Tile: repeat along every axis."""
    value = required(inputs, 0)
    repeats = _sizes(integers(inputs, 1, "repeats"))
    if len(repeats) != len(value.shape):
        raise InvalidFile(f"repeats {shape_text(value.shape)} by {repeats}.")
    shape = tuple(d * r for d, r in zip(value.shape, repeats, strict=True))
    return _grown(work, value, shape, lambda a: np.tile(a, repeats))


def _grown(work: Work, value: Value, shape: tuple[int, ...], move) -> Value:
    if isinstance(value, Head):
        raise UnsupportedLayer("repeats a softmax, which must be at the end.")
    if shape[:1] != value.shape[:1]:
        work.mixes_rows(value)
    work.spend_shape(shape)
    return work.moved(value, move)


def _sizes(numbers: list[int]) -> list[int]:
    if any(d < 0 for d in numbers):
        raise InvalidFile(f"has the negative sizes {numbers}.")
    return numbers


def pad(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Pad with a constant; negative numbers cut."""
    value = required(inputs, 0)
    rank = len(value.shape)
    if op.get("mode", "constant") != "constant":
        raise UnsupportedLayer("pads with copies of entries; it must pad with a constant.")
    pads = op.integers("pads", None) or op.integers("paddings", None)
    fill = op.get("value", 0.0)
    if pads is None:  # from opset 11 on
        pads = integers(inputs, 1, "pads")
        if optional(inputs, 2) is not None:
            fill = _single(work.finite(constant(inputs, 2, "values")))
        if optional(inputs, 3) is not None:
            pads = _pads_of(pads, [axis_of(a, rank) for a in integers(inputs, 3, "axes")], rank)
    if len(pads) != 2 * rank:
        raise InvalidFile(f"pads {rank} axes by {len(pads)} numbers; it needs {2 * rank}.")
    if rank and (pads[0] or pads[rank]):
        work.mixes_rows(value)
    axes = list(zip(value.shape, pads[:rank], pads[rank:], strict=True))
    _sizes([d + min(a, 0) + min(b, 0) for d, a, b in axes])
    work.spend_shape(d + max(a, 0) + max(b, 0) for d, a, b in axes)

    def padded(array: Array, filling: float) -> Array:
        where = tuple(slice(max(-a, 0), d + min(b, 0)) for d, a, b in axes)
        grow = [(max(a, 0), max(b, 0)) for _, a, b in axes]
        return np.pad(array[where], grow, constant_values=filling)

    if isinstance(value, Constant):
        return Constant(padded(value.array, fill), value.name)
    z = work.affine(value)
    return work.pick(z, padded(np.arange(z.size).reshape(z.shape), -1), fill)


def _single(array: Array) -> float:
    if array.size != 1:
        raise InvalidFile("fills up with a tensor that is not one number.")
    return float(array.ravel()[0])


def _pads_of(pads: list[int], axes: list[int], rank: int) -> list[int]:
    """Padding of some axes as padding of all."""
    full = [0] * (2 * rank)
    if len(pads) != 2 * len(axes):
        raise InvalidFile(f"pads {len(axes)} axes by {len(pads)} numbers.")
    for i, axis in enumerate(axes):
        full[axis], full[rank + axis] = pads[i], pads[len(axes) + i]
    return full


# ---- constants made of shapes


def constant_node(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Constant: a tensor, a number or a list."""
    names = ("value", "value_float", "value_int", "value_floats", "value_ints")
    for name in names:
        if name in op.attributes:
            return Constant(_array(op.attributes[name]), (op.outputs or ("a Constant",))[0])
    raise UnsupportedLayer(f"holds {', '.join(op.attributes) or 'nothing'}; it must hold numbers.")


def _array(value: object) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fib":
        raise UnsupportedLayer("holds no numbers.")
    return array


def shape_of(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Shape of a tensor, all of it or a part."""
    shape = list(required(inputs, 0).shape)
    if work.rows is not None and shape and not isinstance(inputs[0], Constant):
        shape[0] = work.rows
    part = slice(op.get("start", 0), op.attributes.get("end"))
    return Constant(np.array(shape[part], np.int64), "a Shape")


def size_of(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Number of entries of a tensor."""
    work.mixes_rows(required(inputs, 0))
    return Constant(np.array(math.prod(required(inputs, 0).shape), np.int64), "a Size")


def constant_of_shape(work: Work, op: Operator, inputs: Inputs) -> Value:
    """ConstantOfShape: one number, many times."""
    shape = _sizes(integers(inputs, 0, "shapes"))
    work.spend_shape(shape)
    value = _array(op.get("value", None) if "value" in op.attributes else np.zeros(1, np.float32))
    if value.size != 1:
        raise InvalidFile("repeats more than one number.")
    return Constant(np.full(shape, value.ravel()[0]), (op.outputs or ("a constant",))[0])


def number_range(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Range: numbers from, to, step."""
    ends = [constant(inputs, i, "bounds").array for i in range(3)]
    if any(end.size != 1 for end in ends):
        raise InvalidFile("has bounds that are no single numbers.")
    start, stop, step = (end.ravel()[0] for end in ends)
    if step == 0 or not all(np.isfinite(end).all() for end in ends):
        raise InvalidFile("has a step of 0 or bounds that are not finite.")
    n = max(math.ceil((float(stop) - float(start)) / float(step)), 0)
    work.spend(n)
    return Constant(start + np.arange(n) * step, "a Range")


SHAPING = {
    "Identity": identity,
    "Dropout": dropout,
    "Cast": cast,
    "CastLike": cast,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Slice": slices,
    "Split": split,
    "Gather": gather,
    "Concat": concat,
    "Expand": expand,
    "Tile": tile,
    "Pad": pad,
    "Constant": constant_node,
    "Shape": shape_of,
    "Size": size_of,
    "ConstantOfShape": constant_of_shape,
    "Range": number_range,
}
