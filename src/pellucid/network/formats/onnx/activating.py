"""Activations: Relu, Sigmoid, Clip, PRelu, Max, Softmax and others."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array
from ...activations import Activation
from .arithmetic import OPERATORS_OF_TWO
from .maps import Affine, stacked
from .operators import Operator, axis_of, common_shape, constant, optional, required, shape_text
from .values import Constant, Head, Value, argument, composed
from .work import Work

Inputs = Sequence[Value | None]

UNBOUNDED = 3.4e38  # a bound of float32's largest number means that there is none


def activated(activation: Activation, work: Work, value: Value) -> Value:
    """An activation of every entry; a layer is made of it when somebody reads it."""
    if isinstance(value, Constant):
        return Constant(activation(work.finite(value)), value.name)
    if isinstance(value, Head):
        raise UnsupportedLayer("reads a softmax, which must be at the very end.")
    if isinstance(value, Affine):
        result = composed(activation.value, argument(value), affine=None)
        assert result is not None
        result.direct = value, activation
        return result
    return composed(
        activation.value, value, affine=lambda: work.layer(work.affine(value), activation)
    ) or work.layer(work.affine(value), activation)


def plain(name: str, work: Work, op: Operator, inputs: Inputs) -> Value:
    """An activation without parameters."""
    return activated(Activation(name), work, required(inputs, 0))


def leaky_relu(work: Work, op: Operator, inputs: Inputs) -> Value:
    """LeakyRelu with its slope."""
    return activated(_with(op, "leaky_relu", op.get("alpha", 0.01)), work, required(inputs, 0))


def elu(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Elu with its alpha."""
    return activated(_with(op, "elu", op.get("alpha", 1.0)), work, required(inputs, 0))


def _with(op: Operator, name: str, *parameters: float) -> Activation:
    if not all(math.isfinite(p) for p in parameters):
        raise InvalidFile(f"has the parameters {parameters}; they must be finite.")
    return Activation(name, parameters)


def selu(work: Work, op: Operator, inputs: Inputs) -> Value:
    """gamma elu(z, alpha)."""
    alpha, gamma = op.get("alpha", 1.6732632), op.get("gamma", 1.050701)
    inner = activated(_with(op, "elu", alpha), work, required(inputs, 0))
    return _multiple(work, op, inner, gamma)


def celu(work: Work, op: Operator, inputs: Inputs) -> Value:
    """alpha elu(z / alpha)."""
    alpha = op.get("alpha", 1.0)
    if not (math.isfinite(alpha) and alpha):
        raise InvalidFile(f"has alpha = {alpha}; it must be a finite number other than 0.")
    inner = _multiple(work, op, required(inputs, 0), 1 / alpha)
    return _multiple(work, op, activated(Activation("elu"), work, inner), alpha)


def _multiple(work: Work, op: Operator, value: Value, factor: float) -> Value:
    modern = Operator(op.kind, op.name, max(op.opset, 7), {}, op.outputs)
    number = Constant(np.array(factor), "a factor")
    return OPERATORS_OF_TWO["Mul"](work, modern, [value, number])


