"""Questions about steps of optimizers, capacity and memorisation."""

from fractions import Fraction
from math import comb
from random import Random
from typing import Any

from .passes import decimal
from .question import choice, kind, number, numbers

TRAINING = "training"


@kind(TRAINING)
def _descent_step(rng: Random) -> dict[str, Any]:
    """One step of gradient descent."""
    w, g = Fraction(rng.randint(-20, 20), 10), Fraction(rng.choice((-5, -3, 2, 4)), 2)
    rate = Fraction(rng.choice((1, 2, 5)), 10)
    return number(
        f"A weight is {decimal(w)}, its gradient {decimal(g)}, the learning rate {decimal(rate)}. "
        "What is the weight after one step of plain gradient descent?",
        w - rate * g,
        f"w - rate * g = {decimal(w)} - {decimal(rate)} ({decimal(g)}) = {decimal(w - rate * g)}.",
    )


@kind(TRAINING)
def _momentum(rng: Random) -> dict[str, Any]:
    """Two steps with momentum."""
    g1, g2 = Fraction(rng.choice((-4, -2, 2, 4))), Fraction(rng.choice((-3, -1, 1, 3)))
    mu, rate = Fraction(9, 10), Fraction(1, 10)
    m2 = mu * g1 + g2
    found = -rate * (g1 + m2)
    return number(
        f"SGD with momentum 0.9 and learning rate 0.1 starts at 0 (m <- 0.9 m + g, w <- w - 0.1 m) "
        f"and sees the gradients {decimal(g1)}, then {decimal(g2)}. Where is the weight after both "
        "steps?",
        found,
        f"m is {decimal(g1)}, then 0.9 ({decimal(g1)}) + ({decimal(g2)}) = {decimal(m2)}; "
        f"w = -0.1 ({decimal(g1)} + {decimal(m2)}) = {decimal(found)}.",
    )


@kind(TRAINING)
def _first_step_of_adam(rng: Random) -> dict[str, Any]:
    """The first step of Adam."""
    g, rate = rng.choice((-300, -7, -0.02, 0.5, 40)), rng.choice((0.001, 0.01, 0.1))
    return number(
        f"Adam with learning rate {rate:g} takes its first step for a weight with gradient {g:g}. "
        "By how much does the weight change (with its sign, epsilon neglected)?",
        -rate if g > 0 else rate,
        "The bias-corrected averages are g and g^2, so the step is -rate * g / |g|: the size of "
        "the gradient does not matter.",
    ) | {"tolerance": rate / 100, "hint": ""}


@kind(TRAINING)
def _adam_averages(rng: Random) -> dict[str, Any]:
    """The averages of Adam after one step."""
    g = Fraction(rng.choice((-4, -2, 3, 5)))
    return numbers(
        f"Adam (beta1 = 0.9, beta2 = 0.999) starts with m = v = 0 and sees the gradient "
        f"{decimal(g)}. What are m and v after this step, before the correction of the bias?",
        [g / 10, g * g / 1000],
        f"m = 0.1 g = {decimal(g / 10)} and v = 0.001 g^2 = {decimal(g * g / 1000)}.",
    )


@kind(TRAINING)
def _order_of_a_step(rng: Random) -> dict[str, Any]:
    """The order of a training step."""
    return choice(
        rng,
        "In which order does a training step run?",
        "clear the gradients, forward pass, loss, backward pass, update",
        [
            "forward pass, loss, update, backward pass, clear the gradients",
            "clear the gradients, update, forward pass, loss, backward pass",
            "backward pass, forward pass, loss, clear the gradients, update",
        ],
        "Gradients would add up if they were not cleared; the update needs those of this step, and "
        "they need its forward pass.",
    )


@kind(TRAINING)
def _memorise(rng: Random) -> dict[str, Any]:
    """Units that memorise any labels."""
    n = rng.randint(5, 200)
    return number(
        f"{n} different points on a line have arbitrary real targets. How many ReLU units in one "
        "hidden layer, with an output bias, suffice to pass through all of them?",
        n - 1,
        f"The function is piecewise linear with one slope between any two neighbours: {n} - 1 = "
        f"{n - 1} units.",
    )


@kind(TRAINING)
def _dichotomies(rng: Random) -> dict[str, Any]:
    """Cover's count of linear dichotomies."""
    d = rng.choice((2, 3))
    n = rng.randint(d + 2, d + 5)
    found = 2 * sum(comb(n - 1, i) for i in range(d + 1))
    return number(
        f"{n} points lie in general position in {d} dimensions. How many of their 2^{n} labelings "
        "with two classes can a linear classifier with a bias separate?",
        found,
        f"2 (C({n - 1},0) + ... + C({n - 1},{d})) = {found} of {2**n} (Cover, 1965).",
    )


@kind(TRAINING)
def _cause(rng: Random) -> dict[str, Any]:
    """Capacity failure, optimization failure or overfitting."""
    cases = {
        "has a high training loss from every seed and rate, and a wider one fits well": (
            "capacity failure"
        ),
        "has a high training loss, and other seeds of the same architecture fit well": (
            "optimization failure"
        ),
        "has a low training loss and a much higher loss on rows that it has not seen": (
            "overfitting"
        ),
    }
    told = rng.choice(list(cases))
    right = cases[told]
    return choice(
        rng,
        f"A network {told}. What is this?",
        right,
        [name for name in cases.values() if name != right],
        "Capacity: no parameters of this architecture are good enough. Optimization: good ones "
        "exist and were not found. Overfitting: good on the training rows only.",
    )


@kind(TRAINING)
def _xor_units(rng: Random) -> dict[str, Any]:
    """Hidden units for XOR."""
    a, b = rng.sample(("x1", "x2"), 2)
    return number(
        f"How many hidden ReLU units does a network need at least to compute {a} XOR {b} exactly "
        "on the four corners of the square?",
        2,
        "ReLU(x1 + x2) - 2 ReLU(x1 + x2 - 1) has two. With one unit the function is monotone along "
        "one direction and constant across it, which XOR is not.",
    )


KINDS = (
    *(_descent_step, _momentum, _first_step_of_adam, _adam_averages, _order_of_a_step),
    *(_memorise, _dichotomies, _cause, _xor_units),
)
