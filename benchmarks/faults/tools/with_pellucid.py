"""Pellucid itself: no mapping, its verdicts are the kinds."""

import csv
import inspect
import io
from typing import Any

import numpy as np

from ..case import KINDS, UNDECIDED, Case
from ..tool import Answer

TARGET = "y"


def diagnose(case: Case, budget: float, threads: int) -> Answer:
    """A recipe as settings, code as functions."""
    import pellucid
    from pellucid.datasets import as_table

    settings: dict[str, Any] = {"seed": case.seed, "budget": budget, "threads": threads}
    data: tuple[Any, ...]
    if case.recipe is not None:
        settings |= vars(case.recipe)
        data = (as_table(case.X, case.y, task=case.task, target_name=TARGET),)
    else:
        if "model_fn" not in inspect.signature(pellucid.diagnose).parameters:
            return Answer((UNDECIDED,), said=("takes no code",))
        settings |= {"model_fn": case.model_fn, "loss": case.loss, "train_fn": case.train_fn}
        data = (case.X, case.y)
    verdict = pellucid.diagnose(*data, **settings)
    return Answer(
        kinds=(verdict.kind, *_other_causes(verdict)),
        proved=verdict.certainty == "proved",
        certificate=getattr(verdict, "certificate", None),
        table=_as_csv(case) if case.y.ndim == 1 else None,
        said=(verdict.sentence, *(s.text for s in verdict.statements)),
        more={"stage": verdict.stage, "certainty": verdict.certainty},
    )


def _other_causes(verdict: Any) -> tuple[str, ...]:
    causes = [c.kind for c in getattr(verdict, "causes", ()) if c.kind in KINDS]
    return tuple(kind for kind in dict.fromkeys(causes) if kind != verdict.kind)


def _as_csv(case: Case) -> str:
    """The rows with every digit, for `pellucid verify`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"x{j + 1}" for j in range(case.X.shape[1])), TARGET])
    for x, y in zip(np.asarray(case.X, dtype=float), case.y, strict=True):
        writer.writerow([*(repr(float(v)) for v in x), repr(y.item())])
    return text.getvalue()
