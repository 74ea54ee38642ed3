"""`pellucid datasets`: what comes with Pellucid, and how to get it as a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from ..datasets import Table

FORMATS = (".csv", ".parquet")


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="A data set to write or describe.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write it to this .csv or .parquet file.", show_default=False),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Number of rows; toys only.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed that the rows are drawn with; toys only.")] = 0,
) -> None:
    """List the data sets, describe one of them, or write it to a file.

    Example: pellucid datasets penguins --out penguins.csv
    """
    if name is None:
        if out is not None:
            raise InvalidInput("--out needs the name of a data set: pellucid datasets NAME --out.")
        _list()
        return
    from ..datasets import load_dataset

    if out is not None:
        _check_out(out)
    table = load_dataset(name, n=rows, seed=seed)
    if out is None:
        _describe(table)
    else:
        _write(table, out)


def _list() -> None:
    from ..datasets import DATASETS
    from ._console import console, print_table

    header = ("name", "kind", "task", "rows", "description", "licence")
    rows = [
        (d.name, d.kind, d.task, d.n_rows, d.description, d.licence or "-")
        for d in DATASETS.values()
    ]
    print_table(console(pipe_width=240), header, rows, right_from=len(header))


def _describe(table: "Table") -> None:
    from ..datasets import DATASETS
    from ._console import console

    family = DATASETS.get(table.name)
    out = console()
    out.print(f"{table.name}: {family.description if family else table.task}")
    out.print(f"{table.n_rows} rows; target {table.target_name} ({table.task})")
    out.print(f"columns: {', '.join(table.feature_names)}")
    if table.classes:
        out.print(f"classes: {', '.join(table.classes)}")
    for label, text in (("licence", table.licence), ("source", table.source)):
        if text:
            out.print(f"{label}: {text}")


def _check_out(out: Path) -> None:
    from ._files import check_file

    if out.suffix.lower() not in FORMATS:
        raise InvalidInput(f"--out is {out.name!r}; it needs a name that ends in .csv or .parquet.")
    check_file(out)


def _write(table: "Table", out: Path) -> None:
    import io

    from ..network.files import write_atomically
    from ._console import visible, visible_path

    buffer = io.BytesIO()
    frame = table.to_frame()
    if out.suffix.lower() == ".csv":
        frame.write_csv(buffer)
    else:
        frame.write_parquet(buffer)
    data = buffer.getvalue()
    if not _holds(out, data):
        write_atomically(out, data)
    typer.echo(
        f"{visible_path(out)}: {table.n_rows} rows, {len(table.columns)} columns and the target "
        f"{visible(repr(table.target_name))}"
    )


def _holds(out: Path, data: bytes) -> bool:
    """Tell whether the file has these bytes already; a file with any others is not replaced."""
    try:
        size = out.stat().st_size if out.exists() else 0
        if size == len(data) and out.read_bytes() == data:
            return True
    except OSError as error:
        raise InvalidFile(f"--out: cannot read {out} ({error.strerror or error}).") from None
    if size:
        raise InvalidFile(f"--out: {out} exists and is not replaced; name another file.")
    return False
