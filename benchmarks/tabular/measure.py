"""Run programs on folds, one after the other, and keep what they predicted.

What was measured lies in `benchmarks/.tables`, a file to each table, program and fold, so that a
stopped run goes on where it was. Another version of the program's package is measured again.
"""

import itertools
import resource
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .ours import PRESETS
from .peers import PEERS, Program
from .rows import Fold, table_rows
from .splits import check_splits

CACHE = Path(__file__).parents[1] / ".tables"
PROGRAMS: dict[str, Program] = PRESETS | PEERS
PACKAGES = {"torch recipe": "torch", "RealMLP-TD": "pytabkit"} | dict.fromkeys(PRESETS, "pellucid")


@dataclass(frozen=True)
class Outcome:
    """What a program said about all held-out rows of a table, and how long its folds took."""

    y: NDArray
    predicted: NDArray[np.float64]
    seconds: NDArray[np.float64]

    @property
    def labels(self) -> bool:
        """Whether classes were predicted."""
        return self.predicted.ndim == 2


def measure(table: str, programs: Mapping[str, Program], kept: bool = False) -> dict[str, Outcome]:
    """Every program on every fold of the table, from the cache where it is there.

    `kept`: nothing is measured, and a program that lacks a fold is left out.
    """
    rows = table_rows(table)
    tests = rows.test_rows()
    check_splits(table, tests)
    outcomes = {}
    for name, program in programs.items():
        if kept and not all(_file(table, name, k).exists() for k in range(len(tests))):
            continue
        parts = []
        for k, test in enumerate(tests):
            file = _file(table, name, k)
            if not file.exists():
                _measure(file, program, rows.fold(test), f"{table}, {name}, fold {k + 1}")
            with np.load(file) as saved:
                parts.append((saved["predicted"], float(saved["seconds"])))
        y = np.concatenate([rows.y[test] for test in tests])
        predicted = np.concatenate([p for p, _ in parts])
        outcomes[name] = Outcome(y, predicted, np.array([s for _, s in parts]))
    return outcomes


def installed(programs: Iterable[str]) -> list[str]:
    """Those of the programs whose package is there; a line for each of the others."""
    found = []
    for program in programs:
        package = PACKAGES.get(program, "scikit-learn")
        try:
            version(package)
        except PackageNotFoundError:
            print(
                f"{program} is left out: {package} is not installed (make bench)", file=sys.stderr
            )
        else:
            found.append(program)
    return found


def forget(tables: Iterable[str], programs: Iterable[str]) -> None:
    """Remove what was measured of these programs."""
    for table, program in itertools.product(tables, programs):
        for file in (CACHE / table).glob(f"{_prefix(program)}-*.npz"):
            file.unlink()


def warm_up(tables: Iterable[str], programs: Mapping[str, Program]) -> None:
    """Fit each program that has something to measure once, so that no import is counted."""
    folds = {table: len(table_rows(table).test_rows()) for table in tables}
    programs = {
        name: program
        for name, program in programs.items()
        if not all(_file(t, name, k).exists() for t in folds for k in range(folds[t]))
    }
    for name in ("iris", "diabetes"):
        rows = table_rows(name)
        fold = rows.fold(rows.test_rows()[0])
        for program in programs.values():
            program(fold)


def _measure(file: Path, program: Program, fold: Fold, what: str) -> None:
    print(what, end=" ... ", file=sys.stderr, flush=True)
    start = _processor_seconds()
    predicted = program(fold)
    seconds = _processor_seconds() - start
    print(f"{seconds:.2f} s", file=sys.stderr)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new.npz")
    np.savez_compressed(new, predicted=predicted, seconds=seconds)
    new.replace(file)


def _processor_seconds() -> float:
    """Of this process, its threads and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _file(table: str, program: str, fold: int) -> Path:
    package = PACKAGES.get(program, "scikit-learn")
    return CACHE / table / f"{_prefix(program)}-{package}-{version(package)}-{fold}.npz"


def _prefix(program: str) -> str:
    return program.replace(" ", "_")
