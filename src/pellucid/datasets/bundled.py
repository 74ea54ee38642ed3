"""Real tables: those that scikit-learn bundles, and the penguins that ship with pellucid."""

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import as_file, files
from typing import Any

from .arrays import as_table
from .files import read_file
from .frames import read_frame
from .reading import build_table
from .table import Table

PENGUINS_SOURCE = "Gorman, Williams and Fraser (2014), from the package palmerpenguins 0.1.6"


def penguins(target: str = "species") -> Table:
    """344 penguins of three species: four measurements, island, sex and year; 19 cells missing.

    Source: Gorman, Williams and Fraser (2014), PLoS ONE 9(3): e90081, CC0. It is read as any CSV
    file is, so `target` may be any of its columns.
    """
    with as_file(files("pellucid.datasets") / "data" / "penguins.csv") as path:
        raw = replace(read_file(path), origin="penguins")
    return replace(
        build_table(raw, target, name="penguins"), source=PENGUINS_SOURCE, licence="CC0 1.0"
    )


def sklearn_table(name: str) -> Callable[..., Table]:
    """A function that makes a `Table` of scikit-learn's bundled table of that name."""

    def load(target: str = "target") -> Table:
        data = _sklearn_data(name)
        names = [str(feature) for feature in data.feature_names]
        if target != "target":
            return build_table(read_frame(_frame(data, names), name), target, name=name)
        classes = None if name == "diabetes" else [str(c) for c in data.target_names]
        y = data.target
        return as_table(
            data.data, y, feature_names=names, classes=classes, name=name, target_name=target
        )

    load.__name__ = name
    load.__doc__ = f"The table {name} that scikit-learn bundles, unscaled."
    return load


def _sklearn_data(name: str) -> Any:
    from sklearn import datasets

    if name == "diabetes":
        return datasets.load_diabetes(scaled=False)
    return getattr(datasets, f"load_{name}")()


def _frame(data: Any, names: list[str]) -> Any:
    import polars as pl

    columns = [pl.Series(n, x) for n, x in zip(names, data.data.T, strict=True)]
    labels = getattr(data, "target_names", None)
    y = data.target if labels is None else [str(labels[k]) for k in data.target]
    return pl.DataFrame([*columns, pl.Series("target", y)])
