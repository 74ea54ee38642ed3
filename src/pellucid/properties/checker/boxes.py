"""The halvings of the boxes: they cover them, and on every part each case is excluded."""

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._shapes import Array, Float64, Int
from .bounds import Around, Known, by_intervals, lower_bounds, ranges_of
from .document import Case, Layer, Refused
from .stopping import Clock

BATCH, ENTRIES = 64, 1 << 22
"""How many boxes are bounded together, and how many numbers may stand in one array for that."""


def check_boxes(layers: Sequence[Layer], cases: Sequence[Case], evidence: Any, clock: Clock) -> int:
    """Every case is excluded on every leaf of the halvings of its box; the number of leaves."""
    if type(evidence) is not dict or set(evidence) != {"boxes"}:
        raise Refused("the evidence does not have the fields of boxes")
    seen: list[int] = []
    n_leaves = 0
    for part in evidence["boxes"]:
        if type(part) is not dict or set(part) != {"cases", "splits"}:
            raise Refused("a box of the evidence does not have the right fields")
        numbers = part["cases"]
        if not numbers or any(type(i) is not int or not 0 <= i < len(cases) for i in numbers):
            raise Refused("a box of the evidence names no case of the property")
        group = [cases[i] for i in numbers]
        low, high = group[0][:2]
        if any((c[0] != low).any() or (c[1] != high).any() for c in group):
            raise Refused("cases of one box of the evidence have different boxes")
        seen += numbers
        splits = np.frombuffer(base64.b64decode(part["splits"], validate=True), "<i4")
        n_leaves += _check_tree(layers, group, splits, clock)
    if sorted(seen) != list(range(len(cases))):
        raise Refused("the evidence does not treat every case once")
    return n_leaves


def _check_tree(layers: Sequence[Layer], group: Sequence[Case], splits: Array, clock: Clock) -> int:
    """Every leaf of the halvings excludes all cases; the number of leaves.

    `splits` has every node before its children, the lower half first. What is known of a box holds
    on its halves, too.
    """
    second = _second_children(splits.tolist())
    if splits.min() < -1 or splits.max() >= len(group[0][0]):
        raise Refused("a box is halved along an input that does not exist")
    waiting = [_Boxes(np.zeros(1, np.int64), group[0][0][None], group[0][1][None], ())]
    widest = max(max(layer.W.shape) for layer in layers)
    most = max(1, min(BATCH, ENTRIES // (2 * widest * widest)))
    n_leaves = 0
    while waiting:
        clock.ask()
        boxes = _next(waiting, most)
        around = ranges_of(layers, boxes.low, boxes.high, boxes.known)
        boxes = boxes._replace(known=tuple(lines.z for lines in around))
        leaf = splits[boxes.node] == -1
        if leaf.any():
            n_leaves += int(leaf.sum())
            if not _excluded(layers, group, [lines.of(leaf) for lines in around], boxes.of(leaf)):
                raise Refused("on a box of the evidence the property is not shown to hold")
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
                raise Refused("the halvings of a box go on after their end")
            parent = waiting.pop()
            if parent >= 0:
                second[parent] = i
        if along != -1:
            waiting.append(i)
    if waiting:
        raise Refused("the halvings of a box end too early")
    return second


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


def _next(waiting: list[_Boxes], most: int) -> _Boxes:
    """Boxes that came last, at most so many; they leave the list."""
    parts = [waiting.pop()]
    while waiting and sum(len(part.node) for part in parts) < most:
        parts.append(waiting.pop())
    boxes = _Boxes.together(parts)
    if len(boxes.node) > most:
        waiting.append(boxes.of(slice(most, None)))
        boxes = boxes.of(slice(most))
    return boxes


def _halved(boxes: _Boxes, along: Array, second: Array) -> _Boxes:
    """Both halves of every box."""
    each = np.arange(len(along))
    low, high = boxes.low[each, along], boxes.high[each, along]
    middle = low + (high - low) / 2
    if not ((low <= middle) & (middle <= high)).all():
        raise Refused("a box is halved outside of itself")
    lower_high, upper_low = boxes.high.copy(), boxes.low.copy()
    lower_high[each, along] = upper_low[each, along] = middle
    lower = boxes._replace(node=boxes.node + 1, high=lower_high)
    return _Boxes.together([lower, boxes._replace(node=second, low=upper_low)])


def _excluded(
    layers: Sequence[Layer], group: Sequence[Case], around: "Sequence[Around]", boxes: _Boxes
) -> bool:
    """Whether on every box each case has a condition that no input fulfils."""
    low, high = boxes.low, boxes.high
    A, b = np.concatenate([c[2] for c in group]), np.concatenate([c[3] for c in group])
    bounds = lower_bounds(layers, around, low, high, A, b)
    bounds = np.fmax(bounds, by_intervals(layers, low, high, A, b))
    if not np.isfinite(bounds).all():
        raise Refused("the bounds cannot be computed safely")
    start = 0
    for case in group:
        rows = bounds[:, start : start + len(case[3])]
        if not (rows > 0).any(axis=1).all():
            return False
        start += len(case[3])
    return True
