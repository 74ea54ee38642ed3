"""Properties of a network's outputs over boxes of inputs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64


@dataclass(frozen=True, eq=False, init=False)
class Case:
    """What must not happen: an input x of the box with A y(x) <= b in every row.

    `low` and `high` have shape (d_in,), `A` (rows, d_out) and `b` (rows,).
    """

    low: Float64[Array, " d_in"]
    high: Float64[Array, " d_in"]
    A: Float64[Array, "rows d_out"]
    b: Float64[Array, " rows"]

    def __init__(self, low: ArrayLike, high: ArrayLike, A: ArrayLike, b: ArrayLike):
        low, high, b = _numbers(low, "low", 1), _numbers(high, "high", 1), _numbers(b, "b", 1)
        A = _numbers(A, "A", 2)
        if low.shape != high.shape or not len(low):
            raise InvalidInput(
                f"low has {len(low)} numbers and high {len(high)}; they need one for each input."
            )
        if (low > high).any():
            i = int(np.flatnonzero(low > high)[0])
            raise InvalidInput(
                f"input {i} is to lie between {low[i]:g} and {high[i]:g}; low must not exceed high."
            )
        if len(A) != len(b) or not len(b):
            raise InvalidInput(
                f"A has {len(A)} rows and b {len(b)} numbers; they need one or more, and as many."
            )
        for name, value in (("low", low), ("high", high), ("A", A), ("b", b)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, init=False)
class Property:
    """A network has the property if none of its cases happens.

    All cases are about the same numbers of inputs and outputs.
    """

    cases: tuple[Case, ...]

    def __init__(self, cases: Iterable[Case]):
        cases = tuple(cases)
        shapes = {(len(case.low), case.A.shape[1]) for case in cases}
        if not cases:
            raise InvalidInput("got no case; a property needs at least one.")
        if len(shapes) > 1:
            raise InvalidInput("the cases differ in their numbers of inputs or outputs.")
        object.__setattr__(self, "cases", cases)

    @property
    def d_in(self) -> int:
        """Number of inputs."""
        return len(self.cases[0].low)

    @property
    def d_out(self) -> int:
        """Number of outputs."""
        return self.cases[0].A.shape[1]

    def __repr__(self) -> str:
        n = len(self.cases)
        return f"Property({n} case{'s' * (n > 1)}, {self.d_in} inputs, {self.d_out} outputs)"


def _numbers(values: ArrayLike, name: str, ndim: int) -> Array:
    try:
        found = np.array(values, np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if found.ndim != ndim or not np.isfinite(found).all():
        raise InvalidInput(f"{name} needs finite numbers in {ndim} dimension{'s' * (ndim > 1)}.")
    return found
