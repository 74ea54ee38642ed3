"""What reading makes of a table that can be used."""

import datetime as dt
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pellucid.datasets import Column, read_table
from pellucid.datasets.identifiers import identifier_reason

N = 30


def columns(**more):
    """Thirty rows: a number, a text and a target, and what the test adds."""
    rng = np.random.default_rng(0)
    rows = {
        "width": rng.normal(size=N).round(3).tolist(),
        "colour": ["red", "green", "blue"] * 10,
        "kind": ["b", "a"] * 15,
    }
    return rows | more


def write(tmp_path, text, name="t.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def column(table, name):
    return next(column for column in table.columns if column.name == name)


def read_column(values, **options):
    """The column that a text column with those cells becomes."""
    table = read_table(pl.DataFrame(columns(x=[str(v) for v in values])), "kind", **options)
    return column(table, "x")


def same(a, b):
    assert (a.feature_names, a.classes) == (b.feature_names, b.classes)
    np.testing.assert_array_equal(a.y, b.y)
    for ours, theirs in zip(a.columns, b.columns, strict=True):
        assert ours.kind == theirs.kind
        np.testing.assert_array_equal(ours.values, theirs.values)


SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
FORMS = {
    "with a byte order mark": lambda text: "\ufeff" + text,
    "with lines of Windows": lambda text: text.replace("\n", "\r\n"),
    "with lines of old Macs": lambda text: text.replace("\n", "\r"),
    "without a last line end": lambda text: text.rstrip("\n"),
    "with blank lines": lambda text: text.replace("\n", "\n\n"),
    "with spaces": lambda text: text.replace(",", " , "),
    "with spaces before quotes": lambda text: text.replace(",red,", ', "red",'),
}


@pytest.mark.parametrize("separator", SEPARATORS.values(), ids=list(SEPARATORS))
def test_separators_are_found(tmp_path, separator):
    frame = pl.DataFrame(columns(note=["x, y; z\t'", "p"] * 15))
    frame.write_csv(tmp_path / "t.csv", separator=separator)
    table = read_table(tmp_path / "t.csv", "kind")
    same(table, read_table(frame, "kind"))
    assert column(table, "note").values[0] == "x, y; z\t'"


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_forms_of_csv(tmp_path, form):
    frame = pl.DataFrame(columns())
    path = write(tmp_path, form(frame.write_csv()))
    same(read_table(path, "kind"), read_table(frame, "kind"))


def test_quoted_cells_keep_separators_quotes_and_lines(tmp_path):
    cells = ['"say ""hi"", twice"', '"two\nlines"', "plain"] * 10
    rows = "".join(f"{i / 7},{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    table = read_table(write(tmp_path, "x,note,kind\n" + rows), "kind")
    assert set(column(table, "note").values) == {'say "hi", twice', "two\nlines", "plain"}


def test_a_path_may_be_text_or_a_path_object(tmp_path):
    path = write(tmp_path, pl.DataFrame(columns()).write_csv(), "flowers.csv")
    same(read_table(str(path), "kind"), read_table(path, "kind"))
    assert read_table(os.fspath(path), "kind").name == "flowers"
    assert read_table(path, "kind", name="roses").name == "roses"


def test_parquet_pandas_and_pyarrow_give_what_polars_gives(tmp_path):
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i * i) for i in range(N)]
    numbers = [None, 1.5, 2.5] * 10
    frame = pl.DataFrame(columns(day=days, x=numbers, flag=[True, None, False] * 10))
    expected = read_table(frame, "kind")
    frame.write_parquet(tmp_path / "t.parquet")
    same(read_table(tmp_path / "t.parquet", "kind"), expected)
    same(read_table(frame.to_arrow(), "kind"), expected)
    same(read_table(frame.to_pandas(), "kind"), expected)
    assert [c.kind for c in expected.columns] == [
        "numeric",
        "categorical",
        "date",
        "numeric",
        "boolean",
    ]


def test_parquet_is_known_by_its_bytes_not_its_name(tmp_path):
    frame = pl.DataFrame(columns())
    frame.write_parquet(tmp_path / "t.csv")
    same(read_table(tmp_path / "t.csv", "kind"), read_table(frame, "kind"))


