"""Reading a module: the chain of layers that its forward computes, as a `Network`.

The forward is traced once (torch.fx), its steps are turned into plain modules, batch normalisation
in evaluation mode is folded into the neighbouring Linear, and what was read is compared with what
the module computes: a network that does not give the module's own outputs is not returned.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import fx, nn
from torch.nn import functional as F

from .._errors import UnsupportedLayer
from .._shapes import Array
from ..network import Network
from ..network.formats.torch import from_torch
from .torch_state import evaluate, global_state_kept, in_float64, own_copy

AGREEMENT = 1e-8
"""What a network in float64 may differ from the module in float64, relative to the outputs."""
FLOAT32_AGREEMENT = 1e-4
PROBES = 64

OVER_CLASSES = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}
"""Output activations that are no function of one unit alone; a network here ends before them."""


@dataclass(frozen=True)
class LayerNames:
    """Where a layer of the network lies in the module: a Linear, normalisations around it."""

    linear: str
    norm: str | None
    has_bias: bool
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What was read of a module.

    `network` gives the outputs before a softmax (`output` says "softmax" or "log_softmax" then),
    else the outputs; None where the module could not be read, and `reason` is the sentence why.
    `layers` says where the parameters lie in the module. `exact_shape` is False where the module
    has fewer parameters than the network (a Linear without a bias). `last` names the module's part
    that is the output activation, "" where there is none of its own.
    """

    network: Network | None
    output: str = "identity"
    reason: str = ""
    layers: tuple[LayerNames, ...] = ()
    last: str = ""

    @property
    def exact_shape(self) -> bool:
        """Whether every parameter of the network is one of the module."""
        return self.network is not None and all(n.has_bias or n.norm for n in self.layers)


@dataclass
class _Step:
    """One layer of the chain, as a module of torch, with its name in the user's module."""

    module: nn.Module
    name: str


class _Unreadable(Exception):
    """Why a module is no chain of layers."""


def read_module(module: nn.Module, X: torch.Tensor) -> Reading:
    """Read `module`, and compare what was read with what it computes on some rows of `X`.

    The user's forward is run for it; the global states are as before afterwards.
    """
    with global_state_kept():
        return _read(module, X)


def _read(module: nn.Module, X: torch.Tensor) -> Reading:
    copy = own_copy(module).eval()
    try:
        steps = list(_steps(copy))
        reading = replace(_assemble(steps), last=_last(steps))
    except _Unreadable as why:
        return Reading(None, reason=f"the {type(module).__name__} was not read: {why}")
    except UnsupportedLayer as why:
        return Reading(None, reason=f"the {type(module).__name__} was not read: {why}")
    wrong = _disagreement(module, reading, X[:PROBES])
    return Reading(None, reading.output, wrong) if wrong else reading


# ---- the chain


def _steps(copy: nn.Module) -> Iterator[_Step]:
    """The steps of the forward in order; `_Unreadable` where it is no chain."""
    try:
        graph = fx.symbolic_trace(copy).graph
    except Exception as error:  # tracing runs the user's forward, which may raise anything
        text = str(error).splitlines()[0] if str(error) else ""
        if "not installed as a submodule" in text:
            text = "it uses a layer that is not registered (kept in a plain list or dict)"
        raise _Unreadable(
            f"its forward cannot be traced ({text or type(error).__name__})."
        ) from None
    nodes = list(graph.nodes)
    inputs = [n for n in nodes if n.op == "placeholder"]
    if not inputs:
        raise _Unreadable("its forward takes no input.")
    node = nodes[-1].args[0]
    chain: list[fx.Node] = []
    while node is not inputs[0]:
        if not isinstance(node, fx.Node):
            raise _Unreadable("it does not return one tensor.")
        chain.append(node)
        node = _source_of(node, inputs[0])
    for node in reversed(chain):
        yield from _step(copy, node)


