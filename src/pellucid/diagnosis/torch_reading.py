"""Reading a module: the chain of layers that its forward computes, as a `Network`.

The forward is traced once (torch.fx), its steps are turned into plain modules, batch normalisation
in evaluation mode is folded into the neighbouring Linear, and what was read is compared with what
the module computes: a network that does not give the module's own outputs is not returned.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from .._errors import UnsupportedLayer
from .._shapes import Array
from ..network import Network
from ..network.formats.torch import from_torch
from ..network.formats.torch_steps import Step, Unreadable, plain_linear, steps_of
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


def read_module(module: nn.Module, X: torch.Tensor) -> Reading:
    """Read `module`, and compare what was read with what it computes on some rows of `X`.

    The user's forward is run for it; the global states are as before afterwards.
    """
    with global_state_kept():
        return _read(module, X)


def _read(module: nn.Module, X: torch.Tensor) -> Reading:
    copy = own_copy(module).eval()
    try:
        steps = list(steps_of(copy))
        reading = replace(_assemble(steps), last=_last(steps))
    except Unreadable as why:
        return Reading(None, reason=f"the {type(module).__name__} was not read: {why}")
    except UnsupportedLayer as why:
        return Reading(None, reason=f"the {type(module).__name__} was not read: {why}")
    wrong = _disagreement(module, reading, X[:PROBES])
    return Reading(None, reading.output, wrong) if wrong else reading


# ---- from the chain to a network


def _assemble(steps: list[Step]) -> Reading:
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
            raise Unreadable(f"its {step.name} follows a normalisation that no Linear takes up.")
        plain.append(module)
    if pending is not None:
        raise Unreadable("it ends in a normalisation.")
    return Reading(from_torch(nn.Sequential(*plain)), output, "", tuple(layers))


def _last(steps: list[Step]) -> str:
    """The name of the output activation, if it is a part that is used once."""
    names = [step.name for step in steps]
    used_once = bool(names) and names.count(names[-1]) == 1
    return names[-1] if used_once and not isinstance(steps[-1].module, nn.Linear) else ""


def _without_softmax(steps: list[Step]) -> tuple[list[Step], str]:
    if not steps or type(steps[-1].module).__name__ not in OVER_CLASSES:
        return steps, "identity"
    last = steps[-1].module
    dim = getattr(last, "dim", None)
    if dim not in (None, 1, -1):
        raise Unreadable(f"its {type(last).__name__} is over dimension {dim}, the rows.")
    return steps[:-1], OVER_CLASSES[type(last).__name__]


def _normalisation(norm: nn.BatchNorm1d, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The a and c of a x + c that a batch normalisation is in evaluation mode, in float64."""
    if norm.running_mean is None or norm.running_var is None:
        raise Unreadable(f"its {name} normalises with each batch's own numbers in evaluation, too.")
    a = 1.0 / torch.sqrt(norm.running_var.double() + norm.eps)
    c = -a * norm.running_mean.double()
    if norm.affine:
        a, c = a * norm.weight.detach().double(), c * norm.weight.detach().double()
        c = c + norm.bias.detach().double()
    return a, c


def _after(linear: nn.Linear, a: torch.Tensor, c: torch.Tensor) -> nn.Linear:
    """a (W x + b) + c as one Linear."""
    W, b = _parts(linear)
    return plain_linear(a[:, None] * W, a * b + c)


def _before(linear: nn.Linear, a: torch.Tensor, c: torch.Tensor) -> nn.Linear:
    """W (a x + c) + b as one Linear."""
    W, b = _parts(linear)
    return plain_linear(W * a, b + W @ c)


def _parts(linear: nn.Linear) -> tuple[torch.Tensor, torch.Tensor]:
    W = linear.weight.detach().double()
    return W, W.new_zeros(len(W)) if linear.bias is None else linear.bias.detach().double()


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
