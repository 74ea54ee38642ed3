"""`pellucid verify`: in a fresh process, from the files alone."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pellucid import Recipe, verify_certificate
from pellucid.cli import run
from pellucid.datasets import as_table, load_dataset, read_table
from pellucid.diagnosis import (
    Architecture,
    capacity_certificate,
    find_floors,
    write_certificate,
)
from pellucid.diagnosis.checker.certificate import seal_of
from pellucid.diagnosis.problem import GAUSSIAN_CONSTANT, pose

PROGRAM = [sys.executable, "-c", "from pellucid.cli import main; main()"]


def certify(table, hidden, d_out, path="certificate.json", trivial=GAUSSIAN_CONSTANT + 0.51):
    problem = pose(table, Recipe(hidden=tuple(hidden)), 0, 0.25)
    architecture = Architecture.uniform(problem.raw_X.shape[1], hidden, d_out)
    floor = find_floors(problem, architecture)[0]
    least = 0.01 if table.classes else GAUSSIAN_CONSTANT + 0.01
    certificate = capacity_certificate(problem, architecture, floor, trivial, least)
    write_certificate(certificate, path)
    return certificate


@pytest.fixture
def sine(tmp_path, monkeypatch) -> dict:
    """A file with text, gaps and a column that nobody uses; a certificate about the rest."""
    monkeypatch.chdir(tmp_path)
    x = np.linspace(-1, 1, 160)
    kind = np.where(np.arange(160) % 2, "b", "a").tolist()
    gaps = [None if i % 16 == 5 else int(v) for i, v in enumerate(np.arange(160) % 4 // 2)]
    frame = {"x": x, "kind": kind, "gaps": gaps, "other": x**2, "y": np.sin(8 * np.pi * x)}
    pl.DataFrame(frame).write_csv("data.csv")
    return certify(read_table("data.csv", "y", drop=["other"]), [2], 1)


def test_a_certificate_is_accepted_in_a_fresh_process(sine):
    command = [*PROGRAM, "verify", "certificate.json", "data.csv"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("accepted: capacity failure, proved by pieces on a line: no ")
    printed = float(done.stdout.split("below ")[1].split(" nats")[0])
    assert sine["bound"] - 1e-3 < printed <= sine["bound"]
    widths = "-".join(map(str, sine["architecture"]["widths"]))
    assert f"the architecture {widths} relu have" in done.stdout
    assert "nats on 120 of 160 rows" in done.stdout
    assert done.stdout.count("\n") == 1


def test_a_weight_decay_is_proved_to_be_too_strong_in_a_fresh_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(-1, 1, 80)
    pl.DataFrame({"x": 3 + 2 * x, "y": np.sin(4 * x)}).write_csv("data.csv")
    command = ["diagnose", "data.csv", "--target", "y", "--hidden", "8", "--standardize"]
    assert run([*command, "--weight-decay", "0.5", "--steps", "300", "--budget", "20"]) == 0
    command = [*PROGRAM, "verify", "certificate.json", "data.csv"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = "accepted: wrong loss or output, proved by convex reformulation: no parameters of the "
    assert done.stdout.startswith(told)
    assert "nor of a wider one, whose objective with weight decay 0.5 is as low" in done.stdout
    changed = json.loads(Path("certificate.json").read_text())
    changed["evidence"]["weight_decay"] = 0.05
    changed["seal"] = seal_of(changed)
    Path("changed.json").write_text(json.dumps(changed))
    assert run(["verify", "changed.json", "data.csv"]) == 1


def test_columns_that_say_nothing_and_identifiers_are_read_as_the_certificate_names_them(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    x = np.linspace(-1, 1, 160)
    columns = {"id": np.arange(160), "one": np.ones(160), "x": x**2}
    pl.DataFrame({**columns, "y": np.sin(8 * np.pi * x)}).write_csv("data.csv")
    table = as_table(np.column_stack(list(columns.values())), np.sin(8 * np.pi * x))
    table = replace(
        table,
        target_name="y",
        columns=tuple(
            replace(c, name=name) for c, name in zip(table.columns, columns, strict=True)
        ),
    )
    certify(table, [], 1)
    assert run(["verify", "certificate.json", "data.csv"]) == 0


def test_the_library_gives_the_same_answer(sine):
    table = read_table("data.csv", "y")
    answer = verify_certificate("certificate.json", table)
    assert answer.accepted, answer.reason
    assert verify_certificate(sine, table) == answer
    other = verify_certificate(sine, load_dataset("sine"))
    assert not other.accepted
    assert "does not fit the table" in other.reason


def test_what_was_changed_is_refused(sine, capsys):
    sine["bound"] *= 1.01
    Path("changed.json").write_text(json.dumps(sine))
    assert run(["verify", "changed.json", "data.csv"]) == 1
    assert capsys.readouterr().out.startswith("refused: the certificate was changed")
    sine["seal"] = seal_of(sine)
    Path("changed.json").write_text(json.dumps(sine))
    assert run(["verify", "changed.json", "data.csv"]) == 1
    assert capsys.readouterr().out.startswith("refused: the bound is claimed as")


def test_other_data_are_refused(sine, capsys):
    text = Path("data.csv").read_text().splitlines()
    Path("other.csv").write_text("\n".join([text[0], *reversed(text[1:])]) + "\n")
    assert run(["verify", "certificate.json", "other.csv"]) == 1
    assert "refused: the data are not those" in capsys.readouterr().out
    frame = pl.read_csv("data.csv").drop("kind")
    frame.write_csv("less.csv")
    assert run(["verify", "certificate.json", "less.csv"]) == 1
    assert "no column 'kind'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["missing.json", "data.csv"], "cannot be read"),
        (["data.csv", "data.csv"], "no JSON document"),
        (["list.json", "data.csv"], "no JSON object"),
        (["empty.json", "data.csv"], "no certificate"),
        (["certificate.json", "missing.csv"], "there is no file"),
        (["certificate.json", "no target.csv"], "has no column 'y'"),
        (["certificate.json"], "Missing argument 'DATA'"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line(sine, capsys, words, told):
    Path("list.json").write_text("[1]")
    Path("empty.json").write_text("{}")
    pl.read_csv("data.csv").drop("y").write_csv("no target.csv")
    assert run(["verify", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert told in err


@pytest.mark.slow
def test_classes_of_a_listed_data_set_and_of_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    certify(load_dataset("xor"), [1], 2, trivial=0.7)
    assert run(["verify", "certificate.json", "xor"]) == 0
    assert run(["datasets", "xor", "--out", "xor.csv"]) == 0
    capsys.readouterr()
    assert run(["verify", "certificate.json", "xor.csv"]) == 0
    assert "one hidden unit" in capsys.readouterr().out
    assert run(["verify", "certificate.json", "moons"]) == 1
