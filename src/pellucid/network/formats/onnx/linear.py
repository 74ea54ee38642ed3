"""Operators that are matrices: Gemm, MatMul, Conv, AveragePool, BatchNormalization."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.sparse import csr_array

from ...._errors import InvalidFile, UnsupportedLayer
from ...._shapes import Array
from .arithmetic import OPERATORS_OF_TWO
from .maps import Affine
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
from .values import Constant, Head, Value
from .work import Work

Inputs = Sequence[Value | None]


def matmul(work: Work, op: Operator, inputs: Inputs) -> Value:
    """MatMul with a constant on either side."""
    return _product(work, required(inputs, 0), required(inputs, 1))


def gemm(work: Work, op: Operator, inputs: Inputs) -> Value:
    """alpha A' B' + beta C, where ' transposes if asked for."""
    a, b = required(inputs, 0), required(inputs, 1)
    if len(a.shape) > 2 and op.opset < 7 and not isinstance(a, Constant):
        rows = a.shape[0]  # old exporters leave axes of size 1
        a = work.moved(a, lambda array: array.reshape(rows, -1))
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise InvalidFile(
            f"multiplies {shape_text(a.shape)} by {shape_text(b.shape)}; both must be matrices."
        )
    if op.get("transA", 0):
        work.mixes_rows(a)
        a = work.moved(a, np.transpose)
    if op.get("transB", 0):
        b = work.moved(b, np.transpose)
    result = _scaled(work, op, _product(work, a, b), op.get("alpha", 1.0))
    added = optional(inputs, 2)
    if added is None or op.get("beta", 1.0) == 0:
        return result
    if common_shape(result.shape, added.shape) != result.shape:
        raise InvalidFile(f"adds {shape_text(added.shape)} to {shape_text(result.shape)}.")
    added = _scaled(work, op, added, op.get("beta", 1.0))
    return OPERATORS_OF_TWO["Add"](work, _modern(op), [result, added])


def _modern(op: Operator) -> Operator:
    """The operator, as one whose inputs are broadcast as NumPy does."""
    return Operator(op.kind, op.name, max(op.opset, 7), {}, op.outputs)


def _scaled(work: Work, op: Operator, value: Value, factor: float) -> Value:
    if factor == 1:
        return value
    number = Constant(np.array(factor), "a factor")
    return OPERATORS_OF_TWO["Mul"](work, _modern(op), [value, number])


def _product(work: Work, a: Value, b: Value) -> Value:
    """A matrix product as NumPy's, with a constant on one side at least."""
    if isinstance(a, Head) or isinstance(b, Head):
        raise UnsupportedLayer("multiplies a softmax, which must be at the very end.")
    shape = _shape_of_product(a.shape, b.shape)
    if isinstance(a, Constant) and isinstance(b, Constant):
        work.spend_shape((*shape, a.shape[-1]))
        return Constant(np.matmul(work.finite(a), work.finite(b)), a.name)
    if isinstance(b, Constant):
        return _times_constant(work, work.affine(a), work.finite(b), shape)
    if isinstance(a, Constant):
        work.mixes_rows()
        return _constant_times(work, work.finite(a), work.affine(b), shape)
    raise UnsupportedLayer(
        "multiplies two tensors that both depend on the inputs, which is not piecewise linear "
        "(attention is outside what can be read)."
    )


