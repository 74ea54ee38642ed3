"""Numbers and recipes in words, as they stand in the report and on the terminal."""

import math
from collections.abc import Iterable

import numpy as np

from ..diagnosis.verdict import Recipe, Verdict
from ..diagnosis.wording import number as loss
from ..diagnosis.wording import score_title

__all__ = ["loss", "score_title"]

CERTAINTY_SIGNS = {"proved": "■", "likely": "◐", "undecided": "○"}

MEANING_OF_CERTAINTY = {
    "proved": "Parameters were found and saved that show it; anyone can evaluate them again.",
    "likely": "The experiments that were run agree; others could still contradict them.",
    "undecided": "The experiments that were run do not settle it.",
}

MEANING_OF_KIND = {
    "fits": "The network predicts about as well as the reference models do on rows it never saw.",
    "optimization failure": "The same architecture has better parameters; training did not find "
    "them.",
    "capacity failure": "No run of this architecture came close, and larger networks did.",
    "overfitting": "The network does well on its training rows and worse on rows it never saw.",
    "data limit": "Nothing that was tried, network or not, predicts the target much better.",
    "undecided": "The experiments did not single out one cause.",
}

NEXT_STEP = {
    "fits": "Keep this network. Judge it once more on rows that had no part in this diagnosis "
    "before you rely on it.",
    "optimization failure": "Keep the architecture and change the training: another learning "
    "rate, more steps, several seeds of which the one with the lowest training loss is kept.",
    "capacity failure": "Give the network more hidden units or another layer, then diagnose the "
    "new recipe.",
    "overfitting": "Use more rows, a smaller network, weight decay or fewer steps, and judge each "
    "of them on held-out rows.",
    "data limit": "A larger network will not help. Look for columns that say more about the "
    "target, for more rows, and for errors in the target.",
    "undecided": "Give the diagnosis a larger time budget (--budget), or more rows; what is below "
    "says which experiments are missing.",
}


INTERRUPTED = " (interrupted)"


def score(value: float, name: str) -> str:
    """Return an accuracy in per cent, any other score with three decimals."""
    value = float(value)
    if not math.isfinite(value):
        return "–"
    return f"{100 * value:.1f} %" if name == "accuracy" else f"{value:.3f}"


def median(values: Iterable[float]) -> float:
    """Median of the finite values, NaN where there is none."""
    finite = [float(v) for v in values if math.isfinite(v)]
    return float(np.median(finite)) if finite else math.nan


def lowest(values: Iterable[float]) -> float:
    """Return the lowest finite value, NaN where there is none."""
    return min((float(v) for v in values if math.isfinite(v)), default=math.nan)


def hidden(widths: Iterable[int]) -> str:
    """Hidden widths as the command line takes them: "8,8" or "none"."""
    return ",".join(map(str, widths)) or "none"


def batch(recipe: Recipe) -> str:
    """Return the batch size in words."""
    return "all training rows" if recipe.batch_size is None else str(recipe.batch_size)


def recipe_rows(recipe: Recipe) -> list[tuple[str, str]]:
    """Every setting of a recipe with its value."""
    return [
        ("hidden widths", hidden(recipe.hidden)),
        ("activation", recipe.activation if recipe.hidden else "none (no hidden layer)"),
        ("optimizer", recipe.optimizer),
        ("learning rate", f"{recipe.learning_rate:g}"),
        ("steps", f"{recipe.steps:,}"),
        ("batch size", batch(recipe)),
        ("weight decay", f"{recipe.weight_decay:g}"),
        ("columns standardised", "yes" if recipe.standardize else "no"),
    ]


def next_step(verdict: Verdict) -> str:
    """Return what to do next: the fix that was run, else what helps in general."""
    if verdict.fix is None:
        return NEXT_STEP.get(verdict.kind, NEXT_STEP["undecided"])
    return f"Train with this change: {verdict.fix.change.rstrip('.')}."


def fix_caveat(verdict: Verdict) -> str | None:
    """Return a warning where the fix was chosen by the very rows that it is judged on."""
    if verdict.fix is None or verdict.kind not in ("overfitting", "undecided"):
        return None
    return (
        "The change was chosen among those that were run by its loss on these held-out rows, so "
        "new rows will probably show a smaller gain."
    )


def unfinished(verdict: Verdict) -> str | None:
    """Return which stages of the protocol were not run, and why; None where all were."""
    name = verdict.stage.removesuffix(INTERRUPTED)
    interrupted = name != verdict.stage
    done = verdict.stages.index(name) + 1 if name in verdict.stages else len(verdict.stages)
    left = verdict.stages[done:]
    if not left and not interrupted:
        return None
    why = "You interrupted" if interrupted else f"The time budget of {verdict.budget:g} s ended"
    missing = f" Not run: {', '.join(left)}." if left else ""
    return f"{why} the diagnosis after the stage “{name}”.{missing}"


def command_line(verdict: Verdict) -> str:
    """Return a command that repeats the diagnosis, as far as a verdict knows how it was called."""
    import shlex

    r = verdict.recipe
    words = ["pellucid", "diagnose", verdict.data_name, "--target", verdict.target_name]
    words += ["--hidden", hidden(r.hidden), "--activation", r.activation]
    words += ["--optimizer", r.optimizer, "--learning-rate", f"{r.learning_rate:g}"]
    words += ["--steps", str(r.steps)]
    words += [] if r.batch_size is None else ["--batch-size", str(r.batch_size)]
    words += ["--weight-decay", f"{r.weight_decay:g}"] if r.weight_decay else []
    words += ["--standardize" if r.standardize else "--raw"]
    words += ["--seed", str(verdict.seed), "--budget", f"{verdict.budget:g}"]
    return shlex.join(words)
