"""`pellucid sweep`: a study file, its mistakes, its table, and being stopped and called again."""

import json
import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cli.stopping import stopped_at

import pellucid
from pellucid import PellucidError
from pellucid.cli import run
from pellucid.training.checkpoint_files import clear
from pellucid.training.study_file import EXAMPLE, read_study

PROGRAM = [sys.executable, "-c", "from pellucid.cli import main; main()"]
SMALL = """
[data]
dataset = "moons"
standardize = true
[settings]
seed = [3, 1]
hidden = [[4], []]
steps = 30
[output]
table = "study.parquet"
"""
LONG = SMALL.replace("steps = 30", "steps = 150000\nrecord_every = 4000").replace("[]]", "[6]]")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def sweep(text: str, *words: str) -> int:
    Path("study.toml").write_text(text)
    return run(["sweep", "study.toml", *words])


def with_line(text: str, line: str) -> str:
    """The study with one more line in a part, or with another value of the same key."""
    part, _, rest = line.partition(": ")
    key = rest.split(" = ")[0]
    before, _, after = text.partition(f"[{part}]\n")
    return f"{before}[{part}]\n{rest}\n" + re.sub(rf"(?m)^{key} = .*\n", "", after, count=1)


# ---- the table


def test_the_example_runs_as_it_is_and_goes_on_from_what_it_has(capsys, tmp_path):
    assert run(["sweep", "--example"]) == 0
    example = capsys.readouterr().out
    assert sweep(example) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "penguins: 258 training rows, 86 held out" in printed.out
    assert "18 networks: 18 finished\nthe best by held-out loss:\n" in printed.out
    assert "written: study.parquet (18 rows)\nsaved: best.pellucid (network" in printed.out
    names = ["best.pellucid", "study.checkpoint", "study.parquet", "study.toml"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    assert max(map(len, printed.out.splitlines())) <= 100
    files = {name: Path(name).read_bytes() for name in names if not Path(name).is_dir()}
    assert run(["sweep", "study.toml"]) == 0
    assert run(["sweep", "study.toml", "--restart", "--threads", "1"]) == 0
    assert {name: Path(name).read_bytes() for name in files} == files


def test_the_example_of_the_help_runs(capsys):
    assert run(["sweep", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split()).partition("Example: pellucid ")[2].split()
    assert words[:2] == ["sweep", "study.toml"]
    assert sweep(SMALL, *words[2:]) == 0


def test_one_row_for_each_network_in_the_order_of_the_file():
    assert sweep(SMALL) == 0
    table = pl.read_parquet("study.parquet")
    assert table["seed"].to_list() == [3, 3, 1, 1]
    assert table["hidden"].to_list() == [[4], [], [4], []]
    assert table["steps"].unique().to_list() == [30]
    assert table["status"].unique().to_list() == ["finished"]
    assert table.schema["batch_size"] == pl.Int64
    assert table.schema["clip_norm"] == pl.Float64
    assert table.schema["hidden"] == pl.List(pl.Int64)
    assert not [name for name in table.columns if "second" in name or "time" in name]


def test_the_table_says_what_train_many_says():
    assert sweep(SMALL) == 0
    table = pl.read_parquet("study.parquet")
    data = pellucid.datasets.load_dataset("moons")
    held_out = pellucid.datasets.held_out_rows(data, 0.25, 0)
    X = data.encoder(~held_out).transform(data)
    grid = pellucid.train_many(
        X[~held_out],
        data.y[~held_out],
        hidden=[[4], []],
        seed=[3, 1],
        steps=30,
        validation=(X[held_out], data.y[held_out]),
    )
    order = [0, 2, 1, 3]  # theirs is the order of the signature, hidden outermost
    theirs = grid.to_frame()
    mine = table[order]
    shared = theirs.columns
    assert mine.select(shared).equals(theirs, null_equal=True)
    shares = [
        (network(X[held_out]).argmax(axis=1) == data.y[held_out]).mean()
        for network in grid.networks
    ]
    assert mine["validation_accuracy"].to_list() == pytest.approx(shares, abs=1e-9)
    assert table.columns.index("accuracy") == table.columns.index("validation_accuracy") - 1


def test_a_numeric_target_is_standardised_and_the_best_network_takes_raw_columns(capsys):
    study = SMALL.replace('"moons"', '"sine"').replace("30", "800")
    assert sweep(study + 'save_best = "best.pellucid"\n') == 0
    assert "accuracy" not in pl.read_parquet("study.parquet").columns
    data = pellucid.datasets.load_dataset("sine")
    error = pellucid.load("best.pellucid")(data.X)[:, 0] - data.y
    assert 1 - error.var() / data.y.var() > 0.5
    from pellucid.network import read_metadata

    assert read_metadata("best.pellucid")["target"] == "y"


def test_the_best_is_the_one_with_the_lowest_held_out_loss(capsys):
    assert sweep(SMALL.replace("30", "300") + 'save_best = "best.pellucid"\n', "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    table = pl.read_parquet("study.parquet")
    assert summary["networks"] == 4
    assert summary["statuses"] == {"finished": 4}
    losses = [one["validation_loss"] for one in summary["best"]]
    assert losses == sorted(table["validation_loss"].to_list())
    data = pellucid.datasets.load_dataset("moons")
    held_out = pellucid.datasets.held_out_rows(data, 0.25, 0)
    labels = pellucid.load("best.pellucid")(data.X).argmax(axis=1)
    share = (labels == data.y)[held_out].mean()
    assert share == pytest.approx(summary["best"][0]["validation_accuracy"])


def test_without_held_out_rows_the_training_loss_decides(capsys):
    assert sweep(with_line(SMALL, "data: held_out = 0")) == 0
    out = capsys.readouterr().out
    assert "400 training rows, 0 held out" in out
    assert "the best by training loss:" in out
    table = pl.read_parquet("study.parquet")
    assert table["validation_loss"].null_count() == 4
    assert "validation_accuracy" not in table.columns


def test_networks_that_diverge_are_counted_and_never_the_best(capsys):
    study = with_line(SMALL, "settings: learning_rate = [0.1, 1e30]")
    assert sweep(with_line(study, 'settings: optimizer = "sgd"')) == 0
    out = capsys.readouterr().out
    assert re.search(r"8 networks: \d diverged, \d finished", out)
    table = pl.read_parquet("study.parquet")
    diverged = table.filter(pl.col("status") == "diverged")
    assert diverged["learning_rate"].unique().to_list() == [1e30]
    assert diverged["accuracy"].null_count() == len(diverged)
    study = with_line(SMALL.replace("[]]", "[5]]"), "settings: learning_rate = 1e30")
    study = with_line(study, 'settings: optimizer = "sgd"') + 'save_best = "best.pellucid"\n'
    assert sweep(study, "--restart") == 0
    assert "No network has a finite loss" in capsys.readouterr().out
    assert not Path("best.pellucid").exists()


def test_none_stands_for_what_toml_cannot_say():
    study = with_line(SMALL, 'settings: batch_size = [16, "none"]')
    assert sweep(with_line(study, 'settings: clip_norm = "none"')) == 0
    assert pl.read_parquet("study.parquet")["batch_size"].to_list()[::4] == [16, None]


def test_paths_are_those_of_the_study_and_out_is_that_of_the_command(tmp_path):
    (tmp_path / "studies").mkdir()
    assert run(["datasets", "iris", "--out", "studies/iris.csv"]) == 0
    source = 'path = "iris.csv"\ntarget = "target"\ndrop = ["sepal length (cm)"]'
    text = SMALL.replace('dataset = "moons"', source)
    Path("studies/study.toml").write_text(text)
    assert run(["sweep", "studies/study.toml"]) == 0
    assert sorted(os.listdir("studies")) == [
        "iris.csv", "study.checkpoint", "study.parquet", "study.toml",
    ]  # fmt: skip
    assert run(["sweep", "studies/study.toml", "--out", "here.parquet"]) == 0
    assert Path("here.parquet").read_bytes() == Path("studies/study.parquet").read_bytes()


# ---- mistakes

MISTAKES = {
    "unknown table": (SMALL + "[setings]\nx = 1\n", "there is no table [setings]"),
    "a key outside": ("steps = 3\n" + SMALL, "there is no table [steps]"),
    "a table that is none": ("data = 3\n", "are tables"),
    "no data": (SMALL.replace('dataset = "moons"', ""), "it has neither"),
    "both data": (with_line(SMALL, 'data: path = "t.csv"'), "it has both"),
    "no target": (SMALL.replace("dataset", "path"), "data.target is missing"),
    "unknown data key": (with_line(SMALL, "data: rows = 9"), "there is no data.rows; [data] takes"),
    "data of another type": (with_line(SMALL, "data: standardize = 1"), "data.standardize is 1"),
    "share": (with_line(SMALL, "data: held_out = 1.0"), "data.held_out is 1.0; it needs a number"),
    "split seed": (with_line(SMALL, "data: seed = -1"), "data.seed is -1; it needs a whole"),
    "drop": (with_line(SMALL, 'data: drop = "a"'), "data.drop is 'a'; it needs a list of texts"),
    "drop of a data set": (with_line(SMALL, 'data: drop = ["x1"]'), "data.drop is for a file"),
    "unknown data set": (SMALL.replace("moons", "mons"), "[data]: there is no data set 'mons'"),
    "file as data set": (
        SMALL.replace('dataset = "moons"', 'path = "moons"\ntarget = "class"'),
        "write dataset = 'moons'",
    ),
    "no file": (
        SMALL.replace('dataset = "moons"', 'path = "no.csv"\ntarget = "class"'),
        "[data]: there is no file",
    ),
    "target of a toy": (with_line(SMALL, 'data: target = "x1"'), "[data]: "),
    "no hidden": (SMALL.replace("hidden = [[4], []]", ""), "settings.hidden is missing"),
    "flat hidden": (with_line(SMALL, "settings: hidden = [4, 4]"), "it needs a list of lists"),
    "hidden of no list": (with_line(SMALL, "settings: hidden = 4"), "it needs a list of lists"),
    "empty hidden": (with_line(SMALL, "settings: hidden = []"), "it needs a list of lists"),
    "zero width": (with_line(SMALL, "settings: hidden = [[0]]"), "[settings]: a hidden width is 0"),
    "unknown setting": (with_line(SMALL, "settings: lr = 1"), "there is no settings.lr;"),
    "setting in words": (
        with_line(SMALL, 'settings: learning_rate = "fast"'),
        "settings.learning_rate is 'fast'; it needs a number.",
    ),
    "truth as number": (with_line(SMALL, "settings: steps = true"), "settings.steps is True; it"),
    "half steps": (with_line(SMALL, "settings: steps = 1.5"), "settings.steps is 1.5; it needs"),
    "one of a list": (
        with_line(SMALL, 'settings: batch_size = [16, "all"]'),
        "settings.batch_size is 'all'; it needs a whole number, or \"none\".",
    ),
    "none where it cannot be": (
        with_line(SMALL, 'settings: steps = "none"'),
        "settings.steps is 'none'; it needs a whole number.",
    ),
    "switch in words": (
        with_line(SMALL, 'settings: nesterov = "false"'),
        "settings.nesterov is 'false'; it needs true or false.",
    ),
    "name as number": (with_line(SMALL, "settings: optimizer = 3"), "settings.optimizer is 3; it"),
    "unknown name": (with_line(SMALL, 'settings: optimizer = "adm"'), "[settings]: optimizer is"),
    "negative rate": (with_line(SMALL, "settings: learning_rate = -1"), "learning_rate is -1"),
    "rate that is nan": (with_line(SMALL, "settings: learning_rate = nan"), "learning_rate is nan"),
    "empty list": (with_line(SMALL, "settings: steps = []"), "settings.steps is []; it needs"),
    "list in a list": (with_line(SMALL, "settings: steps = [[1]]"), "settings.steps is [1]; it"),
    "date": (with_line(SMALL, "settings: steps = 2020-01-01"), "settings.steps is datetime"),
    "negative seed": (with_line(SMALL, "settings: seed = -1"), "settings.seed is -1; it needs"),
    "seed in words": (with_line(SMALL, 'settings: seed = "x"'), "settings.seed is 'x'; it needs"),
    "too many networks": (
        with_line(
            with_line(SMALL, f"settings: steps = {list(range(1000))}"),
            f"settings: alpha = {[0.5] * 1000}",
        ),
        "the settings make 4,000,000 networks; a study takes at most 100,000",
    ),
    "what does not fit": (with_line(SMALL, "settings: nesterov = true"), "nesterov needs momentum"),
    "patience without rows": (
        with_line(with_line(SMALL, "data: held_out = 0"), "settings: patience = 3"),
        "patience needs validation rows",
    ),
    "no output": (SMALL.replace('table = "study.parquet"', ""), "output.table is missing"),
    "unknown output": (SMALL + "tabel = 1\n", "there is no output.tabel; [output] takes table"),
    "another format": (SMALL.replace("study.parquet", "study.csv"), "ends in .parquet"),
    "table in no folder": (SMALL.replace("study.p", "no/study.p"), "output.table: there is no"),
    "best is the table": (SMALL + 'save_best = "./study.parquet"\n', "is the table itself"),
    "best is a folder": (SMALL + 'save_best = "."\n', "output.save_best: . is a folder"),
    "checkpoint is a file": (SMALL + 'checkpoint = "study.toml"\n', "cannot make the checkpoint"),
    "checkpoint is the table": (
        SMALL + 'checkpoint = "./study.parquet"\n',
        "output.checkpoint: study.parquet is the place of the table;",
    ),
    "checkpoint is the best": (
        SMALL + 'checkpoint = "best"\nsave_best = "best"\n',
        "output.checkpoint: best is the place of the best network;",
    ),
    "checkpoint of others": (SMALL + 'checkpoint = "."\n', "is no checkpoint of Pellucid"),
    "not TOML": ("[data\n", "study.toml is no valid TOML: expected"),
    "not TOML further down": (SMALL + "\nx = \n", "(at line 12, column 5)."),
    "twice": (SMALL + "[data]\n", "no valid TOML"),
    "deep": ("x = " + "[" * 5000, "nested too deeply"),
    "endless number": ("x = " + "9" * 5000, "no valid TOML"),
    "large": ("# " + "x" * 2**20, "larger than a megabyte"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_readable_line_and_leaves_nothing(name, capsys, tmp_path):
    text, message = MISTAKES[name]
    assert sweep(text) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "study.toml" in printed.err
    assert printed.err.startswith("pellucid: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    left = {p.name for p in tmp_path.iterdir()}
    assert left <= {"study.toml", "study.checkpoint"}
    assert not list(tmp_path.glob("*/finished*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "STUDY is missing"),
        (["no.toml"], "cannot read the study no.toml: no such file"),
        (["."], "cannot read the study .: is a directory"),
        (["a\0b"], "embedded null"),
        (["study.toml", "--threads", "0"], "--threads is 0"),
        (["study.toml", "--out", "x.csv"], "--out is 'x.csv'; it needs a name that ends in"),
        (["study.toml", "--out", "."], "--out is '.'; it needs a name that ends in"),
        (["study.toml", "--out", "n" * 300 + ".parquet"], "no usable path (File name too long)"),
    ],
)
def test_a_mistake_in_the_command_is_one_line(words, message, capsys):
    Path("study.toml").write_text(SMALL)
    assert run(["sweep", *words]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_bytes_that_are_no_text_are_one_line(capsys):
    Path("study.toml").write_bytes(b"\xff\xfe[data]")
    assert run(["sweep", "study.toml"]) == 2
    assert "study.toml is no text in UTF-8" in capsys.readouterr().err


def test_changed_studies_are_studies_or_one_sentence():
    rng, file = random.Random(0), Path("study.toml")
    lines = EXAMPLE.splitlines()
    for _ in range(300):
        changed = lines.copy()
        for _ in range(rng.randrange(1, 3)):
            i = rng.randrange(len(changed))
            j = rng.randrange(len(changed[i]) + 1)
            changed[i] = changed[i][:j] + rng.choice('[]{}",=1-.#ex \t\x01') + changed[i][j + 1 :]
        file.write_text("\n".join(changed))
        try:
            read_study(file)
        except PellucidError as error:
            assert "\n" not in str(error)  # noqa: PT017  # most of them are good studies


def test_a_table_of_another_program_is_not_replaced(capsys):
    pl.DataFrame({"mine": [1]}).write_parquet("study.parquet")
    before = Path("study.parquet").read_bytes()
    for content in (before, b"PAR1 of old", b"text"):
        Path("study.parquet").write_bytes(content)
        assert sweep(SMALL) == 2
        printed = capsys.readouterr()
        assert "exists and is no table of a sweep of Pellucid; it is not replaced" in printed.err
        assert printed.err.count("\n") == 1
        assert Path("study.parquet").read_bytes() == content
    assert not Path("study.checkpoint").exists()


def test_a_checkpoint_of_a_name_too_long_is_one_line(capsys):
    assert sweep(SMALL + f'checkpoint = "{"n" * 300}"\n', "--restart") == 2
    assert "cannot make the checkpoint folder" in capsys.readouterr().err


def test_another_study_is_told_how_to_begin_anew(capsys):
    assert sweep(SMALL) == 0
    before = Path("study.parquet").read_bytes()
    assert sweep(SMALL.replace("30", "31")) == 2
    err = capsys.readouterr().err
    assert "holds the checkpoint of another training: 'steps' differs" in err
    assert "or give --restart to remove this one and begin anew" in err
    assert Path("study.parquet").read_bytes() == before
    assert sweep(SMALL.replace("30", "31"), "--restart") == 0
    assert Path("study.parquet").read_bytes() != before


def test_restart_leaves_what_a_sweep_did_not_write():
    assert sweep(SMALL) == 0
    Path("study.checkpoint/letter.txt").write_text("mine")
    assert sweep(SMALL, "--restart") == 2  # it is no folder of ours alone any more
    assert Path("study.checkpoint/letter.txt").read_text() == "mine"


# ---- being stopped


def started(*words: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [*PROGRAM, "sweep", "study.toml", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


SAVED = "saved in study.checkpoint; the same command goes on from there.\npellucid: interrupted\n"


def test_ctrl_c_saves_what_is_done_and_the_same_command_goes_on():
    Path("study.toml").write_text(LONG)
    stopped = stopped_at("trains", "sweep", "study.toml")
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert re.fullmatch(r"\d of 4 networks are done, and all is " + SAVED, stopped.stderr)
    assert Path("study.checkpoint/running.safetensors").exists()
    assert not Path("study.parquet").exists()
    assert run(["sweep", "study.toml"]) == 0
    resumed = Path("study.parquet").read_bytes()
    assert run(["sweep", "study.toml", "--restart"]) == 0
    assert Path("study.parquet").read_bytes() == resumed


@pytest.mark.parametrize("moment", ["evaluates", "makes the table"])
def test_ctrl_c_after_the_training_tells_the_same(moment):
    Path("study.toml").write_text(SMALL)
    stopped = stopped_at(moment, "sweep", "study.toml")
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert stopped.stderr == "what is done is " + SAVED
    assert not Path("study.parquet").exists()
    assert run(["sweep", "study.toml"]) == 0


def test_ctrl_c_before_anything_is_begun_is_one_line():
    Path("study.toml").write_text(SMALL)
    stopped = stopped_at("loads the table", "sweep", "study.toml")
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert stopped.stderr == "pellucid: interrupted\n"
    assert os.listdir() == ["study.toml"]


def test_a_second_ctrl_c_does_not_wait_for_the_checkpoint():
    Path("study.toml").write_text(LONG)
    stopped = stopped_at("saves", "sweep", "study.toml", times=2)
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert stopped.stderr == "what is done is " + SAVED
    assert sorted(os.listdir("study.checkpoint")) == [".pellucid-lock", "study.json"]


def test_a_sweep_that_is_killed_goes_on_to_the_same_table():
    Path("study.toml").write_text(SMALL.replace("30", "60000"))
    assert run(["sweep", "study.toml", "--out", "whole.parquet"]) == 0
    clear(Path("study.checkpoint"))
    clear(Path("whole.checkpoint"))
    for moment, at in (("trains", 2), ("trains", 5), ("saves", 2), ("trains", 3)):
        stopped = stopped_at(moment, "sweep", "study.toml", sent=signal.SIGKILL, at=at)
        assert stopped.returncode == -signal.SIGKILL
        assert not Path("study.parquet").exists()
    assert Path("study.checkpoint/running.safetensors").exists()
    assert run(["sweep", "study.toml"]) == 0
    assert Path("study.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_a_file_that_may_not_grow_is_one_line_and_nothing_is_lost(capsys):
    assert sweep(SMALL) == 0
    whole = Path("study.parquet").read_bytes()
    run(["sweep", "study.toml", "--restart", "--out", "other.parquet"])
    Path("study.checkpoint/finished-000001.safetensors").unlink()
    Path("study.parquet").unlink()
    limit = 4000  # bytes: enough for study.json, too few for the results

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = started(preexec_fn=little_room)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert re.fullmatch(
        r"pellucid: cannot write \S+finished-000001.safetensors: file too large; the checkpoint "
        r"stays as it was before: see to the place, and the same command goes on from there.\n",
        err,
    )
    assert not list(Path("study.checkpoint").glob(".pellucid-*.tmp"))
    assert run(["sweep", "study.toml"]) == 0
    assert Path("study.parquet").read_bytes() == whole


def test_in_a_pipe_nothing_but_the_result_is_printed():
    Path("study.toml").write_text(SMALL)
    process = started()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("moons: 300 training rows")
    assert "\x1b" not in out


def test_on_a_terminal_there_is_a_bar_with_the_time_left():
    Path("study.toml").write_text(LONG.replace("150000", "60000"))
    terminal, end = pty.openpty()
    process = subprocess.Popen([*PROGRAM, "sweep", "study.toml"], stdout=end, stderr=end, stdin=end)
    os.close(end)
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
    os.close(terminal)
    assert process.wait(60) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"4 networks .*\d+% left: ", text)
    assert "written: study.parquet (4 rows)" in text


def test_names_cannot_steer_the_terminal(capsys):
    table = pl.DataFrame({"a": np.arange(40.0), "\x1b[2Jy": ["\x1b[2Ju", "v"] * 20})
    table.write_csv("t.csv")
    source = 'path = "t.csv"\ntarget = "\\u001b[2Jy"'
    study = SMALL.replace('dataset = "moons"', source)
    assert sweep(study.replace("study.parquet", "\\u001b[2J.parquet")) == 0
    assert sweep(study.replace("[settings]", '[settings]\n"\\u001b[2J" = 1')) == 2
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
