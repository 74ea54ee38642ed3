"""PyTorch: networks from and to `torch.nn.Sequential`."""

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._errors import MissingDependency, UnsupportedLayer
from ..._shapes import Array
from ..activations import ACTIVATIONS, Activation
from ..network import Network
from .chain import Chain
from .loaded import Loaded
from .torch_files import OWN_KEY

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.nn import Sequential as Sequential

SOFTPLUS_THRESHOLD = 40.0  # log(1 + e^z) = z to the last bit of float64 beyond it

DOES_NOTHING = "nothing"  # an identity while a trained network is used


def from_torch(module: "nn.Module") -> Network:
    """The network that a `torch.nn.Sequential` of `Linear` and activation modules computes.

    As `read_module`, without what was folded.
    """
    return _chain(module).network()


def read_module(module: "nn.Module") -> Loaded:
    """The network that a module computes: a chain of `Linear` and activation modules.

    A plain `Sequential` is read by its parts. The forward of any other module is traced with
    torch.fx (which runs it), and what was read must give its outputs on random rows. Parameters are
    copied to float32 or float64. What counts is evaluation mode: Dropout is the identity (so is a
    `Flatten` of rows), and a `BatchNorm1d` becomes part of the layer before it or behind it.
    `UnsupportedLayer` names the first step that does not fit.
    """
    if _has_own_forward(module):
        return _traced(module)
    chain = _chain(module)
    return Loaded(chain.network(), folded=tuple(chain.folded))


def _has_own_forward(module: "nn.Module") -> bool:
    """Whether it or a part of it is a module of the user's, not one of PyTorch's own."""
    return not all(type(part).__module__.startswith("torch.") for part in module.modules())


def _traced(module: "nn.Module") -> Loaded:
    """The network of a module with a forward of its own."""
    import copy

    from .torch_steps import Unreadable, steps_of

    torch, kind = _torch(), type(module).__name__
    for name, part in module.named_modules():
        if part._forward_hooks or part._forward_pre_hooks:
            raise UnsupportedLayer(_with_hooks(name))
    twin = copy.deepcopy(module).cpu().eval()
    try:
        plain = torch.nn.Sequential(*(step.module for step in steps_of(twin)))
    except Unreadable as why:
        raise UnsupportedLayer(
            f"the forward of {kind} was not read: {str(why).removesuffix('.')}; put its layers "
            "into a plain nn.Sequential, or export it with torch.onnx.export and load the file."
        ) from None
    chain = _chain(plain)
    network = chain.network()
    if not _agree(twin, network):
        raise UnsupportedLayer(
            f"the layers that were found in {kind} do not give its outputs; put its layers into a "
            "plain nn.Sequential, or export it with torch.onnx.export and load the file."
        )
    return Loaded(network, folded=tuple(chain.folded))


def _agree(module: "nn.Module", network: Network) -> bool:
    """Whether a network gives the outputs of a module on rows of random numbers."""
    torch = _torch()
    x = np.random.default_rng(0).normal(size=(16, network.d_in)).astype(network.dtype)
    first = next(module.parameters(), None)
    rows = torch.tensor(x, dtype=None if first is None else first.dtype)
    with torch.no_grad(), np.errstate(all="ignore"):
        try:
            theirs = _array(module(rows)).reshape(len(x), -1)
        except Exception:  # the forward is the user's own, and may take images
            return False
        ours = network(x)
    tolerance = 1e-9 if rows.dtype == torch.float64 else 1e-4
    tolerance = 0.05 if rows.dtype in (torch.float16, torch.bfloat16) else tolerance
    if ours.shape != theirs.shape:
        return False
    scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-30)
    return bool(np.allclose(ours, theirs, rtol=0, atol=tolerance * scale, equal_nan=True))


def _with_hooks(name: str) -> str:
    return (
        f"layer {name or 'the module'} has hooks, which may change what it computes: "
        f"remove them before loading."
    )


