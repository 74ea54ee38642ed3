"""The report as one HTML file that needs nothing else: no network, no script, no second file."""

import os
from importlib import resources
from pathlib import Path

from ..diagnosis.verdict import Verdict
from ..network.files import write_atomically
from . import _causes, _sections
from ._html import Html, el, join


def write_report(
    verdict: Verdict,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    witness_file: str | None = None,
    certificate_file: str | None = None,
    source: str | None = None,
) -> Path:
    """Write a verdict with its evidence to one offline HTML file and return its path.

    `command` is shown as what repeats the diagnosis (put together from the verdict by default),
    `witness_file` as the name of the file with the better parameters and `certificate_file` as
    that of the certificate; `source` is the table as commands name it. The file appears under its
    name only when it is complete, and replaces one that is there. Raises InvalidFile where it
    cannot be written, and where `path` is a folder, a device or a read-only file.
    """
    target = Path(path)
    files = {"witness_file": witness_file, "certificate_file": certificate_file, "source": source}
    text = render_report(verdict, command=command, **files)
    write_atomically(target, text.encode("utf-8", errors="replace"))
    return target


def render_report(
    verdict: Verdict,
    *,
    command: str | None = None,
    witness_file: str | None = None,
    certificate_file: str | None = None,
    source: str | None = None,
) -> str:
    """Return the report as the text of an HTML page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        _MARK,
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("title", f"{verdict.kind}: {verdict.data_name} (Pellucid)"),
        el("style", _style_sheet()),
    )
    main = el(
        "main",
        _sections.summary(verdict),
        _sections.next_step(verdict, witness_file, source),
        _sections.statements(verdict, witness_file),
        _causes.cost(verdict, certificate_file, source),
        _causes.change(verdict),
        _sections.evidence(verdict),
        _sections.unit_health(verdict),
        _sections.data(verdict),
        _sections.recipe(verdict),
        _sections.reading(verdict),
        _sections.reproduce(verdict, command),
    )
    page = el("html", head, "\n", el("body", main), lang="en")
    return join([Html("<!DOCTYPE html>\n"), page, "\n"])


def is_report(path: Path) -> bool:
    """Tell whether the file at this path was written by `write_report`."""
    with open(path, "rb") as file:
        return _MARK.encode() in file.read(500)


def _style_sheet() -> Html:
    return Html(resources.files("pellucid.report").joinpath("style.css").read_text("utf-8"))


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MARK = el("meta", name="generator", content="Pellucid")