def test_dtypes_of_pandas():
    frame = pd.DataFrame(
        columns(
            whole=pd.array([1, None, 2] * 10, dtype="Int64"),
            flag=pd.array([True, None, False] * 10, dtype="boolean"),
            level=pd.Categorical(["u", "v", None] * 10),
            when=pd.to_datetime(["2020-01-01T12:00", None, "2020-01-03"] * 10, format="ISO8601"),
            zoned=pd.to_datetime(["2020-01-01T02:00+02:00", None] * 15),
            span=pd.to_timedelta([6, 12, 24] * 10, unit="h"),
            mixed=[1, "x", None] * 10,
            numbers=pd.Series([1, 2.5, None] * 10, dtype=object),
        )
    )
    table = read_table(frame, "kind")
    nan = np.nan
    expected = {
        "whole": ("numeric", [1, nan, 2]),
        "flag": ("boolean", [1, nan, 0]),
        "level": ("categorical", ["u", "v", None]),
        "when": ("date", [18262.5, nan, 18264]),
        "zoned": ("date", [18262, nan, 18262]),
        "span": ("numeric", [0.25, 0.5, 1]),
        "mixed": ("categorical", ["1", "x", None]),
        "numbers": ("numeric", [1, 2.5, nan]),
    }
    for name, (kind, values) in expected.items():
        got = column(table, name)
        assert got.kind == kind, name
        np.testing.assert_array_equal(got.values[:3], np.array(values, dtype=got.values.dtype))


def test_names_that_are_no_text_become_text():
    frame = pd.DataFrame({0: np.arange(N) ** 1.5, 1: ["a", "b", "c"] * 10, 2: ["u", "v"] * 15})
    table = read_table(frame, 2)
    assert (table.feature_names, table.target_name) == (("0", "1"), "2")


MARKERS = ["", " ", "NA", "N/A", "n/a", "nan", "NaN", "null", "None", "?", "-"]


@pytest.mark.parametrize("marker", MARKERS)
def test_markers_of_missing_values(marker):
    numbers = read_column([marker, *range(1, N)])
    assert numbers.kind == "numeric"
    assert numbers.missing.tolist() == [True] + [False] * (N - 1)
    text = read_column([marker, *["red", "blue"] * 14, "red"])
    assert text.kind == "categorical"
    assert text.values[0] is None


@pytest.mark.parametrize("word", ["none", "na", "0", "--", "missing"])
def test_words_that_are_values(word):
    assert not read_column([word, "red", "blue"] * 10).missing.any()


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1", 1), ("-2.5", -2.5), ("+3", 3), ("1e-3", 1e-3), (".5", 0.5), ("1E5", 1e5), (" 7 ", 7)],
)
def test_numbers_as_text(cell, value):
    got = read_column([cell, *range(10, 9 + N)])
    assert got.kind == "numeric"
    assert got.values[0] == value


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2024-03-01", 19783),
        ("2024/3/1", 19783),
        ("2024-03-01 12:00", 19783.5),
        ("2024-03-01T06:00:00", 19783.25),
        ("2024-03-01T18:00:00.000Z", 19783.75),
        ("2024-03-01T02:00:00+02:00", 19783),
        ("1.3.2024", 19783),
        ("01.03.2024 06:00", 19783.25),
        ("1 Mar 2024", 19783),
        ("01-March-2024", 19783),
        ("Mar 1, 2024", 19783),
    ],
)
def test_dates_become_days_with_a_note(cell, day):
    other = "1 Jan 1970" if any(c.isalpha() for c in cell.strip("TZ") if c != "T") else "1970-01-01"
    other = "1.1.1970" if cell.count(".") == 2 else other
    table = read_table(pl.DataFrame(columns(x=[cell, other, ""] * 10)), "kind")
    got = column(table, "x")
    assert got.kind == "date"
    np.testing.assert_array_equal(got.values[:3], [day, 0, np.nan])
    assert "column 'x' holds dates and is read as days since 1970-01-01." in table.notes


def test_day_and_month_are_told_apart_by_a_day_after_the_twelfth():
    day_first = read_column(["3/4/2024", "25/4/2024"] * 15)
    month_first = read_column(["4/3/2024", "4/25/2024"] * 15)
    np.testing.assert_array_equal(day_first.values, month_first.values)
    assert day_first.values[0] == 19816  # 3 April


def test_numbers_that_could_be_years_or_dates_stay_numbers():
    assert read_column([2020, 2021, 2022] * 10).kind == "numeric"
    assert read_column([20200101, 20210101, 20220101] * 10).kind == "numeric"


