"""The outcomes as tables in Markdown."""

from collections.abc import Mapping

import numpy as np

from .claims import BALANCED, Claim, Tables, error, error_difference, mean_log_loss
from .measure import Outcome
from .metrics import brier, calibration, r2

SHORT = {"Pellucid fast": "fast", "Pellucid balanced": "balanced", "Pellucid best": "best"}


def text_of(tables: Tables, programs: list[str], claims: list[Claim]) -> str:
    """Everything: scores of labels and of numbers, times, differences, and what was asked."""
    labels = {name: of for name, of in tables.items() if next(iter(of.values())).labels}
    numbers = {name: of for name, of in tables.items() if name not in labels}
    parts = []
    if labels:
        parts += [
            "accuracy % / log-loss / ECE % (its expectation if perfectly calibrated) / Brier:"
        ]
        parts += [_grid(labels, programs, _label_scores)]
    if numbers:
        parts += ["RMSE / R2:", _grid(numbers, programs, _number_scores)]
    parts += ["processor seconds of a fold, fitting and predicting:"]
    parts += [_grid(tables, programs, lambda outcome: f"{outcome.seconds.mean():.3g}")]
    parts += [f"{BALANCED} less each other program, in points of error or in RMSE [95 % interval]:"]
    parts += [_differences(tables, programs)]
    asked = ["| asked | measured | met |", "|---|---|---|", *map(str, claims)]
    return "\n\n".join([*parts, "\n".join(asked)])


def _grid(tables: Tables, programs: list[str], cell) -> str:
    used = [p for p in programs if any(p in of for of in tables.values())]
    lines = [
        f"| table (rows, folds) | {' | '.join(SHORT.get(p, p) for p in used)} |",
        "|---" * (len(used) + 1) + "|",
    ]
    for name, of in tables.items():
        first = next(iter(of.values()))
        cells = [cell(of[p]) if p in of else "" for p in used]
        lines.append(f"| {name} ({len(first.y)}, {len(first.seconds)}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def _label_scores(outcome: Outcome) -> str:
    measured, ideal = calibration(outcome.predicted, outcome.y)
    return (
        f"{100 * (1 - error(outcome)):.1f} / {mean_log_loss(outcome):.3f} / "
        f"{100 * measured:.1f} ({100 * ideal.mean():.1f}) / "
        f"{brier(outcome.predicted, outcome.y).mean():.3f}"
    )


def _number_scores(outcome: Outcome) -> str:
    squared = (outcome.predicted - outcome.y) ** 2
    return f"{error(outcome):.4g} / {r2(squared, outcome.y):.3f}"


def _differences(tables: Tables, programs: list[str]) -> str:
    others = [p for p in programs if p != BALANCED]
    lines = [
        f"| table | {' | '.join(SHORT.get(p, p) for p in others)} |",
        "|---" * (len(others) + 1) + "|",
    ]
    for name, of in tables.items():
        if BALANCED in of:
            cells = [_difference(of, other) if other in of else "" for other in others]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _difference(of: Mapping[str, Outcome], other: str) -> str:
    gap = error_difference(of[BALANCED], of[other])
    points = np.array([gap.value, gap.low, gap.high]) * (100 if of[other].labels else 1)
    text = f"{points[0]:+.3g} [{points[1]:+.3g}, {points[2]:+.3g}]"
    return f"**{text}**" if gap.verdict == "ours" else text
