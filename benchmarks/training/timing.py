"""Wall seconds of several programs in turn."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timed:
    """The median of the repeats, and what the last of them returned."""

    seconds: float
    result: Any


def in_turn(programs: Mapping[str, Callable[[bool], Any]], repeats: int) -> dict[str, Timed]:
    """Time each program; called with True it runs a short part, with False the whole.

    Right before it is timed each program takes its short part untimed: what it was not using for
    seconds, while the others ran, has to come back into memory and caches first.
    """
    times: dict[str, list[float]] = {name: [] for name in programs}
    results: dict[str, Any] = {}
    for _ in range(repeats):
        for name, program in programs.items():
            program(True)
            start = time.perf_counter()
            results[name] = program(False)
            times[name].append(time.perf_counter() - start)
    return {name: Timed(statistics.median(times[name]), results[name]) for name in programs}