def _chain(module: "nn.Module") -> Chain:
    chain = Chain()
    last: Activation | None = None  # the activation that nothing follows yet
    has_linear = False
    for name, child in _flat(module, ""):
        kind = type(child).__name__
        if _is_linear(child, name):
            chain.affine(*_parameters(child), f"layer {name}")
            last, has_linear = None, True
            continue
        if type(child) is _torch().nn.BatchNorm1d:
            scale, shift = _normalisation(child, name)
            chain.width = chain.width or len(scale)
            what = f"the batch normalisation {name} is part of an affine layer"
            chain.rescale(scale, shift, f"layer {name}", what, _array(child.running_mean).dtype)  # type: ignore[arg-type]
            last = None
            continue
        slopes = _slopes(child)
        activation = Activation("prelu") if slopes is not None else _activation(child, name)
        if activation is None:
            continue
        if not has_linear:
            raise UnsupportedLayer(
                f"layer {name} is {kind}, before the first Linear; a network begins with Linear: "
                f"apply {kind} to the inputs yourself."
            )
        if last is not None:
            raise UnsupportedLayer(
                f"layer {name} is {kind}, right after the activation {last}; a network "
                f"has one activation per layer: put a Linear between them."
            )
        last = activation
        if slopes is None:
            chain.activation(activation, f"layer {name}")
        else:
            what = f"the slopes of layer {name} as two relu units for each, as they differ"
            chain.slopes(slopes, f"layer {name}", what)
    if not has_linear:
        raise UnsupportedLayer(f"the {type(module).__name__} has no Linear; a network needs one.")
    return chain


def to_bytes(network: Network) -> bytes:
    """The state dict of `to_torch(network)` as `torch.save` writes it.

    Its metadata hold the activations under a key of ours, which `load_state_dict` does not look at.
    """
    torch = _torch()
    state = to_torch(network).state_dict()
    state._metadata[OWN_KEY] = [  # type: ignore[attr-defined]
        [layer.activation.name, list(layer.activation.parameters)] for layer in network.layers
    ]
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def to_torch(network: Network) -> "Sequential":
    """A plain `torch.nn.Sequential` with copies of the parameters, in the same dtype.

    Two activations have no module of that name: `abs` is a `LeakyReLU` of slope -1, and `softplus`
    has a threshold of 40 where its own default, 20, would round.
    """
    torch = _torch()
    modules = []
    for W, b, sigma in network.layers:
        modules.append(_linear(W, b))
        if sigma.name != "identity":
            activation = _MODULES[sigma.name](torch, *sigma.parameters)
            modules.append(activation.to(getattr(torch, W.dtype.name)))
    return torch.nn.Sequential(*modules)


def _torch():
    try:
        import torch
    except ImportError:
        raise MissingDependency(
            'PyTorch is needed and not installed: pip install "pellucid[torch]" '
            "(in a clone: .venv/bin/pip install torch)."
        ) from None
    return torch


# ---- reading modules


def _flat(module: "nn.Module", name: str) -> Iterator[tuple[str, "nn.Module"]]:
    """The modules of nested `Sequential`s in order, each with its index such as 2 or 0.1."""
    nn = _torch().nn
    from torch.nn.modules.lazy import LazyModuleMixin

    if isinstance(module, LazyModuleMixin):
        raise UnsupportedLayer(_without_weights(name))
    if module._forward_hooks or module._forward_pre_hooks:
        raise UnsupportedLayer(_with_hooks(name))
    if not isinstance(module, nn.Sequential):
        yield name or "0", module
        return
    if type(module).forward is not nn.Sequential.forward:
        raise UnsupportedLayer(
            f"{type(module).__name__} has a forward of its own, which cannot be read: "
            f"put its layers into a plain nn.Sequential."
        )
    for key, child in module._modules.items():  # named_children() would skip a module used twice
        yield from _flat(child, f"{name}.{key}" if name else key)


def _is_linear(module: "nn.Module", name: str) -> bool:
    torch = _torch()
    if not isinstance(module, torch.nn.Linear):
        return False
    if type(module).forward is not torch.nn.Linear.forward:
        raise UnsupportedLayer(f"layer {name} is a Linear with a forward of its own.")
    if module.weight.is_meta:
        raise UnsupportedLayer(_without_weights(name))
    return True


def _without_weights(name: str) -> str:
    return f"layer {name or 0} has no weights yet; run the module on some input first, then load."


def _parameters(linear: Any) -> tuple[Array, Array]:
    W = _array(linear.weight)
    b = np.zeros(len(W), W.dtype) if linear.bias is None else _array(linear.bias)
    return W, b


def _normalisation(norm: Any, name: str) -> tuple[Array, Array]:
    """Scale and shift of a batch normalisation in evaluation mode, in float64."""
    if norm.running_mean is None or norm.running_var is None:
        raise UnsupportedLayer(
            f"layer {name} is a BatchNorm1d without running statistics, so that what it computes "
            "depends on the other rows: build it with track_running_stats=True."
        )
    mean, variance = _array(norm.running_mean), _array(norm.running_var)
    scale = 1 / np.sqrt(variance.astype(np.float64) + norm.eps)
    shift = -mean * scale
    if norm.affine:
        weight, bias = _array(norm.weight), _array(norm.bias)
        scale, shift = scale * weight, shift * weight + bias
    return scale, shift


