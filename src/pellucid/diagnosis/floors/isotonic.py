"""The best monotone function of rows in a given order, by pooling adjacent violators."""

import math
from collections.abc import Sequence


def block_cost_of_numbers(w: float, s: float) -> float:
    """-(sum)^2 / weight: the squares around the mean, less the sum of squares."""
    return -s * s / w


def block_cost_of_labels(w: float, s: float) -> float:
    """Nats of w rows of which s are of the second class."""
    if s <= 0 or s >= w:
        return 0.0
    return w * math.log(w) - s * math.log(s) - (w - s) * math.log(w - s)


def prefix_costs(w: Sequence[float], s: Sequence[float], sign: int, labels: bool) -> list[float]:
    """Cost of the best increasing (sign 1) or decreasing (-1) fit of every prefix.

    Weights w and sums s of the targets, position by position. Pooling (Ayer et al. 1955): a block
    whose mean is not above the one before is merged with it. The same blocks are best for squares
    and for probabilities.
    """
    cost_of = block_cost_of_labels if labels else block_cost_of_numbers
    W: list[float] = []
    S: list[float] = []
    C: list[float] = []
    total, costs = 0.0, [0.0]
    for weight, target in zip(w, s, strict=True):
        a, b = weight, target
        while W and sign * (S[-1] * a - b * W[-1]) >= 0:
            a, b = a + W.pop(), b + S.pop()
            total -= C.pop()
        cost = cost_of(a, b)
        W.append(a)
        S.append(b)
        C.append(cost)
        total += cost
        costs.append(math.fsum(C) if len(costs) % 64 == 0 else total)
        total = costs[-1]
    return costs


def monotone_cost(w: Sequence[float], s: Sequence[float], labels: bool) -> float:
    """The best increasing or decreasing fit, whichever is better."""
    return min(prefix_costs(w, s, sign, labels)[-1] for sign in (1, -1))


def one_turn_cost(w: Sequence[float], s: Sequence[float], labels: bool) -> float:
    """The best fit that turns once at most: down and then up, or up and then down."""
    best = math.inf
    for sign in (1, -1):
        before = prefix_costs(w, s, -sign, labels)
        after = prefix_costs(w[::-1], s[::-1], -sign, labels)[::-1]
        best = min(best, min(a + b for a, b in zip(before, after, strict=True)))
    return best
