"""Printing: tables and wrapped text on standard output, a progress bar on standard error."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 100
STYLES = {"proved": "bold green", "likely": "bold yellow", "undecided": "bold"}


def console(pipe_width: int = PIPE_WIDTH) -> "Console":
    """Return a console for standard output that takes every text as it is."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else pipe_width
    return Console(markup=False, highlight=False, emoji=False, width=width)


def visible(text: object) -> str:
    """Return text on one line, without characters that could steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def visible_path(path: Path) -> str:
    """Return a path as it is, or with escapes where it could steer a terminal."""
    return str(path) if str(path).isprintable() else repr(str(path))


def print_table(
    out: "Console", header: Sequence[str], rows: Iterable[Sequence[object]], right_from: int = 1
) -> None:
    """Print a table without frames; columns from `right_from` on are numbers, set to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i >= right_from else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    out.print(table)


@contextmanager
def progress_bar(
    description: str, quiet: bool = False, remaining: bool = False, lines: bool = False
) -> Iterator[Callable[..., Any] | None]:
    """Yield a function of (done, total, what), drawn on a terminal; None where there is none.

    `remaining` shows the time left as well. With `lines` it prints a line for each call instead of
    None where there is no terminal, on standard error and at once.
    """
    if quiet or not sys.stderr.isatty():
        yield _progress_line if lines and not quiet else None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    if remaining:
        columns += (TaskProgressColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)

        def show(done: float, total: float, what: str = description) -> None:
            bar.update(task, completed=done, total=total, description=visible(what))

        yield show


def _progress_line(done: float, total: float, what: str) -> None:
    print(f"{done + 1:.0f} of {total:.0f}: {visible(what)}", file=sys.stderr, flush=True)
