"""Every table that cannot be used: one sentence, and nothing left behind."""

import contextlib
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pellucid import _errors
from pellucid.datasets import read_table

HOSTILE = Path(__file__).parents[1] / "data" / "tables" / "hostile"
ENTRIES = tomllib.loads((HOSTILE / "hostile.toml").read_text(encoding="utf-8"))["table"]


def test_every_hostile_file_has_its_entry():
    files = {path.name for path in HOSTILE.iterdir()} - {"hostile.toml"}
    assert files == {entry["file"] for entry in ENTRIES}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_message_of_a_hostile_file(entry):
    before = sorted(HOSTILE.iterdir())
    path = HOSTILE / entry["file"]
    with pytest.raises(getattr(_errors, entry["error"])) as caught:
        read_table(path, entry["target"], task=entry["task"])
    assert str(caught.value) == entry["message"].format(path=path)
    assert "\n" not in str(caught.value)
    assert sorted(HOSTILE.iterdir()) == before


def frame(**columns):
    """Twelve rows: a number, a text and a target, and what the test adds."""
    rows = {"width": np.arange(12) ** 1.5, "colour": ["red", "blue"] * 6, "kind": ["a", "b"] * 6}
    return rows | columns


def message(source, target="kind", error=_errors.InvalidTable, **options):
    with pytest.raises(error) as caught:
        read_table(source, target, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_no_such_file(tmp_path):
    assert message(tmp_path / "no.csv", error=_errors.InvalidFile) == (
        f"there is no file {tmp_path / 'no.csv'}; give the path of a CSV or Parquet file."
    )


def test_text_instead_of_a_path_stays_one_line():
    assert "there is no file 'a,kind\\n" in message("a,kind\n1,2\n", error=_errors.InvalidFile)


def test_a_path_that_cannot_exist():
    text = message("x" * 5000, error=_errors.InvalidFile)
    assert "File name too long" in text


def test_a_folder(tmp_path):
    assert "is a folder" in message(tmp_path, error=_errors.InvalidFile)


def test_a_device():
    assert "is no regular file" in message("/dev/zero", error=_errors.InvalidFile)


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_text("a,kind\n1,2\n")

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    text = message(path, error=_errors.InvalidFile)
    assert text == f"{path} cannot be read (Permission denied); check the path and its permissions."


def test_a_file_of_one_endless_line(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"a," * (1 << 20))
    assert "has no line end in its first" in message(path, error=_errors.InvalidFile)


def test_a_cell_too_long_for_csv(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,kind\n" + "x" * 200_000 + ",2\n")
    assert "from line 2" in message(path)
    assert "field larger than field limit" in message(path)


def test_a_character_cut_off_at_the_end_of_the_file(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_bytes(b"width,kind\n" + b"1,a\n" * 12 + "é".encode()[:1])
    assert "is not UTF-8 text (byte 0xc3 in line 14)" in message(path, error=_errors.InvalidFile)


def test_a_table_with_too_many_cells(monkeypatch):
    monkeypatch.setattr("pellucid.datasets.rawtable.MAX_CELLS", 20)
    assert message(pl.DataFrame(frame())) == (
        "the data frame has more than 20 cells; use a sample of its rows or fewer columns."
    )


def test_rows_of_a_file_are_named_by_line_and_rows_of_a_frame_from_zero(tmp_path):
    table = pl.DataFrame(frame(height=["1"] * 11 + ["tall"]))
    table.write_csv(tmp_path / "tall.csv")
    assert "line 13 has the text 'tall'" in message(tmp_path / "tall.csv")
    assert "row 11 (counted from 0) has the text 'tall'" in message(table)


def test_a_line_number_counts_blank_lines_and_lines_inside_quotes(tmp_path):
    lines = ["width,note,kind", '1,"two', 'lines",a', "", *["2,x,b"] * 12, "3,y"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert "line 17 of" in message(tmp_path / "t.csv")


def test_a_row_keeps_its_number_when_rows_without_target_are_left_out():
    height = [*map(str, range(11)), "tall"]
    table = pl.DataFrame(frame(height=height, kind=[None, None, *["a", "b"] * 5]))
    assert "row 11 (counted from 0) has the text 'tall'" in message(table)


DUPLICATES = {
    "pandas": pd.DataFrame([[1, 2, 3]] * 12, columns=["a", "a", "kind"]),
    "pandas, numbers as names": pd.DataFrame([[1, 2, 3]] * 12, columns=["a", 1, "1"]),
    "pyarrow": pa.table([[1] * 12, [2] * 12, [3] * 12], names=["a", "a", "kind"]),
}


@pytest.mark.parametrize("table", DUPLICATES.values(), ids=list(DUPLICATES))
def test_duplicated_names_in_a_frame(table):
    assert "has more than one column named" in message(table)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [([[1]] * 12, "list"), ([b"x"] * 12, "bytes"), ([{"a": 1}] * 12, "dict")],
)
def test_cells_that_are_no_single_value(cells, kind):
    text = message(pl.DataFrame(frame(odd=cells)))
    assert f"column 'odd' of the data frame holds a {kind} in row 0" in text


def test_objects_of_pandas_that_are_no_values():
    table = pd.DataFrame(frame(odd=[None, *[(1, 2)] * 11]))
    assert "column 'odd' of the data frame holds a tuple in row 1" in message(table)


def test_infinite_value_in_a_frame():
    text = message(pl.DataFrame(frame(height=[1.0] * 11 + [-np.inf])))
    assert "column 'height' of the data frame is infinite in row 11 (counted from 0)" in text


def test_a_date_beyond_all_calendars():
    days = pl.Series([*range(11), 5_000_000]).cast(pl.Int32).cast(pl.Date)
    text = message(pl.DataFrame(frame(day=days)))
    assert "column 'day' of the data frame has a date 5e+06 days from 1970 in row 11" in text


def test_a_damaged_parquet_file_prints_nothing(capfd, tmp_path):
    frame_of_bools = pl.DataFrame(frame(flag=[True, None, False] * 4))
    frame_of_bools.write_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for at in range(4, len(whole), 7):
        (tmp_path / "t.parquet").write_bytes(whole[:at] + b"\xff\x7f\x00" + whole[at + 3 :])
        with contextlib.suppress(_errors.InvalidFile, _errors.InvalidTable):
            read_table(tmp_path / "t.parquet", "kind")
    assert capfd.readouterr() == ("", "")


def test_a_lazy_frame():
    text = message(pl.LazyFrame(frame()), error=_errors.InvalidInput)
    assert text == "the data frame is lazy (LazyFrame); call .collect() on it first."


@pytest.mark.parametrize("source", [None, 3.0, [1, 2], {"a": [1]}, np.zeros((12, 2))])
def test_what_is_no_table_at_all(source):
    text = message(source, error=_errors.InvalidInput)
    assert text.startswith(f"the table is a {type(source).__name__}; it needs to be a path")


@pytest.mark.parametrize("empty", [pd.DataFrame(), pl.DataFrame()])
def test_a_frame_without_columns(empty):
    assert "has no columns" in message(empty)


def test_target_differs_in_case_only():
    assert "did you mean 'kind'?" in message(pl.DataFrame(frame()), "KIND")


def test_unknown_and_impossible_columns_to_drop():
    table = pl.DataFrame(frame())
    assert "no column 'widht' (column to drop); did you mean 'width'?" in message(
        table, drop=["widht"]
    )
    text = message(table, drop="kind", error=_errors.InvalidInput)
    assert text == "column 'kind' is both the target and to be dropped; choose one."


def test_unknown_task():
    text = message(pl.DataFrame(frame()), task="clustering", error=_errors.InvalidInput)
    assert text == "task is 'clustering'; it is one of auto, classification, regression."


def test_a_date_as_classes():
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 12), eager=True)
    text = message(pl.DataFrame(frame(kind=days)), task="classification")
    assert text.startswith("target 'kind' is a date and the task is classification")


def test_a_constant_column_can_be_dropped_as_the_message_says():
    table = pl.DataFrame(frame(height=[7] * 12, place=["Palmer"] * 12))
    assert "(drop 'height', 'place')" in message(table)
    assert read_table(table, "kind", drop=["height", "place"]).feature_names == ("width", "colour")
