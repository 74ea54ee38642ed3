"""One exact form for all parameter settings that permutation, scale and sign make of each other.

Two networks with the same form are the same function, on the whole space and whatever their depth.
Networks with different forms may still be the same function.
"""

import math

import numpy as np

from .._kernels.region_arrays import PIECES
from ..network import Activation
from ..regions.exact import Dyadic
from .exact_layers import ExactLayers, activated
from .table import symmetry_of


def normal_form(layers: ExactLayers) -> tuple:
    """A key that is equal for networks with the same units up to order, scale and sign.

    Layer by layer from the input: a constant unit goes into the next bias; a row [w, b] gets a
    fixed sign and is divided by what its whole numbers have in common, and its column of the next
    layer takes what was divided out; equal rows are one unit. Units that nothing reads go.
    """
    tables = list(layers.tables)
    widths = None
    while widths != (widths := [len(table.numbers) for table in tables]):
        tables = _without_idle(tables)
        for k, activation in enumerate(layers.activations):
            tables[k], tables[k + 1] = _layer(tables[k], tables[k + 1], activation)
    names = tuple((a.name, a.parameters) for a in layers.activations)
    return names, tuple(tuple(_keys(table)) for table in tables)


def _without_idle(tables: list[Dyadic]) -> list[Dyadic]:
    """Without the units whose outgoing weights are all 0, from the outputs back."""
    kept = tables[:]
    for k in range(len(kept) - 2, -1, -1):
        out = kept[k + 1]
        used = out.numbers[:, :-1].astype(bool).any(axis=0)
        kept[k] = Dyadic(kept[k].numbers[used], kept[k].shift)
        kept[k + 1] = Dyadic(out.numbers[:, np.append(used, True)], out.shift)
    return kept


def _layer(table: Dyadic, after: Dyadic, activation: Activation) -> tuple[Dyadic, Dyadic]:
    """One layer in its form, and the next one with columns and biases to match."""
    symmetry, rows = symmetry_of(activation), table.numbers
    columns = Dyadic(after.numbers[:, :-1], after.shift)
    bias = Dyadic(after.numbers[:, -1:], after.shift)
    if activation.name in PIECES:
        fixed = ~rows[:, :-1].astype(bool).any(axis=1)
        if fixed.any():
            pieces = PIECES[activation.name](*activation.parameters)
            values = activated(Dyadic(rows[fixed, -1:], table.shift), pieces)
            bias = bias + Dyadic(columns.numbers[:, fixed], columns.shift) @ values
            rows, columns = rows[~fixed], Dyadic(columns.numbers[:, ~fixed], columns.shift)
    if symmetry.flip is not None and len(rows):
        signs = np.array([_sign(row) for row in rows.tolist()], object)
        turned, factor = signs < 0, int(symmetry.flip.factor)
        rows, numbers = rows * signs[:, None], columns.numbers.copy()
        numbers[:, turned] *= factor
        left = numbers[:, turned].sum(axis=1, keepdims=True) * int(symmetry.flip.shift)
        if turned.any():
            bias = bias + Dyadic(-left, columns.shift)
        columns = Dyadic(numbers, columns.shift)
    shift = table.shift
    if symmetry.scales and len(rows):
        divisors = np.array([math.gcd(*row) or 1 for row in rows.tolist()], object)
        rows, shift = rows // divisors[:, None], 0
        columns = Dyadic(columns.numbers * divisors, columns.shift + table.shift)
    rows, columns = _merged(Dyadic(rows, shift), columns)
    return rows, _beside(columns, bias)


def _merged(rows: Dyadic, columns: Dyadic) -> tuple[Dyadic, Dyadic]:
    """Equal rows once, in order, with the sum of their columns."""
    of: dict[tuple, list[int]] = {}
    for i, key in enumerate(_keys(rows)):
        of.setdefault(key, []).append(i)
    groups = [of[key] for key in sorted(of)]
    first = np.array([group[0] for group in groups], int)
    joint = np.zeros((len(columns.numbers), len(groups)), int).astype(object)
    for i, group in enumerate(groups):
        joint[:, i] = columns.numbers[:, group].sum(axis=1)
    return Dyadic(rows.numbers[first], rows.shift), Dyadic(joint, columns.shift)


def _beside(columns: Dyadic, bias: Dyadic) -> Dyadic:
    """[columns | bias]."""
    shift = max(columns.shift, bias.shift)
    parts = [x.numbers * 2 ** (shift - x.shift) for x in (columns, bias)]
    return Dyadic(np.concatenate(parts, axis=1), shift)


def _sign(row: list[int]) -> int:
    """The sign of the first number that is not 0."""
    return next((1 if v > 0 else -1 for v in row if v), 1)


def _keys(table: Dyadic) -> list[tuple]:
    return [Dyadic(row, table.shift).key() for row in table.numbers]
