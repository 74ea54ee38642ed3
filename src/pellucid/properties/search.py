"""`check_property`: look for an input that breaks a property, or for boxes on which none can."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._errors import InvalidInput, UnsupportedLayer
from .._shapes import Array, Float64, Int
from ..network import AffineGraph, Network
from .checker import check_proof
from .proof import proof_of_boxes, proof_of_witness
from .property import Property
from .relaxation import LinearBounds, Ranges, interval_bounds, linear_bounds

BATCH, ENTRIES = 64, 1 << 22
"""How many boxes are bounded together, and how many numbers may stand in one array for that."""
STARTS, BEST, DESCENT = 10_000, 500, 60
"""Random inputs that are tried first, and of how many so many steps are made downhill."""
MOST_WAITING = 300
"""Lists of boxes beyond which only the last are taken: memory."""
FEW_STEPS = 5
"""The same from the middle of a box that is halved."""
FIRST_STEP, SHRINK = 0.1, 0.9
"""The length of a first step, as a share of the box, and what each later one has of it."""
INFLUENCE = 0.5
"""How much the largest change of the outputs counts beside that of the bound."""
SMALLEST = 1e-7
"""What a bound must exceed, relative to the largest number of its condition: rounding is less."""

UNCHECKED = "a proof that was not checked in time"

Progress = Callable[[str, float], object]


@dataclass(frozen=True, eq=False)
class PropertyResult:
    """What is known of a property.

    `status` is "holds" (the checker has accepted the proof), "violated" (`witness` breaks it, in
    exact arithmetic) or "undecided". `how` says what decided: a point, intervals, linear
    relaxation, or splitting; or "a proof that was not checked in time". `n_boxes` were bounded, in
    `seconds`. `proof` is the document that
    `check_proof` reads.
    """

    status: str
    how: str
    n_boxes: int
    seconds: float
    witness: Float64[Array, " d_in"] | None = None
    output: Float64[Array, " d_out"] | None = None
    proof: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"PropertyResult({self.status}, by {self.how}, {self.n_boxes:,} boxes)"


def check_property(
    network: Network | AffineGraph,
    property: Property,
    *,
    budget: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> PropertyResult:
    """Whether a piecewise linear network has a property on all inputs of its boxes.

    Points are tried first, then intervals, then linear relaxation, and then the boxes are halved
    along the input that moves the bound most.

    Parameters
    ----------
    network
        With piecewise linear activations. A graph is carried through a chain on the boxes.
    property
        What must not happen, such as `read_vnnlib` gives it.
    budget
        Seconds after which the answer is "undecided", with the check of a proof among them.
    seed
        Of the random inputs.
    progress
        Called with the stage and the share of the volume that is decided.

    Returns
    -------
    PropertyResult
        "holds" and "violated" are the checker's words, which shares no code with the search.

    Raises
    ------
    InvalidInput
        Where the numbers of inputs or outputs are not those of the property.
    UnsupportedLayer
        For an activation that is not piecewise linear.

    Ctrl-C gives what is known by then.
    """
    if not budget > 0:
        raise InvalidInput(f"budget is {budget:g}; it needs seconds above 0.")
    chain = _chain(network, property)
    end = time.monotonic() + budget
    search = _Search(chain, network, property, end, progress or (lambda *_: None))
    start = time.monotonic()
    with np.errstate(all="ignore"):  # what overflows is no bound above 0, so shows nothing
        try:
            found = search.point(seed) or search.proof()
        except KeyboardInterrupt:
            found = None
        status, how, point, document = found or ("undecided", "splitting", None, None)
        output = None if point is None else chain(point)
    seconds = time.monotonic() - start
    return PropertyResult(status, how, search.n_boxes, seconds, point, output, document)


def _chain(network: Network | AffineGraph, property: Property) -> Network:
    """The network as a chain of layers in float64, checked."""
    if (network.d_in, network.d_out) != (property.d_in, property.d_out):
        raise InvalidInput(
            f"the property is about {property.d_in} inputs and {property.d_out} outputs, and the "
            f"network has {network.d_in} and {network.d_out}; they must agree."
        )
    if isinstance(network, AffineGraph):
        low = np.min([case.low for case in property.cases], axis=0)
        high = np.max([case.high for case in property.cases], axis=0)
        network = network.to_network(low, high)
    for i, layer in enumerate(network.layers):
        if not layer.activation.is_piecewise_linear:
            raise UnsupportedLayer(
                f"layer {i} has the activation {layer.activation}; properties are checked of "
                "networks that are piecewise linear (relu, leaky_relu, prelu, abs, hardtanh)."
            )
    if not np.isfinite(network.parameters()).all():
        raise InvalidInput("a weight or bias is not finite; such a network has no properties.")
    return network.astype("float64")


Found = tuple[str, str, Array | None, dict[str, Any] | None]


@dataclass
class _Group:
    """Cases of one box: rows of all conditions, and which rows belong to which case."""

    low: Float64[Array, " d_in"]
    high: Float64[Array, " d_in"]
    A: Float64[Array, "rows d_out"]
    b: Float64[Array, " rows"]
    starts: list[int]
    cases: list[int]

    def is_safe(self, bounds: Float64[Array, "n rows"], least: Array) -> Array:
        """Where each case has a row whose bound is above 0."""
        shown = np.logical_or.reduceat(bounds > least, self.starts, axis=1)
        return np.asarray(shown.all(axis=1))

    def slack(self, values: Float64[Array, "n rows"]) -> Float64[Array, " n"]:
        """The least over the cases of the largest row: below 0 where some case is possible."""
        return np.maximum.reduceat(values, self.starts, axis=1).min(axis=1)

    def broken(self, outputs: Float64[Array, "n d_out"]) -> Array:
        """Where all rows of some case hold."""
        holds = np.logical_and.reduceat(outputs @ self.A.T <= self.b, self.starts, axis=1)
        return np.asarray(holds.any(axis=1))


def _groups(property: Property) -> list[_Group]:
    boxes: dict[bytes, list[int]] = {}
    for i, case in enumerate(property.cases):
        boxes.setdefault(case.low.tobytes() + case.high.tobytes(), []).append(i)
    return [_group(property, numbers) for numbers in boxes.values()]


def _group(property: Property, numbers: list[int]) -> _Group:
    cases = [property.cases[i] for i in numbers]
    starts = np.cumsum([0, *(len(case.b) for case in cases[:-1])]).tolist()
    A, b = np.concatenate([c.A for c in cases]), np.concatenate([c.b for c in cases])
    return _Group(cases[0].low, cases[0].high, A, b, starts, numbers)


@dataclass
class _Tree:
    """How a box was halved: `split[i]` is the input, -1 at a leaf; children stand side by side."""

    split: list[int] = field(default_factory=lambda: [-1])
    first: list[int] = field(default_factory=lambda: [0])

    def halve(self, i: int, dimension: int) -> int:
        """Split a leaf; the number of its first child."""
        child = len(self.split)
        self.split[i], self.first[i] = dimension, child
        self.split += [-1, -1]
        self.first += [0, 0]
        return child

    def in_order(self) -> list[int]:
        """Every node before its children, the lower half first."""
        found, waiting = [], [0]
        while waiting:
            i = waiting.pop()
            found.append(self.split[i])
            if self.split[i] >= 0:
                waiting += [self.first[i] + 1, self.first[i]]
        return found


class _Search:
    def __init__(
        self,
        network: Network,
        given: Network | AffineGraph,
        property: Property,
        end: float,
        report: Progress,
    ):
        self.network, self.given, self.property = network, given, property
        self.end, self.report = end, report
        self.n_boxes = 0
        self.groups = _groups(property)

    def left(self) -> float:
        """Seconds that are left."""
        return self.end - time.monotonic()

    # ---- points

    def point(self, seed: int) -> Found | None:
        """A random input, or one downhill from it, that breaks the property.

        Half of them lie on faces of the box, where networks are often extreme.
        """
        rng = np.random.default_rng(seed)
        for group in self.groups:
            share = _shares(rng, len(group.low))
            x = np.clip(group.low * (1 - share) + group.high * share, group.low, group.high)
            found = self.broken(group, x) or self._downhill(group, x, group.low, group.high, BEST)
            if found is not None:
                return found
        return None

    def _downhill(self, group: _Group, x: Array, low: Array, high: Array, n: int) -> Found | None:
        """Steps of shrinking length from the n best points that lower the largest miss of a case.

        The points stay between `low` and `high`, which are for all or for each of them.
        """
        steps = DESCENT if n == BEST else FEW_STEPS
        low, high = np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape)
        ends = [*group.starts[1:], len(group.b)]
        for start, end in zip(group.starts, ends, strict=True):
            A, b = group.A[start:end], group.b[start:end]
            misses = (self.network(x) @ A.T - b).max(axis=1)
            best = np.argsort(misses, kind="stable")[:n]
            at, least, most = x[best], low[best], high[best]
            for step in range(steps):
                if time.monotonic() > self.end:
                    return None
                slopes = self._slopes(at, A, b)
                at = at - np.sign(slopes) * (most - least) * FIRST_STEP * SHRINK**step
                at = np.clip(at, least, most)
                found = self.broken(group, at)
                if found is not None:
                    return found
        return None

    def _slopes(self, x: Array, A: Array, b: Array) -> Float64[Array, "n d_in"]:
        """The gradient of the row of A y - b that is missed most."""
        passed = self.network.forward(x)
        slope = A[(passed.outputs @ A.T - b).argmax(axis=1)]
        for layer, z in zip(reversed(self.network.layers), reversed(passed.z), strict=True):
            slope = (slope * layer.activation.derivative(z)) @ layer.W
        return slope

    def broken(self, group: _Group, points: Array) -> Found | None:
        """The first of the points that breaks a case, where the checker agrees."""
        for i in np.flatnonzero(group.broken(self.network(points)))[:3]:
            document = proof_of_witness(self.network, self.property, points[i])
            if check_proof(document, self.given, self.left()).accepted:
                return "violated", "a point", points[i], document
        return None

    # ---- boxes

    def proof(self) -> Found | None:
        """Boxes on which no case happens, accepted by the checker; or a point that comes up."""
        trees, how = [], "intervals"
        for number, group in enumerate(self.groups):
            tree = _Tree()
            trees.append(tree)
            if self._by_intervals(group):
                continue
            halved = self._halve(group, tree, number)
            if not isinstance(halved, bool):
                return halved
            if not halved:
                return None
            if how != "splitting":
                how = "splitting" if len(tree.split) > 1 else "linear relaxation"
        parts = [(g.cases, t.in_order()) for g, t in zip(self.groups, trees, strict=True)]
        document = proof_of_boxes(self.network, self.property, parts)
        self.report("checking the proof", 1.0)
        answer = check_proof(document, self.given, self.left())
        if answer.accepted:
            return "holds", how, None, document
        return ("undecided", UNCHECKED, None, None) if answer.is_out_of_time else None

    def _by_intervals(self, group: _Group) -> bool:
        self.n_boxes += 1
        low, high = interval_bounds(self.network, group.low[None], group.high[None])
        positive = np.maximum(group.A, 0.0)
        bounds = low @ positive.T + high @ (group.A - positive).T - group.b
        return bool(group.is_safe(bounds, self._least(group)).all())

    def _least(self, group: _Group) -> Array:
        return SMALLEST * np.maximum(np.abs(group.A).max(axis=1), np.abs(group.b))

    def _halve(self, group: _Group, tree: _Tree, number: int) -> Found | bool:
        """Whether all boxes were shown to be safe in time."""
        whole = group.low[None], group.high[None], np.zeros(1, np.int64), np.zeros(1)
        waiting = [_Boxes(*whole, None)]
        n_rounds = 0
        least = self._least(group)
        widest = max(self.network.widths)
        most = max(1, min(BATCH, ENTRIES // (2 * widest * widest)))
        decided = 0.0
        while waiting:
            if time.monotonic() > self.end:
                return False
            n_rounds += 1
            boxes = _next(waiting, most, n_rounds % 2 == 0)
            found = linear_bounds(
                self.network, boxes.low, boxes.high, group.A, group.b, boxes.ranges
            )
            self.n_boxes += len(boxes.low)
            safe = group.is_safe(found.least, least)
            decided += float((0.5 ** boxes.depth[safe]).sum())
            self.report("splitting", (number + decided) / len(self.groups))
            if safe.all():
                continue
            slack = group.slack(found.least)
            open_ = np.flatnonzero(~safe)[np.argsort(-slack[~safe], kind="stable")]
            boxes = replace(boxes, ranges=found.ranges, slack=float(slack.min())).kept(open_)
            slopes = _worst(group, found, least)[open_]
            broken = self._point_in(group, boxes, slopes)
            if broken is not None:
                return broken
            halves = _halves(boxes, _moves(boxes, slopes, found.influence[open_]), tree)
            if halves is None:
                return False
            waiting.append(halves)
        return True

    def _point_in(self, group: _Group, boxes: "_Boxes", slopes: Array) -> Found | None:
        """A point of the boxes: a corner where a bound is lowest, or downhill from the middle."""
        corners = np.where(slopes > 0, boxes.low, boxes.high)
        middles = boxes.low + (boxes.high - boxes.low) / 2
        return self.broken(group, corners) or self._downhill(
            group, middles, boxes.low, boxes.high, len(middles)
        )


def _shares(rng: np.random.Generator, d_in: int) -> Float64[Array, "n d_in"]:
    """Random points of the unit box: the first half inside, the others on faces and corners."""
    inside = rng.random((STARTS, d_in))
    side = rng.integers(0, 3, (STARTS, d_in))  # low, high, or anywhere between
    side[: STARTS // 2] = 2
    return np.where(side == 2, inside, side)


@dataclass(frozen=True)
class _Boxes:
    """Boxes that wait: their ends, their leaves in the tree, how deep they are, known ranges.

    `slack` is the lowest of the bounds of what they are halves of.
    """

    low: Float64[Array, "n d_in"]
    high: Float64[Array, "n d_in"]
    node: Int[Array, " n"]
    depth: Float64[Array, " n"]
    ranges: Ranges | None
    slack: float = 0.0

    def kept(self, which: Any) -> "_Boxes":
        """Some of them."""
        ranges = self.ranges and tuple((a[which], b[which]) for a, b in self.ranges)
        low, high, node, depth = (a[which] for a in (self.low, self.high, self.node, self.depth))
        return _Boxes(low, high, node, depth, ranges, self.slack)


def _next(waiting: list[_Boxes], most: int, by_slack: bool) -> _Boxes:
    """Boxes that are bounded together, at most so many; they leave the list.

    Those that came last, so that few wait; or those whose bound is lowest, where a point that
    breaks the property may lie.
    """
    if by_slack and len(waiting) < MOST_WAITING:
        waiting.append(waiting.pop(min(range(len(waiting)), key=lambda i: waiting[i].slack)))
    found = [waiting.pop()]
    while waiting and sum(len(boxes.node) for boxes in found) < most:
        found.insert(0, waiting.pop())
    boxes = found[0] if len(found) == 1 else _joined(found)
    if len(boxes.node) > most:
        waiting.append(boxes.kept(slice(None, -most)))
        boxes = boxes.kept(slice(-most, None))
    return boxes


def _joined(parts: Sequence[_Boxes]) -> _Boxes:
    columns = zip(*((b.low, b.high, b.node, b.depth) for b in parts), strict=True)
    layers = zip(*(b.ranges or () for b in parts), strict=True)
    ranges = tuple(
        (np.concatenate([low for low, _ in layer]), np.concatenate([high for _, high in layer]))
        for layer in layers
    )
    low, high, node, depth = (np.concatenate(column) for column in columns)
    return _Boxes(low, high, node, depth, ranges, min(b.slack for b in parts))


def _worst(group: _Group, found: LinearBounds, least: Array) -> Float64[Array, "n d_in"]:
    """The slopes of the row that is nearest to ruling out the first case that is open."""
    best = np.full(len(found.least), -1)
    ends = [*group.starts[1:], len(group.b)]
    for start, end in zip(group.starts, ends, strict=True):
        part = found.least[:, start:end]
        is_open = (part <= least[start:end]).all(axis=1)
        best = np.where((best < 0) & is_open, start + part.argmax(axis=1), best)
    return found.slopes[np.arange(len(best)), np.maximum(best, 0)]


def _moves(boxes: _Boxes, slopes: Array, influence: Array) -> Float64[Array, "n d_in"]:
    """How much the bound moves along each input; and a little of what the outputs may move.

    The bound alone may be level along an input that keeps units unclear.
    """
    moves = np.abs(slopes) * (boxes.high - boxes.low)
    largest = influence * (boxes.high - boxes.low)
    share = largest / np.maximum(largest.sum(axis=1, keepdims=True), 1e-300)
    return moves + INFLUENCE * share * moves.sum(axis=1, keepdims=True)


def _halves(boxes: _Boxes, moves: Array, tree: _Tree) -> _Boxes | None:
    """Both halves of every box along the input that moves it most; None at a point."""
    low, high = boxes.low, boxes.high
    each = np.arange(len(low))
    along = np.where(moves.max(axis=1) > 0, moves.argmax(axis=1), (high - low).argmax(axis=1))
    a, b = low[each, along], high[each, along]
    middle = a + (b - a) / 2
    if ((middle <= a) | (middle >= b)).any():
        return None
    pairs = zip(boxes.node.tolist(), along.tolist(), strict=True)
    first = np.array([tree.halve(node, dimension) for node, dimension in pairs])
    left_high, right_low = high.copy(), low.copy()
    left_high[each, along] = right_low[each, along] = middle
    left = replace(boxes, high=left_high, node=first, depth=boxes.depth + 1)
    right = replace(boxes, low=right_low, node=first + 1, depth=boxes.depth + 1)
    return _joined([left, right]).kept(np.stack([each, each + len(each)], axis=1).ravel())
