"""`as_table`: two arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pellucid import _errors
from pellucid.datasets import as_table

X = np.arange(24.0).reshape(12, 2)
Y = np.array([0.5, 1.5] * 6)


def test_floats_are_numbers_and_names_are_given():
    table = as_table(X, Y)
    assert (table.task, table.feature_names, table.target_name) == ("regression", ("x1", "x2"), "y")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    named = as_table(X, Y, feature_names=["a", "b"], name="mine", target_name="t")
    assert (named.feature_names, named.name, named.target_name) == (("a", "b"), "mine", "t")


TARGETS = {
    "whole numbers": ([3, 1] * 6, ("1", "3"), [1, 0]),
    "booleans": ([True, False] * 6, ("False", "True"), [1, 0]),
    "text": (["b", "a"] * 6, ("a", "b"), [1, 0]),
    "objects of text": (np.array(["b", "a"] * 6, dtype=object), ("a", "b"), [1, 0]),
    "objects of booleans": (np.array([True, False] * 6, dtype=object), ("False", "True"), [1, 0]),
    "objects of whole numbers": (np.array([3, 1] * 6, dtype=object), ("1", "3"), [1, 0]),
    "one column": (np.array([[3], [1]] * 6), ("1", "3"), [1, 0]),
    "pandas": (pd.Series(["b", "a"] * 6), ("a", "b"), [1, 0]),
    "polars": (pl.Series(["b", "a"] * 6), ("a", "b"), [1, 0]),
    "small integers": (np.array([3, 1] * 6, dtype=np.uint8), ("1", "3"), [1, 0]),
}


@pytest.mark.parametrize(("y", "names", "labels"), TARGETS.values(), ids=list(TARGETS))
def test_targets_that_are_classes(y, names, labels):
    table = as_table(X, y)
    assert table.classes == names
    assert table.y[:2].tolist() == labels
    assert table.y.dtype == np.int64


def test_whole_numbers_with_many_values_are_numbers():
    assert as_table(X, np.arange(12)).task == "regression"


def test_whole_floats_are_numbers_unless_asked_for():
    y = np.array([0.0, 1.0] * 6)
    assert as_table(X, y).task == "regression"
    assert as_table(X, y, task="classification").classes == ("0", "1")
    assert as_table(X, y.astype(int), task="regression").classes is None


def test_labels_with_the_names_of_their_classes():
    table = as_table(X, [0, 2] * 6, classes=["a", "b", "c"])
    assert table.classes == ("a", "b", "c")
    assert table.y[:2].tolist() == [0, 2]


def test_a_gap_in_x_is_a_missing_value():
    gappy = X.copy()
    gappy[3, 1] = np.nan
    encoder = as_table(gappy, Y).encoder()
    assert encoder.feature_names == ("x1", "x2", "x2 is missing")


def test_a_missing_value_of_pandas_is_a_gap_in_x_and_an_error_in_y():
    gappy = pd.DataFrame(X).astype("Int64")
    gappy.iloc[3, 1] = pd.NA
    assert as_table(gappy, Y).columns[1].missing.tolist() == [i == 3 for i in range(12)]
    with pytest.raises(_errors.InvalidInput, match=r"y\[1\] is .*; every row needs a"):
        as_table(X, pd.Series([1, None] * 6, dtype="Int64"))


def test_lists_whole_numbers_booleans_and_frames_of_numbers():
    assert as_table(X.astype(int).tolist(), Y).X.dtype == np.float64
    assert as_table(X > 3, Y).X[0].tolist() == [0, 0]
    assert as_table(pd.DataFrame(X, columns=["a", "b"]), Y).feature_names == ("a", "b")
    assert as_table(pl.DataFrame(X, schema=["a", "b"]), Y).feature_names == ("a", "b")
    assert as_table(X.astype(object), Y).X.dtype == np.float64


def test_the_arrays_are_copied():
    ours, y = X.copy(), Y.copy()
    table = as_table(ours, y)
    ours[:], y[:] = 0, 0
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)


def with_value(value, dtype=float):
    changed = X.astype(dtype)
    changed[3, 1] = value
    return changed


REFUSED = {
    "no y": (pd.DataFrame(X), None, "as_table got X (DataFrame) and no y; give the targets as y, "),
    "one axis": (
        X[:, 0],
        Y,
        "X has shape (12,); it needs two axes, (rows, columns): use X.reshape",
    ),
    "three axes": (X[None], Y, "X has shape (1, 12, 2); it needs two axes, (rows, columns): flatt"),
    "no rows": (X[:0], Y[:0], "X has shape (0, 2); it needs at least one row and one column"),
    "no columns": (X[:, :0], Y, "X has shape (12, 0); it needs at least one row and one column"),
    "too few targets": (X, Y[:5], "X has 12 rows and y has 5; give one target per row."),
    "text in X": (
        with_value("tall", object),
        Y,
        "X[3, 1] is 'tall'; X needs numbers only: use read",
    ),
    "text array": (X.astype(str), Y, "X has dtype <U32; it needs numbers: use read_table(frame, t"),
    "complex X": (X + 1j, Y, "X has dtype complex128; it needs numbers"),
    "infinite X": (with_value(np.inf), Y, "X[3, 1] is infinite; X needs numbers up to 1e+100, or"),
    "huge X": (with_value(-1e200), Y, "X[3, 1] is -1e+200; X needs numbers up to 1e+100, or nan"),
    "nan in y": (
        X,
        [np.nan, *Y[1:]],
        "y[0] is nan; every row needs a finite target: leave the row",
    ),
    "infinite y": (X, [*Y[1:], np.inf], "y[11] is inf; every row needs a finite target"),
    "None in y": (X, ["a"] * 11 + [None], "y[11] is missing; every row needs a target"),
    "mixed y": (X, np.array(["a", 1] * 6, object), "y mixes int, str; it needs one kind"),
    "several targets": (X, X, "y has shape (12, 2); it needs one axis with one target per row."),
    "complex y": (X, Y + 1j, "y has dtype complex128; it needs numbers, text or booleans."),
    "one class": (X, ["a"] * 12, "target 'y' has one class only, 'a', in all 12 rows"),
    "a class per row": (X, list("abcdefghijkl"), "target 'y' has 12 classes in 12 rows"),
    "constant": (X, [2.0] * 12, "target 'y' is 2 in all 12 rows, and there is nothing to predict"),
}


@pytest.mark.parametrize(("x", "y", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_refused(x, y, sentence):
    with pytest.raises(_errors.InvalidInput) as caught:
        as_table(x, y)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith(".")


REFUSED_OPTIONS = [
    ({"feature_names": ["a"]}, "feature_names has 1 names, 1 of them different, and X has 2 col"),
    ({"feature_names": ["a", "a"]}, "feature_names has 2 names, 1 of them different, and X has 2"),
    ({"classes": ["a"]}, "classes is ('a',); it needs two or more different names."),
    ({"classes": ["a", "b"]}, "y holds more than the numbers 0 to 1, which index the 2 names in"),
    ({"task": "ranking"}, "task is 'ranking'; it is one of auto, classification, regression."),
]


@pytest.mark.parametrize(("options", "sentence"), REFUSED_OPTIONS)
def test_refused_options(options, sentence):
    with pytest.raises(_errors.InvalidInput) as caught:
        as_table(X, Y, **options)
    assert str(caught.value).startswith(sentence)


def test_text_cannot_be_predicted_as_numbers():
    with pytest.raises(_errors.InvalidInput, match="the task is regression, which needs numbers"):
        as_table(X, ["a", "b"] * 6, task="regression")
