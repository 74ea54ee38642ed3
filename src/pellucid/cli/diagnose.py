"""`pellucid diagnose`: the main job."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import InvalidFile, InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..datasets import Table
    from ..diagnosis.verdict import Recipe, Verdict

REPORT = "report.html"
WITNESS = "witness.pellucid"
FAILED, INTERRUPTED = 1, 130


def diagnose(
    data: o.Data,
    target: o.Target = None,
    hidden: o.Hidden = "16",
    activation: o.ActivationName = "relu",
    optimizer: o.OptimizerName = "adam",
    learning_rate: o.LearningRate = 0.01,
    steps: o.Steps = 3000,
    batch_size: o.BatchSize = None,
    weight_decay: o.WeightDecay = 0.0,
    standardize: o.Standardize = False,
    task: o.Task = "auto",
    drop: o.Drop = None,
    seed: o.Seed = 0,
    budget: Annotated[
        float, typer.Option(help="Seconds after which no further stage is begun.")
    ] = 60.0,
    threads: o.Threads = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report.html and the proof.", show_default="this folder"),
    ] = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the verdict as JSON and nothing else; files are written only with --out.",
        ),
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with code 1 when the verdict is this; may be given again.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Train on a table, run the controlled experiments, and say what holds the network back.

    Example: pellucid diagnose sine --hidden 8 --learning-rate 5 --steps 100 --budget 30
    """
    from ._files import check_folder
    from ._load import load_table

    kinds = _kinds(fail_on or ())
    recipe = o.recipe_from(
        hidden, activation, optimizer, learning_rate, steps, batch_size, weight_decay, standardize
    )
    o.positive("--budget", budget)
    o.positive("--threads", threads)
    folder = out if out is not None else None if json else Path()
    if folder is not None:
        check_folder(folder)
    table = load_table(data, target, task, drop)
    verdict = _diagnose(table, recipe, seed, budget, threads)
    written = [] if folder is None else _write(verdict, folder)
    if json:
        _print_json(verdict)
    else:
        from ._verdict import print_verdict

        print_verdict(verdict)
        for path in written:
            typer.echo(f"written: {path}")
    if verdict.stage.endswith("(interrupted)"):
        return INTERRUPTED
    return FAILED if verdict.kind in kinds else 0


def _kinds(names: Iterable[str]) -> set[str]:
    """Kinds of verdict, written with spaces, hyphens or underscores."""
    from ..diagnosis.verdict import KINDS

    kinds = {name.replace("-", " ").replace("_", " ").lower().strip(): name for name in names}
    for kind, name in kinds.items():
        if kind not in KINDS:
            known = ", ".join(k.replace(" ", "-") for k in KINDS)
            raise InvalidInput(f"--fail-on is {name!r}; choose one of {known}.")
    return set(kinds)


def _diagnose(
    table: "Table", recipe: "Recipe", seed: int, budget: float, threads: int | None
) -> "Verdict":
    from dataclasses import asdict

    from ..diagnosis import diagnose
    from ._console import progress_bar

    with progress_bar("diagnosis") as show:
        return diagnose(
            table,
            **asdict(recipe),
            seed=seed,
            budget=budget,
            threads=threads,
            progress=None if show is None else lambda stage, done: show(done, 1.0, stage),
        )


def _write(verdict: "Verdict", folder: Path) -> list[Path]:
    """Write the report and, where there is one, the proof; return their paths."""
    from ..report import write_report
    from ._files import make_folder
    from ._invocation import command_line

    make_folder(folder)
    written = [] if verdict.witness is None else [_write_witness(verdict, folder / WITNESS)]
    report = write_report(
        verdict,
        folder / REPORT,
        command=command_line(),
        witness_file=WITNESS if written else None,
    )
    return [report, *written]


def _write_witness(verdict: "Verdict", path: Path) -> Path:
    """Write the proof, then read the file and check it as anyone else would."""
    from ..diagnosis import check_witness
    from ..network import save, to_bytes

    witness = verdict.witness
    assert witness is not None
    save(witness.network, path)
    answer = check_witness(
        witness.claim,
        path.read_bytes(),
        to_bytes(verdict.network),
        verdict.raw_X,
        verdict.y,
        verdict.held_out,
    )
    if not answer.accepted:
        path.unlink(missing_ok=True)
        raise InvalidFile(f"the proof did not survive being written to {path}: {answer.reason}.")
    return path


def _print_json(verdict: "Verdict") -> None:
    import json

    typer.echo(json.dumps(verdict.to_dict(), indent=2, allow_nan=False))
