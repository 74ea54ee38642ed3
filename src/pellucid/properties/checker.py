"""The only place that calls a property proved: it computes every bound again, with its rounding.

Nothing here is shared with the search. Bounds are those of lines around every activation, carried
back from the outputs to the inputs; every sum of floating-point numbers is followed by a bound on
what its rounding may have done (Higham 2002, section 3.1), and all of that is subtracted. An input
that breaks a property is evaluated in rational numbers.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .._shapes import Array, Float64, Int

PROOF_FORMAT, PROOF_VERSION = "pellucid property proof", 1
PROOF_FIELDS = ("format", "version", "status", "network", "cases", "evidence", "seal")
UNIT = 2.0**-53
TINY = 1e-300
"""More than underflow can take from any product here."""
BATCH = 64
MOST_PRODUCTS = 50_000_000
"""Products of rational numbers for which a point is evaluated exactly."""
BENDS = {"identity": (), "relu": (0.0,), "leaky_relu": (0.0,), "prelu": (0.0,), "abs": (0.0,)}


@dataclass(frozen=True)
class ProofCheck:
    """The answer: whether the proof was accepted, and why not."""

    accepted: bool
    reason: str
    n_leaves: int = 0


class _Refused(Exception):
    pass


class _Layer(NamedTuple):
    W: Float64[Array, "d_out d_in"]
    b: Float64[Array, " d_out"]
    name: str
    parameters: tuple[float, ...]


def check_proof(document: Mapping[str, Any], network: Any) -> ProofCheck:
    """Accept or refuse a proof for a network with `weights`, `biases` and activations."""
    try:
        layers = _layers(network)
        cases = _read(document, network)
        if document["status"] == "violated":
            _check_point(layers, cases, document["evidence"])
            return ProofCheck(True, "accepted")
        with np.errstate(all="ignore"):  # what overflows is no number, and refused as a bound
            n_leaves = _check_boxes(layers, cases, document["evidence"])
        return ProofCheck(True, "accepted", n_leaves)
    except _Refused as refusal:
        return ProofCheck(False, str(refusal))
    except Exception as error:  # whatever is strange is refused
        return ProofCheck(False, f"the proof cannot be read ({type(error).__name__}: {error})")


def seal_of(document: Mapping[str, Any]) -> str:
    """SHA-256 of everything in the document but the seal itself."""
    rest = {name: value for name, value in document.items() if name != "seal"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def network_digest(network: Any) -> str:
    """SHA-256 of the parameters in float64, and of the activations."""
    digest = hashlib.sha256()
    for W, b, name, parameters in _layers(network):
        digest.update(json.dumps([list(W.shape), name, list(parameters)]).encode())
        digest.update(np.ascontiguousarray(W, "<f8").tobytes())
        digest.update(np.ascontiguousarray(b, "<f8").tobytes())
    return digest.hexdigest()


# ---- reading


def _layers(network: Any) -> list[_Layer]:
    found = []
    sigmas = [*network.activations, network.output_activation]
    for W, b, sigma in zip(network.weights, network.biases, sigmas, strict=True):
        layer = _Layer(
            np.array(W, np.float64), np.array(b, np.float64), sigma.name, tuple(sigma.parameters)
        )
        if sigma.name not in (*BENDS, "hardtanh"):
            raise _Refused(f"the activation {sigma.name} is unknown here")
        parts = layer.W, layer.b, np.array(layer.parameters, np.float64)
        if not all(np.isfinite(part).all() for part in parts):
            raise _Refused("a parameter of the network is not finite")
        d_in = len(found[-1].b) if found else layer.W.shape[-1]
        if layer.b.ndim != 1 or layer.W.shape != (len(layer.b), d_in):
            raise _Refused("the layers of the network do not fit together")
        found.append(layer)
    return found


Case = tuple[Array, Array, Array, Array]


def _read(document: Mapping[str, Any], network: Any) -> list[Case]:
    if set(document) != set(PROOF_FIELDS):
        raise _Refused("the document does not have the fields of a proof")
    if document["format"] != PROOF_FORMAT or type(document["version"]) is not int:
        raise _Refused("this is no proof of a property")
    if document["version"] != PROOF_VERSION:
        raise _Refused("the proof is of an unknown version")
    if seal_of(document) != document["seal"]:
        raise _Refused("the proof was changed after it was written: its seal is broken")
    if document["status"] not in ("holds", "violated"):
        raise _Refused("the proof claims neither that the property holds nor that it is violated")
    if document["network"] != network_digest(network):
        raise _Refused("the proof is about another network")
    layers = _layers(network)
    d_in, d_out = layers[0].W.shape[1], layers[-1].W.shape[0]
    cases = [_case(case, d_in, d_out) for case in document["cases"]]
    if not cases:
        raise _Refused("the proof has no case")
    return cases


def _case(case: Any, d_in: int, d_out: int) -> Case:
    if type(case) is not dict or set(case) != {"low", "high", "A", "b"}:
        raise _Refused("a case of the proof does not have the right fields")
    low, high, b = (_numbers(case[name]) for name in ("low", "high", "b"))
    A = np.stack([_numbers(row) for row in case["A"]])
    if low.shape != (d_in,) or high.shape != (d_in,) or A.shape != (len(b), d_out) or not len(b):
        raise _Refused("a case of the proof does not have the sizes of the network")
    if not all(np.isfinite(part).all() for part in (low, high, A, b)) or (low > high).any():
        raise _Refused("a case of the proof has no box of finite numbers")
    return low, high, A, b


def _numbers(values: Any) -> Float64[Array, " n"]:
    """A list of floating-point numbers as it stands there: nothing is converted."""
    if type(values) is not list or any(type(value) is not float for value in values):
        raise _Refused("the proof has something else where floating-point numbers should be")
    return np.array(values, np.float64)


# ---- a point, in rational numbers


def _check_point(layers: Sequence[_Layer], cases: Sequence[Case], evidence: Any) -> None:
    if type(evidence) is not dict or set(evidence) != {"input"}:
        raise _Refused("the evidence does not have the fields of a point")
    x = _numbers(evidence["input"])
    if x.shape != (layers[0].W.shape[1],) or not np.isfinite(x).all():
        raise _Refused("the point does not have the inputs of the network")
    if sum(layer.W.size for layer in layers) > MOST_PRODUCTS:
        raise _Refused("the network is too large for rational numbers")
    inside = [case for case in cases if ((case[0] <= x) & (x <= case[1])).all()]
    if not inside:
        raise _Refused("the point lies in no box of the property")
    y = _exact_outputs(layers, x)
    for _, _, A, b in inside:
        misses = (_dot(row, y) - Fraction(float(c)) for row, c in zip(A, b, strict=True))
        if all(miss <= 0 for miss in misses):
            return
    raise _Refused("the outputs at the point break no case")


def _exact_outputs(layers: Sequence[_Layer], x: Array) -> list[Fraction]:
    h = [Fraction(float(v)) for v in x]
    for W, b, name, parameters in layers:
        z = [_dot(row, h) + Fraction(float(c)) for row, c in zip(W, b, strict=True)]
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


# ---- boxes


def _check_boxes(layers: Sequence[_Layer], cases: Sequence[Case], evidence: Any) -> int:
    """Every case is excluded on every leaf of the halvings of its box; the number of leaves."""
    if type(evidence) is not dict or set(evidence) != {"boxes"}:
        raise _Refused("the evidence does not have the fields of boxes")
    seen: list[int] = []
    n_leaves = 0
    for part in evidence["boxes"]:
        if type(part) is not dict or set(part) != {"cases", "splits"}:
            raise _Refused("a box of the evidence does not have the right fields")
        numbers = part["cases"]
        if not numbers or any(type(i) is not int or not 0 <= i < len(cases) for i in numbers):
            raise _Refused("a box of the evidence names no case of the property")
        group = [cases[i] for i in numbers]
        low, high = group[0][:2]
        if any((c[0] != low).any() or (c[1] != high).any() for c in group):
            raise _Refused("cases of one box of the evidence have different boxes")
        seen += numbers
        splits = np.frombuffer(base64.b64decode(part["splits"], validate=True), "<i4")
        n_leaves += _check_tree(layers, group, splits)
    if sorted(seen) != list(range(len(cases))):
        raise _Refused("the evidence does not treat every case once")
    return n_leaves


def _check_tree(layers: Sequence[_Layer], group: Sequence[Case], splits: Array) -> int:
    """Every leaf of the halvings excludes all cases; the number of leaves.

    `splits` has every node before its children, the lower half first. What is known of a box holds
    on its halves, too.
    """
    second = _second_children(splits.tolist())
    if splits.min() < -1 or splits.max() >= len(group[0][0]):
        raise _Refused("a box is halved along an input that does not exist")
    waiting = [_Boxes(np.zeros(1, np.int64), group[0][0][None], group[0][1][None], ())]
    n_leaves = 0
    while waiting:
        boxes = _next(waiting)
        around = _ranges(layers, boxes.low, boxes.high, boxes.known)
        boxes = boxes._replace(known=tuple(lines.z for lines in around))
        leaf = splits[boxes.node] == -1
        if leaf.any():
            n_leaves += int(leaf.sum())
            if not _excluded(layers, group, [lines.of(leaf) for lines in around], boxes.of(leaf)):
                raise _Refused("on a box of the evidence the property is not shown to hold")
        if not leaf.all():
            inner = boxes.of(~leaf)
            waiting.append(_halved(inner, splits[inner.node], second[inner.node]))
    return n_leaves


def _second_children(splits: list[int]) -> Array:
    """Of every node that is halved, where its upper half stands; the lower one follows the node."""
    second = np.zeros(len(splits), np.int64)
    waiting = [-1]  # nodes whose upper half is still to come, and the root
    for i, along in enumerate(splits):
        if (i and splits[i - 1] == -1) or not i:
            if not waiting:
                raise _Refused("the halvings of a box go on after their end")
            parent = waiting.pop()
            if parent >= 0:
                second[parent] = i
        if along != -1:
            waiting.append(i)
    if waiting:
        raise _Refused("the halvings of a box end too early")
    return second


Known = tuple[tuple[Array, Array], ...]


class _Boxes(NamedTuple):
    """Nodes of the halvings with their ends, and ranges of pre-activations that hold on them."""

    node: Int[Array, " n"]
    low: Float64[Array, "n d_in"]
    high: Float64[Array, "n d_in"]
    known: Known

    def of(self, which: Any) -> "_Boxes":
        """Some of them."""
        known = tuple((low[which], high[which]) for low, high in self.known)
        return _Boxes(self.node[which], self.low[which], self.high[which], known)

    @staticmethod
    def together(parts: "Sequence[_Boxes]") -> "_Boxes":
        """All of them, one after the other."""
        known = tuple(
            (np.concatenate([low for low, _ in layer]), np.concatenate([high for _, high in layer]))
            for layer in zip(*(part.known for part in parts), strict=True)
        )
        node, low, high = (np.concatenate([part[i] for part in parts]) for i in range(3))
        return _Boxes(node, low, high, known)


def _next(waiting: list[_Boxes]) -> _Boxes:
    """Boxes that came last, as many as are bounded together; they leave the list."""
    parts = [waiting.pop()]
    while waiting and sum(len(part.node) for part in parts) < BATCH:
        parts.append(waiting.pop())
    boxes = _Boxes.together(parts)
    if len(boxes.node) > BATCH:
        waiting.append(boxes.of(slice(BATCH, None)))
        boxes = boxes.of(slice(BATCH))
    return boxes


def _halved(boxes: _Boxes, along: Array, second: Array) -> _Boxes:
    """Both halves of every box."""
    each = np.arange(len(along))
    low, high = boxes.low[each, along], boxes.high[each, along]
    middle = low + (high - low) / 2
    if not ((low <= middle) & (middle <= high)).all():
        raise _Refused("a box is halved outside of itself")
    lower_high, upper_low = boxes.high.copy(), boxes.low.copy()
    lower_high[each, along] = upper_low[each, along] = middle
    lower = boxes._replace(node=boxes.node + 1, high=lower_high)
    return _Boxes.together([lower, boxes._replace(node=second, low=upper_low)])


def _excluded(
    layers: Sequence[_Layer], group: Sequence[Case], around: "Sequence[_Around]", boxes: _Boxes
) -> bool:
    """Whether on every box each case has a condition that no input fulfils."""
    low, high = boxes.low, boxes.high
    A, b = np.concatenate([c[2] for c in group]), np.concatenate([c[3] for c in group])
    bounds = _lower_bounds(layers, around, low, high, A, b)
    bounds = np.fmax(bounds, _by_intervals(layers, low, high, A, b))
    if not np.isfinite(bounds).all():
        raise _Refused("the bounds cannot be computed safely")
    start = 0
    for case in group:
        rows = bounds[:, start : start + len(case[3])]
        if not (rows > 0).any(axis=1).all():
            return False
        start += len(case[3])
    return True


def _by_intervals(
    layers: Sequence[_Layer], low: Array, high: Array, A: Array, b: Array
) -> Float64[Array, "n rows"]:
    """What A y - b is at least on every box by intervals, whatever the rounding."""
    for layer in layers:
        z_low = _least_sum(layer.W, layer.b, low, high)
        z_high = -_least_sum(-layer.W, -layer.b, low, high)
        low, high = _range(layer, z_low, np.maximum(z_low, z_high))
    return _least_sum(A, -b, low, high)


def _least_sum(W: Array, b: Array, low: Array, high: Array) -> Array:
    """The least W h + b of every row for low <= h <= high."""
    positive, negative = np.maximum(W, 0.0), np.minimum(W, 0.0)
    value = low @ positive.T + high @ negative.T + b
    size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(W).T + np.abs(b)
    return value - 2 * (_gamma(2 * W.shape[1] + 4) * size + TINY)


def _range(layer: _Layer, low: Array, high: Array) -> tuple[Array, Array]:
    """The least and largest values of the activation on [low, high]."""
    points = [low, high, *(np.clip(k, low, high) for k in _bends(layer))]
    values = np.stack([_value(layer, z) for z in points])
    slack = 4 * UNIT * np.abs(values).max(axis=0) + TINY
    return values.min(axis=0) - slack, values.max(axis=0) + slack


class _Around(NamedTuple):
    """Lines above and below the activations of a layer, and how large z and h are at most."""

    above: Array
    above_offset: Array
    below: Array
    below_offset: Array
    most_z: Array
    most_h: Array
    z: tuple[Array, Array]

    def of(self, which: Array) -> "_Around":
        """Those on some of the boxes."""
        z = self.z[0][which], self.z[1][which]
        above, above_offset, below, below_offset, z_size, h_size = (p[which] for p in self[:6])
        return _Around(above, above_offset, below, below_offset, z_size, h_size, z)


def _ranges(layers: Sequence[_Layer], low: Array, high: Array, known: Known) -> "list[_Around]":
    """Lines around the activations of every layer on every box, whatever the rounding.

    `known` are ranges that hold there: only units that may bend in them are bounded anew.
    """
    around: list[_Around] = []
    for k, layer in enumerate(layers):
        shape = len(low), len(layer.b)
        z_low, z_high = known[k] if known else (np.full(shape, -np.inf), np.full(shape, np.inf))
        z_low, z_high = z_low.copy(), z_high.copy()
        unit = np.flatnonzero(_may_bend(layer, z_low, z_high).any(axis=0) | (not known))
        rows = np.concatenate([layer.W[unit], -layer.W[unit]])
        constants = np.concatenate([layer.b[unit], -layer.b[unit]])
        affine = _Affine.of(rows, constants, len(low))
        found = _finish(affine, layers, around, k, low, high)
        z_low[:, unit] = np.maximum(z_low[:, unit], found[:, : len(unit)])
        z_high[:, unit] = np.minimum(z_high[:, unit], -found[:, len(unit) :])
        around.append(_lines(layer, z_low, z_high))
    return around


def _may_bend(layer: _Layer, low: Array, high: Array) -> Array:
    return np.any([(low < k) & (k < high) for k in _bends(layer)] or [low > high], axis=0)


def _lower_bounds(
    layers: Sequence[_Layer],
    around: "Sequence[_Around]",
    low: Array,
    high: Array,
    A: Array,
    b: Array,
) -> Float64[Array, "n rows"]:
    """What A y - b is at least on every box, whatever the rounding."""
    end = _Affine.of(A, -b, len(low)).through(around[-1])
    last = len(layers) - 1
    end = end.before(layers[-1], _sizes(around, last, low, high))
    return _finish(end, layers, around, last, low, high)


def _sizes(around: "Sequence[_Around]", k: int, low: Array, high: Array) -> Array:
    """How large the inputs of layer k are at most."""
    return around[k - 1].most_h if k else np.maximum(np.abs(low), np.abs(high))


def _finish(
    affine: "_Affine",
    layers: Sequence[_Layer],
    around: "Sequence[_Around]",
    k: int,
    low: Array,
    high: Array,
) -> Array:
    """Lower bounds of an affine function of the inputs of layer k."""
    for j in range(k - 1, -1, -1):
        affine = affine.through(around[j]).before(layers[j], _sizes(around, j, low, high))
    return affine.least(low, high)


@dataclass(frozen=True)
class _Affine:
    """rows h + constant - lost: a lower bound in exact arithmetic, for every box."""

    rows: Float64[Array, "n m width"]
    constant: Float64[Array, "n m"]
    lost: Float64[Array, "n m"]

    @staticmethod
    def of(rows: Array, constant: Array, n: int) -> "_Affine":
        m = len(rows)
        shape = (n, *rows.shape)
        return _Affine(
            np.broadcast_to(rows, shape), np.broadcast_to(constant, (n, m)), np.zeros((n, m))
        )

    def through(self, lines: _Around) -> "_Affine":
        """From the values of activations to their pre-activations."""
        positive, negative = np.maximum(self.rows, 0.0), np.minimum(self.rows, 0.0)
        constant = (
            self.constant
            + _apply(positive, lines.below_offset)
            + _apply(negative, lines.above_offset)
        )
        size = _apply(positive, np.abs(lines.below_offset))
        size = size - _apply(negative, np.abs(lines.above_offset))
        lost = self.lost + _gamma(2 * self.rows.shape[-1] + 3) * (size + np.abs(self.constant))
        below = positive * lines.below[:, None]
        above = negative * lines.above[:, None]
        products = _apply(np.abs(below) + np.abs(above), lines.most_z)
        lost = lost + 2 * UNIT * products + _vanished(lines.most_z)
        return _Affine(below + above, constant, lost)

    def before(self, layer: _Layer, most_h: Array) -> "_Affine":
        """From the pre-activations of a layer to what enters it, of which `most_h` is the size."""
        n, m, width = self.rows.shape
        flat = np.ascontiguousarray(self.rows).reshape(n * m, width)
        rows = (flat @ layer.W).reshape(n, m, layer.W.shape[1])
        constant = self.constant + (flat @ layer.b).reshape(n, m)
        sizes = most_h @ np.abs(layer.W).T + np.abs(layer.b) + TINY
        size = _apply(np.abs(self.rows), sizes) + np.abs(self.constant)
        lost = self.lost + _gamma(width + 4) * size + _vanished(most_h)
        return _Affine(rows, constant, lost)

    def least(self, low: Array, high: Array) -> Array:
        """The least value on the boxes, in exact arithmetic."""
        positive, negative = np.maximum(self.rows, 0.0), np.minimum(self.rows, 0.0)
        value = self.constant + _apply(positive, low) + _apply(negative, high)
        size = _apply(positive, np.abs(low)) - _apply(negative, np.abs(high))
        size = size + np.abs(self.constant)
        # the bounds of the rounding are themselves rounded, by far less than their double
        return value - 2 * (self.lost + _gamma(2 * low.shape[1] + 4) * size + TINY)


def _apply(rows: Float64[Array, "n m width"], values: Float64[Array, "n width"]) -> Array:
    return np.matmul(rows, values[:, :, None])[..., 0]


def _vanished(sizes: Float64[Array, "n width"]) -> Float64[Array, "n 1"]:
    """More than underflow can take from a sum of such numbers by what it takes from their factors.

    A factor that vanishes is small, but not its product with a number of 1e300.
    """
    return TINY * (1 + sizes.sum(axis=1, keepdims=True))


def _gamma(n: int) -> float:
    """What n roundings may change a sum of products by, relative to the sum of their sizes."""
    return n * UNIT / (1 - n * UNIT)


# ---- activations


def _value(layer: _Layer, z: Array) -> Array:
    if layer.name == "hardtanh":
        least, most = layer.parameters
        return np.clip(z, least, most)
    if layer.name == "identity":
        return z
    slope = {"relu": 0.0, "abs": -1.0}.get(layer.name, (*layer.parameters, 0.0)[0])
    return np.where(z >= 0, z, slope * z)


def _bends(layer: _Layer) -> tuple[float, ...]:
    return layer.parameters if layer.name == "hardtanh" else BENDS[layer.name]


def _lines(layer: _Layer, low: Array, high: Array) -> _Around:
    """Slopes are chosen freely; offsets make the lines right at all ends and bends between them."""
    high = np.maximum(low, high)
    bends = [np.clip(k, low, high) for k in _bends(layer)]
    points = [low, *bends, high]
    values = [_value(layer, z) for z in points]
    above, below = _slopes(points, values)
    tops = [value - above * z for z, value in zip(points, values, strict=True)]
    bottoms = [value - below * z for z, value in zip(points, values, strict=True)]
    pairs = list(zip(points, values, strict=True))
    sizes = [np.abs(value) + (np.abs(above) + np.abs(below)) * np.abs(z) for z, value in pairs]
    slack = 8 * UNIT * np.max(sizes, axis=0) + TINY
    most_z = np.maximum(np.abs(low), np.abs(high))
    most_h = np.max([np.abs(value) for value in values], axis=0) * (1 + 4 * UNIT) + TINY
    return _Around(
        above,
        np.max(tops, axis=0) + slack,
        below,
        np.min(bottoms, axis=0) - slack,
        most_z,
        most_h,
        (low, high),
    )


def _slopes(points: list[Array], values: list[Array]) -> tuple[Array, Array]:
    """Slopes of an upper and a lower line; for one bend the chord and the longer side's piece."""
    low, high = points[0], points[-1]
    if len(points) == 2:
        chord = _rise(low, high, values[0], values[-1])
        return chord, chord
    if len(points) == 3:
        left = _rise(points[0], points[1], values[0], values[1])
        right = _rise(points[1], points[2], values[1], values[2])
        left = np.where(points[1] > low, left, right)
        right = np.where(high > points[1], right, left)
        chord = _rise(low, high, values[0], values[2])
        longer = np.where(high - points[1] > points[1] - low, right, left)
        convex = left <= right
        return np.where(convex, chord, longer), np.where(convex, longer, chord)
    above = _rise(points[0], points[2], values[0], values[2])
    below = _rise(points[1], points[3], values[1], values[3])
    return above, below


def _rise(a: Array, b: Array, at_a: Array, at_b: Array) -> Array:
    apart = b > a
    return np.where(apart, (at_b - at_a) / np.where(apart, b - a, 1.0), 0.0)
