"""Fits from Parquet files: a block at a time, to the same model whatever the memory."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from estimators.tables import PLAIN, mixed

from pellucid import FeedforwardClassifier, FeedforwardRegressor, InvalidFile, InvalidInput
from pellucid.estimators import stream_files, streaming

QUICK = {"preset": PLAIN, "epochs": 12, "hidden": (16,), "learning_rate": 0.01, "batch_size": 32}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A folder with two files of mixed columns, read in many blocks and buffers."""
    monkeypatch.setattr(stream_files, "BLOCK_CELLS", 1)
    monkeypatch.setattr(streaming, "BUFFER", 1500)
    frame, score, y = mixed(4000)
    table = pl.from_pandas(frame).with_columns(kind=pl.Series(y), score=pl.Series(score))
    folder = tmp_path / "rows"
    folder.mkdir()
    table[:2500].write_parquet(folder / "a.parquet")
    table[2500:].write_parquet(folder / "b.parquet")
    return folder


def test_files_are_learned_from_as_tables_are(rows):
    model = FeedforwardClassifier(**QUICK).fit(rows, "kind")
    frame, _, _ = mixed(500, seed=1)
    frame = frame.assign(score=0.0)  # the other target is a column of these files
    assert list(model.classes_) == ["no", "yes"]
    assert "of the 4000 rows were held out, drawn at random (seed 0)." in model.split_.text
    assert model.calibration_.rows > 300
    assert set(model.column_kinds_.values()) == {"numeric", "categorical", "boolean", "date"}
    again = FeedforwardClassifier(**QUICK).fit(rows, "kind")
    np.testing.assert_array_equal(again.network_.parameters(), model.network_.parameters())
    table = pl.read_parquet(rows)
    assert model.score(table.drop("kind"), table["kind"].to_numpy()) > 0.95
    assert model.predict_proba(frame).shape == (500, 2)


def test_held_out_rows_choose_the_epoch_and_are_not_trained_on(rows):
    table = pl.read_parquet(rows)
    judge = table.drop("kind", "score")[:300], table["score"][:300].to_numpy()
    table[300:].drop("kind").write_parquet(rows.parent / "rest.parquet")
    model = FeedforwardRegressor(members=2, **QUICK).fit(
        rows.parent / "rest.parquet", "score", eval_set=judge
    )
    assert model.split_.text == "the 300 rows of eval_set chose the epoch."
    assert len(model.networks_) == 2
    errors = model.predict(judge[0]) - judge[1]
    assert model.noise_[0] == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-6)
    assert model.noise_[0] < 0.7 * np.std(judge[1])


def test_rows_without_a_target_are_passed_over(rows):
    table = pl.read_parquet(rows).drop("kind")
    some = table.with_columns(score=pl.when(pl.col("score") > 0).then(pl.col("score")))
    some.write_parquet(rows.parent / "gaps.parquet")
    model = FeedforwardRegressor(**QUICK).fit(rows.parent / "gaps.parquet", "score")
    assert model.predict(table.drop("score")).mean() > 0.6  # all scores have a mean of 0.5


@pytest.mark.slow
def test_a_column_of_weights_weighs_the_rows_as_weights_of_classes_do(rows):
    X = pl.read_parquet(rows).drop("kind")
    weighed = rows.parent / "weighed"
    weighed.mkdir()
    weight = pl.when(pl.col("kind") == "yes").then(4.5).otherwise(1).alias("weight")
    for file in rows.glob("*.parquet"):
        pl.read_parquet(file).with_columns(weight).write_parquet(weighed / file.name)
    by_row = FeedforwardClassifier(**QUICK).fit(weighed, "kind", "weight")
    weights = {"yes": 4.5, "no": 1}
    by_class = FeedforwardClassifier(class_weight=weights, **QUICK).fit(rows, "kind")
    plain = FeedforwardClassifier(**QUICK).fit(rows, "kind")
    p = [model.predict_proba(X)[:, 1] for model in (by_row, by_class, plain)]
    np.testing.assert_allclose(p[0], p[1], atol=1e-3)
    assert np.abs(p[0] - p[2]).max() > 0.1


@pytest.mark.slow
def test_balanced_classes_are_counted_in_all_files(rows):
    model = FeedforwardClassifier(class_weight="balanced", **QUICK).fit(rows, "kind")
    share = (pl.read_parquet(rows)["kind"] == "yes").to_numpy().mean()
    assert model._by_class == pytest.approx([0.5 / (1 - share), 0.5 / share])


def test_rows_of_weight_0_are_left_out(rows):
    table = pl.read_parquet(rows).drop("kind")
    table = table.with_columns(weight=(pl.col("score") > 0).cast(pl.Int8))
    table.write_parquet(rows.parent / "some.parquet")
    model = FeedforwardRegressor(**QUICK).fit(rows.parent / "some.parquet", "score", "weight")
    assert model.predict(table.drop("score", "weight")).mean() > 0.6  # all have a mean of 0.5


