"""`pellucid train --likelihood`, and `likelihood` in a study of `pellucid sweep`."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pellucid
from pellucid.cli import run
from pellucid.likelihoods import as_likelihood
from pellucid.network import read_metadata


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A CSV file with a target of each kind."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 400)
    f = np.sin(2 * x)
    columns = {
        "x": x,
        "price": 5000 + 900 * f + 300 * np.exp(0.4 * x) * rng.normal(size=400),
        "visits": rng.poisson(np.exp(1 + f)),
        "grade": np.digitize(f + 0.3 * rng.logistic(size=400), [-0.7, 0, 0.7]),
        "sold": np.where(f + rng.logistic(size=400) > 0, "yes", "no"),
    }
    pl.DataFrame(columns).write_csv("table.csv")
    return pl.DataFrame(columns)


def train(target, likelihood, *more):
    drop = [c for c in ("price", "visits", "grade", "sold") if c != target]
    words = ["train", "table.csv", "--target", target, "--likelihood", likelihood, "--standardize"]
    return run([*words, *(w for c in drop for w in ("--drop", c)), "--steps", "400", *more])


@pytest.mark.parametrize(
    ("target", "likelihood"),
    [
        ("price", "mean_variance"),
        ("price", "laplace"),
        ("price", "student_t"),
        ("price", "student_t(4)"),
        ("price", "quantile(0.1,0.9)"),
        ("price", "mixture(2)"),
        ("visits", "poisson"),
        ("visits", "negative_binomial"),
        ("grade", "ordinal"),
        ("sold", "bernoulli"),
    ],
)
def test_the_saved_network_speaks_of_the_targets_own_unit(table, capsys, target, likelihood):
    assert train(target, likelihood) == 0
    out = capsys.readouterr().out
    assert (likelihood == "ordinal") == ("classes in order: 0 < 1 < 2 < 3" in out)
    lines = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    ours, constant = (float(lines[name][2]) for name in ("this network", "constant predictor"))
    assert ours < constant
    network = pellucid.load("model.pellucid")
    head = as_likelihood(read_metadata("model.pellucid")["likelihood"])
    outputs = network(table["x"].to_numpy()[:, None])
    if target == "price":
        middle = head.predict(outputs)
        assert 4500 < middle.mean() < 5600
        low, high = head.quantiles(outputs, [0.1, 0.9])[:, 0].T
        price = table["price"].to_numpy()
        inside = np.mean((low <= price) & (price <= high))
        assert inside == pytest.approx(0.8, abs=0.1)


def test_the_usual_likelihood_is_the_usual_training(table, capsys):
    assert train("price", "gaussian") == 0
    assert "To ask what holds it back" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "likelihood", "words"),
    [
        ("price", "normal", "is no likelihood; choose one of gaussian"),
        ("price", "student_t(-1)", "nu of student_t is -1.0"),
        ("price", "poisson", "needs counts"),
        ("grade", "bernoulli", "is for two classes; 'grade' has 4"),
        ("sold", "mean_variance", "sold"),
    ],
)
def test_mistakes_are_one_sentence(table, capsys, target, likelihood, words):
    assert train(target, likelihood) == 2
    error = capsys.readouterr().err
    assert words in " ".join(error.split())
    assert "Traceback" not in error


def test_a_listed_data_set_has_its_own_task(table, capsys):
    assert run(["train", "penguins", "--likelihood", "laplace", "--steps", "5"]) == 2
    assert "is for a regression" in " ".join(capsys.readouterr().err.split())


def test_the_diagnosis_that_is_offered_takes_no_likelihood(table, capsys):
    assert train("price", "gaussian", "--likelihood=gaussian") == 0
    offered = capsys.readouterr().out.partition("pellucid diagnose")[2]
    assert "--standardize" in offered
    assert "likelihood" not in offered


# ---- a study


def sweep(target, likelihood, *more, data="", best=True):
    drop = [c for c in ("price", "visits", "grade", "sold") if c != target]
    Path("study.toml").write_text(
        f"""
[data]
path = "table.csv"
target = "{target}"
drop = {json.dumps(drop)}
standardize = true
{f'likelihood = "{likelihood}"' if likelihood else ""}
{data}
[settings]
hidden = [[16], []]
steps = 400
[output]
table = "study.parquet"
{'save_best = "best.pellucid"' if best else ""}
"""
    )
    return run(["sweep", "study.toml", *more])


@pytest.mark.parametrize(
    ("target", "likelihood", "share"),
    [
        ("price", "laplace", False),
        ("price", "quantile(0.1,0.9)", False),
        ("visits", "poisson", False),
        ("grade", "ordinal", True),
        ("sold", "bernoulli", True),
    ],
)
def test_a_study_trains_as_train_does(table, capsys, target, likelihood, share):
    """The same losses, and the same network in the target's own unit, with the same split."""
    assert train(target, likelihood) == 0
    single = " ".join(capsys.readouterr().out.split())
    assert sweep(target, likelihood) == 0
    printed = capsys.readouterr().out
    assert f"likelihood: {likelihood}\n" in printed
    assert ("classes in order: 0 < 1 < 2 < 3" in printed) == (likelihood == "ordinal")
    assert ("pinball loss" in printed) == likelihood.startswith("quantile")
    rows = pl.read_parquet("study.parquet")
    assert rows["likelihood"].to_list() == [likelihood, likelihood]
    assert ("validation_accuracy" in rows.columns) == share
    mine, theirs = (pellucid.load(f"{name}.pellucid") for name in ("best", "model"))
    about, other = (read_metadata(f"{name}.pellucid") for name in ("best", "model"))
    assert {k: about[k] for k in other} == other
    x = table["x"].to_numpy()[:, None]
    if rows["validation_loss"][0] < rows["validation_loss"][1]:
        np.testing.assert_allclose(mine(x), theirs(x), rtol=1e-12)
    if share:
        assert f"{100 * rows['validation_accuracy'][0]:.1f} %" in single


def test_the_usual_likelihood_of_a_study_is_what_it_has_without_one(table, capsys):
    frames = []
    for likelihood in ("", "gaussian"):
        assert sweep("price", likelihood, "--restart", best=False) == 0
        assert "likelihood:" not in capsys.readouterr().out
        frames.append(pl.read_parquet("study.parquet"))
    assert frames[0].equals(frames[1])
    assert frames[0]["likelihood"].to_list() == ["gaussian", "gaussian"]


def test_the_best_of_a_study_knows_its_split(table):
    assert sweep("price", "", data="held_out = 0.4\nseed = 3") == 0
    split = json.loads(read_metadata("best.pellucid")["split"])
    assert split == {"rows": 400, "task": "regression", "share": 0.4, "seed": 3}
    assert sweep("price", "", "--restart", data="held_out = 0") == 0
    assert "split" not in read_metadata("best.pellucid")


@pytest.mark.parametrize(
    ("target", "likelihood", "words"),
    [
        ("price", "normal", "is no likelihood; choose one of gaussian"),
        ("price", "poisson", "needs counts"),
        ("grade", "bernoulli", "likelihood bernoulli is for two classes; 'grade' has 4"),
        ("sold", "mean_variance", "sold"),
    ],
)
def test_mistakes_of_a_study_are_one_sentence(table, capsys, target, likelihood, words):
    assert sweep(target, likelihood) == 2
    error = capsys.readouterr().err
    assert words in " ".join(error.split())
    assert "study.toml" in error
    assert "Traceback" not in error
    assert not Path("study.parquet").exists()
