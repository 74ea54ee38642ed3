"""`pellucid walkthrough`: one forward and backward pass of a saved network, with every number."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput
from . import _options as o
from ._model import read_chain, rows_for, table_of

if TYPE_CHECKING:
    from ..network import Network
    from ..walkthrough import WorkedPass, WorkedStep

FORMS = {".txt": "to_text", ".tex": "to_latex", ".html": "to_html"}
OURS = ("Worked pass of", "Step ", "% Pellucid", "<!DOCTYPE html>")
MOST_ROWS = 1000
RATE = 0.01


def walkthrough(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A network of any kind.", show_default=False),
    ],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="Take the example from this table: a CSV or Parquet file, or a listed data set.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW ...",
            help="Row of the table, from 0; several are a batch.",
            show_default="0",
        ),
    ] = None,
    target: o.Target = None,
    drop: o.Drop = None,
    x: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The example itself instead of a table: numbers or fractions with commas.",
            show_default=False,
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            metavar="Y", help="Its target: a number, or the name of a class.", show_default=False
        ),
    ] = None,
    likelihood: Annotated[
        str | None,
        typer.Option(
            help="Likelihood of the outputs.", show_default="from the model and the target"
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="OPTIMIZER",
            help="Work a whole training step: sgd, rmsprop, adam or adamw.",
            show_default=False,
        ),
    ] = None,
    learning_rate: Annotated[
        float, typer.Option(help="Learning rate of --step.", show_default=True)
    ] = RATE,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Read every number as the decimal that it prints as, and work in fractions.",
        ),
    ] = False,
    notation: Annotated[
        str, typer.Option(help="column (z = W h + b) or row (a = h W + b).")
    ] = "column",
    digits: Annotated[int, typer.Option(help="Most decimals of a number.")] = 6,
    limit: Annotated[int, typer.Option(help="Most entries of an axis that are written.")] = 8,
    out: Annotated[
        Path | None,
        typer.Option(help="Write it to this .html, .tex or .txt file.", show_default=False),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON and nothing else.")
    ] = False,
    activation: o.NetworkActivation = None,
    name: o.NetworkName = None,
    only_output: o.NetworkOutput = None,
    raw: o.Raw = False,
    weights: o.NetworkWeights = None,
) -> int:
    """Work one forward and one backward pass of a network, equation by equation, with its numbers.

    Example: pellucid walkthrough model.pellucid --row 3 table.csv --target price
    """
    if out is not None:
        _check_out(out, data, model)
    if exact and step is not None:
        raise InvalidInput("--exact works a pass, and --step a step in floats; leave one out.")
    options = o.network_options(activation, name, only_output, raw, weights)
    example = _Example(*read_chain(model, **options))
    if x is not None:
        if data is not None or row:
            raise InvalidInput("--x is an example itself; leave the table and --row out.")
        example.take(x, y)
    elif data is not None:
        if y is not None:
            raise InvalidInput("--y belongs to --x; the target of a row is in the table.")
        example.take_rows(data, row or ["0"], target, drop)
    else:
        raise InvalidInput("there is no example; name a table (with --row), or give --x and --y.")
    if step is None and learning_rate != RATE:
        raise InvalidInput("--learning-rate belongs to --step; say which optimizer steps.")
    work = example.work(likelihood, exact, step, learning_rate)
    form = {"notation": notation, "digits": digits, "limit": limit}
    _tell(work, form, out, json)
    return 0


def _check_out(out: Path, data: str | None, model: str) -> None:
    from ._files import check_file, check_ours

    if out.suffix.lower() not in FORMS:
        raise InvalidInput(
            f"--out is {out.name!r}; it needs a name that ends in {', '.join(FORMS)}."
        )
    check_file(out, data)
    check_file(out, model, what="model")
    check_ours(out, _is_ours, "worked pass")


def _is_ours(path: Path) -> bool:
    with open(path, "rb") as file:
        start = file.read(500).decode("utf-8", "replace")
    if path.suffix.lower() == ".html":
        return 'name="generator" content="Pellucid"' in start
    return start.startswith(OURS)


class _Example:
    """The network, and the rows with targets that go through it."""

    def __init__(self, network: "Network", about: dict[str, str]):
        from ..network.kept import names_in

        self.network = network
        self.about = about
        self.names: Sequence[str] | None
        self.classes: Sequence[str] | None
        self.names, self.classes = names_in(self.about, network)
        self.x: Any = None
        self.y: Any = None

    def take(self, x: str, y: str | None) -> None:
        """The example of --x and --y."""
        if y is None:
            raise InvalidInput("--y is missing; give the target of --x.")
        self.x = [_number("--x", word) for word in x.split(",")]
        if self.classes is not None and y in self.classes:
            self.y = list(self.classes).index(y)
            return
        values = [_number("--y", word) for word in y.split(",")]
        if self.network.d_out > 1 and len(values) == 1 and values[0].denominator == 1:
            self.y = int(values[0])
        else:
            self.y = values

    def take_rows(
        self, data: str, rows: list[str], target: str | None, drop: list[str] | None
    ) -> None:
        """Rows of a table, one of them a single example, and several a batch."""
        if target is None and Path(data).suffix:  # a file: its target may be the model's
            target = self.about.get("target")
        table = table_of(data, target, drop)
        self.names, values = rows_for(table, self.network, self.names, f"{data:.80}", self.about)
        chosen = _rows(rows, table.n_rows)
        both = table.classes is not None and self.classes is not None
        if both and list(table.classes or ()) != list(self.classes or ()):
            raise InvalidInput(
                f"{data:.80} has the classes {', '.join(table.classes or ()):.80}, and the network "
                f"those of {', '.join(self.classes or ()):.80}; they must agree."
            )
        self.classes = self.classes or table.classes
        single = len(chosen) == 1
        self.x = values[chosen[0]] if single else values[chosen]
        self.y = table.y[chosen[0]] if single else table.y[chosen]

    def work(
        self, likelihood: str | None, exact: bool, step: str | None, learning_rate: float
    ) -> "WorkedPass | WorkedStep":
        """Work the pass, or the step."""
        import numpy as np

        from ..walkthrough import RationalNetwork, worked_pass, worked_step
        from ..walkthrough.step import RULES

        if step is not None and step not in RULES:
            raise InvalidInput(f"--step is {step!r:.40}; choose one of {', '.join(RULES)}.")

        family = likelihood or self.about.get("likelihood") or self._likelihood()
        fits = self.classes is not None and len(self.classes) == max(2, self.network.d_out)
        classes = self.classes if fits else None
        names: dict[str, Any] = {"feature_names": self.names, "classes": classes}
        if exact:
            network = RationalNetwork.of(self.network, "decimal")
            return worked_pass(network, self.x, self.y, family, **names)
        x, y = np.asarray(self.x, float), self.y
        y = y if isinstance(y, int) else np.asarray(y, float if isinstance(y, list) else None)
        if step is None:
            return worked_pass(self.network, x, y, family, **names)
        options = {"optimizer": step, "learning_rate": learning_rate}
        return worked_step(self.network, x, y, family, **options, **names)

    def _likelihood(self) -> str | None:
        if self.classes is None:
            return None
        if len(self.classes) != max(2, self.network.d_out):
            raise InvalidInput(
                f"there are {len(self.classes)} classes, and the network has {self.network.d_out} "
                "outputs; say with --likelihood what they mean."
            )
        return "categorical" if self.network.d_out > 1 else "bernoulli"


def _number(option: str, word: str) -> Any:
    from ..walkthrough.rational import fractions

    try:
        value = fractions([word.strip()])[0]
        float(value)
        return value
    except (InvalidInput, OverflowError):
        raise InvalidInput(
            f"{option} has {word.strip()!r:.40}; it needs numbers or fractions with commas between "
            "them, such as 0.5,-1,3/4."
        ) from None


def _rows(words: list[str], n: int) -> list[int]:
    if len(words) > MOST_ROWS:
        raise InvalidInput(f"--row has {len(words):,} rows; give at most {MOST_ROWS:,}.")
    for word in words:
        plain = word.removeprefix("@")
        if not (plain.isascii() and plain.isdigit() and len(plain) < 12 and int(plain) < n):
            raise InvalidInput(f"--row is {word!r:.40}; the table has rows 0 to {n - 1}.")
    return [int(word.removeprefix("@")) for word in words]


def _tell(work: Any, form: dict[str, Any], out: Path | None, json: bool) -> None:
    from json import dumps

    from ..network.files import write_atomically
    from ._console import visible_path

    if out is not None:
        suffix = out.suffix.lower()
        whole = {} if suffix == ".txt" else {"standalone": True}
        text = getattr(work, FORMS[suffix])(**form, **whole)
        head = "% Pellucid\n" if suffix == ".tex" else ""
        write_atomically(out, (head + text).encode("utf-8", "replace"))
    if json:
        typer.echo(dumps(work.to_dict(), indent=2, allow_nan=False))
    elif out is None:
        typer.echo(work.to_text(**form))
    else:
        typer.echo(f"written: {visible_path(out)}")
