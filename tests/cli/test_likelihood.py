"""`pellucid train --likelihood`."""

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