def _shape_of_product(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of A B; `InvalidFile` names both where they do not fit."""
    if not a or not b or a[-1] != b[max(len(b) - 2, 0)]:
        raise InvalidFile(
            f"multiplies {shape_text(a)} by {shape_text(b)}; the inner sizes do not agree."
        )
    batch = common_shape(a[:-2], b[:-2])
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _times_constant(work: Work, x: Affine, W: Array, shape: tuple[int, ...]) -> Affine:
    """x W: the dense transpose of W where x is one row, else a sparse map of all rows."""
    W = W[:, None] if W.ndim == 1 else W
    if x.size == x.shape[-1] and W.size == W.shape[-2] * W.shape[-1]:
        return work.mapped(x, W.reshape(W.shape[-2:]).T, shape)
    index = np.arange(x.size).reshape(x.shape if len(x.shape) > 1 else (1, -1))
    values = np.swapaxes(W, -1, -2)
    return _gathered(work, x, index[..., :, None, :], values[..., None, :, :], shape)


def _constant_times(work: Work, W: Array, x: Affine, shape: tuple[int, ...]) -> Affine:
    """W x: W itself where x is one column, else a sparse map of all columns."""
    W = W[None] if W.ndim == 1 else W
    index = np.arange(x.size).reshape(x.shape if len(x.shape) > 1 else (-1, 1))
    if x.size == index.shape[-2] and W.size == W.shape[-2] * W.shape[-1]:
        return work.mapped(x, W.reshape(W.shape[-2:]), shape)
    columns = np.swapaxes(index, -1, -2)
    return _gathered(work, x, columns[..., None, :, :], W[..., :, None, :], shape)


def _gathered(
    work: Work, x: Affine, columns: Array, values: Array, shape: tuple[int, ...]
) -> Affine:
    """Sums over the last axis of x[columns] * values; a column -1 counts as zero."""
    full = np.broadcast_shapes(columns.shape, values.shape)
    work.spend_shape((3, *full))
    used = np.broadcast_to(columns >= 0, full)
    counts = used.reshape(-1, full[-1]).sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    W = csr_array(
        (np.broadcast_to(values, full)[used], np.broadcast_to(columns, full)[used], starts),
        shape=(len(counts), x.size),
    )
    return work.mapped(x, W, shape)


# ---- windows


def conv(work: Work, op: Operator, inputs: Inputs) -> Value:
    """Conv of any number of spatial axes, with strides, dilations, padding and groups."""
    x = work.affine(required(inputs, 0))
    kernel = constant(inputs, 1, "kernels")
    W = work.finite(kernel)
    groups = op.get("group", 1)
    if len(x.shape) < 3 or W.ndim != len(x.shape) or x.shape[0] < 1 or groups < 1:
        raise InvalidFile(f"convolves {shape_text(x.shape)} with {shape_text(W.shape)}.")
    if x.shape[1] != W.shape[1] * groups or W.shape[0] % groups:
        raise InvalidFile(
            f"convolves {shape_text(x.shape)} with {shape_text(W.shape)} in {groups} groups; the "
            f"numbers of channels do not agree."
        )
    windows = _windows(work, op, x, list(W.shape[2:]))  # (n, channels, *places, *kernel)
    result = _convolved(work, x, windows, W, groups)
    if optional(inputs, 2) is None:
        return result
    bias = work.finite(constant(inputs, 2, "biases"))
    if bias.shape != (W.shape[0],):
        raise InvalidFile(f"adds {shape_text(bias.shape)} to {W.shape[0]} channels.")
    full = np.broadcast_to(bias.reshape(-1, *(1,) * (W.ndim - 2)), result.shape)
    return result.shifted(full.ravel())


def _convolved(work: Work, x: Affine, windows: Array, W: Array, groups: int) -> Affine:
    """The sum over channels and kernel of the windows' entries times the kernel."""
    work.spend(2 * windows.size)
    n, spatial = len(windows), W.ndim - 2
    places = windows.shape[2 : 2 + spatial]
    order = (0, *range(2, 2 + spatial), 1, *range(2 + spatial, 2 + 2 * spatial))
    columns = windows.transpose(order).reshape(n, math.prod(places), groups, -1)
    columns = columns.transpose(0, 2, 1, 3)[:, :, None]  # (n, group, 1, place, inner)
    values = W.reshape(groups, W.shape[0] // groups, 1, -1)  # (group, channel, 1, inner)
    return _gathered(work, x, columns, values, (n, W.shape[0], *places))


def _windows(work: Work, op: Operator, x: Affine, kernel: list[int]) -> Array:
    """Numbers of the entries below the kernel at every place; -1 is padding."""
    spatial = len(x.shape) - 2
    if op.integers("kernel_shape", kernel) != kernel or len(kernel) != spatial:
        raise InvalidFile(f"has a kernel of the shape {kernel} and claims another one.")
    steps = op.integers("strides", [1] * spatial) or []
    dilations = op.integers("dilations", [1] * spatial) or []
    if len(steps) != spatial or len(dilations) != spatial or min(*steps, *dilations, *kernel) < 1:
        raise InvalidFile("has strides, dilations or a kernel that do not fit its input.")
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = _padding(op, x.shape[2:], reach, steps)
    padded = [d + a + b for d, (a, b) in zip(x.shape[2:], pads, strict=True)]
    if any(r > d for r, d in zip(reach, padded, strict=True)):
        raise InvalidFile(f"has a kernel that is larger than its input, {shape_text(x.shape)}.")
    work.spend_shape((*x.shape[:2], *padded))
    index = np.pad(np.arange(x.size).reshape(x.shape), [(0, 0), (0, 0), *pads], constant_values=-1)
    views = sliding_window_view(index, reach, axis=tuple(range(2, 2 + spatial)))
    pick = [slice(None), slice(None), *(slice(None, None, s) for s in steps)]
    return views[(*pick, *(slice(None, None, d) for d in dilations))]


def _padding(
    op: Operator, sizes: Sequence[int], reach: list[int], steps: list[int]
) -> list[tuple[int, int]]:
    """Padding before and after every spatial axis."""
    auto = op.get("auto_pad", "NOTSET")
    spatial = len(sizes)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        needed = [
            max((-(-d // s) - 1) * s + r - d, 0)
            for d, r, s in zip(sizes, reach, steps, strict=True)
        ]
        halves = [(n // 2, n - n // 2) for n in needed]
        return halves if auto == "SAME_UPPER" else [(b, a) for a, b in halves]
    pads = op.integers("pads", [0] * (2 * spatial)) or []
    if auto == "VALID":
        pads = [0] * (2 * spatial)
    if len(pads) != 2 * spatial or any(p < 0 for p in pads):
        raise InvalidFile(f"pads {spatial} axes by {pads}.")
    return list(zip(pads[:spatial], pads[spatial:], strict=True))


def average_pool(work: Work, op: Operator, inputs: Inputs) -> Value:
    """AveragePool: the mean of each window."""
    x = work.affine(required(inputs, 0))
    kernel = op.integers("kernel_shape", None)
    if len(x.shape) < 3 or kernel is None or len(kernel) != len(x.shape) - 2:
        raise InvalidFile(f"pools {shape_text(x.shape)} with the kernel {kernel}.")
    if op.get("ceil_mode", 0):
        raise UnsupportedLayer("has windows that reach beyond the padding (ceil_mode = 1).")
    windows = _windows(work, op, x, kernel)
    shape = windows.shape[: len(x.shape)]
    work.spend(3 * windows.size)
    columns = windows.reshape(math.prod(shape), -1)
    used = columns >= 0
    counts = used.sum(axis=1)
    whole = bool(op.get("count_include_pad", 0))
    weights = 1 / np.where(whole, columns.shape[1], np.maximum(counts, 1))
    W = csr_array(
        (np.repeat(weights, counts), columns[used], np.concatenate([[0], np.cumsum(counts)])),
        shape=(len(columns), x.size),
    )
    return work.combined(x, W, shape)


def batch_normalization(work: Work, op: Operator, inputs: Inputs) -> Value:
    """BatchNormalization with its running mean and variance: a factor and a shift per channel."""
    x = work.affine(required(inputs, 0))
    names = ("scale", "biases", "means", "variances")
    parts = [work.finite(constant(inputs, i + 1, name)) for i, name in enumerate(names)]
    if op.get("training_mode", 0) or (op.opset < 14 and len(op.outputs) > 1):
        raise UnsupportedLayer("normalises by each batch (training mode); export in eval mode.")
    channels = x.shape[1] if len(x.shape) > 1 else 1
    if any(part.shape != (channels,) for part in parts):
        shapes = " and ".join(shape_text(part.shape) for part in parts)
        raise InvalidFile(f"has statistics of the shapes {shapes} for {channels} channels.")
    scale, shift, mean, variance = (part.astype(np.float64) for part in parts)
    spread = variance + op.get("epsilon", 1e-5)
    if (spread <= 0).any():
        raise InvalidFile("has a variance that is not positive.")
    factor = scale / np.sqrt(spread)
    axes = (-1, *(1,) * max(len(x.shape) - 2, 0))
    factors, shifts = (
        np.broadcast_to(part.reshape(axes), x.shape).ravel()
        for part in (factor, shift - mean * factor)
    )
    return work.times(x, factors).shifted(shifts).noted(f"{op.place} into an affine layer")


def reduction(work: Work, op: Operator, inputs: Inputs) -> Value:
    """ReduceSum or ReduceMean over axes of features."""
    value = required(inputs, 0)
    rank = len(value.shape)
    axes = op.integers("axes", None)
    if axes is None and optional(inputs, 1) is not None:
        axes = integers(inputs, 1, "axes")
    if not axes:
        if op.get("noop_with_empty_axes", 0):
            return value
        axes = list(range(rank))
    axes = sorted({axis_of(axis, rank) for axis in axes})
    is_mean, keep = op.kind == "ReduceMean", bool(op.get("keepdims", 1))
    if isinstance(value, Constant):
        operate = np.mean if is_mean else np.sum
        reduced = operate(work.finite(value), axis=tuple(axes), keepdims=keep)
        return Constant(np.asarray(reduced), value.name)
    _check_batch(work, axes)
    return _reduced(work, work.affine(value), axes, is_mean, keep)


def _check_batch(work: Work, axes: list[int]) -> None:
    if 0 in axes:
        work.mixes_rows()
        if work.has_open_batch:
            raise UnsupportedLayer("adds up the rows of a batch of any size.")


def _reduced(work: Work, x: Affine, axes: list[int], is_mean: bool, keep: bool) -> Affine:
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    count = math.prod(x.shape[axis] for axis in axes)
    columns = np.arange(x.size).reshape(x.shape).transpose([*rest, *axes]).reshape(-1, count)
    values = np.full(columns.size, 1 / count if is_mean else 1.0)
    starts = np.arange(len(columns) + 1) * count
    W = csr_array((values, columns.ravel(), starts), shape=(len(columns), x.size))
    sizes = [1 if axis in axes else d for axis, d in enumerate(x.shape)]
    shape = sizes if keep else [x.shape[axis] for axis in rest]
    return work.combined(x, W, tuple(shape))


LINEAR = {
    "ReduceSum": reduction,
    "ReduceMean": reduction,
    "MatMul": matmul,
    "Gemm": gemm,
    "Conv": conv,
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
}
