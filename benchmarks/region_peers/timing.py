"""Wall seconds of several programs in turn, from microseconds to minutes."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: seconds that one measurement should take at least
SHORTEST = 0.02


@dataclass(frozen=True)
class Timed:
    """The median of the repeats, and what the program returned."""

    seconds: float
    result: Any


def in_turn(
    programs: Mapping[str, Callable[[], Any]], repeats: int, patience: float
) -> dict[str, Timed]:
    """Time the programs, one after the other, so many times.

    Each is run once before, to warm up; one that took longer than `patience` then is not run again.
    Short ones are called as often as it takes. Giving back what they found is not timed.
    """
    results, times, calls = {}, {}, {}
    for name, program in programs.items():
        seconds, results[name] = _once(program)
        times[name] = [seconds] if seconds > patience else []
        calls[name] = max(1, int(SHORTEST / seconds))
    for _ in range(repeats):
        for name, program in programs.items():
            if times[name][:1] > [patience]:
                continue
            taken = [_once(program)[0] for _ in range(calls[name])]
            times[name].append(statistics.fmean(taken))
    return {name: Timed(statistics.median(times[name]), results[name]) for name in programs}


def _once(program: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = program()
    return time.perf_counter() - start, result
