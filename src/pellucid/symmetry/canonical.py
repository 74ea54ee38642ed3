"""One network for all the parameters that order, scale, sign and idle units make of it."""

from functools import cmp_to_key, partial
from typing import SupportsFloat

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..network import Activation, Network
from ..regions import Box, Space
from .on_domain import fold_fixed
from .table import Flip, symmetry_of
from .transforms import Editable, checked_network

#: entries of rows of length 1 that differ by less are taken as equal
TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


def canonical_form(
    network: Network, domain: Box | Space | None = None, *, tolerance: float | None = None
) -> Network:
    """A network of the same function in which nothing is left to choose but rounding.

    Layer by layer from the input: units with w = 0 go into the next bias; incoming weights and
    bias get the length 1, and the outgoing weights take what was divided out (activations with
    sigma(c z) = c sigma(z)); the first number of a row becomes positive (activations with a flip);
    units are sorted by their rows; equal rows become one unit. Units whose outgoing weights are 0
    go, from the outputs back, and hidden layers with the identity are multiplied into the next. A
    function in which no unit is left comes out as a linear model.

    With a `Box` the function is kept on it only (piecewise-linear activations): units that are
    constant there go into the next bias, and those that are affine there (always active) are
    replaced by as few as their joint affine part needs, in reduced echelon form, shifted so that
    they are active. Units that are dead or always active are found from the regions of the layers
    up to theirs, exactly, and by interval bounds where there are more than 20,000 regions.

    Rows are equal, or in order, where they differ by more than `tolerance` (1e-10, for float32
    1e-5), relative to their size. The form is unique under order, scale, sign, copies and idle
    units. Other networks may be the same function and have another form: `equivalent` decides.
    """
    checked_network(network)
    if domain is not None and not isinstance(domain, Box | Space):
        raise InvalidInput(
            f"the domain is a {type(domain).__name__}; a canonical form needs a Box, or None."
        )
    if domain is not None and domain.d_in != network.d_in:
        raise InvalidInput(
            f"the network takes {network.d_in} inputs and the domain has {domain.d_in}; they must "
            "agree."
        )
    near = TOLERANCE[network.dtype] if tolerance is None else tolerance
    if not isinstance(near, SupportsFloat) or not 0 <= float(near) < 1:
        raise InvalidInput(f"tolerance is {near!r:.40}; it must be at least 0 and below 1.")
    form, widths = Editable.of(network), None
    _without_identity(form)
    while widths != (widths := [len(b) for b in form.b]):
        _without_idle(form)
        for k, activation in enumerate(form.activations):
            _fold_constants(form, k, activation)
            if isinstance(domain, Box):
                fold_fixed(form, k, domain)
            _normalise(form, k, activation)
            _sort_and_merge(form, k, near)
    return _finished(form)


def _without_identity(form: Editable) -> None:
    for k in reversed(range(len(form.activations))):
        if form.activations[k].name == "identity":
            W, b = form.W[k], form.b[k]
            form.b[k : k + 2] = [form.W[k + 1] @ b + form.b[k + 1]]
            form.W[k : k + 2] = [form.W[k + 1] @ W]
            del form.activations[k]


def _without_idle(form: Editable) -> None:
    """Without units whose outgoing weights are all 0."""
    for k in reversed(range(len(form.activations))):
        form.order(k, np.flatnonzero(form.W[k + 1].any(axis=0)))


def _fold_constants(form: Editable, k: int, activation: Activation) -> None:
    fixed = ~form.W[k].any(axis=1)
    if fixed.any():
        form.b[k + 1] = form.b[k + 1] + form.W[k + 1][:, fixed] @ activation(form.b[k][fixed])
        form.order(k, np.flatnonzero(~fixed))


def _normalise(form: Editable, k: int, activation: Activation) -> None:
    """Rows [w, b] of length 1, with a positive first number."""
    symmetry = symmetry_of(activation)
    if symmetry.scales and len(form.b[k]):
        rows = np.column_stack([form.W[k], form.b[k]])
        length = _lengths(rows)
        # Rows that have the length 1 to rounding stay, so that a second time changes nothing.
        rounding = (rows.shape[1] + 4) * np.finfo(form.source.dtype).eps
        length[np.abs(length - 1) <= rounding] = 1.0
        form.W[k], form.b[k] = form.W[k] / length[:, None], form.b[k] / length
        form.W[k + 1] = form.W[k + 1] * length
    if isinstance(symmetry.flip, Flip) and len(form.b[k]):
        form.flip(k, _signs(np.column_stack([form.W[k], form.b[k]])))


def _lengths(rows: Array) -> Float64[Array, " n"]:
    """Euclidean lengths, without overflow; powers of two pass unchanged."""
    unit = 2.0 ** (np.frexp(np.abs(rows).max(axis=1))[1] - 1.0)
    return unit * np.sqrt(((rows / unit[:, None]) ** 2).sum(axis=1))


def _signs(rows: Array) -> Float64[Array, " n"]:
    """The sign of each row's first number that is not 0 to rounding."""
    clear = np.abs(rows) > 1e-9 * np.abs(rows).max(axis=1, keepdims=True)
    first = rows[np.arange(len(rows)), clear.argmax(axis=1)]
    return np.where(first < 0, -1.0, 1.0)


def _sort_and_merge(form: Editable, k: int, near: float) -> None:
    rows = np.column_stack([form.W[k], form.b[k]])
    room = near * np.maximum(1.0, np.abs(rows).max(axis=1, initial=0.0))
    compare = partial(_compare, rows.tolist(), room.tolist())
    groups: list[list[int]] = []
    for i in sorted(range(len(rows)), key=cmp_to_key(compare)):
        if groups and compare(groups[-1][0], i) == 0:
            groups[-1].append(i)
        else:
            groups.append([i])
    columns = form.W[k + 1]
    joint = np.zeros((len(columns), len(groups)))
    for i, group in enumerate(groups):
        parts = columns[:, group]
        total = parts.sum(axis=1)
        cancels = np.abs(total) <= near * np.abs(parts).sum(axis=1)
        joint[:, i] = np.where(cancels, 0.0, total) if len(group) > 1 else total
    first = np.array([group[0] for group in groups], int)
    form.W[k], form.b[k], form.W[k + 1] = form.W[k][first], form.b[k][first], joint


def _compare(table: list[list[float]], room: list[float], i: int, j: int) -> int:
    """Which of two rows comes first; 0 where all their numbers are nearer than their room."""
    close = max(room[i], room[j])
    for x, y in zip(table[i], table[j], strict=True):
        if abs(x - y) > close:
            return -1 if x < y else 1
    return 0


def _finished(form: Editable) -> Network:
    """The network, without negative zeros; a linear model where a hidden layer is empty."""
    if any(not len(b) for b in form.b):
        form.W = [np.zeros((len(form.b[-1]), form.source.d_in))]
        form.b, form.activations = form.b[-1:], []
    form.W, form.b = [W + 0.0 for W in form.W], [b + 0.0 for b in form.b]
    return form.network()