def _array(tensor: "Tensor") -> Array:
    """A copy as float32 or float64; shorter floats fit into float32."""
    torch = _torch()
    tensor = tensor.detach().cpu()
    return (tensor if tensor.dtype == torch.float64 else tensor.float()).numpy().copy()


def _activation(module: "nn.Module", name: str) -> Activation | None:
    """The activation that a module is; None where it does nothing to rows of numbers."""
    kind = type(module).__name__
    known = getattr(_torch().nn, kind, None) is type(module)
    found = _READERS[kind](module) if known and kind in _READERS else None
    if found is None:
        raise UnsupportedLayer(_why_not(name, kind))
    return found if isinstance(found, Activation) else None


def _why_not(name: str, kind: str) -> str:
    if kind in ("Softmax", "LogSoftmax"):
        return (
            f"layer {name} is {kind}; a network here gives the logits and the categorical "
            f"likelihood applies the softmax: remove the layer."
        )
    return (
        f"layer {name} is {kind}; a network is a chain of Linear and activations "
        f"({', '.join(ACTIVATIONS)}), with Dropout, Identity and a Flatten of rows let through."
    )


def _leaky(module: Any) -> Activation:
    slope = float(module.negative_slope)
    return Activation("abs") if slope == -1 else Activation("leaky_relu", (slope,))


def _prelu(module: Any) -> Activation:
    """One slope for all units, in its shortest decimal form, which is the same float32."""
    slope = _array(module.weight).flat[0]
    return Activation("prelu", (float(str(slope)),))


def _slopes(module: Any) -> Array | None:
    """The slopes of a PReLU where they differ."""
    if type(module) is not _torch().nn.PReLU:
        return None
    slopes = _array(module.weight)
    return slopes if len(np.unique(slopes)) > 1 else None


def _plain(name: str) -> Callable[[Any], Activation]:
    return lambda module: Activation(name)


def _nothing(module: Any) -> str:
    return DOES_NOTHING


_READERS: dict[str, Callable[[Any], Activation | str | None]] = {
    "ReLU": _plain("relu"),
    "Sigmoid": _plain("sigmoid"),
    "Tanh": _plain("tanh"),
    "SiLU": _plain("silu"),
    "Softsign": _plain("softsign"),
    "LeakyReLU": _leaky,
    "PReLU": _prelu,
    "Hardtanh": lambda m: Activation("hardtanh", (m.min_val, m.max_val)),
    "ReLU6": lambda m: Activation("hardtanh", (0.0, 6.0)),
    "ELU": lambda m: Activation("elu", (m.alpha,)),
    "GELU": lambda m: Activation("gelu" if m.approximate == "none" else "gelu_tanh"),
    "Softplus": lambda m: Activation("softplus") if m.beta == 1 and m.threshold >= 20 else None,
    "Identity": _nothing,
    "Dropout": _nothing,
    "AlphaDropout": _nothing,
    "FeatureAlphaDropout": _nothing,
    "Flatten": lambda m: DOES_NOTHING if m.start_dim == 1 else None,
}


# ---- writing modules


def _linear(W: Array, b: Array) -> "nn.Linear":
    """A `Linear` with these parameters, made without drawing from torch's global generator."""
    torch = _torch()
    dtype = getattr(torch, W.dtype.name)
    empty = torch.nn.Linear(W.shape[1], W.shape[0], device="meta", dtype=dtype)
    linear = empty.to_empty(device="cpu")
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(W))
        linear.bias.copy_(torch.tensor(b))
    return linear


_MODULES: dict[str, Callable[..., Any]] = {
    "relu": lambda torch: torch.nn.ReLU(),
    "leaky_relu": lambda torch, slope: torch.nn.LeakyReLU(slope),
    "prelu": lambda torch, slope: torch.nn.PReLU(init=slope, dtype=torch.float64),
    "hardtanh": lambda torch, low, high: torch.nn.Hardtanh(low, high),
    "abs": lambda torch: torch.nn.LeakyReLU(-1.0),
    "sigmoid": lambda torch: torch.nn.Sigmoid(),
    "tanh": lambda torch: torch.nn.Tanh(),
    "elu": lambda torch, alpha: torch.nn.ELU(alpha),
    "gelu": lambda torch: torch.nn.GELU(),
    "gelu_tanh": lambda torch: torch.nn.GELU(approximate="tanh"),
    "silu": lambda torch: torch.nn.SiLU(),
    "softplus": lambda torch: torch.nn.Softplus(threshold=SOFTPLUS_THRESHOLD),
    "softsign": lambda torch: torch.nn.Softsign(),
}
