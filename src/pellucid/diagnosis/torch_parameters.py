"""Gates on parameters: which are registered, optimised, trainable, and reached by the gradient."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .alarms import Alarm
from .inspect import unit_health
from .torch_code import LOOKED_AT, Code
from .torch_measure import score_of, trivial_score
from .torch_outputs import tried
from .torch_state import global_state_kept, own_copy, seed_everything

VANISHED = 1e-4
"""Gradient per weight of the first layer over that of the last, below which nothing is learned."""
LEARNED = {"accuracy": 0.1, "R2": 0.3}
"""What a training gains over the constant prediction where its gradients are no problem."""
DEPTH = 3


# ---- registered


@dataclass(frozen=True)
class _Loose:
    """Layers or parameters in a plain container of a module."""

    owner: str
    name: str
    container: Any
    parameters: tuple[torch.Tensor, ...]


def unregistered_gate(code: Code) -> Alarm | None:
    """Layers in a plain list are used, and no optimizer that asks the module sees them."""
    module = own_copy(code.fresh)
    loose = list(_loose_parts(module))
    used = {id(p) for p in _reached_by_gradient(code, module)}
    loose = [part for part in loose if any(id(p) in used for p in part.parameters)]
    if not loose:
        return None
    n = sum(p.numel() for part in loose for p in part.parameters)
    if not code.given and code.probe.steps and _all_optimised(code, len(loose)):
        return None
    names = ", ".join(f"{part.owner}{part.name}" for part in loose)
    sentence = (
        f"{n:,} parameters that the forward uses are not registered: {names} is a plain "
        f"{type(loose[0].container).__name__}. module.parameters() leaves them out, so that no "
        "optimizer trains them and state_dict() does not save them. Use nn.ModuleList or "
        "nn.ParameterList."
    )
    if not code.given:
        before = score_of(code, code.trained)
        fixed = _registered(code.fresh)
        after = score_of(code, code.with_model(fixed).train(code.seed).module)
        sentence += " " + tried("them registered", before, after)
    return Alarm("unregistered parameters", "wrong loss or output", "likely", sentence)


def _all_optimised(code: Code, n: int) -> bool:
    """Whether the user's optimizer holds what is not registered after all."""
    parts = list(_loose_parts(code.probed.module))
    held = [id(p) in code.probe.optimised for part in parts for p in part.parameters]
    return len(parts) >= n and all(held)


def _loose_parts(module: nn.Module) -> Iterator[_Loose]:
    known = {id(p) for p in module.parameters()}
    for path, owner in module.named_modules():
        for name, value in vars(owner).items():
            if name.startswith("_") or not isinstance(value, list | tuple | dict):
                continue
            found = [p for p in _parameters_in(value, DEPTH) if id(p) not in known]
            if found:
                prefix = f"{path}." if path else ""
                yield _Loose(prefix, name, value, tuple(found))


def _parameters_in(value: Any, depth: int) -> Iterator[torch.Tensor]:
    if isinstance(value, nn.Module):
        yield from value.parameters()
    elif isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf:
        yield value
    elif depth and isinstance(value, list | tuple | dict):
        items = value.values() if isinstance(value, dict) else value
        for item in items:
            yield from _parameters_in(item, depth - 1)


def _registered(module: nn.Module) -> nn.Module:
    """A copy in which such containers are those of torch."""
    copy = own_copy(module)
    for part in list(_loose_parts(copy)):
        owner = copy.get_submodule(part.owner.rstrip("."))
        items = part.container
        if isinstance(items, dict) and all(isinstance(v, nn.Module) for v in items.values()):
            setattr(owner, part.name, nn.ModuleDict({str(k): v for k, v in items.items()}))
        elif all(isinstance(v, nn.Module) for v in items):
            setattr(owner, part.name, nn.ModuleList(items))
        elif all(isinstance(v, torch.Tensor) for v in items):
            setattr(owner, part.name, nn.ParameterList(items))
    return copy


# ---- gradients


def backward(code: Code, module: nn.Module) -> float | None:
    """Gradients of the user's loss (or of the outputs' squares) on some rows; the loss."""
    X, y = code.X[:LOOKED_AT], code.y[:LOOKED_AT]
    module.eval()
    with global_state_kept():
        seed_everything(code.seed)
        out = module(X)
        try:
            value = out.square().mean() if code.loss is None else code.loss(out, y)
            value.backward()
        except Exception:  # a loss without a gradient, or one that refuses these rows
            return None
    return float(value.detach())


def _reached_by_gradient(code: Code, module: nn.Module) -> list[torch.Tensor]:
    backward(code, module)
    loose = [p for part in _loose_parts(module) for p in part.parameters]
    return [p for p in [*module.parameters(), *loose] if p.grad is not None]


