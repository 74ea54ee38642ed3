"""The sections about what is wrong, what would change that, and what to copy."""

import shlex

from ..diagnosis.verdict import BOUNDED, Verdict
from ..diagnosis.wording import at_least
from . import _figures, words
from ._html import Html, el, join, section, table


def badge(certainty: str) -> Html:
    """Return how certain a statement is, as a sign and a word."""
    sign = el("span", words.CERTAINTY_SIGNS.get(certainty, "○"), aria_hidden="true")
    return el("span", sign, f" {certainty}", class_=f"badge {certainty}")


def copyable(verdict: Verdict, witness_file: str | None, source: str | None) -> Html | None:
    """Return the command that trains with the fix, and how to load the better parameters."""
    command, parts = words.fix_command(verdict, source), []
    if command is not None:
        assert verdict.fix is not None
        split = ""
        if verdict.fix.seed != verdict.seed:
            split = " (its seed also splits the rows anew)"
        parts += [el("p", f"To train with it{split}:"), _code(command)]
    if verdict.witness is not None and witness_file:
        parts += [
            el("p", "Or take the better parameters as they are, without training:"),
            _code(words.witness_lines(witness_file)),
        ]
    return join(parts) if parts else None


def _code(text: str) -> Html:
    return el("pre", el("code", text), tabindex="0")


def cost(verdict: Verdict, certificate_file: str | None, source: str | None) -> Html | None:
    """Return the waterfall, with every cause and its share; None where there are no steps."""
    if not verdict.waterfall:
        return None
    causes = [
        (cause.kind, badge(cause.certainty), words.percent(cause.share)) for cause in verdict.causes
    ]
    return section(
        "waterfall",
        "Where the loss goes",
        el("div", _figures.waterfall(verdict), class_="figures"),
        table(
            "What is wrong, with its share of (constant prediction - reference)",
            ("cause", "certainty", "share"),
            causes,
            numeric_from=2,
        )
        if causes
        else None,
        _floors(verdict),
        _certificate(verdict, certificate_file, source),
        _curve(verdict),
    )


def _floors(verdict: Verdict) -> Html | None:
    """Return the lower bounds that were found for the user's architecture."""
    if not verdict.floors:
        return None
    proved = any(c.kind in BOUNDED and c.certainty == "proved" for c in verdict.causes)
    certificate = verdict.certificate or {"kind": "witness"}
    kind = verdict.floors[0].kind if certificate["kind"] == "witness" else certificate["kind"]
    rows = [
        (
            f.kind,
            at_least(f.value).removesuffix(" nats"),
            "accepted" if proved and f.kind == kind else "",
            f.sentence,
        )
        for f in verdict.floors
    ]
    header = ("bound", "no training loss below (nats)", "checker", "why")
    return table("Floors: what no parameters of this architecture reach", header, rows, 4)


def _certificate(verdict: Verdict, file: str | None, source: str | None) -> Html | None:
    """Return how anyone can check the proof."""
    if verdict.certificate is None or file is None:
        return None
    command = shlex.join(["pellucid", "verify", file, words.table_of(verdict, source)])
    return join([el("p", "To check the proof again, in a process of its own:"), _code(command)])


def _curve(verdict: Verdict) -> Html | None:
    """Return the losses of the user's recipe on parts of the training rows."""
    if not verdict.learning_curve:
        return None
    rows = [
        (f"{p.n_rows:,}", words.loss(p.training_loss), words.loss(p.held_out_loss))
        for p in verdict.learning_curve
    ]
    caption = "Learning curve: your recipe on parts of the training rows (means over seeds, nats)"
    return table(caption, ("training rows", "training loss", "held-out loss"), rows)


def change(verdict: Verdict) -> Html | None:
    """Return what would change the verdict."""
    if not verdict.would_change:
        return None
    items = (el("li", text) for text in verdict.would_change)
    return section("change", "What would change this verdict", el("ul", *items))