@pytest.mark.parametrize("words", [("true", "false"), ("True", "FALSE")])
def test_true_and_false(words):
    got = read_column([*words, ""] * 10)
    assert got.kind == "boolean"
    np.testing.assert_array_equal(got.values[:3], [1, 0, np.nan])


def test_codes_with_a_text_that_comes_often_are_levels():
    codes = ["0", "1", "2", "3+"] + ["0", "1", "2"] * 12 + ["3+"] * 4
    frame = pl.DataFrame({"x": codes, "w": np.arange(44) ** 1.5, "kind": ["a", "b"] * 22})
    assert column(read_table(frame, "kind"), "x").kind == "categorical"


def test_half_numbers_half_text_is_text_with_a_note():
    table = read_table(pl.DataFrame(columns(x=["1", "2", "A1"] * 10)), "kind")
    assert column(table, "x").kind == "categorical"
    assert table.notes == (
        "column 'x' holds numbers and text (20 of 30 cells are numbers) and is read as text.",
    )


def test_whole_numbers_with_few_values_stay_numbers():
    assert read_column([1, 2] * 15).kind == "numeric"


# --- identifiers ---------------------------------------------------------------------------------

RUNNING = list(range(1, N + 1))
SCATTERED = [(7919 * i) % 10_007 for i in range(1, N + 1)]
UNIQUE = [f"specimen {i}" for i in range(N)]
IDENTIFIERS = {
    "unique text": ("label", UNIQUE),
    "running number, named so": ("row", RUNNING),
    "running number from 0": ("index", list(range(N))),
    "index that pandas writes": ("Unnamed: 0", list(range(N))),
    "scattered numbers, named id": ("CustomerId", SCATTERED),
    "passenger_id": ("passenger_id", RUNNING),
}
MEASUREMENTS = {
    "evenly spaced fractions": ("x", np.linspace(0, 1, N).tolist()),
    "sorted fractions, named id": ("id", np.linspace(0, 1, N).tolist()),
    "running number of no such name": ("depth", RUNNING),
    "different whole numbers": ("mass", SCATTERED),
    "steps of ten": ("number", [10 * i for i in RUNNING]),
    "id with repetitions": ("id", [*RUNNING[:-1], 1]),
    "few texts": ("label", ["a", "b", "c"] * 10),
    "a word that ends in id": ("acid", SCATTERED),
}


@pytest.mark.parametrize(("name", "values"), IDENTIFIERS.values(), ids=list(IDENTIFIERS))
def test_identifiers_are_set_aside_with_a_note(name, values):
    table = read_table(pl.DataFrame({name: values} | columns()), "kind")
    assert name not in table.feature_names
    assert any(f"column {name!r} was set aside as an identifier" in note for note in table.notes)


@pytest.mark.parametrize(("name", "values"), MEASUREMENTS.values(), ids=list(MEASUREMENTS))
def test_measurements_are_kept(name, values):
    assert name in read_table(pl.DataFrame({name: values} | columns()), "kind").feature_names


def test_a_column_that_numbers_the_rows_is_kept_with_a_note():
    table = read_table(pl.DataFrame(columns(depth=RUNNING)), "kind")
    assert table.notes == (
        "column 'depth' numbers the rows in their order and is kept as a number; drop it if it is "
        "an identifier.",
    )


def test_a_first_column_without_a_name_that_counts_is_an_identifier(tmp_path):
    rows = "".join(f"{i},{i * i % 17},{'ab'[i % 2]}\n" for i in range(N))
    table = read_table(write(tmp_path, ",x,kind\n" + rows), "kind")
    assert table.feature_names == ("x",)
    swapped = "".join(f"{i * i % 17},{i},{'ab'[i % 2]}\n" for i in range(N))
    table = read_table(write(tmp_path, "x,,kind\n" + swapped), "kind")
    assert table.feature_names == ("x", "column 2")


def test_text_that_nearly_all_differs_is_an_identifier():
    text = np.array([f"t{i}" for i in range(20)], dtype=object)
    assert identifier_reason(Column("x", "categorical", text), False)
    text[1:3] = "t0"
    assert identifier_reason(Column("x", "categorical", text), False) is None


def test_many_levels_are_announced():
    levels = [f"level {i % 60}" for i in range(240)]
    frame = pl.DataFrame({"x": levels, "w": np.arange(240) ** 1.5, "kind": ["a", "b"] * 120})
    assert read_table(frame, "kind").notes == (
        "column 'x' has 60 different texts; the 49 most frequent get an indicator each, and the "
        "others share one.",
    )


