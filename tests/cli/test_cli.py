"""The command line: every verb, every mistake, a terminal and a pipe."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from plot.verdicts import HOSTILE, VERDICTS

import pellucid
from pellucid.cli import run
from pellucid.datasets import DATASETS, read_table

VERBS = (
    *("diagnose", "compare", "train", "sweep", "regions", "walkthrough", "quiz", "reproduce"),
    *("datasets", "verify", "convert", "inspect", "bench-faults", "playground", "predict"),
)
ALL_FILES = ["certificate.json", "report.html", "witness.pellucid"]
PROGRAM = [sys.executable, "-c", "from pellucid.cli import main; main()"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def handmade(monkeypatch):
    """Replace the experiments by a hand-made verdict; the recipe that was asked for is kept."""
    asked = {}

    def answer(name):
        def diagnose(table, **settings):
            asked.update(settings, table=table)
            if settings["progress"]:
                settings["progress"]("your run", 0.5)
            verdict = VERDICTS[name]() if isinstance(name, str) else name
            return replace(verdict, witness=None)

        monkeypatch.setattr("pellucid.diagnosis.diagnose", diagnose)
        monkeypatch.setattr("pellucid.report.render_report", quick_report)
        return asked

    return answer


def quick_report(verdict, **_):
    return f'<meta name="generator" content="Pellucid">{verdict.sentence}'


def example_of(verb, capsys) -> list[str]:
    assert run([verb, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    return text.partition("Example: pellucid ")[2].split()


# ---- help and version


def test_help_lists_every_verb_and_version_is_the_packages(capsys):
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(verb in out for verb in VERBS)
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"pellucid {pellucid.__version__}\n"


def test_without_a_verb_the_help_is_printed(capsys):
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_a_help_text(verb, capsys):
    assert run([verb, "--help"]) == 0
    lines = capsys.readouterr().out.partition("Example:")[0].splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("  --"):
            assert re.search(r"\S  +\S", line.strip()) or following.startswith(" " * 10)


@pytest.mark.parametrize("verb", ["train", "datasets"])
def test_the_example_in_the_help_runs(verb, capsys):
    words = example_of(verb, capsys)
    assert words[0] == verb
    assert run(words) == 0


@pytest.mark.slow
def test_the_example_of_diagnose_runs_and_ends_in_a_proof_beside_the_report(capsys, tmp_path):
    words = example_of("diagnose", capsys)
    assert run(words) == 0
    out = capsys.readouterr().out
    assert "optimization failure: ■ proved" in out
    assert "written: report.html" in out
    assert "written: witness.pellucid" in out
    assert "written: certificate.json" in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ALL_FILES
    assert pellucid.load("witness.pellucid").widths == (1, 8, 1)
    report = (tmp_path / "report.html").read_text()
    assert "pellucid " + " ".join(words) in report
    assert "witness.pellucid" in report
    assert "pellucid verify certificate.json sine" in report
    assert run(["verify", "certificate.json", "sine"]) == 0


def test_help_loads_nothing_heavy():
    heavy = ("numpy", "matplotlib", "sklearn", "polars", "scipy", "torch")
    code = (
        "import sys; from pellucid.cli import run; run(['diagnose', '--help']);"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


# ---- mistakes

MISTAKES = {
    "no data": (["diagnose"], "Missing argument 'DATA'"),
    "unknown verb": (["diagnoze"], "No such command 'diagnoze'"),
    "unknown option": (["diagnose", "spirals", "--foo", "8"], "no option --foo; see --help."),
    "misspelt option": (["train", "spirals", "--hiden", "8"], "did you mean --hidden?"),
    "option of others": (["train", "spirals", "--lr", "1"], "did you mean --learning-rate?"),
    "negative seed": (["train", "spirals", "--seed", "-1"], "--seed is -1"),
    "target of a toy": (["train", "spirals", "--target", "x1"], "leave --target out."),
    "constant column": (["train", "constant.csv", "--target", "y"], "(--drop b --drop 'c d')."),
    "no such file": (["diagnose", "no/such.csv", "--target", "y"], "there is no file no/such.csv"),
    "misspelt data set": (["diagnose", "spirls"], "did you mean 'spirals'?"),
    "a folder": (["diagnose", ".", "--target", "y"], "is a folder"),
    "no target": (["diagnose", "table.csv"], "--target is missing"),
    "unknown target": (["diagnose", "table.csv", "--target", "z"], "has no column 'z'"),
    "hidden": (["diagnose", "spirals", "--hidden", "8,x"], "--hidden is '8,x'"),
    "empty hidden": (["diagnose", "spirals", "--hidden", ""], "--hidden is ''"),
    "zero width": (["diagnose", "spirals", "--hidden", "8,0"], "--hidden is '8,0'"),
    "superscript width": (["diagnose", "spirals", "--hidden", "8²"], "--hidden is '8²'"),
    "huge width": (["train", "spirals", "--hidden", "9" * 23], "--hidden has 1 layers"),
    "endless width": (["train", "spirals", "--hidden", "9" * 5000], "has 5,000 digits"),
    "many layers": (["train", "spirals", "--hidden", "1" + ",1" * 1000], "has 1,001 layers"),
    "huge steps": (["train", "spirals", "--steps", str(2**53 + 1)], "--steps is 9007199254740993"),
    "endless steps": (["diagnose", "spirals", "--steps", "9" * 5000], "'--steps'"),
    "huge batch": (["diagnose", "spirals", "--batch-size", str(2**63)], "--batch-size is 92"),
    "huge seed": (["train", "spirals", "--seed", str(2**31)], "--seed is 2147483648"),
    "huge seed of a toy": (["datasets", "moons", "--seed", "9" * 30, "--out", "t.csv"], "--seed"),
    "huge threads": (["train", "spirals", "--threads", "9" * 30], "--threads is 999"),
    "long name": (["train", "spirals", "--out", "m" * 300], "no usable path (File name too long)"),
    "long folder": (["diagnose", "spirals", "--out", "m" * 300], "no usable path"),
    "activation": (["diagnose", "spirals", "--activation", "rellu"], "'rellu'"),
    "optimizer": (["train", "spirals", "--optimizer", "adagrad"], "adagrad"),
    "negative rate": (["train", "spirals", "--learning-rate", "-1"], "--learning-rate is -1"),
    "rate that is nan": (["train", "spirals", "--learning-rate", "nan"], "--learning-rate is nan"),
    "negative decay": (["train", "spirals", "--weight-decay", "-1"], "--weight-decay is -1"),
    "no steps": (["train", "spirals", "--steps", "0"], "--steps is 0"),
    "steps in words": (["train", "spirals", "--steps", "many"], "'--steps'"),
    "no batch": (["train", "spirals", "--batch-size", "0"], "--batch-size is 0"),
    "no budget": (["diagnose", "spirals", "--budget", "0"], "--budget is 0"),
    "budget that is nan": (["diagnose", "spirals", "--budget", "nan"], "--budget is nan"),
    "endless budget": (["diagnose", "spirals", "--budget", "inf"], "--budget is inf"),
    "no threads": (["diagnose", "spirals", "--threads", "0"], "--threads is 0"),
    "task": (["diagnose", "spirals", "--task", "ranking"], "--task is 'ranking'"),
    "task of a data set": (["diagnose", "spirals", "--task", "regression"], "classification"),
    "drop": (["diagnose", "spirals", "--drop", "x9"], "no column 'x9' to drop"),
    "drop all": (["train", "spirals", "--drop", "x1", "--drop", "x2"], "leaves no column"),
    "fail on": (["diagnose", "spirals", "--fail-on", "sadness"], "--fail-on is 'sadness'"),
    "out is a file": (["diagnose", "spirals", "--out", "table.csv/x"], "is not a folder"),
    "model is a folder": (["train", "spirals", "--out", "."], "is a folder"),
    "model in no folder": (["train", "spirals", "--out", "no/m.pellucid"], "there is no folder"),
    "data set": (["datasets", "irish"], "did you mean 'iris'?"),
    "data set format": (["datasets", "iris", "--out", "iris.xlsx"], "ends in .csv or .parquet"),
    "data set without name": (["datasets", "--out", "iris.csv"], "needs the name"),
    "rows of a table": (["datasets", "iris", "--rows", "3"], "takes no --rows; leave it out"),
    "huge rows": (["datasets", "moons", "--rows", "9" * 24], "--rows is 999"),
    "rows of a toy": (["datasets", "moons", "--rows", "1"], "--rows is 1"),
}


@pytest.mark.parametrize(("words", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_readable_line_and_leaves_nothing(words, message, capsys, tmp_path):
    (tmp_path / "table.csv").write_text("a,y\n" + "1,2\n" * 30)
    lines = [f"{i % 7}.5,3,x,{i}.25\n" for i in range(40)]
    (tmp_path / "constant.csv").write_text("a,b,c d,y\n" + "".join(lines))
    assert run(words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("pellucid: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["constant.csv", "table.csv"]


@pytest.mark.slow
def test_notes_and_messages_are_told_in_options():
    from pellucid.cli._wording import MEANT, spoken

    assert spoken("learning_rate is -1; a.") == "--learning-rate is -1; a."
    assert spoken("n_classes is 1; a.") == "n_classes is 1; a."
    assert spoken("ask for task 'regression'.") == "use --task regression."
    assert (
        spoken("leave it out (drop 'a', \"b'c\").") == "leave it out (--drop a --drop 'b'\"'\"'c')."
    )
    assert spoken("column 'learning_rate is ' of t.csv") == "column 'learning_rate is ' of t.csv"
    assert spoken("leave it out (drop 'a' and so on 'b').").endswith("(drop 'a' and so on 'b').")
    options = [word for verb in VERBS for word in help_of(verb).split() if word.startswith("--")]
    assert set(MEANT.values()) <= set(options)
    assert set(MEANT) & set(options) <= {"--y"}  # which walkthrough has itself


def help_of(verb) -> str:
    command = [*PROGRAM, verb, "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_mistake_cannot_steer_the_terminal(capsys):
    assert run(["diagnose", "\x1b[2Jx", "--target", "y"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_too_little_memory_is_one_line(monkeypatch, capsys):
    def too_large(*_, **__):
        raise MemoryError

    monkeypatch.setattr("pellucid.diagnosis.diagnose", too_large)
    assert run(["diagnose", "spirals"]) == 2
    assert "does not fit into memory" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("pellucid.diagnosis.diagnose", broken)
    with pytest.raises(ZeroDivisionError):
        run(["diagnose", "spirals"])


# ---- diagnose


@pytest.mark.parametrize("verb", ["diagnose", "train"])
def test_the_defaults_are_those_of_the_library(verb):
    import inspect
    from importlib import import_module

    from pellucid.diagnosis import Recipe, diagnose

    options = inspect.signature(getattr(import_module(f"pellucid.cli.{verb}"), verb)).parameters
    for name, parameter in inspect.signature(diagnose).parameters.items():
        if name in options and name not in ("data", "hidden"):
            assert options[name].default == parameter.default, name
    for name, parameter in inspect.signature(Recipe).parameters.items():
        if name != "hidden":
            assert options[name].default == parameter.default, name


def test_the_recipe_reaches_the_diagnosis(handmade, tmp_path):
    asked = handmade("regression")
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{i},{i % 7},{i}.5\n" for i in range(40)))
    words = "diagnose t.csv --target y --hidden 8,4 --activation tanh --optimizer sgd"
    words += " --learning-rate 0.5 --steps 9 --batch-size 4 --weight-decay 0.1 --raw --drop b"
    words += " --seed 3 --budget 7 --threads 1 --task regression"
    assert run(words.split()) == 0
    table = asked.pop("table")
    assert (table.name, table.target_name, table.task) == ("t", "y", "regression")
    assert "b" not in table.feature_names
    assert asked == {
        "hidden": (8, 4),
        "activation": "tanh",
        "optimizer": "sgd",
        "learning_rate": 0.5,
        "steps": 9,
        "batch_size": 4,
        "weight_decay": 0.1,
        "schedule": "constant",
        "standardize": False,
        "seed": 3,
        "budget": 7.0,
        "groups": None,
        "time": None,
        "threads": 1,
        "progress": None,
    }


def grouped(tmp_path):
    """A CSV with a group column that an identifier could be taken for, and running hours."""
    lines = [f"{i % 7},{i % 30},{1 + i},{i % 5 + i % 7}" for i in range(90)]
    path = tmp_path / "grouped.csv"
    path.write_text("\n".join(["a,who,row,y", *lines]))
    return str(path)


@pytest.mark.parametrize("option", [["--groups", "who"], ["--time", "row"]])
def test_groups_and_time_reach_the_diagnosis(option, handmade, tmp_path):
    asked = handmade("regression")
    command = ["diagnose", grouped(tmp_path), "--target", "y", "--task", "regression", *option]
    assert run(command) == 0
    assert asked[option[0][2:]] == option[1]
    assert option[1] in asked["table"].feature_names  # not set aside as an identifier


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "whom"], "no column 'whom' (column to keep); did you mean 'who'"),
        (["--groups", "who", "--time", "row"], "got groups and time"),
        (["--time", "row", "--drop", "row"], "both to be kept and to be dropped"),
        (["--groups", "y"], "is 'y', which is the target"),
    ],
)
def test_a_mistake_in_groups_or_time_is_one_line(options, message, capsys, tmp_path):
    command = ["diagnose", grouped(tmp_path), "--target", "y", "--task", "regression", *options]
    assert run(command) == 2
    assert message in capsys.readouterr().err


def test_the_verdict_is_printed_with_its_evidence(handmade, capsys):
    handmade("spirals")
    assert run(["diagnose", "spirals", "--hidden", "none"]) == 0
    printed = capsys.readouterr()
    verdict = VERDICTS["spirals"]()
    text = " ".join(printed.out.split())
    assert text.startswith(verdict.sentence)
    for one in (*verdict.statements, *verdict.experiments, *verdict.references):
        assert (one.text if hasattr(one, "text") else one.name) in text
    assert "held-out loss (nats) 0.344 -> 0.061, held-out accuracy 84.0 % -> 98.0 %." in text
    assert "learning rate 0.003 instead of 0.01 (seed 0)." in text
    assert "hidden layer 2: 3 dead of 8; hidden layer 3: 2 dead of 8." in text
    assert "your run (seed 0) 0.312 0.344 84.0 %" in text
    assert "2 rows without a target were left out." in text
    assert printed.err == ""
    assert "\x1b" not in printed.out


def test_a_regression_is_printed_with_its_error_in_the_targets_unit(handmade, capsys):
    handmade("regression")
    assert run(["diagnose", "plane"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"R²\s+RMSE\n", out)
    assert "RMSE is the root mean squared error on the held-out rows, in the unit of y." in out
    assert "Units of your run" not in out


def test_a_batch_of_all_rows_is_told_once(handmade, capsys):
    verdict = VERDICTS["regression"]()
    handmade(replace(verdict, recipe=replace(verdict.recipe, batch_size=100_000)))
    assert run(["diagnose", "plane", "--batch-size", "100000"]) == 0
    assert capsys.readouterr().out.count("A batch of 100,000 holds all 90 training rows") == 1


def test_brackets_and_control_characters_of_the_user_are_printed_as_text(handmade, capsys):
    handmade(replace(VERDICTS["hostile"](), notes=("[bold]x[/bold] \x1b[2J :smile:",)))
    assert run(["diagnose", "spirals"]) == 0
    out = capsys.readouterr().out
    assert "[bold]x[/bold]" in out
    assert ":smile:" in out
    assert "\x1b" not in out
    assert HOSTILE[:20] in out


def test_a_file_of_an_earlier_run_is_replaced_and_a_stale_proof_removed(handmade, capsys, tmp_path):
    handmade("spirals")
    pellucid.save(pellucid.initialize([2, 1]), "witness.pellucid")
    assert run(["diagnose", "spirals"]) == 0
    out = capsys.readouterr().out
    assert "written: report.html" in out
    assert "removed: witness.pellucid, the proof of an earlier run" in out
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert run(["diagnose", "spirals"]) == 0
    out = capsys.readouterr().out
    assert "replaced: report.html" in out
    assert "removed" not in out


@pytest.mark.parametrize("name", ALL_FILES)
def test_a_file_of_another_program_is_not_replaced(name, handmade, capsys, tmp_path):
    asked = handmade("spirals")
    (tmp_path / name).write_text("notes of mine")
    assert run(["diagnose", "spirals"]) == 2
    assert f"{name} exists and is no" in capsys.readouterr().err
    assert not asked  # refused before the work
    assert (tmp_path / name).read_text() == "notes of mine"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ALL_FILES)
def test_an_empty_file_is_nobodys(name, handmade, capsys, tmp_path):
    handmade("spirals")
    (tmp_path / name).touch()
    assert run(["diagnose", "spirals"]) == 0
    assert (tmp_path / "report.html").stat().st_size > 0


def test_a_read_only_report_stops_the_diagnosis_before_its_work(handmade, capsys, tmp_path):
    asked = handmade("spirals")
    assert run(["diagnose", "spirals"]) == 0
    asked.clear()
    (tmp_path / "report.html").chmod(0o444)
    assert run(["diagnose", "spirals"]) == 2
    assert "read-only" in capsys.readouterr().err
    assert not asked


@pytest.fixture
def proved(monkeypatch):
    """A verdict with a proof that every checker accepts, and no experiments."""
    from types import SimpleNamespace

    verdict = replace(VERDICTS["spirals"](), certificate={"format": "pellucid certificate"})
    monkeypatch.setattr("pellucid.diagnosis.diagnose", lambda *_, **__: verdict)
    monkeypatch.setattr("pellucid.report.render_report", quick_report)
    accepts = SimpleNamespace(accepted=True)
    monkeypatch.setattr("pellucid.diagnosis.check_witness", lambda *_: accepts)


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_report_and_proof_are_both_there_or_none(
    stop, call, at, proved, monkeypatch, capsys, tmp_path
):
    real, n_calls = getattr(os, call), 0

    def stopping(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == at:
            raise stop
        return real(*arguments)

    monkeypatch.setattr(os, call, stopping)
    code = run(["diagnose", "spirals", "--out", "new/deep"])
    assert code == (2 if isinstance(stop, OSError) else 130)
    assert not list(tmp_path.iterdir())
    assert run(["diagnose", "spirals", "--out", "new/deep"]) == 0
    assert sorted(os.listdir("new/deep")) == ALL_FILES


def test_json_is_the_verdict_and_nothing_else(handmade, capsys, tmp_path):
    handmade("spirals")
    assert run(["diagnose", "spirals", "--json"]) == 0
    printed = capsys.readouterr()
    expected = replace(VERDICTS["spirals"](), witness=None).to_dict()
    assert json.loads(printed.out) == json.loads(json.dumps(expected))
    assert printed.err == ""
    assert not list(tmp_path.iterdir())
    assert run(["diagnose", "spirals", "--json", "--out", "results/new"]) == 0
    json.loads(capsys.readouterr().out)
    assert [p.name for p in (tmp_path / "results" / "new").iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        (["optimization-failure"], 1),
        (["Optimization_Failure"], 1),
        (["fits", "optimization failure"], 1),
        (["fits"], 0),
        ([], 0),
    ],
)
def test_fail_on_is_exit_code_1_after_everything_is_written(handmade, kinds, code, tmp_path):
    handmade("spirals")
    words = [word for kind in kinds for word in ("--fail-on", kind)]
    assert run(["diagnose", "spirals", *words]) == code
    assert (tmp_path / "report.html").exists()


def test_an_interrupted_diagnosis_prints_what_is_there(handmade, capsys):
    handmade(replace(VERDICTS["regression"](), stage="recipe (interrupted)"))
    assert run(["diagnose", "plane", "--fail-on", "undecided"]) == 130
    printed = capsys.readouterr()
    assert "You interrupted the diagnosis after the stage" in printed.out
    assert printed.err == "pellucid: interrupted\n"


def test_ctrl_c_before_there_is_a_verdict_is_130(monkeypatch, capsys, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pellucid.diagnosis.diagnose", interrupted)
    assert run(["diagnose", "spirals"]) == 130
    assert capsys.readouterr().err == "pellucid: interrupted\n"
    assert not list(tmp_path.iterdir())


def test_a_proof_that_fails_its_check_after_writing_is_not_left_behind(
    handmade, monkeypatch, capsys, tmp_path
):
    verdict = VERDICTS["spirals"]()  # its claim is empty, so no checker accepts it
    monkeypatch.setattr("pellucid.diagnosis.diagnose", lambda *_, **__: verdict)
    assert run(["diagnose", "spirals"]) == 2
    assert "the proof did not survive" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# ---- train


def test_train_saves_a_network_of_unscaled_columns_and_prints_its_losses(capsys):
    assert run(["train", "sine", "--hidden", "32", "--steps", "1000", "--out", "net.pellucid"]) == 0
    printed = capsys.readouterr()
    assert "network 1-32-1, 97 parameters; finished after 1,000 steps" in printed.out
    assert "constant predictor" in printed.out
    assert "saved: net.pellucid" in printed.out
    network = pellucid.load("net.pellucid")
    table = pellucid.datasets.load_dataset("sine")
    error = network(table.X)[:, 0] - table.y
    loss, r2 = re.search(r"this network +\S+ +(\S+) +(\S+)", printed.out).groups()
    assert float(r2) > 0.5
    assert 1 - error.var() / table.y.var() == pytest.approx(float(r2), abs=0.2)
    assert 0.919 < float(loss) < 1.42


def test_a_saved_network_knows_its_columns_and_classes():
    assert run(["train", "penguins", "--steps", "20", "--seed", "1"]) == 0
    from pellucid.network import read_metadata

    metadata = read_metadata("model.pellucid")
    assert json.loads(metadata["classes"]) == ["Adelie", "Chinstrap", "Gentoo"]
    assert "island=Biscoe" in json.loads(metadata["feature_names"])
    assert metadata["target"] == "species"


def test_train_never_destroys_a_file_of_another_program(capsys, tmp_path):
    assert run(["datasets", "penguins", "--out", "birds.csv"]) == 0
    table = (tmp_path / "birds.csv").read_bytes()
    (tmp_path / "soft").symlink_to("birds.csv")
    os.link("birds.csv", "hard")
    (tmp_path / "copy").write_bytes(table)
    capsys.readouterr()
    for data, out, words in [
        ("birds.csv", "birds.csv", "is the table itself"),
        ("soft", "birds.csv", "is the table itself"),
        ("birds.csv", "soft", "is the table itself"),
        ("birds.csv", "./hard", "is the table itself"),
        ("birds.csv", "copy", "exists and is no network of Pellucid"),
        ("penguins", "birds.csv", "exists and is no network of Pellucid"),
    ]:
        assert run(["train", data, "--target", "species", "--out", out]) == 2
        printed = capsys.readouterr()
        assert words in printed.err
        assert printed.err.count("\n") == 1
    assert all((tmp_path / name).read_bytes() == table for name in ("birds.csv", "hard", "copy"))
    assert sorted(os.listdir(tmp_path)) == ["birds.csv", "copy", "hard", "soft"]


def test_train_replaces_a_network(capsys):
    for hidden in ("4", "5"):
        assert run(["train", "sine", "--hidden", hidden, "--steps", "5"]) == 0
        assert pellucid.load("model.pellucid").hidden == (int(hidden),)


def test_names_of_files_cannot_steer_the_terminal(handmade, capsys):
    handmade("spirals")
    for words in ("train sine --steps 5 --out", "diagnose sine --steps 5 --budget 1 --out"):
        assert run([*words.split(), "\x1b[2J" + words[0]]) == 0
    assert run(["datasets", "iris", "--out", "a\x1b[2J\nb.csv"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"saved: '\x1b[2Jt'" in out
    assert r"'a\x1b[2J\nb.csv': 150 rows" in out


def test_an_interrupted_training_is_told_and_saved(monkeypatch, capsys):
    from pellucid.training import train

    def interrupted(*arguments, **settings):
        return replace(train(*arguments, **settings), status="interrupted", steps_done=3)

    monkeypatch.setattr("pellucid.training.train", interrupted)
    assert run(["train", "sine", "--hidden", "4", "--steps", "20"]) == 130
    printed = capsys.readouterr()
    assert "interrupted after 3 of 20 steps\nTraining was interrupted: what is" in printed.out
    assert "saved: model.pellucid" in printed.out
    assert printed.err == "pellucid: interrupted\n"


@pytest.mark.parametrize("out", [["--out", "a b.pellucid"], ["--out=a b.pellucid"], []])
def test_train_ends_with_the_command_that_asks_why(out, capsys):
    assert run(["train", "sine", "--hidden", "4", *out, "--steps", "20"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "To ask what holds it back: pellucid diagnose sine --hidden 4 --steps 20"


def test_train_tells_a_batch_of_all_rows_and_diverged_numbers_briefly(capsys):
    words = "train plane --steps 100 --batch-size 9999 --optimizer sgd --learning-rate 1e6 --raw"
    assert run(words.split()) == 0
    out = capsys.readouterr().out
    assert "parameters; diverged after 2 of 100 steps\nTraining diverged: the loss is no" in out
    assert "note: A batch of 9,999 holds all 150 training rows" in out
    assert "< -100" in out
    assert "column to predict: 'y' (regression)" in out
    assert max(map(len, out.splitlines()[:-1])) <= 100


def test_linear_model_on_raw_columns_is_trained_too(capsys):
    assert run(["train", "plane", "--hidden", "none", "--raw", "--steps", "20"]) == 0
    assert "network 2-1, 3 parameters" in capsys.readouterr().out


def test_a_missing_kernel_is_one_line_on_standard_error(monkeypatch, capsys):
    import warnings

    def diagnose(*_, **__):
        warnings.warn("no kernel;\nslow", pellucid.PellucidWarning, stacklevel=1)
        return VERDICTS["regression"]()

    monkeypatch.setattr("pellucid.diagnosis.diagnose", diagnose)
    assert run(["diagnose", "plane"]) == 0
    assert capsys.readouterr().err == "pellucid: warning: no kernel; slow\n"


# ---- datasets


def test_datasets_lists_the_whole_table(capsys):
    assert run(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(DATASETS)
    assert all(family.description in " ".join(lines) for family in DATASETS.values())


@pytest.mark.parametrize("name", ["penguins", "spirals", "sine"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_written_data_set_is_read_back_the_same(name, ending, capsys):
    assert run(["datasets", name, "--out", f"data.{ending}"]) == 0
    assert "data." in capsys.readouterr().out
    table = pellucid.datasets.load_dataset(name)
    back = read_table(f"data.{ending}", table.target_name, task=table.task)
    assert (back.y == table.y).all()
    assert back.feature_names == table.feature_names


def test_a_data_set_replaces_no_other_file(capsys, tmp_path):
    assert run(["datasets", "iris", "--out", "it.csv"]) == 0
    assert run(["datasets", "iris", "--out", "it.csv"]) == 0  # the very same bytes
    assert run(["datasets", "penguins", "--out", "it.csv"]) == 2
    assert "it.csv exists and is not replaced; name another file." in capsys.readouterr().err
    assert len(read_table("it.csv", "target").y) == 150


def test_a_toy_has_as_many_rows_as_asked_for(capsys):
    assert run(["datasets", "moons", "--rows", "50", "--seed", "4", "--out", "moons.csv"]) == 0
    assert "50 rows" in capsys.readouterr().out


def test_a_data_set_is_described(capsys):
    assert run(["datasets", "penguins"]) == 0
    out = capsys.readouterr().out
    assert "CC0" in out
    assert "Gentoo" in out


# ---- a terminal and a pipe


def test_in_a_pipe_nothing_but_the_result_is_printed():
    done = subprocess.run(
        [*PROGRAM, "train", "sine", "--steps", "50"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "saved: model.pellucid" in done.stdout


def test_a_closed_pipe_and_an_ascii_terminal_are_no_errors():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, "datasets"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    code = "import sys; from pellucid.cli import main; sys.argv = ['pellucid', 'x²']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        check=False,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


MAIN = "from pellucid.cli import main; main()"
LIMITED = (  # a file that takes ten bytes stands for a disk without space
    "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    f"resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); {MAIN}"
)


@pytest.mark.skipif(os.name != "posix", reason="limits of a POSIX system")
@pytest.mark.parametrize("words", [["datasets"], ["--help"], ["--version"]])
def test_an_output_that_takes_no_more_is_one_line(words, tmp_path):
    with open(tmp_path / "out.txt", "wb") as file:
        command = [sys.executable, "-c", LIMITED, *words]
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "pellucid: cannot print: file too large; files were written as usual.\n"


@pytest.mark.skipif(os.name != "posix", reason="descriptors of a POSIX system")
@pytest.mark.parametrize(
    ("closed", "words", "code", "told"),
    [
        ([1], ["datasets"], 2, "pellucid: cannot print: standard output is closed"),
        ([2], ["datasets", "irish"], 2, ""),
        ([2], ["datasets"], 0, ""),
        ([0, 1, 2], ["train", "sine"], 2, ""),
        ([2], ["diagnose", "sine", "--steps", "5", "--budget", "1"], 0, ""),
    ],
)
def test_closed_descriptors_are_no_tracebacks(closed, words, code, told):
    redirections = " ".join(f"{descriptor}>&-" for descriptor in closed)
    command = f'exec "$0" -c "$1" "${{@:2}}" {redirections}'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, MAIN, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == bool(told)


def test_a_reader_that_has_gone_does_not_stop_the_files(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [*PROGRAM, "train", "sine", "--steps", "5"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (2, "")
    assert pellucid.load("model.pellucid").widths == (1, 16, 1)


def test_ctrl_c_while_the_program_is_imported_is_one_line():
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        f"{MAIN}"
    )
    command = [sys.executable, "-c", code, "datasets"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "pellucid: interrupted\n"


def test_the_largest_seed_is_the_diagnosis_s():
    from pellucid.cli import _options
    from pellucid.diagnosis import problem

    assert problem.LARGEST_SEED - 1 == _options.LARGEST_SEED


def test_on_a_terminal_there_is_colour_and_a_bar(handmade, monkeypatch, capsys):
    handmade("spirals")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    assert run(["diagnose", "spirals"]) == 0
    printed = capsys.readouterr()
    assert "\x1b[" in printed.out
    assert "your run" in printed.err


def test_compare_prints_the_sentence_or_json(capsys):
    command = ["compare", "hidden=1,steps=100", "hidden=8,steps=300", "--data", "xor"]
    command += ["--seeds", "3", "--threads", "1"]
    assert run(command) == 0
    told = capsys.readouterr().out
    assert "on the same 3 seeds" in " ".join(told.split())
    assert "hidden widths 8 instead of 1, 300 steps instead of 100" in " ".join(told.split())
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["sentence"][:40] in " ".join(told.split())
    assert record["seeds"] == [0, 1, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hidden=1", "hidden=1", "--data", "xor"], "A and B are the same recipe"),
        (["hidden=1", "steps=x", "--data", "xor"], "steps of B is 'x'"),
        (["hidden=1", "hidden=2", "--data", "xor", "--seeds", "2"], "--seeds is 2"),
        (["hidden=1", "hidden=2", "--data", "none.csv"], "--target is missing"),
    ],
)
def test_a_mistake_in_compare_is_one_line(words, message, capsys):
    assert run(["compare", *words]) == 2
    assert message in capsys.readouterr().err