def _source_of(node: fx.Node, x: fx.Node) -> Any:
    """The one tensor that a step works on; sizes of tensors and parameters do not count."""
    sources = [n for n in node.all_input_nodes if _is_data(n, x)]
    if len(sources) != 1:
        what = "adds, joins or compares several tensors" if sources else "is computed from no input"
        raise _Unreadable(f"its step {node.name} {what}: it is no chain of layers.")
    return sources[0]


def _is_data(node: fx.Node, x: fx.Node) -> bool:
    if node is x:
        return True
    if node.op == "get_attr" or (node.op == "call_method" and node.target in ("size", "dim")):
        return False
    if node.op == "call_function" and node.target is getattr:
        return False
    inner = [n for n in node.all_input_nodes if _is_data(n, x)]
    return bool(inner)


def _step(copy: nn.Module, node: fx.Node) -> Iterator[_Step]:
    if node.op == "call_module":
        yield from _flat(copy.get_submodule(str(node.target)), str(node.target))
        return
    if node.target is F.linear:
        yield _linear_call(copy, node)
        return
    name = str(node.target if node.op == "call_method" else getattr(node.target, "__name__", ""))
    if name in _SHAPES or node.target is operator.getitem:
        return  # the comparison at the end finds what is no change of shape alone
    made = _FUNCTIONS.get(name.rstrip("_"))
    if made is None:
        raise _Unreadable(f"its step {name or node.name} is no layer that can be read.")
    yield _Step(made(*node.args[1:], **{k: v for k, v in node.kwargs.items() if k != "input"}), "")


def _flat(module: nn.Module, name: str) -> Iterator[_Step]:
    if type(module) is nn.Sequential:
        for key, child in module.named_children():
            yield from _flat(child, f"{name}.{key}" if name else key)
    else:
        yield _Step(module, name)


def _linear_call(copy: nn.Module, node: fx.Node) -> _Step:
    """F.linear(x, W, b) with registered parameters."""
    arguments = dict(zip(("input", "weight", "bias"), node.args, strict=False)) | node.kwargs
    W, b = (_attribute(copy, arguments.get(key)) for key in ("weight", "bias"))
    if W is None:
        raise _Unreadable(f"the weights of its step {node.name} are no parameters of it.")
    return _Step(_linear(W, b), "")


def _attribute(copy: nn.Module, node: Any) -> torch.Tensor | None:
    if not isinstance(node, fx.Node) or node.op != "get_attr":
        return None
    value = operator.attrgetter(str(node.target))(copy)
    return value if isinstance(value, torch.Tensor) else None


def _dropout(p: float = 0.5, training: bool = True, inplace: bool = False) -> nn.Module:
    if training and p:
        raise _Unreadable("it has a dropout that stays on in evaluation mode.")
    return nn.Identity()


def _over_classes(kind: type[nn.Module]) -> Callable[..., nn.Module]:
    return lambda dim=None, *rest, **more: kind(dim)


_SHAPES = (
    *("view", "reshape", "flatten", "squeeze", "unsqueeze", "contiguous", "float", "double", "to"),
    *("clone", "type", "ravel"),
)
_FUNCTIONS: dict[str, Callable[..., nn.Module]] = {
    "relu": lambda inplace=False: nn.ReLU(),
    "leaky_relu": lambda negative_slope=0.01, inplace=False: nn.LeakyReLU(negative_slope),
    "tanh": lambda: nn.Tanh(),
    "sigmoid": lambda: nn.Sigmoid(),
    "elu": lambda alpha=1.0, inplace=False: nn.ELU(alpha),
    "gelu": lambda approximate="none": nn.GELU(approximate),
    "silu": lambda inplace=False: nn.SiLU(),
    "softplus": lambda beta=1, threshold=20: nn.Softplus(beta, threshold),
    "softsign": lambda: nn.Softsign(),
    "hardtanh": lambda min_val=-1.0, max_val=1.0, inplace=False: nn.Hardtanh(min_val, max_val),
    "relu6": lambda inplace=False: nn.ReLU6(),
    "softmax": _over_classes(nn.Softmax),
    "log_softmax": _over_classes(nn.LogSoftmax),
    "dropout": _dropout,
}


