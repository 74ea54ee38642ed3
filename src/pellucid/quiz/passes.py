"""Questions about the forward and the backward pass, with small numbers."""

from fractions import Fraction
from math import exp
from random import Random
from typing import Any

from .question import choice, kind, number, numbers

FORWARD, BACKWARD = "forward", "backward"
HALVES = [Fraction(n, 2) for n in range(-5, 6)]


def decimal(value: Fraction | int | float) -> str:
    """A short decimal."""
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def vector(values: list) -> str:
    """(1, -0.5)."""
    return f"({', '.join(map(decimal, values))})"


def matrix(rows: list[list]) -> str:
    """[[1, 0], [0.5, 2]]."""
    return f"[{', '.join('[' + ', '.join(map(decimal, row)) + ']' for row in rows)}]"


def affine(w: Fraction, x: str, b: Fraction) -> str:
    """-1.5 x - 2, or x + 1."""
    slope = "" if w == 1 else "-" if w == -1 else f"{decimal(w)} "
    sign = "-" if b < 0 else "+"
    return f"{slope}{x} {sign} {decimal(abs(b))}" if b else f"{slope}{x}"


def _halves(rng: Random, n: int) -> list[Fraction]:
    return [rng.choice([h for h in HALVES if h]) for _ in range(n)]


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _sum_text(a: list[Fraction], b: list[Fraction], bias: Fraction) -> str:
    terms = [f"({decimal(x)})({decimal(y)})" for x, y in zip(a, b, strict=True)]
    return " + ".join([*terms, f"({decimal(bias)})"])


def _mixed(rng: Random, n: int) -> list[Fraction]:
    """Pre-activations of both signs."""
    while True:
        z = _halves(rng, n)
        if min(z) < 0 < max(z):
            return z


@kind(FORWARD)
def _preactivation(rng: Random) -> dict[str, Any]:
    """A unit's pre-activation."""
    w, x, b = _halves(rng, 3), _halves(rng, 3), rng.choice(HALVES)
    z = _dot(w, x) + b
    return number(
        f"A unit has weights {vector(w)} and bias {decimal(b)}. What is its pre-activation for "
        f"x = {vector(x)}?",
        z,
        f"z = {_sum_text(w, x, b)} = {decimal(z)}.",
    )


@kind(FORWARD)
def _hidden_values(rng: Random) -> dict[str, Any]:
    """ReLU of a vector of pre-activations."""
    z = _mixed(rng, 4)
    h = [max(v, Fraction(0)) for v in z]
    return numbers(
        f"The pre-activations of a ReLU layer are {vector(z)}. What is its hidden representation?",
        h,
        f"ReLU keeps what is positive and replaces the rest by 0: {vector(h)}.",
    )


@kind(FORWARD)
def _output(rng: Random) -> dict[str, Any]:
    """The output of a network with two hidden units."""
    W, b = [_halves(rng, 2), _halves(rng, 2)], _halves(rng, 2)
    a, c, x = _halves(rng, 2), rng.choice(HALVES), _halves(rng, 2)
    z = [_dot(w, x) + v for w, v in zip(W, b, strict=True)]
    h = [max(v, Fraction(0)) for v in z]
    f = _dot(a, h) + c
    return number(
        f"A 2-2-1 ReLU network has W1 = {matrix(W)} (a row for each unit), b1 = {vector(b)}, "
        f"output weights {vector(a)} and output bias {decimal(c)}. What is its output at "
        f"x = {vector(x)}?",
        f,
        f"z = {vector(z)}, h = {vector(h)}, and {_sum_text(a, h, c)} = {decimal(f)}.",
    )


@kind(FORWARD)
def _collapsed_layers(rng: Random) -> dict[str, Any]:
    """Two linear layers as one."""
    w, b, v, c = _halves(rng, 4)
    slope, intercept = v * w, v * b + c
    return numbers(
        f"h = {affine(w, 'x', b)} and z = {affine(v, 'h', c)}, without an activation between them. "
        "Then z = w x + b: what are w and b?",
        [slope, intercept],
        f"w = ({decimal(v)})({decimal(w)}) = {decimal(slope)} and b = ({decimal(v)})({decimal(b)}) "
        f"+ ({decimal(c)}) = {decimal(intercept)}: two linear layers are one.",
    )


@kind(FORWARD)
def _predicted_class(rng: Random) -> dict[str, Any]:
    """The class that the logits predict."""
    z = rng.sample([Fraction(n, 4) for n in range(-12, 13)], 4)
    best = z.index(max(z))
    return number(
        f"The logits are {vector(z)}. Which class index (from 0) is predicted?",
        best,
        f"The one with the largest logit, {decimal(z[best])}: index {best}. Softmax does not "
        "change the order.",
    )


@kind(BACKWARD)
def _softmax_gradient(rng: Random) -> dict[str, Any]:
    """Gradient of cross-entropy by the logits."""
    p = [Fraction(rng.randint(1, 9), 20) for _ in range(2)]
    p.append(1 - p[0] - p[1])
    y = rng.randrange(3)
    delta = [v - (i == y) for i, v in enumerate(p)]
    return numbers(
        f"Softmax gives p = {vector(p)} and the target is class {y}. What is the gradient of the "
        "cross-entropy with respect to the logits?",
        delta,
        f"p - onehot(y) = {vector(delta)}; its entries sum to 0.",
    )


