"""`pellucid diagnose`: the main job."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidFile, InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..datasets import Table
    from ..diagnosis.verdict import Verdict

REPORT = "report.html"
WITNESS = "witness.pellucid"
CERTIFICATE = "certificate.json"
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
    schedule: o.Schedule = "constant",
    task: o.Task = "auto",
    drop: o.Drop = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A trained network (a file of `pellucid train`) instead of a recipe.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            "--data",
            help="The table, where DATA is script.py:make_model: this runs your own Python.",
            show_default=False,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="With a script: cross_entropy, mse, l1, bce, bce_with_logits, nll, or a function "
            "of it; else its `loss`, or the usual one of the target.",
            show_default=False,
        ),
    ] = None,
    train_fn: Annotated[
        str | None,
        typer.Option(
            help="With a script: its function (model, X, y) that trains; else its `train_fn`, or "
            "Adam.",
            show_default=False,
        ),
    ] = None,
    groups: o.Groups = None,
    time: o.Time = None,
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

    With script.py:make_model as DATA and the table as --data, your own PyTorch code is run.

    Example: pellucid diagnose sine --hidden 8 --learning-rate 5 --steps 100 --budget 30
    """
    from ._load import load_table

    kinds = _kinds(fail_on or ())
    recipe = o.recipe_from(
        hidden,
        activation,
        optimizer,
        learning_rate,
        steps,
        batch_size,
        weight_decay,
        standardize,
        schedule,
    )
    o.check_budget(budget)
    o.check_numbers(seed, threads)
    folder = out if out is not None else None if json else Path()
    if folder is not None:
        _check_place(folder)
    from ._own import importable, question_of

    table_name, own = question_of(data, rows, model, loss, train_fn, recipe)
    apart = [name for name in (groups, time) if name is not None]
    table = load_table(table_name, target, task, drop, keep=apart)
    with importable(data):
        question = asdict(recipe) | {"seed": seed} if own is None else own(table, seed)
        verdict = _diagnose(table, question, budget, threads, groups, time)
    told = [] if folder is None else _write(verdict, folder, table_name)
    if json:
        _print_json(verdict)
    else:
        from ._verdict import print_verdict

        print_verdict(verdict)
        for line in told:
            typer.echo(line)
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
    table: "Table",
    question: dict[str, Any],
    budget: float,
    threads: int | None,
    groups: str | None,
    time: str | None,
) -> "Verdict":
    from ..diagnosis import diagnose
    from ._console import progress_bar

    with progress_bar("diagnosis") as show:
        return diagnose(
            table,
            **question,
            budget=budget,
            groups=groups,
            time=time,
            threads=threads,
            progress=None if show is None else lambda stage, done: show(done, 1.0, stage),
        )


def _check_place(folder: Path) -> None:
    """Refuse a folder that cannot be written, or where a file of another program has our names."""
    from ..report import is_report
    from ._files import check_folder, check_ours, is_certificate, is_network

    check_folder(folder)
    if folder.is_dir():
        check_ours(folder / REPORT, is_report, "report")
        check_ours(folder / WITNESS, is_network, "network")
        check_ours(folder / CERTIFICATE, is_certificate, "certificate")


def _write(verdict: "Verdict", folder: Path, table: str) -> list[str]:
    """Write the report and, where there are any, the proofs: all or none; return what was done.

    A proof that an earlier run left is removed where the new report has none.
    """
    from ..network.files import all_or_none
    from ..report import render_report
    from ._console import visible_path
    from ._files import is_certificate, is_network, made_folder
    from ._invocation import command_line

    witness, certificate = _proofs(verdict)
    page = render_report(
        verdict,
        command=command_line(),
        witness_file=None if witness is None else WITNESS,
        certificate_file=None if certificate is None else CERTIFICATE,
        source=table,
    )
    files = (
        (folder / REPORT, page.encode("utf-8", errors="replace"), None),
        (folder / WITNESS, witness, is_network),
        (folder / CERTIFICATE, certificate, is_certificate),
    )
    told = []
    with made_folder(folder), all_or_none() as write:
        for path, content, is_ours in files:
            name = visible_path(path)
            if content is not None:
                told.append(f"{'replaced' if path.exists() else 'written'}: {name}")
                written = write(path, content)
                if path.name == WITNESS:
                    _check_written(verdict, written)
            elif is_ours is not None and is_ours(path):
                write(path, None)
                told.append(f"removed: {name}, the proof of an earlier run")
    return told


def _proofs(verdict: "Verdict") -> tuple[bytes | None, bytes | None]:
    """The better parameters, and the certificate, as files."""
    import json

    from ..network import to_bytes

    witness = None if verdict.witness is None else to_bytes(verdict.witness.network)
    if verdict.certificate is None:
        return witness, None
    return witness, (json.dumps(verdict.certificate, indent=1, allow_nan=False) + "\n").encode()


def _check_written(verdict: "Verdict", path: Path) -> None:
    """Read the file with the proof again and check it as anyone else would."""
    from ..diagnosis import check_witness
    from ..network import to_bytes

    assert verdict.witness is not None
    answer = check_witness(
        verdict.witness.claim,
        path.read_bytes(),
        to_bytes(verdict.network),
        verdict.raw_X,
        verdict.y,
        verdict.held_out,
    )
    if not answer.accepted:
        raise InvalidFile(f"the proof did not survive being written: {answer.reason}.")


def _print_json(verdict: "Verdict") -> None:
    import json

    typer.echo(json.dumps(verdict.to_dict(), indent=2, allow_nan=False))
