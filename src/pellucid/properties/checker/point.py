"""A point that breaks a property, evaluated in rational numbers."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..._shapes import Array
from .document import Case, Layer, Refused, numbers
from .stopping import Clock

MOST_PRODUCTS = 50_000_000
"""Products of rational numbers for which a point is evaluated exactly."""


def check_point(
    layers: Sequence[Layer], cases: Sequence[Case], evidence: Any, clock: Clock
) -> None:
    """The outputs at the point of the evidence fulfil every row of a case whose box holds it."""
    if type(evidence) is not dict or set(evidence) != {"input"}:
        raise Refused("the evidence does not have the fields of a point")
    x = numbers(evidence["input"])
    if x.shape != (layers[0].W.shape[1],) or not np.isfinite(x).all():
        raise Refused("the point does not have the inputs of the network")
    if sum(layer.W.size for layer in layers) > MOST_PRODUCTS:
        raise Refused("the network is too large for rational numbers")
    inside = [case for case in cases if ((case[0] <= x) & (x <= case[1])).all()]
    if not inside:
        raise Refused("the point lies in no box of the property")
    y = _exact_outputs(layers, x, clock)
    for _, _, A, b in inside:
        misses = (_dot(row, y) - Fraction(float(c)) for row, c in zip(A, b, strict=True))
        if all(miss <= 0 for miss in misses):
            return
    raise Refused("the outputs at the point break no case")


def _exact_outputs(layers: Sequence[Layer], x: Array, clock: Clock) -> list[Fraction]:
    h = [Fraction(float(v)) for v in x]
    for W, b, name, parameters in layers:
        z = []
        for row, c in zip(W, b, strict=True):
            clock.ask()
            z.append(_dot(row, h) + Fraction(float(c)))
        h = [_exact_value(name, parameters, value) for value in z]
    return h


def _dot(row: Array, h: Sequence[Fraction]) -> Fraction:
    terms = (Fraction(float(w)) * v for w, v in zip(row, h, strict=True) if w and v)
    return sum(terms, Fraction(0))


def _exact_value(name: str, parameters: tuple[float, ...], z: Fraction) -> Fraction:
    if name == "hardtanh":
        low, high = (Fraction(p) for p in parameters)
        return min(max(z, low), high)
    if name == "identity" or z >= 0:
        return z
    return {"relu": Fraction(0), "abs": -z}.get(
        name, z * Fraction(parameters[0] if parameters else 0)
    )
