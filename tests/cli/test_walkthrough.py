"""`pellucid walkthrough`: from a saved network and a row to the worked pass, in every form."""

import json
from pathlib import Path

import numpy as np
import pytest
from walkthrough import lesson, reading

import pellucid
from pellucid.cli import run

EXAMPLE = ["--x", "0.5,-1,2,1.5", "--y", "1"]


@pytest.fixture(autouse=True)
def lesson_in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pellucid.save(lesson.network(), "lesson.pellucid")


def test_the_example_is_printed_with_its_numbers(capsys):
    assert run(["walkthrough", "lesson.pellucid", *EXAMPLE]) == 0
    found = reading.from_text(capsys.readouterr().out)
    np.testing.assert_allclose(found["z1"], [lesson.EXPECTED["a"]], atol=5.1e-7)
    np.testing.assert_allclose(found["∂ℓ/∂x"], [lesson.EXPECTED["dx"]], atol=5.1e-7)


def test_exact_works_in_fractions(capsys):
    words = ["--x", "1/2,-1,2,3/2", "--y", "1", "--exact", "--notation", "row"]
    assert run(["walkthrough", "lesson.pellucid", *words]) == 0
    out = capsys.readouterr().out
    assert "41/20" in out
    assert "a = x W1 + b1" in out


@pytest.mark.parametrize("name", ["pass.html", "pass.tex", "pass.txt"])
def test_files_are_written_again_but_not_over_those_of_others(name, capsys, tmp_path):
    words = ["walkthrough", "lesson.pellucid", *EXAMPLE, "--out", name]
    assert run(words) == 0
    first = (tmp_path / name).read_text()
    assert run(words) == 0
    assert capsys.readouterr().out == f"written: {name}\n" * 2
    assert (tmp_path / name).read_text() == first
    reader = {"html": reading.from_html, "tex": reading.from_latex, "txt": reading.from_text}
    found = reader[name[5:]](first)
    assert any("0.183490" in line for line in first.splitlines())
    assert found
    (tmp_path / name).write_text("mine")
    assert run(words) == 2
    assert (tmp_path / name).read_text() == "mine"


