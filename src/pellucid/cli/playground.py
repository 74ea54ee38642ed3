"""`pellucid playground`: the page in the browser, or as a folder of static files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..playground import Playground

TABLES = (".csv", ".tsv", ".txt", ".parquet")
LARGEST_PORT = 65535


def playground(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[LINK|MODEL|DATA]",
            help="What to open: a link or saved state of the page, a network of any format, a CSV "
            "or Parquet file with --target, or a data set that `pellucid datasets` lists.",
            show_default=False,
        ),
    ] = None,
    target: o.Target = None,
    drop: o.Drop = None,
    activation: o.NetworkActivation = None,
    lesson: Annotated[
        list[Path] | None,
        typer.Option(
            help="A lesson of yours (a JSON file) to list first; may be given again.",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the page into this folder instead, for any web server.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="The port to serve on; 0 is a free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> int:
    """Open the playground: watch a network learn, and see why.

    The page is served on this machine alone until Ctrl-C ends it.

    Example: pellucid playground spirals --export page
    """
    if not 0 <= port <= LARGEST_PORT:
        raise InvalidInput(f"--port is {port}; it needs a whole number from 0 to {LARGEST_PORT}.")
    if export is not None and (no_browser or port):
        raise InvalidInput(
            "--export writes files and serves nothing; leave --port and --no-browser."
        )
    from ..playground.start import read_lesson

    lessons = dict(read_lesson(path) for path in lesson or ())
    if len(lessons) < len(lesson or ()):
        raise InvalidInput("two of the lessons have the same file name; give them different ones.")
    opened = _opened(what, target, drop, activation)
    if export is not None:
        return _export(export, opened, lessons)
    return _serve(opened, lessons, port, not no_browser)


def _opened(
    what: str | None, target: str | None, drop: list[str] | None, activation: str | None
) -> dict[str, Any]:
    """What the page opens with, as the arguments of `start_document`."""
    from ..playground.links import is_file, is_link
    from ..playground.start import is_state, read_state
    from ._load import is_listed, load_table

    is_table = what is not None and (target is not None or _is_table(what))
    if not is_table and (target is not None or drop):
        raise InvalidInput("--target and --drop go with a table; name one.")
    if what is None:
        return {}
    if activation is not None and (is_table or is_listed(what) or is_link(what)):
        raise InvalidInput("--activation goes with a network that does not state its own.")
    if is_table or is_listed(what):
        return {"table": load_table(what, target, "auto", drop)}
    if is_link(what) and not is_file(what):
        return {"link": what}
    if is_file(what) and is_state(Path(what)):
        return {"state": read_state(Path(what))}
    if not is_file(what) and "." not in what and "/" not in what:
        load_table(what, None, "auto", None)  # says which data sets there are
    return _network(what, activation)


def _is_table(what: str) -> bool:
    from ._load import is_listed

    return Path(what).suffix.lower() in TABLES or is_listed(what)


def _network(model: str, activation: str | None) -> dict[str, Any]:
    from ..network.kept import names_in
    from ._model import read_chain

    network, about = read_chain(model, activation=activation)
    feature_names, classes = names_in(about, network)
    return {
        "network": network,
        "name": Path(model).name,
        "likelihood": about.get("likelihood"),
        "feature_names": feature_names,
        "classes": classes,
    }


def _export(folder: Path, opened: dict[str, Any], lessons: dict[str, bytes]) -> int:
    from ..playground import export_page, start_document
    from ._console import visible_path

    start = start_document(**opened, lessons=tuple(lessons)) if opened or lessons else None
    files = export_page(folder, start, lessons)
    typer.echo(f"written: {visible_path(folder)}, {len(files)} files")
    typer.echo("Put the folder on any web server; to look at it on this machine:")
    typer.echo(f"python -m http.server --directory {visible_path(folder)} --bind 127.0.0.1")
    return 0


def _serve(opened: dict[str, Any], lessons: dict[str, bytes], port: int, browser: bool) -> int:
    from ..playground import Playground, start_document
    from ..playground.server import logging_in_lines
    from ._console import visible

    start = start_document(**opened, lessons=tuple(lessons))

    def log(line: str) -> None:
        typer.echo(f"pellucid: {visible(line)}", err=True)

    with logging_in_lines(log), Playground(start, port=port, lessons=lessons) as page:
        try:
            typer.echo(page.url)
            if browser:
                _open(page)
            typer.echo("Ctrl-C ends the playground.", err=True)
            page.wait()
        except KeyboardInterrupt:
            typer.echo("The playground has ended.", err=True)
    return 0


def _open(page: "Playground") -> None:
    import webbrowser

    if not webbrowser.open(page.url):
        typer.echo("No browser was found; open the address above yourself.", err=True)
