"""A witness in the user's own module: loaded there, and evaluated with the user's own loss."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from .._errors import InvalidInput
from ..network import Network
from .problem import Problem
from .torch_code import Code, user_code
from .torch_loss import number_of
from .torch_reading import Reading, load_into, read_module
from .torch_state import evaluate, global_state_kept, in_float64, own_copy
from .verdict import Witness

ROWS = 64


def state_dict_for(witness: Witness, module: nn.Module) -> dict[str, torch.Tensor]:
    """The witness's parameters under the names, and in the number types, of a user's module."""
    rows = np.random.default_rng(0).normal(size=(ROWS, witness.network.d_in))
    weight = next(module.parameters())
    return load_into(
        module, _reading(module, torch.from_numpy(rows).to(weight.dtype)), witness.network
    )


def _reading(module: nn.Module, X: torch.Tensor) -> Reading:
    """What the module is, without a sigmoid that belongs to its loss."""
    reading = read_module(module, X)
    if reading.network is None:
        return reading
    net = reading.network
    return replace(reading, network=Network(net.weights, net.biases, net.activations))


def refusal(witness: Witness, source: Any) -> str:
    """Why the witness is none in the user's own module; "" where it is one."""
    if source.own.loss is None:
        return ""
    try:
        own, better = _both(witness, source)
    except Exception as error:  # nothing that fails here may stand as proved
        return f"it could not be loaded into your module ({' '.join(str(error).split())})"
    if not (math.isfinite(better) and better < own):
        return f"your own loss with it is {better:.6g}, and {own:.6g} without"
    return ""


def told(witness: Witness, source: Any) -> str:
    """The user's own loss before and after, in a sentence."""
    how = "verdict.witness.state_dict(module) loads into your own module"
    if source.own.loss is None:
        return f"{how}."
    own, better = _both(witness, source)
    return (
        f"{how}: your own loss on the {len(source.own.X)} training rows is {better:.4g} with it "
        f"and {own:.4g} as you trained it, in float64."
    )


def own_losses(network: Network, source: Any, problem: Problem) -> tuple[float, float, float]:
    """The user's loss of the trained module, with other parameters, and of a constant; NaN if none.

    In float64, on the training rows. The constant is the one that the references start from.
    """
    y, last = problem.y[~problem.held_out], network.biases[-1]
    if problem.classes is None:
        bias = np.full_like(last, y.mean())
    else:
        shares = (np.bincount(y, minlength=problem.n_classes) + 0.5) / len(y)
        bias = np.log(shares[-len(last) :]) - (np.log(shares[0]) if len(last) == 1 else 0.0)
    weights = (*network.weights[:-1], np.zeros_like(network.weights[-1]))
    constant = Network(weights, (*network.biases[:-1], bias), network.activations)
    try:
        own = in_float64(source.own.trained)
        better, trivial = (_loss(source.own, _loaded(own, source, n)) for n in (network, constant))
        return _loss(source.own, own), better, trivial
    except InvalidInput:  # the module is not copied, or takes no float64
        return math.nan, math.nan, math.nan


def _both(witness: Witness, source: Any) -> tuple[float, float]:
    """The user's loss in float64 of the module as the user trained it, and with the witness."""
    own = in_float64(source.own.trained)
    return _loss(source.own, own), _loss(source.own, _loaded(own, source, witness.network))


def _loaded(module: nn.Module, source: Any, network: Network) -> nn.Module:
    """A copy of the user's module with other parameters."""
    other = own_copy(module)
    rows = source.own.X[:ROWS].double()
    other.load_state_dict(load_into(other, _reading(other, rows), network))
    return other


def _loss(code: Code, module: nn.Module) -> float:
    """The user's loss of float64 outputs, or of float32 where it takes no others; nan if none."""
    assert code.loss is not None
    with global_state_kept(), user_code("your model in float64"):
        outputs = evaluate(module, code.X.double())
    y = code.y.double() if code.y.is_floating_point() else code.y
    number = number_of(code.loss, outputs, y)
    return number_of(code.loss, outputs.float(), code.y) if math.isnan(number) else number
