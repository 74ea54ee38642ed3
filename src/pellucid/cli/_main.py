"""The program `pellucid`: its verbs, and what becomes of a user's mistake."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from .._errors import PellucidError, PellucidWarning
from ._entry import INTERRUPTED, MISTAKE
from ._invocation import ARGUMENTS
from ._wording import spoken, unknown_option
from ._words import spread
from .bench_faults import bench_faults
from .check_property import check_property
from .compare import compare
from .convert import convert
from .datasets import datasets
from .diagnose import diagnose
from .inspect import inspect
from .playground import playground
from .predict import predict
from .quiz import quiz
from .regions import regions
from .reproduce import reproduce
from .sweep import sweep
from .train import train
from .verify import verify
from .walkthrough import walkthrough

_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]  # ClickException, wherever it is kept

app = typer.Typer(
    name="pellucid",
    help="Feedforward networks that you can see through: can this model not represent it, "
    "or was it trained badly?",
    epilog="Example: pellucid diagnose table.csv --target price --hidden 16",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
VERBS = {
    diagnose: "Say what holds a network back, with the evidence.",
    verify: "Check a certificate or a proof again, in a fresh process.",
    compare: "Compare two recipes as a controlled experiment.",
    train: "Train an estimator, or one network by a recipe, on a table and save it.",
    predict: "Predict the target of new rows with a model that train saved.",
    sweep: "Train a grid of networks from a study file into a table.",
    regions: "Count, draw and write the linear regions of a network, exactly.",
    check_property: "Say whether a property of the outputs holds on boxes of inputs.",
    walkthrough: "Show one forward and backward pass of a network with every number.",
    inspect: "Show what a network of any kind is: layers, weights, units, regions.",
    convert: "Write a network in another format, and compare both.",
    playground: "Open the page on which a network learns, or write it into a folder.",
    quiz: "Answer questions about networks, with generated numbers.",
    reproduce: "Compute the numbers and figures of the course chapters, and compare them.",
    datasets: "List the data sets, or write one to a file.",
    bench_faults: "Score a tool that diagnoses networks on a benchmark of faults.",
}
for _verb, _summary in VERBS.items():
    _help, _, _example = (_verb.__doc__ or "").partition("Example: ")
    app.command(help=_help.strip(), short_help=_summary, epilog=f"Example: {_example.strip()}")(
        _verb
    )


def _print_version(wanted: bool) -> bool:
    if wanted:
        from .. import __version__

        typer.echo(f"pellucid {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def execute(words: list[str]) -> int:
    """Run one command; see `run`, which is the way in."""
    ARGUMENTS.set(tuple(words))
    try:
        with _warnings_in_one_line():
            code = app(args=spread(words), prog_name="pellucid", standalone_mode=False)
    except PellucidError as error:
        return _mistake(spoken(str(error)))
    except MemoryError:
        return _mistake("this does not fit into memory; take fewer rows or a smaller network.")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except _CLICK_ERROR as error:
        text = _told(error)
        if type(error).__name__ == "NoArgsIsHelpError":  # the text is the help
            typer.echo(text)
            return MISTAKE
        return _mistake(text)
    if code == INTERRUPTED:
        typer.echo("pellucid: interrupted", err=True)
    return code if isinstance(code, int) else 0


def _told(error: Any) -> str:
    if type(error).__name__ == "NoSuchOption":
        return unknown_option(error.option_name, list(error.possibilities or ()))
    return error.format_message()


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print Pellucid's own warnings without the place in the code that raised them."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", PellucidWarning)
        show = warnings.showwarning

        def show_in_one_line(message, category, *place, **more) -> None:
            if issubclass(category, PellucidWarning):
                typer.echo(f"pellucid: warning: {_one_line(str(message))}", err=True)
            else:
                show(message, category, *place, **more)

        warnings.showwarning = show_in_one_line
        yield


def _one_line(message: str) -> str:
    """Return a message as one line, without anything that could steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in message).split())


def _mistake(message: str) -> int:
    typer.echo(f"pellucid: {_one_line(message)}", err=True)
    return MISTAKE
