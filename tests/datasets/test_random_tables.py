"""Random tables either read, to numbers that a network can take, or say why not."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid._errors import InvalidFile, InvalidTable
from pellucid.datasets import held_out_rows, read_table

HOSTILE = Path(__file__).parents[1] / "data" / "tables" / "hostile"
IN_TMP = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

NUMBERS = st.one_of(
    st.integers(-5, 5), st.integers(), st.floats(), st.floats(-10, 10).map(lambda x: round(x, 2))
)
DATES = ["2024-01-31", "2024-02-31", "3/4/2024", "13/4/2024", "1.2.2023 10:00", "5 May 2020"]
MARKERS = ["", " ", "NA", "?", "-", "None"]
WORDS = st.sampled_from([*MARKERS, *DATES, "a", "true", "False", "1", "1,5", "1e999", "é\n\"'"])
DECIMALS = st.integers(-999, 999).map(lambda i: str(i / 10))
KIND = st.sampled_from(["a", "b", "c"])
CELLS = [
    WORDS,
    NUMBERS.map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.text(max_size=5),
    st.sampled_from(["a", "b"]),
    st.integers(0, 3).map(str),
]
TASKS = st.sampled_from(["auto", "classification", "regression"])


@st.composite
def text_tables(draw):
    """Names and columns of text: mostly of one sort each, with something else here and there."""
    n = draw(st.one_of(st.integers(0, 12), st.integers(12, 40)))
    names = draw(st.lists(st.sampled_from(["x", "id", "day", "", "row", "t"]), max_size=3))
    columns = []
    for name in [*names, "kind"]:
        plain = [KIND, DECIMALS] if name == "kind" else [DECIMALS]
        cells, stray = draw(st.sampled_from(plain + CELLS)), draw(st.sampled_from(CELLS))
        column = draw(st.lists(cells, min_size=n, max_size=n))
        if n and draw(st.integers(0, 4)) == 0:
            column[draw(st.integers(0, n - 1))] = draw(stray)
        columns.append(column)
    width = [str(i * i % 23) for i in range(n)]
    return ["width", *names, "kind"], [width, *columns]


def read_or_refuse(source, task):
    try:
        table = read_table(source, "kind", task=task)
    except (InvalidTable, InvalidFile) as error:
        text = str(error)
        assert text.endswith(".")
        assert text.isprintable()
        return None
    assert table.n_rows >= 10
    assert len(table.columns) >= 1
    held_out = held_out_rows(table)
    for standardize in (False, True):
        encoder = table.encoder(~held_out, standardize)
        X = encoder.transform(table)
        assert X.shape == (table.n_rows, len(encoder.feature_names))
        assert np.isfinite(X).all()
    if table.classes is not None:
        assert sorted(set(table.y.tolist())) == list(range(len(table.classes)))
    else:
        assert np.isfinite(table.y).all()
        assert np.ptp(table.y) > 0
    return table


@IN_TMP
@given(table=text_tables(), separator=st.sampled_from(",;\t"), task=TASKS)
def test_random_csv_files(tmp_path, table, separator, task):
    names, columns = table
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    path = tmp_path / "t.csv"
    path.write_bytes(out.getvalue().encode("utf-8", "replace"))
    read_or_refuse(path, task)


@given(table=text_tables(), task=TASKS)
def test_random_frames_of_text(table, task):
    names, columns = table
    frame = {
        f"{name}{j}": cells for j, (name, cells) in enumerate(zip(names, columns, strict=True))
    }
    frame["kind"] = frame.pop(f"kind{len(names) - 1}")
    frame = {
        name: [c.encode("utf-8", "replace").decode() for c in cells]
        for name, cells in frame.items()
    }
    from_polars = read_or_refuse(pl.DataFrame(frame, schema=dict.fromkeys(frame, pl.String)), task)
    from_pandas = read_or_refuse(pd.DataFrame(frame, dtype=object), task)
    assert (from_polars is None) == (from_pandas is None)
    if from_polars is not None:
        np.testing.assert_array_equal(from_polars.y, from_pandas.y)


OBJECTS = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.text(max_size=3), st.dates(), st.datetimes()
)


@given(
    x=st.lists(OBJECTS, min_size=20, max_size=20),
    z=st.lists(NUMBERS, min_size=20, max_size=20),
    y=st.lists(st.one_of(KIND, st.none()), min_size=20, max_size=20),
)
def test_random_objects_of_pandas(x, z, y):
    frame = {"x": pd.Series(x, dtype=object), "z": pd.Series(z, dtype=object), "kind": y}
    read_or_refuse(pd.DataFrame(frame), "auto")


@IN_TMP
@given(data=st.binary(max_size=400))
def test_random_bytes(tmp_path, data):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    read_or_refuse(path, "auto")


GOOD = "width,colour,kind\n" + "".join(
    f"{i * i % 23},{'rgb'[i % 3]},{'uv'[i % 2]}\n" for i in range(20)
)


@IN_TMP
@given(at=st.integers(0, len(GOOD) - 1), cut=st.integers(0, 3), paste=st.binary(max_size=3))
def test_a_good_file_with_a_damaged_place(tmp_path, at, cut, paste):
    path = tmp_path / "t.csv"
    data = GOOD.encode()
    path.write_bytes(data[:at] + paste + data[at + cut :])
    read_or_refuse(path, "auto")


@pytest.fixture(scope="module")
def parquet_bytes():
    frame = pl.read_csv(io.StringIO(GOOD)).with_columns(
        flag=pl.col("kind") == "u", day=pl.date(2024, 1, 1 + pl.col("width"))
    )
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


@IN_TMP
@given(data=st.data())
def test_a_parquet_file_with_a_damaged_place(tmp_path, parquet_bytes, data):
    at = data.draw(st.integers(4, len(parquet_bytes) - 1))
    paste = data.draw(st.binary(min_size=1, max_size=8))
    path = tmp_path / "t.parquet"
    path.write_bytes(parquet_bytes[:at] + paste + parquet_bytes[at + len(paste) :])
    read_or_refuse(path, "auto")
