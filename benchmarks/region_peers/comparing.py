"""One network: the counts of all programs are compared, then their times are taken in turn."""

from collections.abc import Callable, Mapping
from functools import partial

from . import ours, peers
from .rows import Part, Row
from .timing import Timed, in_turn, once
from .works import Work

#: (what is returned, the peer, how many times faster)
Asked = Mapping[tuple[str, str], float]


def compare(
    part: Part, work: Work, returned: tuple[str, ...], against: tuple[str, ...], asked: Asked
) -> dict[str, Timed]:
    """Add a row for each thing returned and each peer; the times by name."""
    programs: dict[str, Callable[[], int]] = {
        name: partial(ours.RETURNED[name], work) for name in returned
    }
    counts, warm = {"Pellucid": check(part, work)}, {}
    for name in against:
        search = peers.program(name, work)
        if search is None:
            continue
        try:
            warm[name] = once(search)
        except Exception as error:  # another program's own: told, and its row stays unmeasured
            part.said.append(f"{work.name}: {peers.named(name)} raises {_one_line(error)}")
        else:
            programs[name] = search
            counts[peers.named(name)] = warm[name].result
    part.said.append(f"{work.name}: {_told(counts, work.known)}")
    timed = in_turn(programs, part.repeats, part.patience, warm)
    n = counts["Pellucid"]
    for what in returned:
        mine = timed[what].seconds
        for name in against:
            wanted = asked.get((what, name))
            theirs = timed[name].seconds if name in timed else None
            ratio = theirs / mine if theirs else None
            of = {"against": peers.named(name), "theirs": theirs, "asked": wanted}
            part.rows.append(Row(work.name, what, n, mine, measured=ratio, **of))
    return timed


def check(part: Part, work: Work) -> int:
    """Our count, which must be the known one, by every call, and proved."""
    counted, found = ours.regions(work, count_only=True), ours.regions(work)
    n = len(found)
    if not counted.n_activation_regions == n == (work.known or n):
        part.wrong.append(
            f"{work.name}: {counted.n_activation_regions} counted and {n} returned, known "
            f"{work.known}"
        )
    if not (counted.certified and found.certified and counted.complete and found.complete):
        part.wrong.append(f"{work.name}: not certified")
    return n


def _told(counts: dict[str, int], known: int | None) -> str:
    numbers = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    known_too = f", known {known:,}" if known else ""
    differ = len({*counts.values(), known or counts["Pellucid"]}) > 1
    return f"{'**counts differ**' if differ else 'counts agree'}: {numbers}{known_too}"


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
