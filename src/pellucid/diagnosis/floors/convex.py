"""One hidden relu layer of any width with a penalty: what the penalty leaves to the loss.

The convex reformulation bounds the objective, mean loss + penalty, of every such network. A bound
with a smaller penalty says more: L + rho P >= B for all parameters. Those whose objective L + P is
at most F then have L >= (B - rho F) / (1 - rho). F is that of parameters that are in the evidence.
"""

import math
from typing import Any

import numpy as np

from ..._shapes import Array, Float64
from ..wording import at_least, number
from .architecture import Architecture
from .found import Found
from .relaxed import Penalised, Units, dual_point, spread_directions, units_of, with_penalty
from .rows import Rows, link_of

SHARES = (0.95, 0.85, 0.6)
"""Of the penalty, that the bound is computed with."""
USELESS = 0.1
"""A bound below this share of the constant's loss exceeds no tolerance: it is not looked for."""
FEWEST_ROWS, LARGEST_RANK = 4, 3
DEPENDENT = 1e-10
"""Columns that add a smaller share than this to the largest singular value add nothing."""
DIRECTIONS = {2: 128, 3: 512}
RUNS = 60
"""How often the largest sum is computed, about."""
PER_STEP = 4e5


def find_convex(rows: Rows, architecture: Architecture, work: float) -> Found | None:
    """The least loss of parameters whose objective is as low as that of some that are known."""
    if not rows.penalty or not is_penalised_relu(rows, architecture):
        return None
    X = (rows.X - rows.input_offset) / rows.input_scale
    known = np.column_stack([X, np.ones(rows.n)])
    if not np.isfinite(known).all():
        return None
    distinct, place = np.unique(known, axis=0, return_inverse=True)
    size, Q = np.linalg.svd(distinct, full_matrices=False)[1:]
    Q = Q[size > DEPENDENT * size[0]].T
    r, k = Q.shape[1], len(distinct)
    cost = (4 * k**3 if r > 2 else 50 * k * math.log2(k + 1)) * RUNS + PER_STEP * rows.n
    if not 2 <= r <= LARGEST_RANK or k < FEWEST_ROWS or cost > work:
        return None
    problem = _problem(rows, known @ Q, architecture.widths[-1])
    return _best(rows, architecture, problem, (distinct @ Q, place.reshape(-1), Q))


def is_penalised_relu(rows: Rows, architecture: Architecture) -> bool:
    """One hidden relu layer, with one output or the two of two classes."""
    outputs = 2 if rows.likelihood == "categorical" else 1
    shape = len(architecture.hidden) == 1 and architecture.widths[-1] == outputs
    two = rows.is_regression or set(np.unique(rows.y).tolist()) <= {0, 1}
    relu = shape and architecture.activations[0][0] == "relu"
    return relu and two and link_of(rows, architecture) == "identity"


def _problem(rows: Rows, Z: Float64[Array, "n r"], outputs: int) -> Penalised:
    """On the recipe's own columns and target.

    Two outputs are best opposite to each other: with f = f_1 - f_0, sum_k a_k^2 = a^2 / 2.
    """
    t = (rows.y - rows.output_offset) / rows.output_scale if rows.is_regression else rows.y
    weights, bias = rows.penalty / math.sqrt(outputs), rows.penalty / outputs
    return Penalised(Z, np.asarray(t, dtype=np.float64), not rows.is_regression, weights, bias)


def _best(
    rows: Rows, architecture: Architecture, problem: Penalised, places: tuple[Array, Array, Array]
) -> Found | None:
    """The highest bound over a few shares of the penalty.

    None is above the loss of the network that the objective is of, which may be too low to matter.
    """
    distinct, place, Q = places
    pool = spread_directions(distinct, DIRECTIONS[Q.shape[1]])
    fit, best = dual_point(problem, distinct, place, pool).fit, None
    units = units_of(problem, fit, architecture.hidden[0])
    if units.loss < USELESS * problem.constant_loss():
        return None
    for share in SHARES:
        found = dual_point(with_penalty(problem, share), distinct, place, pool, fit)
        fit = found.fit
        value = (found.value - share * units.objective) / (1 - share)
        if best is None or value > best[0]:
            best = value, share, found.slopes
    assert best is not None
    r = rows.loss_scale / rows.output_scale if rows.is_regression else 1.0
    value, objective = (rows.least + v / r**2 for v in (best[0], units.objective))
    evidence = {
        "weight_decay": float(rows.penalty),
        "input_offset": rows.input_offset.tolist(),
        "input_scale": rows.input_scale.tolist(),
        "share": best[1],
        "slopes": best[2].tolist(),
        "network": _network(units, Q, architecture.widths[-1]),
    }
    return Found(
        value,
        f"with a weight decay of {rows.penalty:g} parameters are known that bring the objective "
        f"down to about {number(objective)} nats, and no network of one hidden relu layer, however "
        f"wide, has an objective as low and a training loss below {at_least(value)}",
        evidence,
        objective,
    )


def _network(units: Units, Q: Float64[Array, "d r"], outputs: int) -> list[Any]:
    """Hidden weights and biases, output weights and biases, as the recipe has them."""
    w, a, b = units.weights @ Q.T, units.outputs, units.bias
    if outputs == 1:
        out, bias = a[None, :], [b]
    else:
        w, a = w / 2**0.25, a * 2**0.25  # |w|^2 against the a^2 / 2 of two outputs
        out, bias = np.stack([-a / 2, a / 2]), [-b / 2, b / 2]
    return [w[:, :-1].tolist(), w[:, -1].tolist(), out.tolist(), bias]
