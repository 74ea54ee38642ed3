"""A verdict on the terminal: the sentence, how certain it is, the evidence, what to do next."""

from typing import TYPE_CHECKING

from ..diagnosis.verdict import Experiment, Reference, Verdict
from ..report import words
from ._console import STYLES, console, print_table, visible

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
    _heading(out, "What to do next")
    _print_next(out, verdict)
    if verdict.notes:
        _heading(out, "What was changed in the table")
        _pairs(out, [("-", note, "") for note in verdict.notes])
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
    data = (
        f"{verdict.data_name}, target {verdict.target_name}: {n:,} rows, "
        f"{verdict.n_held_out:,} of them held out"
    )
    network = f"{widths}, {verdict.n_parameters:,} parameters, seed {verdict.seed}"
    out.print()
    _pairs(out, [("data", data, ""), ("network", network, "")])


def _print_evidence(out: "Console", verdict: Verdict) -> None:
    name = verdict.score_name
    header = ("", "seeds", "training", "held out", words.score_title(name))
    rows = [_reference(r, name) for r in verdict.references]
    rows.append(_run(verdict))
    rows += [_experiment(e, name) for e in verdict.experiments]
    print_table(out, header, rows)


def _reference(r: Reference, score_name: str) -> tuple[str, ...]:
    return r.name, "", "", words.loss(r.held_out_loss), words.score(r.held_out_score, score_name)


def _run(verdict: Verdict) -> tuple[str, ...]:
    first = verdict.experiments[0]
    return (
        f"your run (seed {first.seeds[0]})",
        "",
        words.loss(first.training_loss[0]),
        words.loss(first.held_out_loss[0]),
        words.score(first.score[0], verdict.score_name),
    )


def _experiment(e: Experiment, score_name: str) -> tuple[str, ...]:
    diverged = f", {e.n_diverged} diverged" if e.n_diverged else ""
    return (
        e.name + diverged,
        str(len(e.seeds)),
        words.loss(words.median(e.training_loss)),
        words.loss(words.median(e.held_out_loss)),
        words.score(words.median(e.score), score_name),
    )


def _print_next(out: "Console", verdict: Verdict) -> None:
    out.print(visible(words.next_step(verdict)))
    fix, name = verdict.fix, verdict.score_name
    if fix is not None:
        out.print(
            f"This was run: held-out loss {words.loss(fix.loss_before)} -> "
            f"{words.loss(fix.loss_after)} nats, {words.score_title(name)} "
            f"{words.score(fix.score_before, name)} -> {words.score(fix.score_after, name)}."
        )
        caveat = words.fix_caveat(verdict)
        if caveat:
            out.print(caveat)