@kind(BACKWARD)
def _hidden_delta(rng: Random) -> dict[str, Any]:
    """Delta of a hidden ReLU layer."""
    W, delta, z = [_halves(rng, 3), _halves(rng, 3)], _halves(rng, 2), _mixed(rng, 3)
    behind = [_dot([row[j] for row in W], delta) for j in range(3)]
    found = [g if v > 0 else Fraction(0) for g, v in zip(behind, z, strict=True)]
    return numbers(
        f"Above a ReLU layer with pre-activations {vector(z)} stands W2 = {matrix(W)} (a row for "
        f"each output), and delta2 = {vector(delta)}. What is delta1?",
        found,
        f"W2ᵀ delta2 = {vector(behind)}, and the slopes {vector([int(v > 0) for v in z])} mask it: "
        f"{vector(found)}.",
    )


@kind(BACKWARD)
def _weight_gradient(rng: Random) -> dict[str, Any]:
    """One entry of a weight's gradient."""
    delta, h = _halves(rng, 3), _halves(rng, 3)
    j, i = rng.randrange(3), rng.randrange(3)
    return number(
        f"A layer has delta = {vector(delta)} and inputs h = {vector(h)}. What is the derivative "
        f"of the loss with respect to the weight from input {i} to unit {j} (both from 0)?",
        delta[j] * h[i],
        f"delta[{j}] h[{i}] = ({decimal(delta[j])})({decimal(h[i])}) = {decimal(delta[j] * h[i])}.",
    )


@kind(BACKWARD)
def _bias_gradient(rng: Random) -> dict[str, Any]:
    """A bias's gradient of a batch."""
    n = rng.choice((2, 4))
    rows = [_halves(rng, 2) for _ in range(n)]
    sums = [sum((row[j] for row in rows), Fraction(0)) for j in range(2)]
    found = [s / n for s in sums]
    return numbers(
        f"For {n} examples the derivatives of each example's own loss with respect to the "
        f"pre-activations of a layer are {matrix(rows)}. What is the gradient of the mean loss "
        "with respect to the bias?",
        found,
        f"The column sums {vector(sums)}, divided by n = {n}: {vector(found)}.",
    )


@kind(BACKWARD)
def _blocking_units(rng: Random) -> dict[str, Any]:
    """Units that let no gradient through."""
    z = _mixed(rng, 5)
    z[rng.randrange(5)] = Fraction(0)
    blocked = [j for j, v in enumerate(z) if v <= 0]
    return numbers(
        f"A ReLU layer has pre-activations {vector(z)}. Which units (from 0, in order) let no "
        "gradient through?",
        blocked,
        f"Those whose slope is 0: z <= 0, which is {', '.join(map(str, blocked))}. A tie, z = 0, "
        "counts as inactive.",
    )


@kind(BACKWARD)
def _dead_unit(rng: Random) -> dict[str, Any]:
    """A unit that is dead on a square."""
    units: list[tuple[list[int], int]] = []
    dead = rng.randrange(4)
    for j in range(4):
        w = [rng.choice((-3, -2, -1, 1, 2, 3)) for _ in range(2)]
        most = sum(max(v, 0) for v in w)
        units.append((w, -most - rng.randint(0, 2) if j == dead else rng.randint(1, 3) - most))
    told = "; ".join(f"{j}: {vector(w)}, {b}" for j, (w, b) in enumerate(units))
    w, b = units[dead]
    most = sum(max(v, 0) for v in w)
    return number(
        "All inputs lie in the square [0, 1] x [0, 1]. One of these ReLU units (weights, bias) is "
        f"dead there. {told}. Which one (from 0)?",
        dead,
        f"The largest pre-activation of unit {dead} on the square is {most} + ({b}) = {most + b}, "
        "not above 0: it gets no gradient from any input and cannot recover.",
    )


@kind(BACKWARD)
def _chain_of_one(rng: Random) -> dict[str, Any]:
    """The chain rule through one hidden unit."""
    w, b, a, x, y = *_halves(rng, 4), rng.choice(HALVES)
    z = w * x + b
    f = a * max(z, Fraction(0))
    inner = affine(w, "x", b)
    found = (f - y) * a * (z > 0) * x
    return number(
        f"f(x) = {affine(a, f'ReLU({inner})', Fraction(0))}, with the loss "
        f"(f - y)^2 / 2. At x = {decimal(x)}, y = {decimal(y)}, what is the derivative of the loss "
        f"with respect to the inner weight (now {decimal(w)})?",
        found,
        f"z = {decimal(z)}, f = {decimal(f)}; (f - y) a ReLU'(z) x = ({decimal(f - y)})"
        f"({decimal(a)})({int(z > 0)})({decimal(x)}) = {decimal(found)}.",
    )


@kind(BACKWARD)
def _sign_of_the_target(rng: Random) -> dict[str, Any]:
    """The logit of the right class."""
    z = [Fraction(rng.randint(-6, 6), 4) for _ in range(3)]
    y = rng.randrange(3)
    total = sum(exp(v) for v in z)
    p = exp(z[y]) / total
    return choice(
        rng,
        f"The logits are {vector(z)} and the target is class {y}. What would a small increase of "
        f"logit {y} do to the cross-entropy?",
        "lower it",
        ["raise it", "leave it as it is", "it depends on the other logits"],
        f"Its derivative is p - 1 = {p - 1:.3f}, which is below 0 whatever the logits are.",
    )


KINDS = (
    *(_preactivation, _hidden_values, _output, _collapsed_layers, _predicted_class),
    *(_softmax_gradient, _hidden_delta, _weight_gradient, _bias_gradient, _blocking_units),
    *(_dead_unit, _chain_of_one, _sign_of_the_target),
)