def gradient_gate(code: Code) -> Alarm | None:
    """A parameter that the outputs depend on and that gets no gradient, or nearly none."""
    if code.given:
        return None
    module = own_copy(code.fresh)
    value = backward(code, module)
    named = [(n, p) for n, p in module.named_parameters() if p.requires_grad and p.ndim > 1]
    if value is None or len(named) < 2:
        return None
    cut = [n for n, p in named if p.grad is None and _matters(code, module, n)]
    if cut:
        return Alarm(
            "gradient",
            "optimization failure",
            "likely",
            f"The outputs depend on {', '.join(cut[:3])}, and the gradient does not reach "
            f"{'it' if len(cut) == 1 else 'them'}: the forward cuts the graph (detach, .data, "
            "no_grad or NumPy), so that what lies before the cut never learns.",
        )
    return _vanishing(code, named)


def _matters(code: Code, module: nn.Module, name: str) -> bool:
    """Whether the outputs change with a parameter."""
    other = own_copy(module)
    with global_state_kept(), torch.no_grad():
        seed_everything(code.seed)
        parameter = dict(other.named_parameters())[name]
        parameter.add_(torch.randn_like(parameter))
    X = code.X[:LOOKED_AT]
    return not torch.equal(code.outputs_of(other, X), code.outputs_of(module, X))


def _vanishing(code: Code, named: list[tuple[str, nn.Parameter]]) -> Alarm | None:
    size = [(n, float(p.grad.square().mean().sqrt())) for n, p in named if p.grad is not None]
    if len(size) < 3 or not size[-1][1] > 0:
        return None
    ratio = size[0][1] / size[-1][1]
    if not ratio < VANISHED:
        return None
    score = score_of(code, code.trained)
    if score.training - trivial_score(code.y) >= LEARNED[score.name]:
        return None
    return Alarm(
        "gradient",
        "optimization failure",
        "likely",
        f"At the start the gradient of {size[0][0]} is {ratio:.0e} of that of {size[-1][0]} (root "
        f"mean squares per weight): it vanishes on its way through {len(size)} layers, and after "
        f"the training the {score.name} on the training rows is {score.training:.2f}. Use ReLU, "
        "normalisation or fewer layers.",
    )


# ---- optimised, trainable, alive


def optimizer_gate(code: Code) -> Alarm | None:
    """Parameters that get a gradient and that no optimizer of the training holds."""
    if code.given or code.train_fn is None or not code.probe.steps:
        return None
    module = code.probed.module
    named = {n: p for n, p in module.named_parameters() if p.requires_grad}
    missing = [n for n, p in named.items() if id(p) not in code.probe.optimised]
    if not missing:
        return None
    if len(missing) == len(named):
        return Alarm(
            "optimizer",
            "optimization failure",
            "likely",
            f"The optimizer ({code.probe.optimizer}) holds no parameter of the model that train_fn "
            "was given: it trains something else, and this model stays as it was made. Make the "
            "optimizer from model.parameters() inside train_fn.",
        )
    before = score_of(code, code.trained)
    after = score_of(code, code.train(more=missing).module)
    if not after.better_than(before):
        return None
    return Alarm(
        "optimizer",
        "optimization failure",
        "likely",
        f"The optimizer ({code.probe.optimizer}) does not hold {_some(missing)}: they stay as they "
        f"were initialised. {tried('them in the optimizer', before, after)}",
    )


def frozen_gate(code: Code) -> Alarm | None:
    """Parameters with requires_grad=False whose training would help."""
    if code.given:
        return None
    frozen = [n for n, p in code.fresh.named_parameters() if not p.requires_grad]
    if not frozen:
        return None
    thawed = own_copy(code.fresh).requires_grad_(True)
    before = score_of(code, code.trained)
    after = score_of(code, code.with_model(thawed).train(code.seed).module)
    if not after.better_than(before):
        return None
    return Alarm(
        "frozen parameters",
        "optimization failure",
        "likely",
        f"{_some(frozen)} have requires_grad=False and are not trained. "
        f"{tried('them trained', before, after)}",
    )


def dead_gate(code: Code) -> Alarm | None:
    """A hidden layer of which no unit is active on any row before the training."""
    if code.given or code.reading.network is None:
        return None
    X = code.X.double().reshape(len(code.X), -1).numpy()
    for layer in unit_health(code.reading.network.astype("float64"), X):
        if layer.n_dead == layer.n_units:
            return Alarm(
                "dead at the start",
                "optimization failure",
                "likely",
                f"All {layer.n_units} units of hidden layer {layer.layer} are inactive on every "
                "training row before the first step: no gradient passes them, and the network "
                "stays constant. Scale the inputs, or initialise weights and biases otherwise.",
            )
    return None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
