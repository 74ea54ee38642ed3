"""Rows of Parquet files: every row once, equal shares, exact moments, little memory."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from pellucid import InvalidFile, InvalidInput
from pellucid.training import parquet_rows
from pellucid.training.parquet_rows import batches, find_files, moments, open_rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three files of 1,000, 1 and 1,502 rows; the target numbers the rows; blocks of 64 rows."""
    monkeypatch.setattr(parquet_rows, "BLOCK_BYTES", 64 * 8 * 2)
    rng, before = np.random.default_rng(0), 0
    (tmp_path / "more").mkdir()
    for name, n in (("a", 1000), ("b", 1), ("more/c", 1502)):
        columns = {"x": rng.normal(3, 2, n), "k": rng.integers(0, 2, n) == 1}
        numbers = np.arange(before, before + n)
        pl.DataFrame(columns | {"row": numbers}).write_parquet(
            tmp_path / f"{name}.parquet", row_group_size=300
        )
        before += n
    return tmp_path


def all_rows(folder, parts=1, **options):
    rows = open_rows(find_files([str(folder)]), "row")
    return rows, [rows.share(part, parts) for part in range(parts)]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_shares_hold_every_row_once_and_are_equal_to_within_one_row(folder, parts):
    rows, shares = all_rows(folder, parts)
    read = [np.concatenate([rows.read(block)[1] for block in share]) for share in shares]
    np.testing.assert_array_equal(np.concatenate(read), np.arange(2503))
    assert max(map(len, read)) - min(map(len, read)) <= 1


@pytest.mark.parametrize("buffer", [1, 10, 64, 500, 10**6])
@pytest.mark.parametrize("size", [1, 100, 5000])
def test_one_pass_gives_every_row_once(folder, buffer, size):
    rows, [share] = all_rows(folder)
    parts = list(batches(rows, share, 2503, size, buffer, (0, 0, 0)))
    assert [len(y) for _, y in parts[:-1]] == [size] * (len(parts) - 1)
    y = np.concatenate([y for _, y in parts])
    X = np.concatenate([X for X, _ in parts])
    np.testing.assert_array_equal(np.sort(y), np.arange(2503))
    table = pl.concat([pl.read_parquet(path) for path in rows.paths])
    np.testing.assert_array_equal(X[:, 0], table["x"].to_numpy()[y])
    np.testing.assert_array_equal(X[:, 1], table["k"].to_numpy()[y])


def test_the_order_follows_the_seed_and_is_shuffled(folder):
    rows, [share] = all_rows(folder)

    def order(buffer, *seed):
        return np.concatenate([y for _, y in batches(rows, share, 2503, 50, buffer, seed)])

    np.testing.assert_array_equal(order(500, 1, 2), order(500, 1, 2))
    assert (order(500, 1, 2) != order(500, 1, 3)).mean() > 0.9
    for buffer in (500, 5000):
        first = order(buffer, 0, 0)[:250]
        assert len(set(first // 64)) > 7  # of blocks: not one after the other
    assert abs(np.corrcoef(order(5000, 0, 0), np.arange(2503))[0, 1]) < 0.1


def test_a_pass_may_end_before_the_last_row(folder):
    rows, [share] = all_rows(folder)
    assert [len(y) for _, y in batches(rows, share, 250, 100, 64, (0,))] == [100, 100, 50]


def test_moments_are_those_of_all_rows_also_in_parts(folder):
    rows, shares = all_rows(folder, 3)
    first, second, third = (moments(rows, share) for share in shares)
    whole = first.merged(second.merged(third))
    table = pl.concat([pl.read_parquet(path) for path in rows.paths])
    X = table.select("x", pl.col("k").cast(pl.Float64)).to_numpy()
    np.testing.assert_allclose(whole.mean, X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(whole.scale, X.std(axis=0), rtol=1e-13)
    assert (whole.n, whole.lowest, whole.highest) == (2503, 0, 2502)


def test_moments_of_large_numbers_keep_their_digits(tmp_path):
    x = 1e9 + np.random.default_rng(0).normal(size=1000)
    pl.DataFrame({"x": x, "same": np.full(1000, 1e9 / 3), "y": x}).write_parquet(tmp_path / "a")
    rows = open_rows([str(tmp_path / "a")], "y")
    found = moments(rows, rows.share(0, 1))
    assert found.scale[0] == pytest.approx(np.std(x - 1e9), rel=1e-6)
    assert found.scale[1] == 1  # a column that does not vary


def write(path, **columns):
    pl.DataFrame({"x": [1.0, 2.0], "y": [0, 1]} | columns).write_parquet(path)
    return str(path)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": [1.0, None]}, "'x' of .* row 1"),
        ({"x": [float("nan"), 1.0]}, "'x' of .* row 0"),
        ({"y": [1.0, float("inf")]}, "'y' of .* row 1"),
        ({"y": [1, None]}, "'y' of .* row 1"),
        ({"k": [True, None]}, "'k' of .* row 1"),
        ({"city": ["Rome", "Oslo"]}, "'city' .* --drop"),
    ],
)
def test_a_cell_that_is_no_number_is_named(tmp_path, columns, words):
    path = write(tmp_path / "a", **columns)

    def look():
        rows = open_rows([path], "y")
        moments(rows, rows.share(0, 1))

    with pytest.raises(InvalidInput, match=words):
        look()


def test_files_that_do_not_fit_are_named(tmp_path):
    good = write(tmp_path / "a.parquet")
    with pytest.raises(InvalidFile, match=r"b\.parquet has other columns than .*a\.parquet"):
        open_rows([good, write(tmp_path / "b.parquet", z=[1, 2])], "y")
    with pytest.raises(InvalidInput, match="no column 'z'; it has x, y"):
        open_rows([good], "z")
    with pytest.raises(InvalidInput, match="no column but the target"):
        open_rows([good], "y", drop=["x"])
    with pytest.raises(InvalidFile, match="no file or folder"):
        find_files([str(tmp_path / "c")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidFile, match="no files"):
        find_files([str(tmp_path / "empty")])
    (tmp_path / "text").write_text("x,y\n1,2\n")
    with pytest.raises(InvalidFile, match="as Parquet") as caught:
        open_rows([str(tmp_path / "text")], "y")
    assert "\n" not in str(caught.value)


PASS = """
import sys
from pellucid.training.parquet_rows import batches, moments, open_rows
rows = open_rows([sys.argv[1]], "y")
blocks = rows.share(0, 1)
moments(rows, blocks)
assert sum(len(y) for _, y in batches(rows, blocks, rows.n, 1000, 25_000, (0,))) == rows.n
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    peaks = []
    for n in (100_000, 500_000):  # 20 and 100 MB
        X = rng.normal(size=(n, 50)).astype(np.float32)
        pl.DataFrame(X).with_columns(pl.lit(0).alias("y")).write_parquet(
            tmp_path / "rows", row_group_size=50_000
        )
        run = [sys.executable, "-c", PASS, str(tmp_path / "rows")]
        peaks.append(float(subprocess.run(run, capture_output=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 40, peaks  # MiB
