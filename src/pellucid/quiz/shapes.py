"""Questions about shapes and counts of parameters."""

from itertools import pairwise
from random import Random
from typing import Any

from .question import kind, number, shapes

SHAPES = "shapes"


def widths_text(widths: list[int]) -> str:
    """4-8-3."""
    return "-".join(map(str, widths))


@kind(SHAPES)
def _parameter_count(rng: Random) -> dict[str, Any]:
    """Weights and biases of a network."""
    widths = [rng.randint(2, 10), *(rng.randint(2, 20) for _ in range(rng.choice((1, 1, 2)))), 3]
    layers = list(pairwise(widths))
    terms = " + ".join(f"{d} ({before} + 1)" for before, d in layers)
    total = sum(d * (before + 1) for before, d in layers)
    return number(
        f"A network of widths {widths_text(widths)} has a bias at every unit. How many parameters "
        "does it have?",
        total,
        f"Each layer has d_l (d_(l-1) + 1) of them: {terms} = {total}.",
    )


@kind(SHAPES)
def _batch_shapes(rng: Random) -> dict[str, Any]:
    """Weights in row notation, and the logits of a batch."""
    n, d = rng.choice((32, 64, 120, 256)), rng.randint(3, 12)
    m, k = rng.randint(5, 30), rng.randint(2, 9)
    return shapes(
        f"A batch of shape ({n}, {d}) goes through one hidden layer of {m} units to {k} class "
        "logits. In row notation (x W + b), what are the shapes of the first weight matrix, of the "
        "second, and of the logits?",
        [(d, m), (m, k), (n, k)],
        f"x W needs W of shape (inputs, outputs): ({d}, {m}), then ({m}, {k}). The number of "
        f"examples stays in front: ({n}, {k}).",
    )


@kind(SHAPES)
def _stored_weight(rng: Random) -> dict[str, Any]:
    """The weight of a linear layer as PyTorch and Pellucid store it."""
    d, m = rng.sample(range(2, 30), 2)
    return shapes(
        f"A linear layer takes {d} inputs to {m} outputs. Which shape has its weight as PyTorch "
        "(and Pellucid) stores it?",
        [(m, d)],
        f"Outputs first: ({m}, {d}); the layer computes x Wᵀ + b.",
    )


@kind(SHAPES)
def _gradient_shape(rng: Random) -> dict[str, Any]:
    """The gradient of a weight for a batch."""
    n, widths = rng.choice((16, 64, 100)), [rng.randint(2, 12) for _ in range(4)]
    at = rng.randint(1, 3)
    shape = (widths[at], widths[at - 1])
    return shapes(
        f"A batch of {n} examples goes through a network of widths {widths_text(widths)}. Which "
        f"shape has the gradient of the mean loss with respect to the weights of layer {at} "
        "(stored outputs first)?",
        [shape],
        f"That of the weights, ({shape[0]}, {shape[1]}): the sum over the {n} examples is in the "
        "product of delta transposed and the layer's inputs.",
    )


@kind(SHAPES)
def _hidden_width(rng: Random) -> dict[str, Any]:
    """The width that a number of parameters belongs to."""
    d, k, m = rng.randint(2, 8), rng.randint(1, 5), rng.randint(3, 40)
    total = m * (d + 1) + k * (m + 1)
    return number(
        f"A network with {d} inputs, one hidden layer and {k} outputs has {total} parameters. How "
        "many hidden units has it?",
        m,
        f"m ({d} + 1) + {k} (m + 1) = {total} gives m = ({total} - {k}) / {d + 1 + k} = {m}.",
    )


@kind(SHAPES)
def _hidden_representation(rng: Random) -> dict[str, Any]:
    """The hidden representation of a batch."""
    n, d, m, k = rng.choice((8, 50, 120)), rng.randint(2, 9), rng.randint(3, 20), rng.randint(2, 5)
    return shapes(
        f"{n} examples with {d} features each go through a network of widths {d}-{m}-{k}. Which "
        "shape has the hidden representation of the batch?",
        [(n, m)],
        f"One row for each example, one column for each hidden unit: ({n}, {m}).",
    )


KINDS = (
    _parameter_count,
    _batch_shapes,
    _stored_weight,
    _gradient_shape,
    _hidden_width,
    _hidden_representation,
)
