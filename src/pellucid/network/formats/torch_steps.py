"""The steps of a PyTorch module's forward, traced once with torch.fx, as plain modules in order."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F


@dataclass
class Step:
    """One layer of the chain, as a module of torch, with its name in the user's module."""

    module: nn.Module
    name: str


class Unreadable(Exception):
    """Why a module is no chain of layers."""


def steps_of(copy: nn.Module) -> Iterator[Step]:
    """The steps of the forward in order; `Unreadable` where it is no chain."""
    try:
        graph = fx.symbolic_trace(copy).graph
    except Exception as error:  # tracing runs the user's forward, which may raise anything
        text = str(error).splitlines()[0] if str(error) else ""
        if "not installed as a submodule" in text:
            text = "it uses a layer that is not registered (kept in a plain list or dict)"
        raise Unreadable(
            f"its forward cannot be traced ({text or type(error).__name__})."
        ) from None
    nodes = list(graph.nodes)
    inputs = [n for n in nodes if n.op == "placeholder"]
    if not inputs:
        raise Unreadable("its forward takes no input.")
    node = nodes[-1].args[0]
    chain: list[fx.Node] = []
    while node is not inputs[0]:
        if not isinstance(node, fx.Node):
            raise Unreadable("it does not return one tensor.")
        chain.append(node)
        node = _source_of(node, inputs[0])
    for node in reversed(chain):
        yield from _step(copy, node)


def _source_of(node: fx.Node, x: fx.Node) -> Any:
    """The one tensor that a step works on; sizes of tensors and parameters do not count."""
    sources = [n for n in node.all_input_nodes if _is_data(n, x)]
    if len(sources) != 1:
        what = "adds, joins or compares several tensors" if sources else "is computed from no input"
        raise Unreadable(f"its step {node.name} {what}: it is no chain of layers.")
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


def _step(copy: nn.Module, node: fx.Node) -> Iterator[Step]:
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
        raise Unreadable(f"its step {name or node.name} is no layer that can be read.")
    yield Step(made(*node.args[1:], **{k: v for k, v in node.kwargs.items() if k != "input"}), "")


def _flat(module: nn.Module, name: str) -> Iterator[Step]:
    if type(module) is nn.Sequential:
        for key, child in module.named_children():
            yield from _flat(child, f"{name}.{key}" if name else key)
    else:
        yield Step(module, name)


def _linear_call(copy: nn.Module, node: fx.Node) -> Step:
    """F.linear(x, W, b) with registered parameters."""
    arguments = dict(zip(("input", "weight", "bias"), node.args, strict=False)) | node.kwargs
    W, b = (_attribute(copy, arguments.get(key)) for key in ("weight", "bias"))
    if W is None:
        raise Unreadable(f"the weights of its step {node.name} are no parameters of it.")
    return Step(plain_linear(W, b), "")


def _attribute(copy: nn.Module, node: Any) -> torch.Tensor | None:
    if not isinstance(node, fx.Node) or node.op != "get_attr":
        return None
    value = operator.attrgetter(str(node.target))(copy)
    return value if isinstance(value, torch.Tensor) else None


def _dropout(p: float = 0.5, training: bool = True, inplace: bool = False) -> nn.Module:
    if training and p:
        raise Unreadable("it has a dropout that stays on in evaluation mode.")
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


def plain_linear(W: torch.Tensor, b: torch.Tensor | None) -> nn.Linear:
    """A `Linear` with these parameters, made without drawing from torch's global generator."""
    has_bias = b is not None
    empty = nn.Linear(W.shape[1], W.shape[0], bias=has_bias, device="meta", dtype=W.dtype)
    made = empty.to_empty(device="cpu")
    with torch.no_grad():
        made.weight.copy_(W)
        if b is not None:
            made.bias.copy_(b)
    return made
