"""Which steps `watch` looks at: every one where steps are long, every k-th where they are short."""

import math
from itertools import pairwise
from statistics import median
from time import perf_counter_ns

TIMED = 6
"""Steps that are timed, the first ones. Every one of them is looked at."""
LONG = 5_000_000
"""Nanoseconds of a step from which on every step is looked at."""
SHARE = 0.004
"""Of the loop's time, what the looks may take, if `MOST` allows."""
MOST = 8
"""Steps from one look to the next, at most."""
now = perf_counter_ns


class Pace:
    """Times the first steps of a loop, then tells `every`: the steps from one look to the next.

    What is trained and measured does not depend on it, only how narrow a range of steps is.
    """

    def __init__(self):
        self.every = 1
        self.is_chosen = False
        self._starts: list[int] = []
        self._looks: list[int] = []

    def note(self, start: int, looks: int) -> None:
        """One step was looked at so many times, the last time from `start` until now."""
        self._looks.append((now() - start) * looks)
        self._starts.append(start)
        if len(self._looks) > TIMED:
            step = median(b - a for a, b in pairwise(self._starts))
            self.every = every(step, median(self._looks))
            self.is_chosen = True


def every(step: float, look: float) -> int:
    """Steps from one look to the next, for the nanoseconds of a step and of its look."""
    if step >= LONG:
        return 1
    return min(MOST, max(1, math.ceil(look / (SHARE * step))))
