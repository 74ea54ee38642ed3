"""The bundled tables, `DATASETS` and `load_dataset`."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from pellucid import _errors
from pellucid.datasets import DATASETS, load_dataset, read_table

TABLES = [family for family in DATASETS.values() if family.kind == "table"]
DOCS = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.mark.parametrize("family", DATASETS.values(), ids=list(DATASETS))
def test_every_entry_loads_as_it_says(family):
    table = load_dataset(family.name)
    assert (table.name, table.task, table.n_rows) == (family.name, family.task, family.n_rows)
    assert table.target_name == family.target
    assert (table.source, table.licence) == (family.source, family.licence)
    encoded = table.encoder().transform(table)
    assert np.isfinite(encoded).all()


@pytest.mark.parametrize("family", TABLES, ids=lambda family: family.name)
def test_measured_tables_state_their_licence(family):
    assert family.licence
    assert family.source


@pytest.mark.parametrize("name", list(DATASETS))
def test_the_documentation_names_every_entry(name):
    assert f"`{name}`" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_classification_tables_equal_scikit_learns(name):
    from sklearn import datasets

    theirs = getattr(datasets, f"load_{name}")()
    ours = load_dataset(name)
    np.testing.assert_array_equal(ours.X, theirs.data)
    np.testing.assert_array_equal(ours.y, theirs.target)
    assert ours.classes == tuple(map(str, theirs.target_names))
    assert ours.feature_names == tuple(theirs.feature_names)


def test_diabetes_is_in_its_own_units():
    table = load_dataset("diabetes")
    age = table.columns[0]
    assert (age.name, age.values.min(), age.values.max()) == ("age", 19, 79)
    assert (table.y.min(), table.y.max()) == (25, 346)


def test_penguins():
    table = load_dataset("penguins")
    assert table.classes == ("Adelie", "Chinstrap", "Gentoo")
    assert np.bincount(table.y).tolist() == [152, 68, 124]
    assert {column.name: column.kind for column in table.columns} == {
        "island": "categorical",
        "bill_length_mm": "numeric",
        "bill_depth_mm": "numeric",
        "flipper_length_mm": "numeric",
        "body_mass_g": "numeric",
        "sex": "categorical",
        "year": "numeric",
    }
    missing = {column.name: int(column.missing.sum()) for column in table.columns}
    assert [missing[name] for name in ("bill_length_mm", "sex", "island")] == [2, 11, 0]
    assert sum(missing.values()) == 19


def test_penguins_with_another_target():
    table = load_dataset("penguins", target="body_mass_g")
    assert (table.task, table.n_rows, table.y.mean().round(1)) == ("regression", 342, 4201.8)
    assert "species" in table.feature_names


def test_a_table_of_scikit_learn_with_another_target():
    table = load_dataset("iris", target="petal width (cm)")
    assert (table.task, table.n_rows) == ("regression", 150)
    assert set(table.columns[-1].values) == {"setosa", "versicolor", "virginica"}


def test_the_shipped_file_is_read_as_a_users_file_is():
    path = files("pellucid.datasets") / "data" / "penguins.csv"
    ours, theirs = load_dataset("penguins"), read_table(str(path), "species")
    for a, b in zip(ours.columns, theirs.columns, strict=True):
        np.testing.assert_array_equal(a.values, b.values)


def test_the_licence_of_the_shipped_data_is_beside_it():
    text = (files("pellucid.datasets") / "data" / "LICENSES.md").read_text(encoding="utf-8")
    assert "penguins.csv" in text
    assert "CC0" in text


REFUSED = [
    (("iriss",), {}, "there is no data set 'iriss'; did you mean 'iris'? the names are spirals, "),
    (("iris",), {"n": 50}, "iris is a measured table of 150 rows and takes no n; leave it out."),
    (("iris",), {"noise": 1.0}, "iris is a measured table of 150 rows and takes no noise; "),
    (("moons",), {"target": "x1"}, "moons has the target 'class' and no column 'x1' to predict; "),
    (("moons",), {"cells": 3}, "moons has no option 'cells'; it takes n, seed, noise."),
    (("penguins",), {"target": "weight"}, "penguins has no column 'weight' (target); its "),
]


@pytest.mark.parametrize(("args", "options", "sentence"), REFUSED)
def test_load_dataset_refuses(args, options, sentence):
    with pytest.raises(_errors.InvalidInput) as caught:
        load_dataset(*args, **options)
    assert sentence in str(caught.value)


def test_importing_datasets_loads_no_heavy_package():
    code = (
        "import sys, pellucid.datasets as d; d.spirals().encoder()\n"
        "print([m for m in ('torch', 'matplotlib', 'sklearn', 'polars', 'narwhals', 'scipy', "
        "'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
