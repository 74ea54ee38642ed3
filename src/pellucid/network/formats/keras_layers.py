"""What the layers of Keras compute, as steps of a chain: one function per class."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..._errors import UnsupportedLayer
from ..._shapes import Array
from ..activations import Activation

SELU = (1.6732632423543772, 1.0507009873554805)  # alpha and scale
SMALLEST_SCALE = 1e-7  # of the layer Normalization

NOTHING = (
    *("InputLayer", "Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout"),
    *("SpatialDropout1D", "ActivityRegularization", "Identity"),
)
PLAIN = (*("relu", "sigmoid", "tanh", "elu", "gelu", "silu", "softplus", "softsign"),)
_NAMES: dict[str, tuple[str, tuple[float, ...]]] = {
    **{name: (name, ()) for name in PLAIN},
    "linear": ("identity", ()),
    "swish": ("silu", ()),
    "relu6": ("hardtanh", (0.0, 6.0)),
    "hard_tanh": ("hardtanh", (-1.0, 1.0)),
    "leaky_relu": ("leaky_relu", (0.2,)),
}


@runtime_checkable
class Steps(Protocol):
    """What a chain or a graph takes from a layer."""

    def affine(self, W: Array, b: Array | None, where: str) -> None:
        """z = W h + b."""
        ...

    def rescale(self, scale: Array, shift: Array, where: str, what: str, dtype: np.dtype) -> None:
        """z = scale h + shift, entry by entry."""
        ...

    def activation(self, sigma: Activation, where: str) -> None:
        """An activation of every entry."""
        ...

    def slopes(self, slopes: Array, where: str, what: str) -> None:
        """A prelu with a slope for each entry."""
        ...


@dataclass
class Value:
    """Where a chain of layers has come to: its steps, its shape without rows, its softmax."""

    steps: Steps
    shape: tuple[int, ...] | None = None
    head: str = ""
    head_of: str = ""


@dataclass(frozen=True)
class Layer:
    """One layer: its class, its name, its settings and its arrays."""

    kind: str
    name: str
    config: dict[str, Any]
    arrays: list[Array] = field(default_factory=list)

    @property
    def where(self) -> str:
        """What errors call it."""
        return f"layer {self.name} ({self.kind})"

    def number(self, *keys: str, default: float | None = None) -> float | None:
        """The first of these settings that is there, as a number."""
        for key in keys:
            value = self.config.get(key)
            if isinstance(
                value, dict
            ):  # Keras 2 wrapped numbers: {"class_name": ..., "config": ...}
                value = value.get("config", {}).get("value") if "config" in value else None
            if isinstance(value, int | float):
                return float(value)
            if isinstance(value, list) and len(value) == 1 and isinstance(value[0], int | float):
                return float(value[0])
        return default

    def needs(self, n: int, what: str) -> list[Array]:
        """Its arrays, if there are `n`."""
        if len(self.arrays) != n:
            raise UnsupportedLayer(
                f"{self.where} needs {n} arrays ({what}), and its weights hold {len(self.arrays)}."
            )
        return self.arrays


def apply(layer: Layer, value: Value) -> None:
    """Add what a layer computes to the steps of a value."""
    if layer.kind in NOTHING:
        return
    if value.head:
        raise UnsupportedLayer(
            f"{layer.where} stands behind the {value.head} of {value.head_of}; a softmax is read "
            "only at the end."
        )
    step = _STEPS.get(layer.kind)
    if step is None:
        raise UnsupportedLayer(
            f"{layer.where} is none of the layers that are read: "
            f"{', '.join((*sorted(_STEPS), *NOTHING))}."
        )
    step(layer, value)


def activate(layer: Layer, name: Any, value: Value) -> None:
    """Add an activation by the name, or the description, that stands in the settings."""
    if isinstance(name, dict):
        inner = name.get("config")
        if name.get("class_name") == "function" and isinstance(inner, str):
            name = inner
        elif isinstance(inner, dict) and name.get("class_name") in _STEPS:
            apply(Layer(str(name["class_name"]), layer.name, inner), value)
            return
    if name is None:
        return
    if name in ("softmax", "log_softmax"):
        value.head, value.head_of = str(name), layer.name
    elif name == "selu":
        value.steps.activation(Activation("elu", (SELU[0],)), layer.where)
        scale = np.full(1, SELU[1])
        what = f"the scale of the selu of {layer.name} is part of an affine layer"
        value.steps.rescale(scale, np.zeros(1), layer.where, what, np.dtype(np.float32))
    elif isinstance(name, str) and name in _NAMES:
        value.steps.activation(Activation(*_NAMES[name]), layer.where)
    else:
        raise UnsupportedLayer(
            f"{layer.where} has the activation {str(name)[:60]!r}; those that are read are "
            f"{', '.join((*_NAMES, 'selu', 'softmax'))}."
        )


# ---- one function per class


def _dense(layer: Layer, value: Value) -> None:
    _flat_rows(layer, value)
    use_bias = layer.config.get("use_bias", layer.config.get("bias", True))
    arrays = layer.needs(2 if use_bias else 1, "kernel, bias" if use_bias else "kernel")
    if arrays[0].ndim != 2:
        raise UnsupportedLayer(f"{layer.where} has a kernel of shape {list(arrays[0].shape)}.")
    units = layer.config.get("units", arrays[0].shape[1])
    if units != arrays[0].shape[1]:
        raise UnsupportedLayer(
            f"{layer.where} claims {str(units)[:40]} units, and its kernel has the shape "
            f"{list(arrays[0].shape)}."
        )
    value.steps.affine(arrays[0].T, arrays[1] if use_bias else None, layer.where)
    value.shape = (arrays[0].shape[1],)
    activate(layer, layer.config.get("activation"), value)


def _flat_rows(layer: Layer, value: Value) -> None:
    if value.shape is not None and len(value.shape) != 1:
        raise UnsupportedLayer(
            f"{layer.where} works on the last axis of {list(value.shape)}; put a Flatten before it."
        )


def _activation(layer: Layer, value: Value) -> None:
    activate(layer, layer.config.get("activation"), value)


def _relu(layer: Layer, value: Value) -> None:
    slope = layer.number("negative_slope", default=0.0) or 0.0
    top = layer.number("max_value")
    if layer.number("threshold", default=0.0) or (slope and top is not None):
        raise UnsupportedLayer(f"{layer.where} has a threshold, or a slope and a largest value.")
    if top is not None:
        sigma = Activation("hardtanh", (0.0, top))
    else:
        sigma = Activation("leaky_relu", (slope,)) if slope else Activation("relu")
    value.steps.activation(sigma, layer.where)


def _leaky(layer: Layer, value: Value) -> None:
    slope = layer.number("negative_slope", "alpha", default=0.3) or 0.0
    value.steps.activation(Activation("leaky_relu", (slope,)), layer.where)


def _elu(layer: Layer, value: Value) -> None:
    alpha = layer.number("alpha", default=1.0) or 0.0
    value.steps.activation(Activation("elu", (alpha,)), layer.where)


def _prelu(layer: Layer, value: Value) -> None:
    """One slope (its shortest decimal form, which is the same float32), or one for each entry."""
    (alpha,) = layer.needs(1, "alpha")
    if len(np.unique(alpha)) == 1:
        slope = float(str(alpha.flat[0]))
        sigma = Activation("abs") if slope == -1 else Activation("prelu", (slope,))
        value.steps.activation(sigma, layer.where)
        return
    try:
        slopes = alpha if value.shape is None else np.broadcast_to(alpha, value.shape)
    except ValueError:
        raise UnsupportedLayer(
            f"{layer.where} has slopes of shape {list(alpha.shape)} for {list(value.shape or ())}."
        ) from None
    what = f"the slopes of {layer.name} as two relu units for each, as they differ"
    value.steps.slopes(slopes.ravel(), layer.where, what)


def _softmax(layer: Layer, value: Value) -> None:
    if layer.config.get("axis", -1) not in (-1, 1, [-1], [1]):
        raise UnsupportedLayer(f"{layer.where} is over an axis that is not that of the outputs.")
    value.head, value.head_of = "softmax", layer.name


def _flatten(layer: Layer, value: Value) -> None:
    if layer.config.get("data_format") == "channels_first" and len(value.shape or ()) > 1:
        raise UnsupportedLayer(f"{layer.where} moves channels (channels_first), which is not read.")
    if value.shape is not None:
        value.shape = (int(np.prod(value.shape)),)


def _reshape(layer: Layer, value: Value) -> None:
    target = layer.config.get("target_shape")
    if not isinstance(target, list) or not all(isinstance(n, int) for n in target):
        raise UnsupportedLayer(f"{layer.where} has no target shape.")
    size = None if value.shape is None else int(np.prod(value.shape))
    known = int(np.prod([n for n in target if n > 0] or [1]))
    if size is None and -1 in target:
        value.shape = None
    else:
        value.shape = tuple(n if n > 0 else (size or 0) // known for n in target)


def _batch_norm(layer: Layer, value: Value) -> None:
    _flat_rows(layer, value)
    axis = layer.config.get("axis", -1)
    if axis not in (-1, 1, [-1], [1]):
        raise UnsupportedLayer(f"{layer.where} is over axis {axis}, not over the units.")
    has_scale, has_center = (layer.config.get(key, True) for key in ("scale", "center"))
    names = [*(["gamma"] if has_scale else []), *(["beta"] if has_center else [])]
    arrays = layer.needs(len(names) + 2, ", ".join((*names, "mean", "variance")))
    epsilon = layer.number("epsilon", default=1e-3) or 0.0
    mean, variance = (array.astype(np.float64) for array in arrays[-2:])
    scale = 1 / np.sqrt(variance + epsilon)
    if has_scale:
        scale = scale * arrays[0]
    shift = -mean * scale
    if has_center:
        shift = shift + arrays[len(names) - 1]
    what = f"the batch normalisation {layer.name} is part of an affine layer"
    value.steps.rescale(scale, shift, layer.where, what, arrays[-1].dtype)


def _normalization(layer: Layer, value: Value) -> None:
    _flat_rows(layer, value)
    if layer.config.get("axis", -1) not in (-1, 1, [-1], [1], None, []):
        raise UnsupportedLayer(f"{layer.where} is over an axis that is not that of the inputs.")
    if len(layer.arrays) >= 2:
        mean, variance = (array.astype(np.float64).ravel() for array in layer.arrays[:2])
    else:
        given = [layer.config.get(key) for key in ("mean", "variance")]
        try:
            mean, variance = (np.asarray(part, np.float64).ravel() for part in given)
        except (TypeError, ValueError):
            mean = variance = np.array([np.nan])
    if not (np.isfinite(mean).all() and np.isfinite(variance).all() and (variance >= 0).all()):
        raise UnsupportedLayer(f"{layer.where} has no mean and variance: adapt it, then save.")
    deviation = np.maximum(np.sqrt(variance), SMALLEST_SCALE)
    what = f"the normalisation {layer.name} is part of an affine layer"
    if layer.config.get("invert"):
        scale, shift = deviation, mean
    else:
        scale, shift = 1 / deviation, -mean / deviation
    value.steps.rescale(scale, shift, layer.where, what, np.dtype(np.float32))


def _rescaling(layer: Layer, value: Value) -> None:
    parts = []
    for key, default in (("scale", 1.0), ("offset", 0.0)):
        try:
            parts.append(np.atleast_1d(np.asarray(layer.config.get(key, default), np.float64)))
        except (TypeError, ValueError):
            raise UnsupportedLayer(f"{layer.where} has no number as its {key}.") from None
    if max(map(len, parts)) > 1:
        _flat_rows(layer, value)
    what = f"the rescaling {layer.name} is part of an affine layer"
    value.steps.rescale(parts[0], parts[1], layer.where, what, np.dtype(np.float32))


_STEPS: dict[str, Callable[[Layer, Value], None]] = {
    "Dense": _dense,
    "Activation": _activation,
    "ReLU": _relu,
    "LeakyReLU": _leaky,
    "ELU": _elu,
    "PReLU": _prelu,
    "Softmax": _softmax,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "BatchNormalization": _batch_norm,
    "Normalization": _normalization,
    "Rescaling": _rescaling,
}