# ---- from the chain to a network


def _assemble(steps: list[_Step]) -> Reading:
    steps, output = _without_softmax([s for s in steps if not isinstance(s.module, nn.Identity)])
    plain: list[nn.Module] = []
    layers: list[LayerNames] = []
    pending: tuple[torch.Tensor, torch.Tensor] | None = None  # a x + c before the next Linear
    before: tuple[str, ...] = ()
    for step in steps:
        module = step.module
        if isinstance(module, nn.BatchNorm1d):
            a, c = _normalisation(module, step.name)
            if plain and isinstance(plain[-1], nn.Linear):
                plain[-1] = _after(plain[-1], a, c)
                layers[-1] = replace(layers[-1], norm=step.name)
            else:
                pending = (a, c) if pending is None else (a * pending[0], a * pending[1] + c)
                before += (step.name,)
            continue
        if isinstance(module, nn.Linear):
            layers.append(LayerNames(step.name, None, module.bias is not None, before))
            before = ()
            if pending is not None:
                module, pending = _before(module, *pending), None
        elif pending is not None and not isinstance(module, nn.Dropout):
            raise _Unreadable(f"its {step.name} follows a normalisation that no Linear takes up.")
        plain.append(module)
    if pending is not None:
        raise _Unreadable("it ends in a normalisation.")
    return Reading(from_torch(nn.Sequential(*plain)), output, "", tuple(layers))


def _last(steps: list[_Step]) -> str:
    """The name of the output activation, if it is a part that is used once."""
    names = [step.name for step in steps]
    used_once = bool(names) and names.count(names[-1]) == 1
    return names[-1] if used_once and not isinstance(steps[-1].module, nn.Linear) else ""


def _without_softmax(steps: list[_Step]) -> tuple[list[_Step], str]:
    if not steps or type(steps[-1].module).__name__ not in OVER_CLASSES:
        return steps, "identity"
    last = steps[-1].module
    dim = getattr(last, "dim", None)
    if dim not in (None, 1, -1):
        raise _Unreadable(f"its {type(last).__name__} is over dimension {dim}, the rows.")
    return steps[:-1], OVER_CLASSES[type(last).__name__]


