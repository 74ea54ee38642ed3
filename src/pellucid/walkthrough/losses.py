"""The loss of each likelihood as an equation, and with the numbers of one example in it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, pi
from typing import Any

from .._shapes import Array
from ..likelihoods import Likelihood
from .dialects import Letters, Text

MOST_TERMS = 4

Equations = Callable[[Letters], str]
Numbers = Callable[[Text, Array, Any, int], str]


@dataclass(frozen=True)
class LossForm:
    """How a likelihood is written: what its outputs mean, its loss, its derivative.

    `prediction` is the name of the column of what `Likelihood.predict` returns, and `numbers` the
    loss of one example step by step.
    """

    prediction: str
    meaning: Equations
    loss: Equations
    gradient: Equations
    numbers: Numbers


def _categorical(d: Text, z: Array, y: Any, digits: int) -> str:
    lse = float(max(z)) + log(sum(exp(v - max(z)) for v in z))
    target = d.factor(z[int(y)], digits)
    terms = " + ".join(d.power("e", d.number(v, digits)) for v in z)
    inside = terms if len(z) <= MOST_TERMS else d.words(f"{len(z)} terms")
    left = d.function("log", inside)
    return f"{left}{d.minus}{target} = {d.number(lse, digits)}{d.minus}{target}"


def _bernoulli(d: Text, z: Array, y: Any, digits: int) -> str:
    parts = []
    for v, t in zip(z, y, strict=True):
        softplus = d.function("log", f"1 + {d.power('e', d.number(v, digits))}")
        parts.append(f"{softplus}{d.minus}{d.number(t, digits)}{d.dot}{d.factor(v, digits)}")
    return _first_ones(d, parts)


def _gaussian(d: Text, z: Array, y: Any, digits: int) -> str:
    constant, parts = d.number(log(2 * pi) / 2, digits), []
    for v, t in zip(z, y, strict=True):
        difference = f"({d.number(t, digits)}{d.minus}{d.factor(v, digits)})"
        parts.append(f"{constant} + {d.power(difference, '2')} / 2")
    return _first_ones(d, parts)


def _first_ones(d: Text, parts: list[str]) -> str:
    if len(parts) <= MOST_TERMS:
        return " + ".join(parts)
    return f"{parts[0]} + {d.words(f'{len(parts) - 1} more')}"


def _target(e: Letters) -> str:
    return e.dialect.letter("y", None, e.row)


def _y_entry(e: Letters) -> str:
    return e.dialect.entry(e.outputs, _target(e))


LOSSES: dict[str, LossForm] = {
    "categorical": LossForm(
        "p",
        lambda e: f"{e.dialect.p} = {e.dialect.function('softmax', e.outputs)}",
        lambda e: f"{e.dialect.function('logsumexp', e.outputs)}{e.dialect.minus}{_y_entry(e)}",
        lambda e: f"{e.dialect.p}{e.dialect.minus}{e.dialect.function('onehot', _target(e))}",
        _categorical,
    ),
    "bernoulli": LossForm(
        "p",
        lambda e: f"{e.dialect.p} = {e.dialect.function('sigmoid', e.outputs)}",
        lambda e: (
            f"{e.dialect.function('softplus', e.outputs)}{e.dialect.minus}{_target(e)} {e.outputs}"
        ),
        lambda e: f"{e.dialect.p}{e.dialect.minus}{_target(e)}",
        _bernoulli,
    ),
    "gaussian": LossForm(
        "mean",
        lambda e: f"{e.dialect.mu} = {e.outputs}",
        lambda e: (
            f"{e.dialect.function('log', '2' + e.dialect.pi)} / 2 + "
            f"{e.dialect.power(f'({_target(e)}{e.dialect.minus}{e.dialect.mu})', '2')} / 2"
        ),
        lambda e: f"{e.dialect.mu}{e.dialect.minus}{_target(e)}",
        _gaussian,
    ),
}


def other_loss(e: Letters) -> str:
    """The loss of a likelihood without an entry; its own words say the rest."""
    d = e.dialect
    return f"{d.minus.strip()}{d.function('log', f'{d.p}({_target(e)} | {e.outputs})')}"


def words_of(likelihood: Likelihood) -> list[str]:
    """What the likelihood itself says of its outputs, its loss and its derivative."""
    told = ("Outputs", likelihood), ("Loss", likelihood.loss), ("Derivative", likelihood.gradient)
    found = [(what, (thing.__doc__ or "").strip().split("\n\n")[0]) for what, thing in told]
    return [f"{what}: {' '.join(text.split())}" for what, text in found if text]
