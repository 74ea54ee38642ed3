"""`pellucid reproduce`: the numbers and figures of the course chapters, computed and compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ..reproduction import Item, Reproduction, Row

DISAGREES = 1
_PRINTED = {"chapter": "printed in the chapter", "study": "claim"}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="What to reproduce, such as interpolation or spirals; everything if not given.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the figures (SVG and PNG) and the rows (rows.csv).",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the names and end.")] = False,
) -> int:
    """Compute what the course chapters print and draw, and compare it with what is printed there.

    One line for each number: printed in the chapter, computed, and whether both agree. Numbers in
    brackets are notes where the wording of a chapter needs a correction: "corrected" is what then
    is computed as it should be. Exit code 1 if a line disagrees. Without --out no figure is drawn.
    What is being computed is told on standard error: the lines themselves come at the end.

    Example: pellucid reproduce interpolation spirals --out figures
    """
    from ..reproduction.reproduce import chosen
    from ..reproduction.reproduce import reproduce as run
    from ._console import console, progress_bar
    from ._files import made_folder

    items = chosen(names or ())
    screen = console()
    if listed:
        _list(screen)
        return 0
    if out is None:
        with progress_bar("reproducing", lines=True) as progress:
            found = run(*(item.name for item in items), progress=progress)
    else:
        _check_places(out, items)
        with made_folder(out), progress_bar("reproducing", lines=True) as progress:
            found = run(*(item.name for item in items), out=out, progress=progress)
    notes: list[str] = []
    for item in items:
        screen.print(f"{item.title} (chapter {item.chapter}: {item.name})")
        rows = [row for row in found.rows if row.item == item.name]
        _print_rows(screen, rows, notes, _PRINTED[item.kind])
        screen.print()
    for i, note in enumerate(notes, 1):
        screen.print(f"[{i}] {note}")
    if notes:
        screen.print()
    _summary(screen, found, out)
    return DISAGREES if found.disagreeing else 0


def _print_rows(screen: "Console", rows: Sequence["Row"], notes: list[str], printed: str) -> None:
    from ._console import print_table

    table = []
    for row in rows:
        if row.note and row.note not in notes:
            notes.append(row.note)
        note = f"[{notes.index(row.note) + 1}]" if row.note else ""
        table.append((row.what, row.printed, row.computed, _agrees(row), note))
    header = ("", printed, "computed", "agrees", "note")
    print_table(screen, header, table, right_from=len(header))


def _agrees(row: "Row") -> str:
    if row.agrees is None:
        return "-"
    return "NO" if not row.agrees else "corrected" if row.note else "yes"


def _check_places(out: Path, items: Sequence["Item"]) -> None:
    """Refuse a folder that cannot be written, or where another's file would be lost."""
    from ..reproduction.reproduce import FORMATS, TABLE
    from ._files import check_folder, check_ours
    from ._region_files import is_picture

    check_folder(out)
    for name in (figure for item in items for figure in item.figures):
        for ending in FORMATS:
            check_ours(out / f"{name}.{ending}", is_picture, "picture")
    check_ours(out / TABLE, _is_table, "table of reproductions")


def _is_table(path: Path) -> bool:
    from ..reproduction import Row

    header = ",".join(Row.__dataclass_fields__).encode()
    with open(path, "rb") as file:
        return file.read(len(header)) == header


def _summary(screen: "Console", found: "Reproduction", out: Path | None) -> None:
    from ._console import visible_path

    n, bad, left = len(found.rows), len(found.disagreeing), len(found.not_computed)
    fixed = sum(bool(row.agrees and row.note) for row in found.rows)
    told = f", {fixed} of them with a correction" if fixed else ""
    screen.print(f"{n - bad - left} of {n} rows agree{told}, in {found.seconds:.0f} seconds.")
    if bad:
        screen.print(
            f"{bad} disagree: {', '.join(f'{r.item} {r.key}' for r in found.disagreeing)}."
        )
    if left:
        screen.print(f"{left} were not computed; their rows say why.")
    if out is not None:
        n = len(found.files)
        screen.print(f"{n} file{'s' if n != 1 else ''} in {visible_path(out)}.")


def _list(screen: "Console") -> None:
    from ..reproduction import ITEMS
    from ._console import print_table

    rows = [(i.name, i.chapter, i.kind, i.title, ", ".join(i.figures)) for i in ITEMS.values()]
    header = ("name", "chapter", "kind", "what", "figures")
    print_table(screen, header, rows, right_from=len(header))
