"""An affine graph as a chain: layers that also carry the values which are used further on.

A carried value v passes a layer as h = sigma(a v + c), where a is a power of two and c a power of
two or 0, so chosen that a v + c lies on the piece of sigma with slope 1 for every x of the box.
Then h = a v + c, and whoever reads v takes W v = (W / a) (h - c). The products are exact in
floating point, since they scale by powers of two; the sums of biases are kept exactly as several
numbers, of which the first is the bias and the others are weights of units that are constant.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput, UnsupportedLayer
from .._shapes import Array, Float64
from .activations import Activation
from .graph import MOST_ENTRIES, AffineGraph, Matrix, Node, as_chain, check_dense, dense
from .network import Network

IDENTITY = Activation("identity")


@dataclass(frozen=True)
class Carried:
    """A graph as a chain of layers, and where its own units are.

    `units[l]` has (node, first unit) for every node that layer l computes; all other units of the
    layer carry values.
    """

    network: Network
    units: tuple[tuple[tuple[int, int], ...], ...]


def carried(
    graph: AffineGraph, low: ArrayLike | None = None, high: ArrayLike | None = None
) -> Carried:
    """The graph as a chain, exact on the box; see `AffineGraph.to_network`."""
    check_dense(graph.nodes)
    if graph.is_chain:
        return Carried(as_chain(graph), tuple(((i, 0),) for i in range(len(graph.nodes))))
    box = None if low is None and high is None else _box(graph, low, high)
    builder = _Builder(graph, _bounds(graph, *box) if box is not None else None)
    waiting = dict(enumerate(graph.nodes, start=len(graph.inputs)))
    while not builder.try_to_finish(waiting):
        group = _next_group(waiting, builder.slots)
        builder.add_layer({k: waiting.pop(k) for k in group}, waiting)
    return Carried(builder.network(), tuple(builder.units))


def _box(graph: AffineGraph, low: ArrayLike | None, high: ArrayLike | None) -> tuple[Array, Array]:
    try:
        ends = [np.asarray(end, np.float64) for end in (low, high)]
    except (TypeError, ValueError):
        ends = [np.zeros(0)]
    if any(end.shape != (graph.d_in,) or not np.isfinite(end).all() for end in ends):
        raise InvalidInput(f"low and high must be {graph.d_in} finite numbers each.")
    if (ends[0] > ends[1]).any():
        raise InvalidInput("low is above high in some input.")
    return ends[0], ends[1]


def _next_group(waiting: dict[int, Node], slots: "dict[int, _Slot]") -> list[int]:
    """The nodes of the next layer: those of one activation that have all that they read."""
    groups: dict[Activation, list[int]] = {}
    for k, node in waiting.items():
        if all(j in slots for j in node.sources):
            groups.setdefault(node.activation, []).append(k)
    bent = {sigma: ks for sigma, ks in groups.items() if sigma != IDENTITY}
    return max((bent or groups).values(), key=len)


# ---- how large values get


def _bounds(graph: AffineGraph, low: Array, high: Array) -> list[tuple[float, float]]:
    """A lower and an upper bound of the entries of every value on the box, by intervals."""
    ends = np.cumsum([size for _, size in graph.inputs])[:-1]
    boxes = list(zip(np.split(low, ends), np.split(high, ends), strict=True))
    for node in graph.nodes:
        bias = node.bias.astype(np.float64)
        lowest, highest = bias.copy(), bias.copy()
        for j, W in node.terms:
            W = W.astype(np.float64)
            up = np.maximum(W, 0) if isinstance(W, np.ndarray) else W.maximum(0)
            down = W - up
            lowest += up @ boxes[j][0] + down @ boxes[j][1]
            highest += up @ boxes[j][1] + down @ boxes[j][0]
        boxes.append(_image(node.activation, lowest, highest))
    return [(float(lowest.min()), float(highest.max())) for lowest, highest in boxes]


def _image(sigma: Activation, lowest: Array, highest: Array) -> tuple[Array, Array]:
    """Bounds of the activation of values between the given bounds."""
    if not sigma.is_piecewise_linear:  # all of them lie within this of 0 and z
        slack = 1 + sum(map(abs, sigma.parameters))
        return np.minimum(lowest, 0) - slack, np.maximum(highest, 0) + slack
    kinks = sigma.parameters if sigma.name == "hardtanh" else (0.0,)
    ends = (lowest, highest, *(np.clip(kink, lowest, highest) for kink in kinks))
    values = [sigma(z) for z in ends]
    return np.minimum.reduce(values), np.maximum.reduce(values)


# ---- how a value passes an activation


@dataclass(frozen=True)
class _Slot:
    """Where a value lies in the units of the last layer: units = scale * value + shift."""

    start: int
    size: int
    scale: float = 1.0
    shift: float = 0.0


def _passage(sigma: Activation, bounds: tuple[float, float]) -> tuple[float, float]:
    """(a, c) such that sigma(a v + c) = a v + c for v in the bounds, with room to spare."""
    lowest, highest = bounds
    if sigma == IDENTITY:
        return 1.0, 0.0
    if sigma.name != "hardtanh":  # slope 1 above 0
        return 1.0, _power_above(max(-2 * lowest, highest))
    low, high = sigma.parameters
    centre = 0.0 if low < 0 < high else _power_between(low, high)
    room = min(centre - low, high - centre)
    largest = max(-lowest, highest, 0.0)
    return min(1.0, 1 / _power_above(2 * largest / room)), centre


def _power_above(number: float) -> float:
    """A power of two that is larger than the number, and at least twice as large as 0."""
    if not number > 0:
        return 1.0
    exponent = math.frexp(number)[1]
    if not math.isfinite(number) or not -900 < exponent < 900:
        raise UnsupportedLayer("the values of the graph are too large or small to be carried.")
    return 2.0**exponent


def _power_between(low: float, high: float) -> float:
    """A power of two (or its negative) strictly between two numbers of one sign."""
    sign = -1.0 if high <= 0 else 1.0
    small, large = (low, high) if sign > 0 else (-high, -low)
    for number in ((small + large) / 2, large):
        power = 2.0 ** (math.frexp(number)[1] - 1)  # at most the number
        if small < power < large:
            return sign * power
    raise UnsupportedLayer(
        f"no power of two lies between {low:g} and {high:g}, the bounds of clip."
    )


# ---- the layers


@dataclass
class _Layer:
    """A layer of the chain; constant units may be appended while the next one is made."""

    W: Float64[Array, "width inputs"]
    b: Float64[Array, " width"]
    activation: Activation
    constant: float = 1.0  # value of the constant units
    n_constant: int = 0


@dataclass
class _Builder:
    """The chain as far as it is made, and where the values lie in its last layer."""

    graph: AffineGraph
    bounds: list[tuple[float, float]] | None
    layers: list[_Layer] = field(default_factory=list)
    slots: dict[int, _Slot] = field(default_factory=dict)
    units: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    output_activation: Activation = IDENTITY

    def __post_init__(self):
        start = 0
        for value, (_, size) in enumerate(self.graph.inputs):
            self.slots[value] = _Slot(start, size)
            start += size
        self.width = start

    def try_to_finish(self, waiting: dict[int, Node]) -> bool:
        """Make the output layer, if all that is left are outputs which nobody else reads."""
        outputs = [value for _, value in self.graph.outputs]
        left = [waiting.get(value) for value in outputs]
        sigmas = {node.activation for node in left if node is not None}
        ready = all(j in self.slots for node in waiting.values() for j in node.sources)
        if not ready or not set(waiting) <= set(outputs) or len(sigmas) > 1:
            return False
        sigma = sigmas.pop() if sigmas else IDENTITY
        if sigma != IDENTITY and None in left:
            return False
        rows = [
            ([(value, None)], np.zeros(self.slots[value].size))
            if node is None
            else (list(node.terms), node.bias)
            for value, node in zip(outputs, left, strict=True)
        ]
        self._append(rows, sigma)
        self.output_activation = sigma
        starts = np.cumsum([0, *(len(bias) for _, bias in rows)]).tolist()
        nodes = zip(outputs, starts, strict=False)
        self.units.append(self._nodes((k, start) for k, start in nodes if k in waiting))
        return True

    def _nodes(self, places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Numbers of nodes instead of numbers of values."""
        return tuple((k - len(self.graph.inputs), start) for k, start in places)

    def add_layer(self, nodes: dict[int, Node], waiting: dict[int, Node]) -> None:
        """A layer of these nodes, and of all values that are still to be read."""
        sigma = next(iter(nodes.values())).activation
        needed = {j for node in waiting.values() for j in node.sources}
        needed |= {value for _, value in self.graph.outputs}
        carried = sorted(needed & set(self.slots))
        rows: list[tuple] = [(list(node.terms), node.bias) for node in nodes.values()]
        slots, start = {}, 0
        for k, node in nodes.items():
            slots[k] = _Slot(start, node.width)
            start += node.width
        self.units.append(self._nodes((k, slot.start) for k, slot in slots.items()))
        for value in carried:
            size = self.slots[value].size
            scale, shift = self._passage(sigma, value)
            rows.append(([(value, scale)], np.full(size, shift)))
            slots[value] = _Slot(start, size, scale, shift)
            start += size
        self._append(rows, sigma)
        self.slots, self.width = slots, start

    def _passage(self, sigma: Activation, value: int) -> tuple[float, float]:
        if not sigma.is_piecewise_linear:
            raise UnsupportedLayer(
                f"value {value} of the graph must pass a layer of {sigma}, which bends everywhere; "
                f"only layers with straight pieces carry a value exactly."
            )
        if sigma == IDENTITY:
            return 1.0, 0.0
        if self.bounds is None:
            raise InvalidInput(
                "this graph is no chain, and the layers of a network carry values only within "
                "bounds of the inputs: give low and high, or a Box, Plane or Segment as the domain."
            )
        return _passage(sigma, self.bounds[value])

    def _append(self, rows: list[tuple], sigma: Activation) -> None:
        """One layer whose blocks of rows read values: (terms, bias) each."""
        height = sum(len(bias) for _, bias in rows)
        if height * self.width > MOST_ENTRIES:
            raise UnsupportedLayer(
                f"as a chain, the graph would have a layer of {height:,} x {self.width:,}: too "
                f"large; keep the graph."
            )
        W, start = np.zeros((height, self.width)), 0
        parts: list[list[float]] = []
        for terms, bias in rows:
            block = W[start : start + len(bias)]
            for value, matrix in terms:
                slot = self.slots[value]
                block[:, slot.start : slot.start + slot.size] += _dense(matrix, slot) / slot.scale
            parts += self._biases(block, bias)
            start += len(bias)
        n_constant = max(map(len, parts)) - 1
        constants = self._constants(n_constant)
        b = np.array([part[0] for part in parts])
        more = np.zeros((height, n_constant))
        for i, part in enumerate(parts):
            more[i, : len(part) - 1] = np.array(part[1:]) / (constants or 1.0)
        W = np.hstack([W, more])
        self.layers.append(_Layer(W, b, sigma, _passage(sigma, (0.0, 1.0))[1] or _small(sigma)))

    def _biases(self, block: Array, bias: Array) -> list[list[float]]:
        """For each row the exact bias, sum of a few numbers: b minus W c of the shifts c."""
        shifts = np.zeros(self.width)
        for slot in self.slots.values():
            shifts[slot.start : slot.start + slot.size] = slot.shift
        columns = np.flatnonzero(shifts)
        products = -(block[:, columns] * shifts[columns])  # exact: shifts are powers of two
        return [_expansion([float(b), *row]) for b, row in zip(bias, products, strict=True)]

    def _constants(self, n: int) -> float | None:
        """Append n constant units to the last layer; their value, a power of two."""
        if not n:
            return None
        last = self.layers[-1]
        last.W = np.vstack([last.W, np.zeros((n, last.W.shape[1]))])
        last.b = np.concatenate([last.b, np.full(n, last.constant)])
        return last.constant

    def network(self) -> Network:
        """The chain."""
        return Network(
            [layer.W for layer in self.layers],
            [layer.b for layer in self.layers],
            [layer.activation for layer in self.layers[:-1]],
            self.output_activation,
        )


def _dense(matrix: Matrix | float | None, slot: _Slot) -> Array:
    """The matrix as an array; a number stands for that multiple of the identity."""
    if matrix is None or isinstance(matrix, float | int):
        return np.eye(slot.size) * (1.0 if matrix is None else matrix)
    return dense(matrix).astype(np.float64)


def _small(sigma: Activation) -> float:
    """A power of two above 0 that the activation keeps."""
    if sigma.name != "hardtanh":
        return 1.0
    return 2.0 ** (math.frexp(sigma.parameters[1] / 2)[1] - 1)


def _expansion(numbers: list[float]) -> list[float]:
    """A few numbers with exactly the same sum, the first of them its rounding."""
    parts: list[float] = []
    while True:
        rest = math.fsum([*numbers, *(-part for part in parts)])
        if parts and not rest:
            return parts
        if not math.isfinite(rest):
            raise UnsupportedLayer("the biases of the graph are too large to be added.")
        parts.append(rest)
