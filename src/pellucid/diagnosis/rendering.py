"""A verdict as text, as plain values for JSON, and as a table."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from .wording import number, rounded

if TYPE_CHECKING:
    from .verdict import Experiment, Fix, Verdict

SCHEMA = 2
"""The version of what `verdict_dict` returns."""


def verdict_dict(v: "Verdict") -> dict[str, Any]:
    """The verdict in values that JSON can hold; only "timing" differs between equal runs."""
    return {
        "schema": SCHEMA,
        "kind": v.kind,
        "certainty": v.certainty,
        "sentence": v.sentence,
        "statements": [asdict(statement) for statement in v.statements],
        "data": {
            "name": v.data_name,
            "target": v.target_name,
            "task": v.task,
            "classes": None if v.classes is None else list(v.classes),
            "features": list(v.feature_names),
            "notes": list(v.notes),
            "n_training": v.n_training,
            "n_held_out": v.n_held_out,
            "held_out_rows": np.flatnonzero(v.held_out).tolist(),
        },
        "recipe": plain_value(asdict(v.recipe)),
        "seed": v.seed,
        "n_parameters": v.n_parameters,
        "score": v.score_name,
        "trivial_loss": plain_value(v.trivial_loss),
        "reference_loss": plain_value(v.reference_loss),
        "references": [plain_value(asdict(reference)) for reference in v.references],
        "experiments": [_experiment(experiment) for experiment in v.experiments],
        "unit_health": [asdict(layer) for layer in v.unit_health],
        "fix": None if v.fix is None else plain_value(asdict(v.fix)),
        "witness": None if v.witness is None else plain_value(v.witness.claim),
        "witness_run": None
        if v.witness is None
        else {"name": v.witness.name, "seed": v.witness.seed},
        "alarms": [plain_value(asdict(alarm)) for alarm in v.alarms],
        "floors": [_floor(floor) for floor in v.floors],
        "certificate": plain_value(v.certificate),
        "waterfall": [plain_value(asdict(step)) for step in v.waterfall],
        "causes": [plain_value(asdict(cause)) for cause in v.causes],
        "would_change": list(v.would_change),
        "learning_curve": [plain_value(asdict(point)) for point in v.learning_curve],
        "stage": v.stage,
        "stages": list(v.stages),
        "timing": {"budget": v.budget, "seconds": round(v.seconds, 3)},
    }


def verdict_frame(v: "Verdict") -> Any:
    """One row per experiment and seed, as a polars DataFrame."""
    import polars as pl

    rows = [
        {
            "experiment": e.name,
            "role": e.role,
            "seed": seed,
            "hidden": ",".join(map(str, e.recipe.hidden)),
            "optimizer": e.recipe.optimizer,
            "learning_rate": e.recipe.learning_rate,
            "steps": e.recipe.steps,
            "weight_decay": e.recipe.weight_decay,
            "standardize": e.recipe.standardize,
            "training_loss": float(e.training_loss[i]),
            "held_out_loss": float(e.held_out_loss[i]),
            "score": float(e.score[i]),
        }
        for e in v.experiments
        for i, seed in enumerate(e.seeds)
    ]
    return pl.DataFrame(rows)


def verdict_text(v: "Verdict") -> str:
    """The verdict, its reasons, the runs and the fix, a line each."""
    lines = [
        f"{v.kind}, {v.certainty}" if v.kind != "undecided" else v.kind,
        v.sentence,
        "",
        *(f"  [{s.certainty}] {s.text}" for s in v.statements),
        "",
        f"  {v.data_name}: {v.n_training} training rows, {v.n_held_out} held out; losses in nats, "
        f"{v.score_name} on held-out rows",
        *_table(v),
    ]
    health = [_health(layer) for layer in v.unit_health]
    lines += [f"  {text}" for text in health if text]
    if v.fix is not None:
        lines.append(_fix(v.fix, v.score_name))
    if v.stage != v.stages[-1]:
        lines.append(f"  stopped after the stage {v.stage!r} (budget {v.budget:g} s)")
    return "\n".join(lines)


def _fix(fix: "Fix", score_name: str) -> str:
    return (
        f"  fix: {fix.change} (seed {fix.seed}): {score_name} {rounded(fix.score_before)} -> "
        f"{rounded(fix.score_after)}, held-out loss {number(fix.loss_before)} -> "
        f"{number(fix.loss_after)}"
    )


def _table(v: "Verdict") -> list[str]:
    rows = [("", "runs", "training", "held out", v.score_name)]
    rows += [
        (r.name, "", f"{number(r.loss)} (CV)", number(r.held_out_loss), rounded(r.held_out_score))
        for r in v.references
    ]
    rows += [_own(v.experiments[0]), *map(_row, v.experiments)]
    width = max(len(row[0]) for row in rows)
    return [
        f"    {name:<{width}}  {runs:>4}  {training:>12}  {held_out:>9}  {score:>8}".rstrip()
        for name, runs, training, held_out, score in rows
    ]


def _own(e: "Experiment") -> tuple[str, str, str, str, str]:
    """The run that the verdict is about."""
    return (
        f"your run (seed {e.seeds[0]})",
        "1",
        number(e.training_loss[0]),
        number(e.held_out_loss[0]),
        rounded(float(e.score[0])),
    )


def _row(e: "Experiment") -> tuple[str, str, str, str, str]:
    """Medians over the seeds."""
    return (
        e.name,
        str(len(e.seeds)),
        number(_median(e.training_loss)),
        number(_median(e.held_out_loss)),
        rounded(_median(e.score)),
    )


def _median(values: Any) -> float:
    return float(np.median(values))


def _health(layer: Any) -> str:
    counts = (("dead", layer.n_dead), ("saturated", layer.n_saturated))
    bad = [f"{n} of {layer.n_units} units {what}" for what, n in counts if n]
    return f"hidden layer {layer.layer}: {', '.join(bad)}" if bad else ""


def plain_value(value: Any) -> Any:
    """Tuples and arrays as lists, numbers of NumPy as Python's, what is not finite as None."""
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _floor(floor: Any) -> dict[str, Any]:
    """A lower bound without its evidence, which is in the certificate."""
    return plain_value({"kind": floor.kind, "value": floor.value, "sentence": floor.sentence})


def _experiment(e: "Experiment") -> dict[str, Any]:
    return {
        "name": e.name,
        "role": e.role,
        "recipe": plain_value(asdict(e.recipe)),
        "seeds": list(e.seeds),
        "training_loss": plain_value(e.training_loss.tolist()),
        "held_out_loss": plain_value(e.held_out_loss.tolist()),
        "score": plain_value(e.score.tolist()),
        "n_diverged": e.n_diverged,
    }
