"""Wall seconds of several programs in turn, from microseconds to minutes."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: seconds that one measurement should take at least
SHORTEST = 0.02
#: seconds below which a program is warmed up anew
SHORT = 1.0


@dataclass(frozen=True)
class Timed:
    """The median of the repeats, and what the program returned."""

    seconds: float
    result: Any


def once(program: Callable[[], Any]) -> Timed:
    """One call; giving back what it found is not timed."""
    start = time.perf_counter()
    result = program()
    return Timed(time.perf_counter() - start, result)


def in_turn(
    programs: Mapping[str, Callable[[], Any]],
    repeats: int,
    patience: float,
    warm: Mapping[str, Timed] | None = None,
) -> dict[str, Timed]:
    """Time the programs, one after the other, so many times.

    Each is run once before, to warm up, if that is not in `warm`; one that took longer than
    `patience` then is not run again. Short ones are called as often as it takes, and for
    longer before each timing: after another program's long run memory and caches are cold.
    """
    first = {name: (warm or {}).get(name) or once(of) for name, of in programs.items()}
    slow = {name for name, timed in first.items() if timed.seconds > patience or not repeats}
    times = {name: [timed.seconds] if name in slow else [] for name, timed in first.items()}
    for _ in range(repeats):
        for name in [name for name in programs if name not in slow]:
            calls = calls_to_warm(programs[name]) if first[name].seconds < SHORT else 1
            taken = [once(programs[name]).seconds for _ in range(calls)]
            times[name].append(statistics.fmean(taken))
    return {name: Timed(statistics.median(times[name]), first[name].result) for name in programs}


def calls_to_warm(program: Callable[[], Any]) -> int:
    """Call it for as long as one measurement takes; the calls that such a time then holds."""
    end = time.perf_counter() + 5 * SHORTEST
    last = once(program).seconds
    while time.perf_counter() < end:
        last = once(program).seconds
    return max(1, int(SHORTEST / last))
