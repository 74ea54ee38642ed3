"""A verdict on the terminal: the sentence, how certain it is, the evidence, what to do next."""

from typing import TYPE_CHECKING

from ..diagnosis.verdict import Experiment, Reference, Verdict
from ..report import words
from ._console import STYLES, console, print_table, visible
from ._wording import spoken

if TYPE_CHECKING:
    from rich.console import Console


def print_verdict(verdict: Verdict) -> None:
    """Print a verdict to standard output, wrapped to the terminal."""
    out = console()
    out.print(visible(verdict.sentence), style="bold")
    kind = "" if verdict.kind == verdict.certainty else f"{verdict.kind}: "
    out.print(f"{kind}{_certainty(verdict.certainty)}", style=STYLES.get(verdict.certainty))
    _print_setting(out, verdict)
    _heading(out, "What was found")
    _pairs(out, [(_certainty(s.certainty), s.text, s.certainty) for s in verdict.statements])
    _heading(out, "The evidence (losses in nats; medians over the seeds)")
    _print_evidence(out, verdict)
    _print_units(out, verdict)
    _heading(out, "What to do next")
    _print_next(out, verdict)
    if verdict.notes:
        _heading(out, "What was changed in the table")
        _pairs(out, [("-", spoken(note), "") for note in verdict.notes])
    warning = words.unfinished(verdict)
    if warning:
        out.print()
        out.print(visible(warning), style="yellow")
    out.print()


def _certainty(certainty: str) -> str:
    return f"{words.CERTAINTY_SIGNS.get(certainty, '')} {certainty}".strip()


def _heading(out: "Console", text: str) -> None:
    out.print()
    out.print(text, style="bold")


def _pairs(out: "Console", rows: list[tuple[str, str, str]]) -> None:
    """Two columns, the second wrapped beside the first."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text, certainty in rows:
        table.add_row(Text(visible(name), style=STYLES.get(certainty, "")), Text(visible(text)))
    out.print(table)


def _print_setting(out: "Console", verdict: Verdict) -> None:
    widths = "-".join(map(str, verdict.network.widths))
    n = verdict.n_training + verdict.n_held_out
    kind = f"{len(verdict.classes)} classes" if verdict.classes else "numbers"
    pairs = [
        ("data", f"{verdict.data_name}: {n:,} rows, {verdict.n_held_out:,} of them held out", ""),
        ("to predict", f"{verdict.target_name!r}, {kind}", ""),
        ("network", f"{widths}, {verdict.n_parameters:,} parameters, seed {verdict.seed}", ""),
    ]
    note = words.every_row(verdict)
    out.print()
    _pairs(out, [*pairs, ("batch", note, "")] if note else pairs)


def _print_evidence(out: "Console", verdict: Verdict) -> None:
    header = ("", "seeds", "training", "held out", *words.score_titles(verdict))
    rows = [_reference(r, verdict) for r in verdict.references]
    rows.append(_run(verdict))
    rows += [_experiment(e, verdict) for e in verdict.experiments]
    print_table(out, header, rows)
    if verdict.classes is None:
        out.print(visible(words.about_rmse(verdict)), style="dim")


def _print_units(out: "Console", verdict: Verdict) -> None:
    """Dead and saturated units of the user's run, where there are any."""
    bad = [text for text in map(words.hidden_units, verdict.unit_health) if text]
    if bad:
        out.print(f"Units of your run on the training rows: {'; '.join(bad)}.")


def _reference(r: Reference, verdict: Verdict) -> tuple[str, ...]:
    scores = words.scores(verdict, r.held_out_score)
    return r.name, "", "", words.loss(r.held_out_loss), *scores


def _run(verdict: Verdict) -> tuple[str, ...]:
    first = verdict.experiments[0]
    return (
        words.your_run(verdict),
        "",
        words.loss(first.training_loss[0]),
        words.loss(first.held_out_loss[0]),
        *words.scores(verdict, first.score[0]),
    )


def _experiment(e: Experiment, verdict: Verdict) -> tuple[str, ...]:
    diverged = f", {e.n_diverged} diverged" if e.n_diverged else ""
    return (
        e.name + diverged,
        str(len(e.seeds)),
        words.loss(words.median(e.training_loss)),
        words.loss(words.median(e.held_out_loss)),
        *words.scores(verdict, words.median(e.score)),
    )


def _print_next(out: "Console", verdict: Verdict) -> None:
    out.print(visible(words.next_step(verdict)))
    changes = [
        f"{what} {before} -> {after}" for what, before, after in words.before_and_after(verdict)
    ]
    if changes:
        out.print(visible(f"This was run: {', '.join(changes)}."))
        caveat = words.fix_caveat(verdict)
        if caveat:
            out.print(caveat)
    if verdict.witness is not None:
        out.print(visible(f"The proof: {words.source(verdict.witness)}."))