def gelu(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Gelu, exact or in the tanh form."""
    form = op.get("approximate", "none")
    if form not in ("none", "tanh"):
        raise InvalidFile(f"has the form {form!r:.80}; it is 'none' or 'tanh'.")
    name = "gelu" if form == "none" else "gelu_tanh"
    return activated(Activation(name), work, required(inputs, 0))


def swish(work: Work, op: Operator, inputs: Inputs) -> Value:
    """z sigmoid(alpha z), as silu(alpha z) / alpha."""
    alpha = op.get("alpha", 1.0)
    if not (math.isfinite(alpha) and alpha):
        raise InvalidFile(f"has alpha = {alpha}; it must be a finite number other than 0.")
    inner = _multiple(work, op, required(inputs, 0), alpha)
    return _multiple(work, op, activated(Activation("silu"), work, inner), 1 / alpha)


def hard_sigmoid(work: Work, op: Operator, inputs: Inputs) -> Value:
    """alpha z + beta, clipped to [0, 1]."""
    inner = _multiple(work, op, required(inputs, 0), op.get("alpha", 0.2))
    modern = Operator(op.kind, op.name, max(op.opset, 7), {}, op.outputs)
    shift = Constant(np.array(op.get("beta", 0.5)), "beta")
    inner = OPERATORS_OF_TWO["Add"](work, modern, [inner, shift])
    return activated(Activation("hardtanh", (0.0, 1.0)), work, inner)


# ---- straight pieces with bounds or slopes of their own


def clip(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Clip to [min, max]; either may be missing."""
    value = required(inputs, 0)
    low, high = (_bound(work, op, inputs, i, name) for i, name in ((1, "min"), (2, "max")))
    if low is None and high is None:
        return value
    if isinstance(value, Constant):
        return Constant(np.clip(work.finite(value), low, high), value.name)
    if low is not None and high is not None:
        if low >= high:
            raise UnsupportedLayer(f"clips to [{low:g}, {high:g}], which leaves one number.")
        return activated(Activation("hardtanh", (low, high)), work, value)
    if high is None and low == 0:
        return activated(Activation("relu"), work, value)
    z = work.affine(value)
    bound = np.array(low if high is None else high)
    return _larger(work, z, bound) if high is None else _smaller(work, z, bound)


def _bound(work: Work, op: Operator, inputs: Inputs, i: int, name: str) -> float | None:
    """A bound from an input (opset 11 on) or an attribute; None where it bounds nothing."""
    if optional(inputs, i) is None:
        bound = op.attributes.get(name)
    else:
        array = constant(inputs, i, "bounds").array
        if array.size != 1 or array.dtype == bool:
            raise InvalidFile(f"has a {name} that is not one number.")
        bound = _decimal(array.ravel()[0])
    if bound is None:
        return None
    if not isinstance(bound, float) or math.isnan(bound):
        raise InvalidFile(f"has {name} = {bound!r:.40}, not a number.")
    nothing = bound <= -UNBOUNDED if name == "min" else bound >= UNBOUNDED
    return None if nothing else bound


def _decimal(number: np.generic) -> float:
    """The number; of a float32 the shortest decimal that it is rounded from."""
    return float(str(number))


def _larger(work: Work, z: Affine, bound: Array) -> Affine:
    """max(z, bound) = relu(z - bound) + bound."""
    shape = common_shape(z.shape, bound.shape)
    bounds = np.broadcast_to(bound, shape).ravel()
    above = work.broadcast(z, shape).shifted(-bounds)
    return work.layer(above, Activation("relu")).shifted(bounds)


def _smaller(work: Work, z: Affine, bound: Array) -> Affine:
    """min(z, bound) = bound - relu(bound - z)."""
    shape = common_shape(z.shape, bound.shape)
    bounds = np.broadcast_to(bound, shape).ravel()
    minus = np.full(len(bounds), -1.0)
    below = work.times(work.broadcast(z, shape), minus).shifted(bounds)
    return work.times(work.layer(below, Activation("relu")), minus).shifted(bounds)


def extreme(largest: bool, work: Work, op: Operator, inputs: Inputs) -> Value:
    """Max or Min of any number of tensors."""
    result = required(inputs, 0)
    for i in range(1, len(inputs)):
        result = _extreme_of_two(largest, work, result, required(inputs, i))
    return result


def _extreme_of_two(largest: bool, work: Work, a: Value, b: Value) -> Value:
    shape = common_shape(a.shape, b.shape)
    if not shape == a.shape == b.shape:
        work.spend_shape(shape)
    if isinstance(a, Constant) and isinstance(b, Constant):
        operate = np.maximum if largest else np.minimum
        return Constant(np.asarray(operate(a.array, b.array)), a.name)
    if isinstance(a, Constant):
        a, b = b, a
    if isinstance(b, Constant):
        bound = work.finite(b)
        if largest and not bound.any() and shape == a.shape:
            return activated(Activation("relu"), work, a)
        return (_larger if largest else _smaller)(work, work.affine(a), bound)
    if len(a.shape) != len(b.shape):
        work.mixes_rows()
    leaky = _leaky(largest, work, a, b)
    return leaky or _of_two_tensors(largest, work, a, b, shape)


def _leaky(largest: bool, work: Work, a: Value, b: Value) -> Value | None:
    """max(z, s z) with s < 1 (or min with s > 1) is a leaky relu of z."""
    if not isinstance(a, Affine) or not isinstance(b, Affine):
        return None
    for z, other in ((a, b), (b, a)):
        if other.origin is not None and other.origin[0] is z and other.origin[2] == 0:
            slope = other.origin[1]
            if slope < 1 if largest else slope > 1:
                return activated(Activation("leaky_relu", (slope,)), work, z)
    return None


def _of_two_tensors(
    largest: bool, work: Work, a: Value, b: Value, shape: tuple[int, ...]
) -> Affine:
    """max(a, b) = b + relu(a - b), min(a, b) = b - relu(b - a)."""
    first, second = (work.broadcast(work.affine(value), shape) for value in (a, b))
    minus = np.full(first.size, -1.0)
    if largest:
        gap = work.plus(first, work.times(second, minus))
        return work.plus(second, work.layer(gap, Activation("relu")))
    gap = work.plus(second, work.times(first, minus))
    return work.plus(second, work.times(work.layer(gap, Activation("relu")), minus))


def prelu(work: Work, op: Operator, inputs: Inputs) -> Value:
    """PRelu: one slope, or different ones, for which z+ - s z- are two relu units."""
    value = required(inputs, 0)
    slopes = constant(inputs, 1, "slopes")
    array = work.finite(slopes)
    if op.opset < 7 and array.ndim == 1 and len(value.shape) > 1 and array.size > 1:
        array = array.reshape(-1, *(1,) * (len(value.shape) - 2))  # one for each channel
    if common_shape(value.shape, array.shape) != value.shape:
        raise InvalidFile(
            f"has slopes of the shape {shape_text(array.shape)} for {shape_text(value.shape)}."
        )
    if isinstance(value, Constant):
        return Constant(np.where(value.array > 0, value.array, array * value.array), value.name)
    number = slopes.number()
    if number is not None:
        slope = _decimal(array.ravel()[0])
        return activated(Activation("prelu", (slope,)), work, value)
    z = work.affine(value)
    n = z.size
    work.spend(6 * n + 2 * z.entries())
    both = stacked([z, work.times(z, np.full(n, -1.0))], (2 * n,))
    halves = work.layer(both, Activation("relu"))
    low = work.times(
        work.pick(halves, np.arange(n, 2 * n)), -np.broadcast_to(array, z.shape).ravel()
    )
    result = work.plus(work.pick(halves, np.arange(n)), low).reshaped(z.shape)
    return result.noted(f"{op.place} as two relu units for each, as their slopes differ")


def softmax(kind: str, work: Work, op: Operator, inputs: Inputs) -> Value:
    """Softmax or LogSoftmax at the end, over all entries: left off, and told."""
    value = required(inputs, 0)
    rank = len(value.shape)
    axis = axis_of(op.get("axis", -1 if op.opset >= 13 else 1 if rank > 1 else 0), rank)
    if axis == 0:
        work.mixes_rows(value)
    group = value.shape[axis] if op.opset >= 13 else math.prod(value.shape[axis:])
    if group != math.prod(value.shape):
        raise UnsupportedLayer(
            f"is over {group} of {math.prod(value.shape)} entries, {shape_text(value.shape)}; it "
            f"must be over all outputs, at the very end."
        )
    return Head(work.affine(value), "softmax" if kind == "Softmax" else "log_softmax")


_PLAIN = {
    "Relu": "relu",
    "Abs": "abs",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Softsign": "softsign",
}

ACTIVATING: dict[str, Callable[[Work, Operator, Inputs], Value]] = {
    **{kind: partial(plain, name) for kind, name in _PLAIN.items()},
    "LeakyRelu": leaky_relu,
    "Elu": elu,
    "Selu": selu,
    "Celu": celu,
    "Gelu": gelu,
    "Swish": swish,
    "HardSigmoid": hard_sigmoid,
    "Clip": clip,
    "Max": partial(extreme, True),
    "Min": partial(extreme, False),
    "PRelu": prelu,
    "Softmax": partial(softmax, "Softmax"),
    "LogSoftmax": partial(softmax, "LogSoftmax"),
}
