"""What a tensor of a model can be while the model is read, besides an affine expression."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ...._shapes import Array
from ...activations import ACTIVATIONS, Activation
from .maps import Affine
from .tensors import shortest

MOST_STEPS = 60  # of one formula; the longest activation that exporters write has 12


@dataclass(eq=False)
class Constant:
    """Numbers of the file, or computed from such; `name` is the tensor that they come from."""

    array: Array
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.array.shape

    def number(self) -> float | None:
        """The one number that all entries are, if so."""
        flat = self.array.ravel()
        return float(flat[0]) if flat.size and (flat == flat[0]).all() else None


@dataclass(eq=False)
class Formula:
    """A function of each entry of `root` by itself: an activation, or steps towards one.

    `direct` says that it is an activation of an affine tensor. `affine` gives the tensor as an
    affine expression by another way, if there is one. `scales` are the factors of `root` in it,
    and `place` is the operator that gives it. `breaks` are the entries of `root` at which it
    compares them with a number, and may jump.
    """

    root: Affine
    function: Callable[[Array], Array]
    scales: frozenset[float]
    steps: int = 1
    direct: tuple[Affine, Activation] | None = None
    affine: Callable[[], Affine] | None = None
    breaks: frozenset[float] = frozenset()
    place: str = ""
    kept: Affine | None = None
    refusal: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.root.shape


@dataclass(eq=False)
class Head:
    """A softmax or log-softmax over all entries: what may only stand at the end."""

    logits: Affine
    kind: Literal["softmax", "log_softmax"]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.logits.shape


Value = Constant | Affine | Formula | Head


def argument(value: Affine | Formula) -> Formula:
    """The tensor as a formula of the first tensor that it is a multiple of, shifts included."""
    if isinstance(value, Formula):
        return value
    root, a, c = value, 1.0, 0.0
    while root.origin is not None:
        root, inner_a, inner_c = root.origin
        a, c = a * inner_a, a * inner_c + c
    return Formula(root, lambda x: a * x + c, frozenset((a,)), affine=lambda: value)


def composed(
    function: Callable[..., Array], *parts: Formula | float, affine: Callable[[], Affine] | None
) -> Formula | None:
    """A function of several formulas and numbers.

    None where the formulas have not one root, or the result would be longer than any activation.
    """
    formulas = [part for part in parts if isinstance(part, Formula)]
    root = formulas[0].root
    steps = 1 + sum(part.steps for part in formulas)
    if steps > MOST_STEPS or any(part.root is not root for part in formulas):
        return None

    def of_root(x: Array) -> Array:
        values = (part.function(x) if isinstance(part, Formula) else part for part in parts)
        return function(*values)

    scales, breaks = (
        frozenset().union(*(getattr(part, name) for part in formulas))
        for name in ("scales", "breaks")
    )
    return Formula(root, of_root, scales, steps, affine=affine, breaks=breaks)


# ---- which activation a formula is

POINTS = np.linspace(-20, 20, 1601)
AGREE = 2e-6  # relative: exporters write sqrt(2) and the like with seven digits


def _scales(name: str, formula: Formula) -> list[float]:
    """The factors s that are tried: sigmoid(1.7 x) x is a silu, log sigmoid(x) a softplus of -x."""
    more = {"silu": formula.scales, "softplus": {-1.0}}.get(name, ())
    return sorted({1.0, *more} - {0.0})


_FORMULAS = ("sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "softplus", "softsign")


def recognized(formula: Formula) -> tuple[Activation, float] | None:
    """(activation, s) with formula(x) = activation(s x) / s for many points; else None.

    The points are a grid, and more of them between the places where the formula may jump.
    """
    x = _points(formula.breaks)
    with np.errstate(all="ignore"):
        values = np.broadcast_to(formula.function(x), x.shape).astype(np.float64)
        if formula.breaks == {0.0}:
            slope = shortest(-float(values[x == -1.0][0]))
            if (values == np.where(x > 0, x, slope * x)).all():
                return Activation("leaky_relu", (slope,)) if slope else Activation("relu"), 1.0
        for name in _FORMULAS:
            for s in _scales(name, formula):
                expected = ACTIVATIONS[name].value(s * x) / s
                if (np.abs(values - expected) <= AGREE * (1e-3 + np.abs(expected))).all():
                    return Activation(name), s
    return None


def _points(breaks: frozenset[float]) -> Array:
    ends = sorted({-100.0, 100.0, *breaks})
    between = [np.linspace(a, b, 12) for a, b in pairwise(ends) if breaks]
    near = [np.array([b, np.nextafter(b, -np.inf), np.nextafter(b, np.inf)]) for b in breaks]
    return np.concatenate([POINTS, *between, *near])
