"""Which question a call of `diagnose` asks: a recipe's, a trained network's, or a user's code's."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

from .._errors import InvalidInput, MissingDependency
from ..network import Activations, Network
from .decision import THRESHOLD, Evidence
from .problem import Problem
from .source import Source
from .verdict import Statement, Witness


class Question(NamedTuple):
    """What is asked: about which rows, about whose network, and its activation."""

    problem: Problem
    source: Source
    activation: Activations


def own_question(
    data: Any,
    y: Any,
    *,
    model: Any,
    model_fn: Any,
    loss: Any,
    train_fn: Any,
    seed: int,
    held_out: float,
) -> Question:
    """The problem and the source of `model` or `model_fn`, and the activation of its network."""
    if model_fn is not None or _is_module(model) or _is_skorch(model):
        need_torch()
        from .torch_source import torch_question

        if _is_skorch(model):
            model, loss = _of_skorch(model, loss)
        problem, source = torch_question(
            data,
            y,
            model=model,
            model_fn=model_fn,
            loss=loss,
            train_fn=train_fn,
            seed=seed,
            held_out=held_out,
        )
        return Question(problem, source, source.activation)
    if loss is not None or train_fn is not None:
        raise InvalidInput("loss and train_fn go with model_fn, or loss with a PyTorch module.")
    from .given import given_question

    return Question(*given_question(data, y, model, seed, held_out))


def in_own_module(
    source: Source, evidence: Evidence, witness: Witness | None
) -> tuple[Evidence, Witness | None]:
    """The witness if it is one in the user's own module, too, with the user's own loss."""
    if witness is None or evidence.same is None or getattr(source, "own", None) is None:
        return evidence, witness
    from .torch_witness import refusal

    reason = refusal(witness, source)
    if not reason:
        return evidence, witness
    return replace(evidence, same=replace(evidence.same, accepted=False, reason=reason)), None


def by_own_loss(source: Source, problem: Problem, e: Evidence, better: Network) -> Evidence:
    """The better parameters only where the user's own loss, which is another one, gains by them.

    It must fall by the share of what a constant prediction leaves that counts as a failure.
    """
    assert e.same is not None
    if getattr(source, "own", None) is None:
        return e
    from .torch_witness import own_losses

    user, other, constant = own_losses(better, source, problem)
    if not user - other >= THRESHOLD * max(constant - other, 0.0) > 0.0:
        return replace(e, same=None)
    reason = f"your loss is another one, which they lower from {user:.4g} to {other:.4g}"
    return replace(e, same=replace(e.same, reason=reason))


def witness_statements(source: Source, witness: Witness | None) -> tuple[Statement, ...]:
    """What the witness does in the user's own module."""
    if witness is None or getattr(source, "own", None) is None:
        return ()
    from .torch_witness import told

    return (Statement(told(witness, source), "proved"),)


def _is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _is_skorch(model: Any) -> bool:
    """A skorch net: it has a criterion and, once fitted, a module_."""
    if model is None or isinstance(model, Network):
        return False
    return hasattr(model, "criterion") and (hasattr(model, "module_") or hasattr(model, "module"))


def _of_skorch(net: Any, loss: Any) -> tuple[Any, Any]:
    """The trained module of a skorch net, and its loss as a function of outputs and targets."""
    from .torch_loss import loss_of_skorch

    if not hasattr(net, "module_"):
        raise InvalidInput(f"this {type(net).__name__} is not fitted; call its fit first.")
    return net.module_, loss if loss is not None else loss_of_skorch(net)


def need_torch() -> None:
    """One sentence where PyTorch is not installed."""
    if find_spec("torch") is None:
        raise MissingDependency(
            'PyTorch is needed and not installed: pip install "pellucid[torch]".'
        )