# --- targets -------------------------------------------------------------------------------------


def read_target(values, task="auto"):
    n = len(values)
    frame = pl.DataFrame({"w": np.arange(n) ** 1.5, "kind": values})
    return read_table(frame, "kind", task=task)


def test_classes_keep_their_names_in_order():
    table = read_target(["setosa", "virginica", "Ångström"] * 4)
    assert table.classes == ("setosa", "virginica", "Ångström")
    assert table.y.tolist() == [0, 1, 2] * 4
    assert table.y.dtype == np.int64


def test_classes_of_whole_numbers_are_in_the_order_of_numbers():
    table = read_target([10, 9, -1] * 10)
    assert table.classes == ("-1", "9", "10")
    assert table.y[:3].tolist() == [2, 1, 0]
    assert table.notes == (
        "target 'kind' takes 3 whole numbers and is read as classes; ask for task 'regression' to "
        "predict it as a number.",
    )


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([0, 1] * 5, "classification"),  # two values always are classes
        ([0.0, 1.0, 2.0] * 10, "classification"),
        ([0, 1, 2] * 9, "regression"),  # 3 values in 27 rows: more than a tenth
        (list(range(20)) * 10, "classification"),
        (list(range(21)) * 10, "regression"),
        ([0.5, 1.0] * 10, "regression"),
        (pl.date_range(dt.date(2024, 1, 1), dt.date(2024, 1, 20), eager=True), "regression"),
    ],
)
def test_what_the_task_is(values, task):
    assert read_target(values).task == task


def test_the_task_can_be_asked_for():
    numbers = read_target([0, 1] * 10, "regression")
    assert numbers.y.tolist() == [0.0, 1.0] * 10
    assert numbers.classes is None
    assert read_target(list(range(21)) * 10, "classification").classes == tuple(map(str, range(21)))
    assert read_target([0.5, 1.0] * 10, "classification").classes == ("0.5", "1")


def test_true_and_false_are_classes():
    assert read_target([True, False] * 10).classes == ("False", "True")
    assert read_target(["true", "false"] * 10).classes == ("False", "True")


def test_rows_without_target_are_left_out_with_a_note():
    table = read_target(["a", "b", None] * 10)
    assert table.n_rows == 20
    assert table.notes == ("10 rows have no value in target 'kind' and were left out.",)
    np.testing.assert_array_equal(table.X[:3, 0], np.array([0, 1, 3]) ** 1.5)


def test_a_class_in_one_row_is_announced():
    table = read_target(["a", "b"] * 10 + ["c"])
    assert table.notes == (
        "class 'c' of target 'kind' has one row only, which is kept for training.",
    )


# --- the table itself ----------------------------------------------------------------------------


def test_repr_is_one_line():
    table = read_table(pl.DataFrame(columns()), "kind", name="flowers")
    assert repr(table) == "Table(flowers: 30 rows, 2 columns, 'kind' with 2 classes)"


def test_to_frame_reads_back():
    frame = pl.DataFrame(columns(flag=[True, None, False] * 10))
    table = read_table(frame, "kind")
    assert table.to_frame()["kind"].to_list() == frame["kind"].to_list()
    again = read_table(table.to_frame(), "kind")
    assert again.feature_names == table.feature_names
    np.testing.assert_array_equal(again.y, table.y)


def test_reading_neither_changes_a_frame_nor_a_file(tmp_path):
    frame = pd.DataFrame(columns(x=[" 1", "NA", "3"] * 10))
    copy = frame.copy(deep=True)
    read_table(frame, "kind")
    pd.testing.assert_frame_equal(frame, copy)
    path = write(tmp_path, frame.to_csv(index=False))
    before = path.read_bytes()
    read_table(path, "kind")
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, [path])


@pytest.mark.slow
def test_a_table_of_two_million_cells_reads_in_seconds(tmp_path):
    import time

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{j}": rng.normal(size=100_000) for j in range(20)})
    frame.write_csv(tmp_path / "t.csv")
    start = time.process_time()
    table = read_table(tmp_path / "t.csv", "x0")
    assert time.process_time() - start < 10  # about 1 s on two cores
    np.testing.assert_array_equal(table.y, frame["x0"].to_numpy())
