"""The tables in Markdown."""

import argparse
from collections.abc import Sequence
from typing import Any

from .catalogue import source_of
from .scoring import Scored, confusion, summary, wilson

SOURCES = ("rebuilt", "healthy", "planted")


def _percent(part: dict[str, Any]) -> str:
    if not part["n"]:
        return "-"
    low, high = 100 * part["low"], 100 * part["high"]
    return f"{part['hits']} of {part['n']}: {100 * part['share']:.1f} % ({low:.1f} to {high:.1f})"


def markdown(scored: Sequence[Scored], options: argparse.Namespace) -> str:
    """Figures, recall by kind, the confusion table, and the rebuilt cases one by one."""
    figures = summary(scored)
    asked = f"`{options.tool}`, {options.part} part, budget {options.budget:g} s"
    lines = [
        f"{asked}, {len(scored)} cases, {options.jobs} at once, {options.threads} thread(s) each. "
        "Intervals are Wilson's at 95 %.",
        "",
        "| figure | value |",
        "|---|---|",
        f"| faults, right class | {_percent(figures['right'])} |",
        f"| faults, right class named at all | {_percent(figures['named'])} |",
        f"| false alarms on healthy networks | {_percent(figures['false_alarms'])} |",
        f"| undecided on healthy networks | {figures['undecided_on_healthy']} |",
        f"| called proved, wrongly | {figures['proved']}, {len(figures['wrongly_proved'])} |",
        f"| proved and verified, refused, not verifiable | {figures['verified']}, "
        f"{len(figures['refused'])}, {figures['not_verified']} |",
        f"| capacity faults with a listed certificate, proved | "
        f"{_percent(figures['certificates_listed'])} |",
        f"| optimization faults with a witness | {_percent(figures['optimization_proved'])} |",
        f"| seconds, median and largest | {figures['seconds_median']:.1f}, "
        f"{figures['seconds_largest']:.1f} |",
        "",
        *_recall(figures),
        "",
        *_by_source(scored),
        "",
        *_confusion(scored),
    ]
    for name in ("wrongly_proved", "proved_beside_the_truth", "refused"):
        if figures[name]:
            lines += ["", f"{name.replace('_', ' ')}: {', '.join(figures[name])}"]
    return "\n".join([*lines, *_one_by_one(scored)])


def _recall(figures: dict[str, Any]) -> list[str]:
    rows = [f"| {kind} | {_percent(part)} |" for kind, part in figures["recall"].items()]
    return ["| truth | right class |", "|---|---|", *rows]


def _by_source(scored: Sequence[Scored]) -> list[str]:
    lines = ["| source | faults, right class | healthy, false alarms |", "|---|---|---|"]
    for source in SOURCES:
        group = [s for s in scored if source_of(s.id) == source]
        faults, healthy = [s for s in group if not s.healthy], [s for s in group if s.healthy]
        right = _part([s.right for s in faults])
        lines.append(
            f"| {source} | {_percent(right)} | {_percent(_part([s.alarm for s in healthy]))} |"
        )
    return lines


def _part(hits: Sequence[bool]) -> dict[str, Any]:
    low, high = wilson(sum(hits), len(hits))
    share = sum(hits) / len(hits) if hits else None
    return {"hits": sum(hits), "n": len(hits), "share": share, "low": low, "high": high}


def _confusion(scored: Sequence[Scored]) -> list[str]:
    answers, rows = confusion(scored)
    head = f"| truth \\ said | {' | '.join(answers)} |"
    body = [f"| {k} | {' | '.join(str(c[a] or '') for a in answers)} |" for k, c in rows.items()]
    return [head, "|---" * (len(answers) + 1) + "|", *body]


def _one_by_one(scored: Sequence[Scored]) -> list[str]:
    cases = [s for s in scored if source_of(s.id) == "rebuilt"]
    if not cases:
        return []
    rows = [
        f"| {s.id} | {' or '.join(s.truth)} | {s.main}{', proved' if s.proved else ''} | "
        f"{'yes' if s.right else '**no**'} | {s.seconds:.1f} |"
        for s in cases
    ]
    return ["", "| public case | truth | said | right | seconds |", "|---|---|---|---|---|", *rows]
