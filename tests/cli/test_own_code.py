"""`pellucid diagnose` with a user's own script and with a trained network."""

import json
import os
import sys

import numpy as np
import pytest

from pellucid.cli import run

SCRIPT = """
import torch
from torch import nn
from helper import WIDTH


def make_model(seed):
    return nn.Sequential(nn.Linear(2, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2), nn.Softmax(dim=1))


def plain():
    return nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 2))


def broken():
    return 1 / 0


def lazy():
    from late import WIDTH

    return nn.Sequential(nn.Linear(2, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2))


def short(model, X, y):
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    for _ in range(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), y).backward()
        optimizer.step()


def wide():
    return nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 1))


number = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("WIDTH = 8\n")
    (tmp_path / "late.py").write_text("WIDTH = 5\n")
    (tmp_path / "wrong.py").write_text("def make(:\n")
    rows = np.random.default_rng(0).normal(size=(80, 2))
    lines = [f"{a},{b},{'up' if a + b > 0 else 'down'}" for a, b in rows]
    words_and_numbers = [
        f"{a},{'north' if b > 0 else 'east' if a > 0 else 'south'},{a + b}" for a, b in rows
    ]
    (tmp_path / "text.csv").write_text("\n".join(["a,place,y", *words_and_numbers]))
    (tmp_path / "data.csv").write_text("\n".join(["a,b,y", *lines]))
    yield tmp_path
    for name in ("mine", "helper", "late", "wrong"):
        sys.modules.pop(name, None)


def words(name, *more):
    return ["diagnose", name, "--data", "data.csv", "--target", "y", "--json", *more]


def test_a_script_is_run_and_says_so(place, capsys):
    before = list(sys.path)
    code = run(words("mine.py:make_model", "--train-fn", "short", "--budget", "60"))
    out, err = capsys.readouterr()
    assert (code, err) == (0, "pellucid: running your own Python: mine.py\n")
    verdict = json.loads(out)
    assert verdict["recipe"]["hidden"] == [8]
    assert verdict["recipe"]["steps"] == 30
    assert verdict["kind"] == "wrong loss or output"
    assert sys.path == before
    assert os.listdir(place).count("report.html") == 0


def test_a_script_may_import_its_neighbours_within_a_function(place, capsys):
    before = list(sys.path)
    assert run(words("mine.py:lazy", "--train-fn", "short", "--budget", "0.001")) == 0
    assert json.loads(capsys.readouterr().out)["recipe"]["hidden"] == [5]
    assert sys.path == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (words("mine.py:broken"), "model_fn failed in mine.py, line 16: ZeroDivisionError"),
        (words("wrong.py:make"), "the script wrong.py failed"),
        (words("none.py:make"), "there is no file"),
        (words("mine.py:absent"), "no function 'absent'"),
        (words("mine.py:number"), "no function 'number'"),
        (words("mine.py:plain", "--loss", "what"), "--loss is 'what'"),
        (
            ["diagnose", "mine.py:wide", "--data", "text.csv", "--target", "y"],
            "the 2 columns of the table were encoded into 4 inputs (a, place=east, place=north, "
            "place=south), and the model takes 2; give it 4",
        ),
        (words("mine.py:plain", "--hidden", "3"), "brings its own network"),
        (["diagnose", "mine.py:plain"], "needs --data"),
        (["diagnose", "data.csv", "--target", "y", "--loss", "mse"], "go with a script"),
        (["diagnose", "data.csv", "--target", "y", "--model", "no.pellucid"], "cannot read"),
    ],
)
def test_mistakes_are_one_sentence_with_their_place(place, capsys, arguments, told):
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert told in err
    assert "Traceback" not in err


def test_a_trained_network_keeps_its_split(place, capsys):
    train = ["train", "data.csv", "--target", "y", "--hidden", "5", "--steps", "50", "--seed", "3"]
    assert run([*train, "--out", "net.pellucid"]) == 0
    capsys.readouterr()
    command = ["diagnose", "data.csv", "--target", "y", "--model", "net.pellucid", "--json"]
    assert run([*command, "--budget", "0.001"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["recipe"]["hidden"] == [5]
    assert verdict["seed"] == 3
