"""`pellucid sweep`: a grid of networks from a study file, into one table."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..training import Run
    from ..training.study import StudyResult, StudyRows
    from ..training.study_file import Study

INTERRUPTED = 130
SHOWN = 5
OF_A_SWEEP = {"hidden", "seed", "learning_rate", "n_parameters", "loss", "status", "steps_done"}
"""Columns that tell a table of a sweep from any other."""


def sweep(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="STUDY",
            help="A study file (TOML); --example prints one.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Parquet file for the table, instead of the one that the study names.",
            show_default=False,
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option("--restart", help="Begin anew: remove the checkpoint of an earlier sweep."),
    ] = False,
    threads: o.Threads = None,
    ray: Annotated[
        bool,
        typer.Option(
            "--ray", help="Train on the Ray cluster at RAY_ADDRESS, or on one started here."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Print a study file that runs as it is.")
    ] = False,
) -> int:
    """Train every combination of the settings in a study file, and write a table of the networks.

    What is done is saved every few seconds: the same command goes on where it was stopped.

    Example: pellucid sweep study.toml --threads 2
    """
    from ..training.study_file import EXAMPLE, read_study

    if example:
        typer.echo(EXAMPLE, nl=False)
        return 0
    if study is None:
        raise InvalidInput(
            "STUDY is missing; name a study file, or get one: pellucid sweep --example > study.toml"
        )
    o.check_numbers(0, threads)
    asked = read_study(study)
    places = _Places(asked, out)
    places.check(asked)
    return _sweep(asked, places, restart, threads, "ray" if ray else None, json)


class _Places:
    """Where the table, the checkpoint and the best network go."""

    def __init__(self, study: "Study", out: Path | None):
        table = out if out is not None else study.table
        if table is None:
            raise InvalidInput(f"{study.file}: output.table is missing; name it, or give --out.")
        self.table_key = "--out" if out is not None else f"{study.file}, output.table"
        self.best_key = f"{study.file}, output.save_best"
        if table.suffix.lower() != ".parquet":
            raise InvalidInput(
                f"{self.table_key} is {table.name or str(table)!r:.80}; it needs a name that ends "
                "in .parquet."
            )
        self.table, self.best = table, study.save_best
        self.checkpoint = study.checkpoint or table.with_suffix(".checkpoint")

    def check(self, study: "Study") -> None:
        """Refuse a place that cannot be written or holds another's file, before the work."""
        from ..network.files import replaceable
        from ._files import check_file, check_ours, is_network

        data = study.data_path
        check_file(self.table, None if data is None else str(data), self.table_key)
        check_ours(self.table, _is_sweep, "table of a sweep", self.table_key)
        if self.best is not None:
            check_file(self.best, None if data is None else str(data), self.best_key)
            if replaceable(self.best) == replaceable(self.table):
                raise InvalidInput(f"{self.best_key} is the table itself; name another file.")
            check_ours(self.best, is_network, "network", self.best_key)
        self._check_checkpoint(study)

    def _check_checkpoint(self, study: "Study") -> None:
        """Refuse a folder that has the place of a file of this sweep."""
        from ..network.files import replaceable

        place = Path(os.path.realpath(self.checkpoint))
        for file in (self.table, self.best):
            if file is not None and place == replaceable(file):
                raise InvalidInput(
                    f"{study.file}, output.checkpoint: {self.checkpoint} is the place of the "
                    f"{'table' if file is self.table else 'best network'}; name another folder."
                )


def _is_sweep(path: Path) -> bool:
    """Tell whether a file is a table that a sweep wrote."""
    import polars as pl

    try:
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return False
        return set(pl.read_parquet_schema(path)) >= OF_A_SWEEP
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False


def _sweep(
    study: "Study",
    places: _Places,
    restart: bool,
    threads: int | None,
    executor: str | None,
    as_json: bool,
) -> int:
    import warnings

    from .._errors import PellucidWarning
    from ..training.checkpoint_files import clear
    from ..training.study import run_study, study_rows
    from ._console import progress_bar

    rows = study_rows(study)
    if restart:
        clear(places.checkpoint)
    bar = progress_bar(f"{len(study.settings):,} networks", remaining=True)
    try:
        with bar as show, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "interrupted: ", PellucidWarning)  # told below
            result = run_study(
                study,
                rows,
                checkpoint=places.checkpoint,
                threads=threads,
                progress=show or False,
                executor=executor,
            )
        if result.grid.interrupted:
            done = sum(run.status != "interrupted" for run in result.grid)
            return _tell_interrupted(
                f"{done:,} of {len(result.grid):,} networks are done, and all", places
            )
        told = _write(study, result, places)
    except KeyboardInterrupt:  # after the training, or a second Ctrl-C
        return _tell_interrupted("what is done", places)
    if as_json:
        _print_json(study, result, places)
    else:
        _print(study, result)
        for line in told:
            typer.echo(line)
    return 0


