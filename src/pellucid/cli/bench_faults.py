"""`pellucid bench-faults`: a tool that diagnoses networks, on the benchmark of a checkout."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from .._errors import InvalidInput
from . import _options as o

WHERE = Path("benchmarks") / "faults"
CHECKOUT = Path(__file__).resolve().parents[3]


def bench_faults(
    tool: Annotated[
        str,
        typer.Option(
            help="What to run: module:function of yours, or pellucid, torchmortem, gradsnitch "
            "or sk-autod, where it is installed."
        ),
    ] = "pellucid",
    part: Annotated[str, typer.Option(help="tuning, scoring or all.")] = "tuning",
    source: Annotated[str, typer.Option(help="rebuilt, healthy, planted or all.")] = "all",
    case: Annotated[
        list[str] | None,
        typer.Option(help="Only ids that contain this; may be given again.", show_default=False),
    ] = None,
    budget: Annotated[float, typer.Option(help="Seconds that the tool may take for a case.")] = 5.0,
    limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which a case is ended; if not given, twice the budget and 30.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Cases at once.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each case.")] = 1,
    every: Annotated[int, typer.Option(help="Take every so many-th case only.")] = 1,
    json: Annotated[
        Path | None,
        typer.Option(help="File for what was said of every case.", show_default=False),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put the tables into benchmarks/RESULTS.md.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the ids and end.")] = False,
) -> int:
    """Run a tool on networks that fail for a known reason, and on healthy ones, and score it.

    The benchmark is code of Pellucid's repository and not of the installed package: run this
    from a checkout. Your tool runs as your own code; benchmarks/faults/README.md has its interface.

    Example: pellucid bench-faults --tool pellucid --part tuning --budget 5
    """
    o.check_budget(budget)
    if limit is not None and not limit > 0:
        raise InvalidInput(f"--limit is {limit:g}; it needs a number above 0.")
    for name, value in (("--jobs", jobs), ("--threads", threads), ("--every", every)):
        if value < 1:
            raise InvalidInput(f"{name} is {value}; it needs a whole number above 0.")
    options = {"tool": tool, "part": part, "source": source, "budget": f"{budget!r}"}
    words = [f"--{name}={value}" for name, value in options.items()]
    words += [f"--jobs={jobs}", f"--threads={threads}", f"--every={every}"]
    words += [f"--limit={limit!r}"] if limit is not None else []
    words += [f"--case={name}" for name in case or ()]
    words += [f"--json={json.resolve()}"] if json is not None else []
    words += [flag for flag, given in (("--write", write), ("--list", listed)) if given]
    return _run(_benchmarks(), words)


def _benchmarks() -> Path:
    """Return the folder `benchmarks` of the checkout that we are in, or that is installed."""
    for root in (Path.cwd(), CHECKOUT):
        if (root / WHERE / "__main__.py").is_file():
            return root / WHERE.parent
    raise InvalidInput(
        f"there is no {WHERE} here; run bench-faults from a checkout of Pellucid's repository."
    )


def _run(folder: Path, words: list[str]) -> int:
    """`python -m faults`, which finds the user's own modules as `python -m` here would."""
    paths = [str(folder), str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-W", "ignore", "-m", "faults", *words]
    return subprocess.run(command, env=environment, check=False).returncode
