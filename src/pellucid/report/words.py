"""Numbers and recipes in words, as they stand in the report and on the terminal."""

import math
from collections.abc import Iterable

import numpy as np

from ..diagnosis.verdict import Recipe, UnitHealth, Verdict, Witness
from ..diagnosis.wording import number, score_title
from ..training import OPTIMIZERS

__all__ = ["score_title"]

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
    "data limit": "The columns do not say more about the target, whatever the model.",
    "data error": "Something is wrong with the table itself: its columns, its rows or its target.",
    "wrong loss or output": "The loss or the output layer cannot give what the target asks for.",
    "unstable training": "Runs of the same recipe diverge, or end far apart, from seed to seed.",
    "undecided": "The experiments did not single out one cause.",
}

NEXT_STEP = {
    "fits": "Keep this network, unless a better run of it is named below. Judge it once more on "
    "rows that had no part in this diagnosis before you rely on it.",
    "optimization failure": "Keep the architecture and change the training: another learning "
    "rate, more steps, several seeds of which the one with the lowest training loss is kept.",
    "capacity failure": "Give the network more hidden units or another layer, then diagnose the "
    "new recipe.",
    "overfitting": "Use more rows, a smaller network, weight decay or fewer steps, and judge each "
    "of them on held-out rows.",
    "data limit": "A larger network will not help. Look for columns that say more about the "
    "target, for more rows, and for errors in the target: rows that contradict each other.",
    "data error": "Mend the table first, then diagnose again: what was found in it is below.",
    "wrong loss or output": "Change the output layer or the loss as said below, then diagnose "
    "again; more units or other rates will not help.",
    "unstable training": "Lower the learning rate, standardise the columns, or clip the gradient, "
    "until all seeds end alike.",
    "undecided": "Give the diagnosis a larger time budget (--budget), or more rows; what is below "
    "says which experiments are missing.",
}


INTERRUPTED = " (interrupted)"
OVER = 1.1
"""Times the budget from which it is said that a diagnosis took longer."""


def loss(value: float) -> str:
    """Three significant digits; two from a billion on, which only a run that diverged has."""
    value = float(value)
    return f"{value:.1e}" if 1e9 <= abs(value) < math.inf else number(value)


def score(value: float, name: str) -> str:
    """Return an accuracy in per cent, any other score with three decimals, or as below -100."""
    value = float(value)
    if not math.isfinite(value):
        return "–"
    if name == "accuracy":
        return f"{100 * value:.1f} %"
    return f"{value:.3f}" if value >= -100 else "< -100"


def rmse(verdict: Verdict, r2: float) -> str:
    """Root mean squared error on the held-out rows, in the target's own unit, from their R^2.

    R^2 = 1 - mean squared error / mean squared deviation of the held-out targets.
    """
    y = np.asarray(verdict.y, dtype=float)[np.asarray(verdict.held_out)]
    if not (len(y) and math.isfinite(r2)):
        return "–"
    return loss(math.sqrt(max(0.0, 1.0 - float(r2)) * float(y.var())))


def scores(verdict: Verdict, value: float) -> tuple[str, ...]:
    """Return a held-out score as the tables print it, for regression with its RMSE beside it."""
    written = score(value, verdict.score_name)
    return (written,) if verdict.classes else (written, rmse(verdict, value))


def score_titles(verdict: Verdict) -> tuple[str, ...]:
    """Return the names of what `scores` gives."""
    title = score_title(verdict.score_name)
    return (title,) if verdict.classes else (title, "RMSE")


def role(name: str) -> str:
    """Return a role as it is printed: what is "narrower" may also have a penalty or fewer steps."""
    return "regularised" if name == "narrower" else name


def your_run(verdict: Verdict) -> str:
    """Return how the tables name the user's own run."""
    return f"your run (seed {verdict.experiments[0].seeds[0]})"


def fix(verdict: Verdict) -> str:
    """Return the change that was run, with its seed."""
    assert verdict.fix is not None
    return f"{verdict.fix.change.rstrip('.')} (seed {verdict.fix.seed})"


def about_rmse(verdict: Verdict) -> str:
    """What RMSE means in the tables of a regression."""
    return (
        "RMSE is the root mean squared error on the held-out rows, in the unit of "
        f"{verdict.target_name}."
    )


def source(witness: Witness) -> str:
    """Return which run the better parameters come from, with its seed."""
    return witness.name or f"seed {witness.seed}"


def before_and_after(verdict: Verdict) -> list[tuple[str, str, str]]:
    """What the fix changed on the held-out rows: loss, score, and an error in the target's unit."""
    changed, name = verdict.fix, verdict.score_name
    if changed is None:
        return []
    before, after = changed.score_before, changed.score_after
    rows = [
        ("held-out loss (nats)", loss(changed.loss_before), loss(changed.loss_after)),
        (f"held-out {score_title(name)}", score(before, name), score(after, name)),
    ]
    if verdict.classes is None:
        unit = f"held-out RMSE (unit of {verdict.target_name})"
        rows.append((unit, rmse(verdict, before), rmse(verdict, after)))
    return rows


