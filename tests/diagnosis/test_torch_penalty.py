"""Which weight decay of a user's own training is the penalty of a bound, and which is not."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))

from own_code import CE, adam, mlp, sgd, trainer, two_squares

from pellucid.diagnosis.own import own_question

DECAY = 0.1


def asked(model_fn: Callable[[], nn.Module], make: Any) -> Any:
    """The question that this training is: `make` gives the optimizer of the parameters."""
    X, y = two_squares()
    own = own_question(
        X,
        y,
        model=None,
        model_fn=model_fn,
        loss=CE,
        train_fn=trainer(make, 12, 16, loss=CE),
        seed=0,
        held_out=0.25,
    )
    return own.problem


def network() -> nn.Module:
    return mlp([2, 6, 2])


def with_frozen_layer() -> nn.Module:
    made = mlp([2, 6, 2])
    for parameter in made[0].parameters():
        parameter.requires_grad_(False)
    return made


def decoupled(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, 0.02, weight_decay=DECAY)


def weights_only(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD([p for p in parameters if p.ndim > 1], 0.02, weight_decay=DECAY)


def of_two_groups(first: float, second: float) -> Callable[[Any], torch.optim.Optimizer]:
    """Weights with one decay, biases with another."""

    def make(parameters: Any) -> torch.optim.Optimizer:
        every = list(parameters)
        groups = [
            {"params": [p for p in every if p.ndim > 1], "weight_decay": first},
            {"params": [p for p in every if p.ndim == 1], "weight_decay": second},
        ]
        return torch.optim.SGD(groups, 0.02)

    return make


@pytest.mark.parametrize("make", [sgd(0.02, weight_decay=DECAY), adam(0.02, weight_decay=DECAY)])
def test_the_decay_of_all_parameters_is_the_penalty(make):
    problem = asked(network, make)
    assert (problem.penalty, problem.exact) == (DECAY, True)


def test_two_groups_of_one_decay_are_as_one():
    problem = asked(network, of_two_groups(DECAY, DECAY))
    assert (problem.penalty, problem.exact) == (DECAY, True)


@pytest.mark.parametrize(
    ("model_fn", "make"),
    [
        (network, decoupled),
        (network, adam(0.02, weight_decay=DECAY, decoupled_weight_decay=True)),
        (with_frozen_layer, sgd(0.02, weight_decay=DECAY)),
        (network, weights_only),
        (network, of_two_groups(DECAY, 0.0)),
        (network, of_two_groups(DECAY, 2 * DECAY)),
    ],
    ids=["AdamW", "decoupled Adam", "frozen layer", "no biases", "not of biases", "two decays"],
)
def test_a_decay_of_another_kind_is_no_penalty_of_a_bound(model_fn, make):
    problem = asked(model_fn, make)
    assert problem.penalty == 0.0
