"""From what a tool said to recall, false alarms with their interval, time, and proofs."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .case import KINDS, UNDECIDED
from .runner import Result

Z95 = 1.959963984540054


@dataclass(frozen=True)
class Scored:
    """One case with its truth and how the answer compares.

    `right`: the first kind is true. `named`: any kind is. `alarm`: a healthy network is accused.
    """

    id: str
    truth: tuple[str, ...]
    certificate: str | None
    kinds: tuple[str, ...]
    proved: bool
    verified: bool | None
    outcome: str
    seconds: float
    error: str = ""

    @property
    def main(self) -> str:
        """The first kind, or what became of the case instead."""
        if self.outcome != "answered":
            return self.outcome
        return self.kinds[0] if self.kinds else UNDECIDED

    @property
    def right(self) -> bool:
        """Whether the first kind is true."""
        return self.main in self.truth

    @property
    def named(self) -> bool:
        """Whether any kind is true."""
        return any(kind in self.truth for kind in self.kinds)

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with the network."""
        return self.truth[0] == "fits"

    @property
    def alarm(self) -> bool:
        """Whether a healthy network is accused: any kind that is neither true nor undecided."""
        return self.healthy and any(k not in (*self.truth, UNDECIDED, "fits") for k in self.kinds)

    @property
    def wrongly_proved(self) -> bool:
        """Whether something untrue is called proved; a verified witness shows itself to be true."""
        return self.proved and not self.right and not self.beside

    @property
    def beside(self) -> bool:
        """Whether a verified witness shows a second failure that the truth does not list."""
        witness = self.main == "optimization failure" and self.verified is True
        return self.proved and not self.right and witness


def score(
    results: Sequence[Result],
    facts: Callable[[str], tuple[tuple[str, ...], str | None]],
    verify: Callable[[dict[str, Any]], bool | None],
) -> list[Scored]:
    """Compare every result with the truth; `verify` is asked about what is called proved."""
    scored = []
    for r in results:
        truth, certificate = facts(r.id)
        kinds, proved = tuple(r.answer.get("kinds", ())), bool(r.answer.get("proved"))
        verified = verify(r.answer) if proved else None
        scored.append(
            Scored(r.id, truth, certificate, kinds, proved, verified, r.outcome, r.seconds, r.error)
        )
    return scored


def wilson(hits: int, n: int, z: float = Z95) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927); (0, 1) without observations."""
    if n == 0:
        return 0.0, 1.0
    p, w = hits / n, z * z / n
    centre = (p + w / 2) / (1 + w)
    half = z / (1 + w) * math.sqrt(p * (1 - p) / n + w / (4 * n))
    return centre - half if hits else 0.0, centre + half if hits < n else 1.0


def summary(scored: Sequence[Scored]) -> dict[str, Any]:
    """All figures, as plain values."""
    faults = [s for s in scored if not s.healthy]
    healthy = [s for s in scored if s.healthy]
    alarms = sum(s.alarm for s in healthy)
    listed = [s for s in faults if s.certificate and "capacity failure" in s.truth]
    optimization = [s for s in faults if s.truth[0] == "optimization failure"]
    seconds = sorted(s.seconds for s in scored if s.outcome == "answered") or [math.nan]
    return {
        "n_faults": len(faults),
        "right": _share(sum(s.right for s in faults), len(faults)),
        "named": _share(sum(s.named for s in faults), len(faults)),
        "recall": {
            kind: _share(sum(s.right for s in group), len(group))
            for kind in KINDS
            if (group := [s for s in scored if s.truth[0] == kind])
        },
        "n_healthy": len(healthy),
        "false_alarms": _share(alarms, len(healthy)),
        "undecided_on_healthy": sum(s.main == UNDECIDED for s in healthy),
        "proved": sum(s.proved for s in scored),
        "wrongly_proved": [s.id for s in scored if s.wrongly_proved],
        "proved_beside_the_truth": [s.id for s in scored if s.beside],
        "verified": sum(s.verified is True for s in scored),
        "refused": [s.id for s in scored if s.verified is False],
        "not_verified": sum(s.proved and s.verified is None for s in scored),
        "certificates_listed": _share(sum(s.proved and s.right for s in listed), len(listed)),
        "optimization_proved": _share(
            sum(s.proved and s.right for s in optimization), len(optimization)
        ),
        "seconds_median": seconds[len(seconds) // 2],
        "seconds_largest": seconds[-1],
        "outcomes": dict(Counter(s.outcome for s in scored)),
    }


def _share(hits: int, n: int) -> dict[str, Any]:
    low, high = wilson(hits, n)
    return {"hits": hits, "n": n, "share": hits / n if n else None, "low": low, "high": high}


def confusion(scored: Sequence[Scored]) -> tuple[list[str], dict[str, Counter[str]]]:
    """The answers that occur, and for each main truth how often each was the first one."""
    rows = {kind: Counter(s.main for s in scored if s.truth[0] == kind) for kind in KINDS}
    rows = {kind: counts for kind, counts in rows.items() if counts}
    order = [*KINDS, UNDECIDED, "timeout", "error"]
    return [a for a in order if any(a in counts for counts in rows.values())], rows
