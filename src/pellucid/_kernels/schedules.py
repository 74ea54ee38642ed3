"""Learning-rate schedules: the twin of ``isa/schedules.hpp``, one pure function for each.

``s`` is whatever holds the settings (a job, or `training.Settings`), ``rate`` the learning rate to
start from, ``t`` counts the steps after the warm-up, and ``T`` is their number.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def half_cosine(start: float, end: float, share: float) -> float:
    """From ``start`` to ``end`` along half a period of the cosine, as ``share`` goes to 1."""
    return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


def constant(s: Any, rate: float, t: int, T: int) -> float:
    """The rate as it is."""
    return rate


def step(s: Any, rate: float, t: int, T: int) -> float:
    """Multiply by gamma every ``step_size`` steps (torch's StepLR)."""
    return rate * s.gamma ** (t // s.step_size)


def cosine(s: Any, rate: float, t: int, T: int) -> float:
    """Fall to ``eta_min`` along half a cosine (torch's CosineAnnealingLR with T_max = T)."""
    return half_cosine(rate, s.eta_min, t / T)


def one_cycle(s: Any, rate: float, t: int, T: int) -> float:
    """Rise to the rate, then fall far below it (torch's OneCycleLR without the momentum)."""
    first = rate / s.div_factor
    last = first / s.final_div_factor
    peak = s.pct_start * T - 1
    left = T - 1 - peak
    if peak > 0 and t <= peak:
        return half_cosine(first, rate, t / peak)
    return half_cosine(rate, last, (t - peak) / left if left > 0 else 1.0)


def plateau(s: Any, rate: float, t: int, T: int) -> float:
    """The rate as the plateaus so far have left it (`Plateau`)."""
    return rate


@dataclass
class Plateau:
    """torch's ReduceLROnPlateau (mode min, relative threshold, no cooldown).

    The one schedule that looks at what is recorded.
    """

    rate: float
    lowest: float = math.inf
    waited: int = 0

    def look(self, s: Any, loss: float) -> None:
        """Note one recorded loss, and lower the rate if too many were no lower than the lowest."""
        self.waited += 1
        if loss < self.lowest * (1 - 1e-4):
            self.lowest, self.waited = loss, 0
        if self.waited <= s.plateau_patience:
            return
        self.waited = 0
        lower = max(self.rate * s.gamma, s.eta_min)
        if self.rate - lower > 1e-8:
            self.rate = lower


SCHEDULES: dict[str, Callable[[Any, float, int, int], float]] = {
    "constant": constant,
    "step": step,
    "cosine": cosine,
    "one_cycle": one_cycle,
    "plateau": plateau,
}


def learning_rate(s: Any, step: int, rate: float | None = None) -> float:
    """The rate of one step; the first ``warmup`` steps rise linearly to the schedule's first.

    ``rate``: where a plateau has brought the setting, which it is by default.
    """
    w, schedule = s.warmup, SCHEDULES[s.schedule]
    T = max(s.steps - w, 1)
    first: float = s.learning_rate if rate is None else rate
    if step >= w:
        return schedule(s, first, step - w, T)
    return schedule(s, first, 0, T) * ((step + 1) / w)