def test_groups_are_held_out_whole(rows):
    for number, file in enumerate(sorted(rows.glob("*.parquet"))):
        table = pl.read_parquet(file).with_row_index("row").drop("kind")
        group = (pl.col("row") % 17).alias("group") + 3 * number
        table.with_columns(group).drop("row").write_parquet(file)
    files = stream_files.open_files(rows, "score", None, "group")
    choice = stream_files.choose_held_out(files, 0.2, 0)
    sides = {True: set(), False: set()}
    for number, block in enumerate(files.blocks()):
        frame = files.read(block)
        mask = choice.mask(number, frame)
        for side in sides:
            sides[side] |= set(frame.filter(mask if side else ~mask)["group"])
    assert not sides[True] & sides[False]
    held = pl.read_parquet(rows)["group"].is_in(list(sides[True])).to_numpy().mean()
    assert 0.2 <= held < 0.27  # less than a group more
    model = FeedforwardRegressor(**QUICK).fit(rows, "score", groups="group")
    assert model.split_.kind == "groups"
    assert "drawn by whole groups (seed 0)" in model.split_.text
    assert "group" not in model.column_kinds_


def test_a_killed_fit_goes_on_to_the_same_bits(rows, tmp_path, monkeypatch):
    whole = FeedforwardRegressor(**QUICK).fit(rows, "score")
    place = tmp_path / "checkpoint"
    one_buffer, calls = streaming._Stream._one_buffer, []

    def stopping(self, *arguments):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return one_buffer(self, *arguments)

    monkeypatch.setattr(streaming._Stream, "_one_buffer", stopping)
    with pytest.raises(KeyboardInterrupt):
        FeedforwardRegressor(**QUICK).fit(rows, "score", checkpoint=place)
    assert place.exists()
    resumed = FeedforwardRegressor(n_jobs=2, **QUICK).fit(rows, "score", checkpoint=place)
    np.testing.assert_array_equal(resumed.network_.parameters(), whole.network_.parameters())
    assert len(calls) < 8 + 36  # it did not begin anew
    with pytest.raises(InvalidFile, match="checkpoint of another fit"):
        FeedforwardRegressor(random_state=1, **QUICK).fit(rows, "score", checkpoint=place)
    place.write_bytes(b"nothing")
    with pytest.raises(InvalidFile):
        FeedforwardRegressor(**QUICK).fit(rows, "score", checkpoint=place)


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": None}, "y is None; with the path of a file"),
        ({"y": "z"}, "no column 'z'"),
        ({"X": "no.parquet"}, "there is no file or folder no.parquet"),
        ({"sample_weight": [1.0]}, r"sample_weight is \[1.0\]; with the path of a file"),
        ({"groups": "z"}, "no column 'z'"),
        ({"groups": "score"}, "each need a column of their own"),
        ({"groups": "one"}, "holds one group only"),
        ({"sample_weight": "kind"}, "is no numbers"),
        ({"sample_weight": "below"}, "holds the weight -1.0; weights are numbers from 0 up"),
        ({"groups": "gaps"}, "has rows without a group"),
    ],
)
def test_a_mistake_is_one_sentence(rows, changes, words):
    for file in rows.glob("*.parquet"):
        table = pl.read_parquet(file).with_columns(one=pl.lit(1), below=pl.lit(-1.0))
        table.with_columns(gaps=pl.when(pl.col("score") > 0).then(1)).write_parquet(file)
    arguments = {"X": rows, "y": "score"} | changes
    with pytest.raises((InvalidInput, InvalidFile), match=words):
        FeedforwardRegressor().fit(**arguments)
    with pytest.raises(InvalidInput, match="checkpoint is for a fit from files"):
        FeedforwardRegressor().fit([[1.0]], [1.0], checkpoint="x")


MILLION = """
import resource, sys, numpy as np, polars as pl
from pellucid import FeedforwardRegressor
rng = np.random.default_rng(0)
if sys.argv[1] == "write":
    for k in range(4):
        X = rng.normal(size=(250_000, 50)).astype(np.float32)
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
        columns = {f"c{j}": X[:, j] for j in range(50)}
        pl.DataFrame(columns | {"y": y}).write_parquet(f"{sys.argv[2]}/{k}.parquet")
else:
    model = FeedforwardRegressor(epochs=1, batch_size=512).fit(sys.argv[2], "y")
    print(model.noise_[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.long
def test_a_million_rows_take_less_than_two_gibibytes(tmp_path):
    for what in ("write", "fit"):
        command = [sys.executable, "-c", MILLION, what, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    noise, gibibytes = map(float, done.stdout.split())
    assert noise < 0.6  # of a target whose deviation is 1.2
    assert gibibytes < 2