def test_json_has_every_number_and_nothing_else(capsys):
    assert run(["walkthrough", "lesson.pellucid", *EXAMPLE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["loss"] == pytest.approx(lesson.LOSS, abs=1e-9)
    dW1 = np.transpose(found["weight_gradients"][0])
    np.testing.assert_allclose(dW1, lesson.EXPECTED["dW1"], atol=1e-9)
    assert found["blocked"] == [[[False, True, False]]]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_step_of_an_optimizer(optimizer, capsys):
    words = ["--step", optimizer, "--learning-rate", "0.1"]
    assert run(["walkthrough", "lesson.pellucid", *EXAMPLE, *words]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Step 1 of {optimizer} on one example")
    assert "1. Clear the gradients" in out
    step = pellucid.worked_step(
        lesson.network(), lesson.X, lesson.Y, optimizer=optimizer, learning_rate=0.1
    )
    assert f"0.990600 -> {step.loss_after:.6f}" in out


def test_rows_of_a_table_have_the_names_of_their_columns(capsys):
    run(["train", "penguins", "--standardize", "--steps", "60"])
    run(["datasets", "penguins", "--out", "birds.csv"])
    capsys.readouterr()
    assert run(["walkthrough", "model.pellucid", "--row", "3", "birds.csv"]) == 0
    from_file = capsys.readouterr().out
    assert "bill_length_mm" in from_file
    assert "The target is 0 (Adelie)." in from_file
    assert run(["walkthrough", "model.pellucid", "--row", "3", "penguins"]) == 0
    assert capsys.readouterr().out == from_file
    assert (
        run(
            ["walkthrough", "model.pellucid", "penguins", "--row", "3", "200", "@5", "--limit", "4"]
        )
        == 0
    )
    assert "a batch of 3 examples" in capsys.readouterr().out


def test_the_loss_of_a_row_is_that_of_training(capsys):
    run(["train", "moons", "--hidden", "6", "--steps", "50"])
    capsys.readouterr()
    run(["walkthrough", "model.pellucid", "moons", "--row", "7", "--json"])
    found = json.loads(capsys.readouterr().out)
    net, table = pellucid.load("model.pellucid"), pellucid.datasets.load_dataset("moons")
    y = table.y[7] if found["likelihood"] == "categorical" else table.y[7:8].astype(float)
    back = net.astype("float64").backward(table.X[7], y, found["likelihood"])
    assert found["loss"] == pytest.approx(back.loss, rel=1e-12)


def test_a_regression_takes_its_number(capsys):
    run(["train", "sine", "--hidden", "4", "--steps", "20"])
    capsys.readouterr()
    assert run(["walkthrough", "model.pellucid", "sine", "--row", "0"]) == 0
    assert "gaussian likelihood" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no example"),
        (["--x", "1,2,3,4"], "--y is missing"),
        (["--x", "1,2", "--y", "1"], "takes 4 inputs"),
        (["--x", "1,a,3,4", "--y", "1"], "--x has 'a'"),
        (["--x", "1,2,3,inf", "--y", "1"], "--x has 'inf'"),
        (["--x", "1,2,3,4", "--y", "9"], "labels from 0 to 2"),
        (["penguins", "--y", "1"], "--y belongs to --x"),
        (["penguins", "--x", "1", "--y", "1"], "leave the table and --row out"),
        (["penguins"], "the network takes 4 inputs"),
        (["moons", "--row", "99999"], "takes 4 inputs"),
        (["no.csv", "--target", "y"], "no.csv"),
        ([*EXAMPLE, "--step", "lbfgs"], "--step is 'lbfgs'; choose one of sgd"),
        ([*EXAMPLE, "--step", "sgd", "--exact"], "leave one out"),
        ([*EXAMPLE, "--notation", "x"], "notation is 'x'"),
        ([*EXAMPLE, "--digits", "99"], "digits is 99"),
        ([*EXAMPLE, "--out", "x.pdf"], "ends in .txt, .tex, .html"),
        ([*EXAMPLE, "--out", "lesson.pellucid"], "ends in .txt, .tex, .html"),
        ([*EXAMPLE, "--out", "no/x.txt"], "there is no folder no"),
        ([*EXAMPLE, "--likelihood", "poison"], "no likelihood"),
    ],
)
def test_a_mistake_is_one_line(words, message, capsys, as_users_run):
    assert run(["walkthrough", "lesson.pellucid", *words]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert len(told.err.splitlines()) == 1
    assert message in told.err


def test_rows_that_are_not_there_are_told(capsys):
    run(["train", "moons", "--hidden", "4", "--steps", "20"])
    capsys.readouterr()
    for row in ("99999", "-1", "x", "1.5", "²"):
        assert run(["walkthrough", "model.pellucid", "moons", f"--row={row}"]) == 2
        assert "the table has rows 0 to" in capsys.readouterr().err


def test_classes_of_another_table_are_refused(capsys):
    run(["train", "moons", "--hidden", "4", "--steps", "20"])
    table = pellucid.datasets.load_dataset("moons")
    rows = [f"{a},{b},{'pq'[i % 2]}" for i, (a, b) in enumerate(table.X.tolist())]
    Path("other.csv").write_text("\n".join([f"{','.join(table.feature_names)},kind", *rows]))
    capsys.readouterr()
    assert run(["walkthrough", "model.pellucid", "other.csv", "--target", "kind"]) == 2
    assert "they must agree" in capsys.readouterr().err


def test_the_likelihood_is_that_of_the_model_where_it_says_so(capsys):
    about = {"likelihood": "gaussian"}
    pellucid.save(lesson.network(), "said.pellucid", about)
    words = ["--x", "0.5,-1,2,1.5", "--y", "1,0,2"]
    assert run(["walkthrough", "said.pellucid", *words]) == 0
    assert "gaussian likelihood" in capsys.readouterr().out


def test_classes_that_do_not_fit_the_outputs_are_told(capsys):
    table = pellucid.datasets.load_dataset("penguins")
    d = table.encoder(standardize=False).d
    pellucid.save(pellucid.initialize([d, 2, 1]), "one.pellucid")
    assert run(["walkthrough", "one.pellucid", "penguins"]) == 2
    assert "3 classes, and the network has 1 outputs" in capsys.readouterr().err


@pytest.mark.parametrize("x", ["1e400,0,0,0", "1e99999999999,0,0,0", "1,0,0,-1e-99999999999"])
def test_a_number_out_of_range_is_a_mistake_of_the_user(x, capsys):
    assert run(["walkthrough", "lesson.pellucid", "--x", x, "--y", "1"]) == 2
    assert "--x has" in capsys.readouterr().err


def test_gaps_are_filled_from_the_training_rows_as_in_training(capsys):
    rng = np.random.default_rng(0)
    lines = [f"{a:.4f},{b:.4f},{a - b:.4f}" for a, b in rng.normal(size=(40, 2))]
    lines[3] = ",0.5,1.0"  # row 3 is held out with seed 1, or not: no column may come of it
    Path("gaps.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    for seed in range(4):
        words = f"train gaps.csv --target y --hidden 2 --steps 5 --seed {seed} --out gaps.pellucid"
        assert run(words.split()) == 0
        assert run(["walkthrough", "gaps.pellucid", "--row", "3", "gaps.csv", "--json"]) == 0
        found = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
        table = pellucid.datasets.read_table("gaps.csv", "y")
        rows = ~pellucid.datasets.held_out_rows(table, share=0.25, seed=seed)
        expected = table.encoder(rows, standardize=False).raw(table)[3]
        np.testing.assert_array_equal(found["x"], [expected])


def test_a_learning_rate_without_a_step_is_a_mistake(capsys):
    words = ["walkthrough", "lesson.pellucid", *EXAMPLE, "--learning-rate", "0.1"]
    assert run(words) == 2
    assert "belongs to --step" in capsys.readouterr().err