def _tell_interrupted(what: str, places: _Places) -> int:
    from ..training.checkpoint_files import STUDY
    from ._console import visible_path

    if os.path.exists(places.checkpoint / STUDY):
        typer.echo(
            f"{what} is saved in {visible_path(places.checkpoint)}; the same command goes on from "
            "there.",
            err=True,
        )
    return INTERRUPTED


def _write(study: "Study", result: "StudyResult", places: _Places) -> list[str]:
    """Write the table and, where it is asked for, the best network: both or none."""
    import io

    from ..network import to_bytes
    from ..network.files import all_or_none
    from ._console import visible_path

    buffer = io.BytesIO()
    frame = result.to_frame()
    frame.write_parquet(buffer)
    best = result.best(1)
    told = [f"written: {visible_path(places.table)} ({frame.height:,} rows)"]
    with all_or_none() as write:
        write(places.table, buffer.getvalue())
        if places.best is not None and best:
            network, about = _folded(result.rows, result.grid[best[0]])
            write(places.best, to_bytes(network, about))
            told.append(f"saved: {visible_path(places.best)} (network {best[0]})")
    return told


def _folded(rows: "StudyRows", run: "Run") -> tuple[Any, dict[str, str]]:
    """The network on encoded, unscaled columns, and what someone needs who loads it."""
    import json

    from ..diagnosis.problem import fold
    from ..diagnosis.verdict import Scaling
    from ..training.targets import is_usual
    from ._likelihood import in_unit
    from .train import split_of

    scaling = Scaling(rows.input_offset, rows.input_scale, rows.target_offset, rows.target_scale)
    table, head = rows.table, rows.likelihood
    about = {
        "feature_names": json.dumps(rows.feature_names),
        "target": table.target_name,
        "classes": json.dumps(table.classes),
    }
    if rows.split is not None:
        about["split"] = split_of(table, *rows.split)
    if is_usual(head, table):
        return fold(run.network, scaling, table.classes is None), about
    network = fold(run.network, scaling, regression=False)
    if head.target_kind == "real":
        network, head = in_unit(network, head, rows.target_offset, rows.target_scale)
    return network, about | {"likelihood": str(head)}


def _print_json(study: "Study", result: "StudyResult", places: _Places) -> None:
    import json

    frame = result.to_frame()
    summary = {
        "networks": len(result.grid),
        "likelihood": str(result.rows.likelihood),
        "statuses": _statuses(result),
        "best": [frame.row(i, named=True) for i in result.best(SHOWN)],
        "table": str(places.table),
    }
    typer.echo(json.dumps(summary, indent=2, allow_nan=False))


def _statuses(result: "StudyResult") -> dict[str, int]:
    statuses = [run.status for run in result.grid]
    return {status: statuses.count(status) for status in sorted(set(statuses))}


def _print(study: "Study", result: "StudyResult") -> None:
    from ..training.targets import is_usual, order_of
    from ._console import console, print_table, visible
    from ._likelihood import loss_name
    from ._wording import spoken

    paper, rows = console(), result.rows
    n_held_out = int(rows.held_out.sum())
    paper.print(
        f"{visible(rows.table.name)}: {rows.table.n_rows - n_held_out:,} training rows, "
        f"{n_held_out:,} held out; column to predict: {visible(repr(rows.table.target_name))} "
        f"({rows.table.task})"
    )
    if not is_usual(rows.likelihood, rows.table):
        paper.print(f"likelihood: {rows.likelihood}")
    order = order_of(rows.likelihood, rows.table.classes)
    if order:
        paper.print(visible(order))
    counts = ", ".join(f"{count:,} {status}" for status, count in _statuses(result).items())
    paper.print(f"{len(result.grid):,} networks: {visible(counts)}")
    best = result.best(SHOWN)
    if best:
        paper.print(f"the best by {'held-out' if n_held_out else 'training'} loss:")
        loss = loss_name(rows.likelihood, "training ")
        header = ("network", *(study.varied or ("hidden",)), loss, *_HELD_OUT)
        print_table(paper, header, [_row(study, result, i) for i in best])
    else:
        paper.print("No network has a finite loss; try lower learning rates.", style="yellow")
    for note in rows.table.notes:
        paper.print(f"note: {visible(spoken(note))}")


_HELD_OUT = ("held-out loss", "held-out accuracy")


def _row(study: "Study", result: "StudyResult", i: int) -> list[str]:
    from ..report import words

    run = result.grid[i]
    settings = run.settings.to_dict()
    shares = result.validation_accuracy
    share = None if shares is None else shares[i]
    return [
        str(i),
        *(str(settings[name]) for name in study.varied or ("hidden",)),
        words.loss(run.loss),
        "–" if run.validation_loss is None else words.loss(run.validation_loss),
        "–" if share is None else words.score(share, "accuracy"),
    ]