def hidden_units(layer: UnitHealth) -> str | None:
    """Return what is wrong with the units of a hidden layer; None where nothing is."""
    counts = (("dead", layer.n_dead), ("saturated", layer.n_saturated))
    bad = [f"{n} {what}" for what, n in counts if n]
    return f"hidden layer {layer.layer}: {' and '.join(bad)} of {layer.n_units}" if bad else None


def penalised(recipe: Recipe) -> bool:
    """Whether the recipe's objective holds a penalty beside the loss."""
    return bool(recipe.weight_decay) and OPTIMIZERS[recipe.optimizer].coupled_decay


def lines(verdict: Verdict) -> str:
    """What the two lines of the figures show."""
    dotted = "the dotted line is the constant predictor"
    if verdict.reference_is_a_model:
        return (
            f"In all figures {dotted} and the dashed one the reference, both cross-validated on "
            "the training rows."
        )
    return (
        f"In all figures {dotted}, cross-validated on the training rows, and the dashed one the "
        "reference, here the mean loss of networks on held-out rows."
    )


def every_row(verdict: Verdict) -> str | None:
    """A note where the batch is larger than the training set."""
    return whole_batch(verdict.recipe.batch_size, verdict.n_training)


def whole_batch(batch_size: int | None, n_training: int) -> str | None:
    """A note where a batch holds at least all training rows."""
    if batch_size is None or batch_size < n_training:
        return None
    return (
        f"A batch of {batch_size:,} holds all {n_training:,} training rows: all of them are in "
        "every step."
    )


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
        ("schedule", recipe.schedule),
        ("columns standardised", "yes" if recipe.standardize else "no"),
    ]


def next_step(verdict: Verdict) -> str:
    """Return what to do next: the fix that was run, else what helps in general."""
    if verdict.fix is None:
        return NEXT_STEP.get(verdict.kind, NEXT_STEP["undecided"])
    return f"Train with this change: {fix(verdict)}."


def fix_caveat(verdict: Verdict) -> str | None:
    """Return a warning where the fix was chosen by the very rows that it is judged on.

    Only an undecided verdict offers such a one: the others choose by what the training rows say.
    """
    if verdict.fix is None or verdict.kind != "undecided":
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
    longer = ""
    if verdict.seconds > OVER * verdict.budget and not interrupted:
        longer = (
            f" Your run, the gates and the references are always made: {verdict.seconds:.3g} s."
        )
    return f"{why} the diagnosis after the stage “{name}”.{longer}{missing}"


def command_line(verdict: Verdict) -> str:
    """Return a command that repeats the diagnosis, as far as a verdict knows how it was called."""
    import shlex

    words = ["pellucid", "diagnose", verdict.data_name, "--target", verdict.target_name]
    words += _recipe_options(verdict.recipe)
    words += ["--seed", str(verdict.seed), "--budget", f"{verdict.budget:g}"]
    return shlex.join(words)


def _recipe_options(r: Recipe) -> list[str]:
    words = ["--hidden", hidden(r.hidden), "--activation", r.activation]
    words += ["--optimizer", r.optimizer, "--learning-rate", f"{r.learning_rate:g}"]
    words += ["--steps", str(r.steps)]
    words += [] if r.batch_size is None else ["--batch-size", str(r.batch_size)]
    words += ["--weight-decay", f"{r.weight_decay:g}"] if r.weight_decay else []
    words += ["--schedule", r.schedule] if r.schedule != "constant" else []
    return [*words, "--standardize" if r.standardize else "--raw"]


def table_of(verdict: Verdict, source: str | None) -> str:
    """Return how a command names the table: as it was typed, a data set, or a file to put in."""
    from ..datasets import DATASETS

    return source or (verdict.data_name if verdict.data_name in DATASETS else "data.csv")


def fix_command(verdict: Verdict, source: str | None = None) -> str | None:
    """Return the command that trains with the fix, None where there is no fix."""
    import shlex

    if verdict.fix is None:
        return None
    words = ["pellucid", "train", table_of(verdict, source), "--target", verdict.target_name]
    words += _recipe_options(verdict.fix.recipe)
    return shlex.join([*words, "--seed", str(verdict.fix.seed), "--out", "fixed.pellucid"])


def percent(share: float) -> str:
    """Return a share of the gap; a dash where none is known."""
    if not math.isfinite(share):
        return "–"
    return f"{100 * share:.0f} %" if abs(share) < 10 else f"{share:,.0f} times"


def witness_lines(file: str) -> str:
    """Return Python lines that load the better parameters into a model of the user's own."""
    return (
        "import pellucid\n\n"
        f'network = pellucid.load("{file}")  # takes the encoded, unscaled columns\n'
        "state = network.to_torch().state_dict()  # for model.load_state_dict of the same layers"
    )
