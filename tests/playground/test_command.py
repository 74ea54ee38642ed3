"""The verb: what it opens, what it refuses, and how it ends."""

import json
import signal

import pytest
from playground.serving import served

import pellucid
from pellucid.cli import run

LESSON = {"format": 1, "title": "Mine", "steps": [{"text": "Hello."}]}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def started_with(folder, *words):
    """The start document of a page that was opened with these words."""
    with served(folder, *words) as found:
        return json.loads(found.request("GET", "/api/start")[2])


def test_a_link_opens_with_its_state_and_the_address_is_not_asked(tmp_path):
    found = started_with(tmp_path, "https://school.example/page/#s=abc_DEF-123")
    assert found["link"] == "s=abc_DEF-123"
    assert found["server"]["verdict"]


def test_a_saved_state_a_model_and_a_table_are_told_apart(tmp_path, capsys):
    (tmp_path / "state.json").write_text('{"version": 1, "seed": 7}')
    pellucid.save(pellucid.initialize([2, 3, 2], seed=0), "model.pellucid")
    (tmp_path / "mine.json").write_text(json.dumps(LESSON))
    assert run(["datasets", "moons", "--out", "rows.csv", "--rows", "50"]) == 0
    cases = {
        ("state.json",): lambda start: start["state"]["seed"] == 7,
        ("model.pellucid",): lambda start: start["network"]["widths"] == [2, 3, 2],
        ("rows.csv", "--target", "class"): lambda start: len(start["table"]["y"]) == 50,
        ("moons",): lambda start: start["table"]["classes"] is not None,
        ("--lesson", "mine.json"): lambda start: start["lessons"] == ["mine.json"],
    }
    table = (tmp_path / "rows.csv").read_text().splitlines()[0]
    target = table.split(",")[-1]
    for words, holds in cases.items():
        words = [target if word == "class" else word for word in words]
        out = tmp_path / "out"
        assert run(["playground", *words, "--export", str(out)]) == 0
        assert holds(json.loads((out / "start.json").read_text()))


def test_the_example_of_the_help_runs(capsys, tmp_path):
    assert run(["playground", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    words = text.partition("Example: pellucid ")[2].split()
    assert words[0] == "playground"
    assert run(words) == 0
    assert (tmp_path / "page/index.html").exists()
    assert "written: page" in capsys.readouterr().out


MISTAKES = {
    "no such file": (["no/such.onnx"], "no such file"),
    "misspelt data set": (["spirls"], "did you mean 'spirals'?"),
    "a link without state": (["https://example.org/page"], "no state behind a '#'"),
    "a broken link": (["https://example.org/#a b"], "characters behind '#'"),
    "no target": (["rows.csv"], "--target is missing"),
    "target alone": (["--target", "y"], "go with a table"),
    "a port": (["--port", "70000"], "--port is 70000"),
    "export and port": (["--export", "x", "--port", "80"], "--export writes files"),
    "no lesson": (["--lesson", "no.json"], "there is no file no.json"),
    "a bad lesson": (["--lesson", "bad.json"], "title needs to be a text"),
    "a lesson that is no JSON": (["--lesson", "rows.csv"], "it is no JSON"),
    "no network": (["bad.json"], "bad.json"),
    "wide table": (["wide.csv", "--target", "y"], "at most 24"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_exit_code_2(name, tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("a,y\n" + "1,2\n3,4\n" * 10)
    (tmp_path / "bad.json").write_text('{"format": 1}')
    names = [f"c{i}" for i in range(30)]
    row = ",".join(f"{i}.5" for i in range(30))
    other = ",".join(f"{i}.25" for i in range(30))
    (tmp_path / "wide.csv").write_text(",".join(names) + ",y\n" + f"{row},1\n{other},2\n" * 10)
    words, expected = MISTAKES[name]
    before = sorted(p.name for p in tmp_path.iterdir())
    assert run(["playground", *words, *(["--no-browser"] if "--export" not in words else [])]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.strip().splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_port_that_is_taken_is_told(tmp_path, capsys):
    with served(tmp_path) as found:
        assert run(["playground", "--no-browser", "--port", str(found.port)]) == 2
        assert "--port is" in capsys.readouterr().err.replace("port is", "--port is")


def test_ctrl_c_ends_it_with_exit_code_0(tmp_path):
    with served(tmp_path) as found:
        found.process.send_signal(signal.SIGINT)
        assert found.process.wait(timeout=20) == 0
        assert "The playground has ended." in found.log()
