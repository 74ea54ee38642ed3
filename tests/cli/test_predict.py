"""`train` with an estimator, and `predict`: columns reordered, extra, missing, unseen levels."""

import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pellucid
from pellucid.cli import run
from pellucid.estimators import FeedforwardClassifier, load_estimator


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_table(path="table.csv", n=150, seed=0):
    """Text, numbers, true/false, dates, gaps."""
    rng = np.random.default_rng(seed)
    lines = ["colour,size,day,big,kind,price"]
    for i in range(n):
        size, colour = rng.normal(), ["red", "green", "blue"][i % 3]
        kind = "yes" if size + (colour == "red") > 0.3 else "no"
        cells = [colour if i % 11 else "", f"{size:.4f}" if i % 7 else "NA"]
        cells += [f"2024-{1 + i % 12:02d}-03", ["true", "false"][i % 2], kind, f"{9 + size:.3f}"]
        lines.append(",".join(cells))
    Path(path).write_text("\n".join(lines))


def trained(target="kind", *options):
    write_table()
    words = ["train", "table.csv", "--target", target, "--preset", "fast", "--folds", "0"]
    assert run([*words, "--drop", "price" if target == "kind" else "kind", *options]) == 0


def test_train_prints_scores_beside_two_others_and_saves_an_estimator(capsys):
    assert run(["train", "penguins", "--preset", "fast", "--folds", "3"]) == 0
    out = capsys.readouterr().out
    assert "penguins: 344 rows, 7 columns; column to predict: 'species' (classification)" in out
    assert "cross-validated on 3 folds, mean ± standard error:" in out
    scores = re.findall(r"^(this estimator|linear model|gradient boosting) +(\S+) ±", out, re.M)
    assert [name for name, _ in scores] == ["this estimator", "linear model", "gradient boosting"]
    assert all(0.9 < float(score) <= 1 for _, score in scores)
    assert "drawn in proportion of the classes (seed 0)." in " ".join(out.split())
    assert out.endswith("saved: model.pellucid\n")
    model = load_estimator("model.pellucid")
    assert isinstance(model, FeedforwardClassifier)
    assert list(model.classes_) == ["Adelie", "Chinstrap", "Gentoo"]
    assert pellucid.load("model.pellucid", name="0") == model.network_
    table = pellucid.datasets.load_dataset("penguins")
    assert model.score(table, np.array(table.classes)[table.y]) > 0.95
    assert run(["train", "sine", "--preset", "fast", "--folds", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"RMSE +R2 +processor s", out)


def test_predict_finds_columns_by_their_names(capsys):
    trained()
    rows = pl.read_csv("table.csv", infer_schema=False)
    rows.select("big", "day", "size", "colour").write_csv("reordered.csv")
    rows.with_columns(more=pl.lit("x")).write_csv("extra.csv")
    capsys.readouterr()
    printed = []
    for name in ("table.csv", "reordered.csv", "extra.csv"):
        assert run(["predict", "model.pellucid", name]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    lines = printed[0].splitlines()
    assert lines[0] == "predicted kind"
    assert len(lines) == 151
    right = np.mean(np.array(lines[1:]) == rows["kind"].to_numpy())
    assert right > 0.75


def test_a_column_that_the_model_reads_must_be_there(capsys):
    trained()
    pl.read_csv("table.csv").drop("size", "big").write_csv("fewer.csv")
    capsys.readouterr()
    assert run(["predict", "model.pellucid", "fewer.csv"]) == 2
    error = capsys.readouterr().err
    assert "fewer.csv has no column 'size' (and 1 more), which the model reads" in error
    assert error.count("\n") == 1


def test_a_text_that_the_fit_did_not_have_is_told(capsys):
    trained()
    text = Path("table.csv").read_text()
    Path("new.csv").write_text(text.replace("red", "violet"))
    capsys.readouterr()
    assert run(["predict", "model.pellucid", "new.csv"]) == 0
    printed = capsys.readouterr()
    assert "column 'colour' has texts that the training rows did not have (violet)" in printed.err
    assert len(printed.out.splitlines()) == 151


def test_a_cell_that_is_no_number_is_named(capsys):
    trained()
    text = Path("table.csv").read_text().splitlines()
    text[3] = text[3].replace(",2024-03-03", ",soon")
    Path("new.csv").write_text("\n".join(text))
    capsys.readouterr()
    assert run(["predict", "model.pellucid", "new.csv"]) == 2
    assert "column 'day' of new.csv has 'soon' in line 4; it held dates" in capsys.readouterr().err


def test_probabilities_quantiles_and_a_file(capsys):
    trained()
    assert run(["predict", "model.pellucid", "table.csv", "--probabilities", "--out", "p.csv"]) == 0
    frame = pl.read_csv("p.csv")
    assert frame.columns == ["predicted kind", "probability of no", "probability of yes"]
    np.testing.assert_allclose(frame[:, 1] + frame[:, 2], 1)
    trained("price", "--out", "price.pellucid")
    capsys.readouterr()
    assert run(["predict", "price.pellucid", "table.csv", "--quantiles", "0.1,0.9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "predicted price,quantile 0.1,quantile 0.9"
    value, low, high = map(float, lines[1].split(","))
    assert low < value < high


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "no.pellucid", "table.csv"], "no such file"),
        (["predict", "table.csv", "table.csv"], "cannot read a network from table.csv"),
        (["predict", "net.pellucid", "table.csv"], "without the preprocessing of an estimator"),
        (["predict", "model.pellucid", "no.csv"], "there is no file no.csv"),
        (["predict", "model.pellucid", "empty.csv"], "no rows"),
        (["predict", "model.pellucid", "table.csv", "--quantiles", "0.1"], "predicts classes"),
        (["predict", "price.pellucid", "table.csv", "--probabilities"], "predicts numbers"),
        (["predict", "price.pellucid", "table.csv", "--quantiles", "a"], "--quantiles is 'a'"),
        (["predict", "price.pellucid", "table.csv", "--quantiles", "2"], "between 0 and 1"),
        (["predict", "model.pellucid", "table.csv", "--out", "table.csv"], "is the table itself"),
        (["predict", "model.pellucid", "table.csv", "--out", "model.pellucid"], "the model itself"),
        (["train", "table.csv", "--target", "kind", "--preset", "quick"], "--preset is 'quick'"),
        (["train", "table.csv", "--target", "kind", "--folds", "1"], "--folds is 1"),
        (
            ["train", "table.csv", "--target", "kind", "--folds", "2", "--hidden", "4"],
            "--folds is for the estimator, and --hidden asks for one network",
        ),
    ],
)
def test_a_mistake_is_one_line(words, message, capsys):
    trained()
    trained("price", "--out", "price.pellucid")
    pellucid.save(pellucid.initialize([2, 1]), "net.pellucid")
    Path("empty.csv").write_text("colour,size,day,big\n")
    before = sorted(os.listdir("."))
    capsys.readouterr()
    assert run(words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(os.listdir(".")) == before


def test_the_networks_of_an_estimator_are_read_with_its_preprocessing(capsys):
    """Regions, walkthrough and inspect take its rows as the network takes them."""
    trained()
    model = load_estimator("model.pellucid")
    table = pellucid.datasets.read_table("table.csv", "kind", drop=["price"])
    inputs = model._ensemble.members[-1].preprocessing(model._features(table))
    last = ["--name", str(len(model.networks_) - 1)]
    capsys.readouterr()
    words = ["walkthrough", "model.pellucid", "table.csv", "--row", "3", "--drop", "price"]
    assert run([*words, *last, "--out", "pass.txt"]) == 0
    text = Path("pass.txt").read_text()
    size = model._ensemble.members[-1].preprocessing.feature_names.index("size")
    shown = re.search(r"size +(\S+)\n", text)
    assert shown
    assert float(shown[1]) == pytest.approx(inputs[3, size], abs=1e-5)
    words = ["inspect", "model.pellucid", "--data", "table.csv", "--drop", "price"]
    assert run([*words, *last]) == 0