def _normalisation(norm: nn.BatchNorm1d, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The a and c of a x + c that a batch normalisation is in evaluation mode, in float64."""
    if norm.running_mean is None or norm.running_var is None:
        raise _Unreadable(
            f"its {name} normalises with each batch's own numbers in evaluation, too."
        )
    a = 1.0 / torch.sqrt(norm.running_var.double() + norm.eps)
    c = -a * norm.running_mean.double()
    if norm.affine:
        a, c = a * norm.weight.detach().double(), c * norm.weight.detach().double()
        c = c + norm.bias.detach().double()
    return a, c


def _after(linear: nn.Linear, a: torch.Tensor, c: torch.Tensor) -> nn.Linear:
    """a (W x + b) + c as one Linear."""
    W, b = _parts(linear)
    return _linear(a[:, None] * W, a * b + c)


def _before(linear: nn.Linear, a: torch.Tensor, c: torch.Tensor) -> nn.Linear:
    """W (a x + c) + b as one Linear."""
    W, b = _parts(linear)
    return _linear(W * a, b + W @ c)


def _parts(linear: nn.Linear) -> tuple[torch.Tensor, torch.Tensor]:
    W = linear.weight.detach().double()
    return W, W.new_zeros(len(W)) if linear.bias is None else linear.bias.detach().double()


def _linear(W: torch.Tensor, b: torch.Tensor | None) -> nn.Linear:
    has_bias = b is not None
    empty = nn.Linear(W.shape[1], W.shape[0], bias=has_bias, device="meta", dtype=W.dtype)
    made = empty.to_empty(device="cpu")  # without drawing from torch's generator
    with torch.no_grad():
        made.weight.copy_(W)
        if b is not None:
            made.bias.copy_(b)
    return made


# ---- is it the same function


def output_function(output: str, z: Array) -> Array:
    """What a module with this output gives for the outputs of its network."""
    if output in OVER_CLASSES.values():
        shifted = z - z.max(axis=1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return np.exp(log_p) if output == "softmax" else log_p
    return z


def _disagreement(module: nn.Module, reading: Reading, X: torch.Tensor) -> str:
    """Nothing where the network gives the module's outputs, else a sentence."""
    assert reading.network is not None
    rows = X.detach().double()
    rows = rows.reshape(len(rows), -1)
    if rows.shape[1] != reading.network.d_in:
        return (
            f"the network read takes {reading.network.d_in} inputs and a row has {rows.shape[1]}."
        )
    try:
        theirs, tolerance = evaluate(in_float64(module), X.double()), AGREEMENT
    except Exception:  # a forward that insists on float32
        theirs, tolerance = evaluate(own_copy(module), X.float()), FLOAT32_AGREEMENT
    ours = output_function(reading.output, reading.network.astype("float64")(rows.numpy()))
    theirs = theirs.double().reshape(len(rows), -1).numpy()
    if ours.shape != theirs.shape:
        return f"the network read has {ours.shape[1]} outputs and the module {theirs.shape[1]}."
    finite = np.isfinite(theirs) & np.isfinite(ours)
    scale = max(1.0, float(np.abs(theirs[finite]).max(initial=0.0)))
    if np.abs(ours - theirs)[finite].max(initial=0.0) > tolerance * scale:
        return (
            f"the {type(module).__name__} was not read: the layers found do not give its outputs."
        )
    return ""


# ---- back into the user's module


def load_into(module: nn.Module, reading: Reading, network: Network) -> dict[str, torch.Tensor]:
    """A state_dict of `module` with which it computes `network` (before a softmax output).

    Parameters are of the module's own dtype. A batch normalisation after a Linear keeps its
    numbers where it has some: the Linear takes up the difference.
    """
    state = {key: value.detach().clone() for key, value in module.state_dict().items()}
    if reading.network is None:
        raise UnsupportedLayer(reading.reason)
    if network.widths != reading.network.widths:
        raise UnsupportedLayer(
            f"the network has widths {network.widths} and the module {reading.network.widths}; "
            "give a module of the same shape."
        )
    for names, W, b in zip(reading.layers, network.weights, network.biases, strict=True):
        _load_layer(module, state, names, torch.tensor(W).double(), torch.tensor(b).double())
    return state


def _load_layer(
    module: nn.Module, state: dict[str, Any], names: LayerNames, W: torch.Tensor, b: torch.Tensor
) -> None:
    prefix = f"{names.linear}." if names.linear else ""
    if f"{prefix}weight" not in state:
        raise UnsupportedLayer(
            "a layer of the module is a call of a function with parameters of its own; "
            "use nn.Linear, or take verdict.witness.network."
        )
    for name in reversed(names.before):  # W (a x + c) + b: the Linear takes up a and c
        norm = module.get_submodule(name)
        assert isinstance(norm, nn.BatchNorm1d)
        a, c = _normalisation(norm, name)
        W = W / a
        b = b - W @ c
    if names.norm is not None:
        norm = module.get_submodule(names.norm)
        assert isinstance(norm, nn.BatchNorm1d)
        a, c = _normalisation(norm, names.norm)
        W = W / a[:, None]
        if names.has_bias:
            b = (b - c) / a
        elif norm.affine:  # c + (b - c) as the normalisation's own shift
            shift = state[f"{names.norm}.bias"]
            state[f"{names.norm}.bias"] = (shift.double() + b - c).to(shift.dtype)
            b = torch.zeros_like(b)
    if not names.has_bias and bool((b != 0).any()):
        raise UnsupportedLayer(
            f"the layer {names.linear} has no bias, and the network needs one there."
        )
    state[f"{prefix}weight"] = W.to(state[f"{prefix}weight"].dtype)
    if names.has_bias:
        state[f"{prefix}bias"] = b.to(state[f"{prefix}bias"].dtype)
