"""Seconds of several programs in turn, and the fastest of several forms of one program."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: a form that takes this many times what the best takes for a moment is not tried for longer
SLOW = 2.0
#: of the steps: to warm up with and to choose by
MOMENT, WHILE = 0.01, 0.1


@dataclass(frozen=True)
class Timed:
    """The median of the repeats, and what the last of them returned."""

    seconds: float
    result: Any


def in_turn(
    programs: Mapping[str, Callable[[bool], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timed]:
    """Time each program; called with True it runs a short part, with False the whole.

    Right before it is timed each program takes its short part untimed: what it was not using for
    seconds, while the others ran, has to come back into memory and caches first.
    """
    times: dict[str, list[float]] = {name: [] for name in programs}
    results: dict[str, Any] = {}
    for _ in range(repeats):
        for name, program in programs.items():
            program(True)
            start = clock()
            results[name] = program(False)
            times[name].append(clock() - start)
    return {name: Timed(statistics.median(times[name]), results[name]) for name in programs}


@dataclass(frozen=True)
class Choice:
    """Names of forms by what they took, the fastest first, and of those left out as slow."""

    seconds: dict[str, float]
    slow: dict[str, float]

    @property
    def best(self) -> str:
        return next(iter(self.seconds))

    def __str__(self) -> str:
        tried = [f"{name} {seconds:.3g} s" for name, seconds in self.seconds.items()]
        least = min(self.slow.values(), default=0.0)
        left_out = f"; at least {least:.2g} times the best for a moment: {', '.join(self.slow)}"
        return "; ".join(tried) + (left_out if self.slow else "")


def fastest(
    forms: Mapping[str, Callable[[float], Any]], clock: Callable[[], float] = time.perf_counter
) -> Choice:
    """Which form is best; each takes the share of the steps that it is called with.

    All of them run for a moment; those that are not slow then take a longer part.
    """
    moment = {}
    for name, form in forms.items():
        (timed,) = in_turn({name: lambda _, f=form: f(MOMENT)}, 1, clock).values()
        moment[name] = timed.seconds
    times = {name: seconds / min(moment.values()) for name, seconds in moment.items()}
    left = [name for name in forms if times[name] <= SLOW]
    parts = {n: (lambda warming, f=forms[n]: f(MOMENT if warming else WHILE)) for n in left}
    seconds = {name: timed.seconds for name, timed in in_turn(parts, 1, clock).items()}
    slow = {name: ratio for name, ratio in times.items() if ratio > SLOW}
    return Choice(dict(sorted(seconds.items(), key=lambda item: item[1])), slow)
