"""`DATASETS`: every data set by name, and `load_dataset`, which makes one."""

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .._errors import InvalidInput
from . import bundled, toys
from .column import Integer
from .table import Table


@dataclass(frozen=True)
class DatasetFamily:
    """One entry of `DATASETS`.

    `kind` is "toy" (drawn; `load` takes n, seed and noise) or "table" (measured; `load` takes
    target). `n_rows` is the number of rows, for a toy unless asked otherwise.
    """

    name: str
    kind: str
    task: str
    description: str
    n_rows: int
    load: Callable[..., Table]
    target: str
    licence: str = ""
    source: str = ""


def _toy(load: Callable[..., Table], task: str, n_rows: int, description: str) -> DatasetFamily:
    name = load.__name__
    target = "class" if task == "classification" else "y"
    return DatasetFamily(name, "toy", task, description, n_rows, load, target, "", toys.SOURCE)


def _sklearn(name: str, task: str, n_rows: int, description: str, licence: str) -> DatasetFamily:
    load, source = bundled.sklearn_table(name), "bundled with scikit-learn"
    return DatasetFamily(name, "table", task, description, n_rows, load, "target", licence, source)


UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
_FAMILIES = (
    _toy(toys.spirals, "classification", 600, "two interleaved spirals"),
    _toy(toys.concentric, "classification", 600, "a disc inside a ring"),
    _toy(toys.xor, "classification", 400, "four clouds, classes across the diagonals"),
    _toy(toys.moons, "classification", 400, "two interlocking half circles"),
    _toy(toys.blobs, "classification", 400, "four clouds, one per class"),
    _toy(toys.checkerboard, "classification", 800, "a board of four by four cells"),
    _toy(toys.sine, "regression", 200, "one period of a sine to each side of zero, with noise"),
    _toy(toys.plane, "regression", 200, "a linear function of two inputs, with noise"),
    DatasetFamily(
        "penguins",
        "table",
        "classification",
        "three species of penguin by body measurements, island and sex; some cells missing",
        344,
        bundled.penguins,
        "species",
        "CC0 1.0",
        bundled.PENGUINS_SOURCE,
    ),
    _sklearn("iris", "classification", 150, "three species of iris by four lengths", UCI),
    _sklearn("wine", "classification", 178, "three growers of wine by 13 chemical analyses", UCI),
    _sklearn(
        "breast_cancer", "classification", 569, "tumours by 30 properties of cell nuclei", UCI
    ),
    _sklearn("digits", "classification", 1797, "handwritten digits as 8 x 8 grey values", UCI),
    _sklearn(
        "diabetes",
        "regression",
        442,
        "progression of diabetes after a year by ten baseline variables, in their own units",
        "distributed with scikit-learn (BSD-3-Clause); Efron et al. (2004)",
    ),
)
DATASETS: dict[str, DatasetFamily] = {family.name: family for family in _FAMILIES}
"""Name -> family: feeds `load_dataset`, the command line and the documentation."""


def load_dataset(
    name: str,
    n: Integer | None = None,
    seed: Integer = 0,
    target: str | None = None,
    **options: Any,
) -> Table:
    """The data set of that name in `DATASETS`.

    `n` and `seed` are for toys (and so are their further options, such as `noise`); measured
    tables are always whole and may take another of their columns as `target`.
    """
    family = DATASETS.get(name)
    if family is None:
        close = difflib.get_close_matches(name, DATASETS, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InvalidInput(
            f"there is no data set {name!r}; {hint}the names are {', '.join(DATASETS)}."
        )
    if family.kind == "toy":
        return _draw(family, n, seed, target, options)
    if n is not None or options:
        unused = ", ".join((["n"] if n is not None else []) + list(options))
        raise InvalidInput(
            f"{name} is a measured table of {family.n_rows} rows and takes no {unused}; "
            "leave it out."
        )
    table = family.load(target or family.target)
    return replace(table, source=family.source, licence=family.licence)


def _draw(
    family: DatasetFamily, n: Integer | None, seed: Integer, target: str | None, options: dict
) -> Table:
    if target not in (None, family.target):
        raise InvalidInput(
            f"{family.name} has the target {family.target!r} and no column {target!r} to predict; "
            "leave target out."
        )
    allowed = inspect.signature(family.load).parameters
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise InvalidInput(
            f"{family.name} has no option {unknown[0]!r}; it takes {', '.join(allowed)}."
        )
    return family.load(family.n_rows if n is None else n, seed, **options)
