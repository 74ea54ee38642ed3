"""Everything in the table is computed, agrees, and draws the figures that the chapters have."""

import dataclasses
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from pellucid import InvalidInput, Network, reproduction
from pellucid.cli import run
from pellucid.reproduction import ITEMS, Expected, Item, Outcome, captions, expected_rows
from pellucid.reproduction.pieces import grid_intervals, linear_network_count, on_unit_interval
from pellucid.reproduction.reproduce import chosen, rows_of
from pellucid.reproduction.rows import compare, written

NOTED = {
    "activations": 4,  # two half lines, leaky ReLU as a maximum, ELU
    "tents": 2,  # depth k + 1, and 2^k units
    "random-pieces": 1,  # activation intervals on a grid
    "symmetry": 1,  # pairwise different units
    "barron": 1,  # a probability measure
}
LONG = {"random-pieces", "regions-along"}  # five seconds and more for a figure


@pytest.fixture(scope="module")
def outcomes():
    found: dict[str, Outcome] = {}

    def outcome(name):
        if name not in found:
            found[name] = ITEMS[name].run()
        return found[name]

    return outcome


SLOW = {"random-pieces": [pytest.mark.slow]}  # a thousand networks on 65,536 points
ENTRIES = [pytest.param(name, marks=SLOW.get(name, [])) for name in ITEMS]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_row_agrees(name, outcomes):
    rows = rows_of(ITEMS[name], outcomes(name))
    assert rows
    assert [(row.key, row.computed) for row in rows if row.agrees is not True] == []
    assert len({row.note for row in rows} - {""}) == NOTED.get(name, 0)


@pytest.mark.parametrize("name", ITEMS)
def test_what_is_computed_is_what_is_expected(name, outcomes):
    keys = [row.key for row in expected_rows() if row.item == name]
    assert len(set(keys)) == len(keys)
    assert set(keys) == set(outcomes(name).values) | set(outcomes(name).missing)


def test_rows_and_captions_belong_to_entries_and_figures():
    assert {row.item for row in expected_rows()} == set(ITEMS)
    drawn = Counter(figure for item in ITEMS.values() for figure in item.figures)
    assert set(drawn.values()) == {1}
    assert {caption.figure for caption in captions()} <= set(drawn)
    assert {item.kind for item in ITEMS.values()} == {"chapter", "study"}


def test_every_figure_with_a_caption_is_drawn_by_the_chapter_that_has_it():
    assert [caption.chapter for caption in captions()] == [1] * 5
    for caption in captions():
        (item,) = (one for one in ITEMS.values() if caption.figure in one.figures)
        assert (item.kind, item.chapter) == ("chapter", caption.chapter)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(item.name, marks=pytest.mark.slow if item.name in LONG else ())
        for item in ITEMS.values()
        if item.figures
    ],
)
def test_figures_are_drawn_with_labels(name, outcomes):
    figures = outcomes(name).figures
    assert tuple(figures) == ITEMS[name].figures
    for draw in figures.values():
        axes = [ax for ax in draw().axes if ax.get_visible()]
        assert any(ax.get_xlabel() for ax in axes)
        assert any(ax.get_title("left") for ax in axes) or axes[0].get_ylabel()


def test_without_torch_the_rows_that_need_it_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = reproduction.reproduce("symmetry", "shapes", "quiz")
    assert {(row.item, row.key) for row in found.not_computed} == {
        ("symmetry", "same"),
        ("symmetry", "distance"),
        ("shapes", "registered"),
        ("quiz", "registered"),
    }
    assert all("pip install 'pellucid[torch]'" in row.computed for row in found.not_computed)
    assert not found.disagreeing
    assert "4 not computed" in repr(found)
    assert found.to_frame()["agrees"].null_count() == 4


def test_files_are_written_whole_and_the_same_every_time(tmp_path):
    progress = []
    found = reproduction.reproduce(
        "dips", "tents", out=tmp_path / "new" / "out", progress=lambda *a: progress.append(a)
    )
    names = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert names == ["dips.png", "dips.svg", "rows.csv", "tents.png", "tents.svg"]
    assert sorted(path.name for path in found.files) == names
    assert [(i, n) for i, n, _ in progress] == [(0, 2), (1, 2)]
    assert progress[0][2] == ITEMS["tents"].title  # in the order of the table
    before = {path: path.read_bytes() for path in found.files}
    again = reproduction.reproduce("dips", "tents", out=tmp_path / "new" / "out")
    assert {path: path.read_bytes() for path in again.files} == before
    assert found.to_frame().height == len(found.rows)


def test_an_unknown_name_is_told_with_those_that_exist():
    with pytest.raises(InvalidInput, match=r"'knots' to reproduce; there are activations, "):
        reproduction.reproduce("knots")


# ---- what agrees


def row(**more):
    return Expected(**({"item": "i", "key": "k", "what": "w", "printed": "1.20"} | more))


@pytest.mark.parametrize(
    ("expected", "good", "bad"),
    [
        (row(form=".2f"), 1.2049, 1.206),
        (row(printed=["1", "2"]), [1, 2], [1, 3]),
        (row(value=[1.0, 2.0], within=0.1), [1.05, 1.95], [1.0, 2.2]),
        (row(value=[1.0, 2.0], within=[0.1, 0.5]), [1.05, 2.4], [1.2, 2.0]),
        (row(value=1, within=0.1), 1.09, float("nan")),
        (row(most=0.25, form="at most {:.2f}"), 0.25, 0.26),
        (row(least=0.9), np.float64(0.9), 0.8),
        (row(value=60, note="corrected"), 60, 120),
        (row(value="equal"), "equal", "undecided"),
        (row(printed="True"), np.bool_(True), False),
    ],
)
def test_agreement(expected, good, bad):
    assert compare(expected, good).agrees is True
    assert compare(expected, bad).agrees is False
    assert compare(expected, None, "why").agrees is None
    assert compare(expected, None, "why").computed == "why"


def test_a_list_of_another_length_does_not_agree():
    assert compare(row(value=[1.0, 2.0], within=0.1), [1.0]).agrees is False
    assert compare(row(printed=["1", "2"]), [1]).agrees is False


def test_numbers_are_written_without_a_negative_zero():
    assert written(-0.0, ".3f") == "0.000"
    assert written(np.int64(1024)) == "1024"
    assert written(0.5, "all z < {:.1f}") == "all z < 0.5"


# ---- pieces


def chapters_count(network, x):
    """Count as the chapter does, with arrays of examples by units."""
    h, patterns = x[:, None], []
    for W, b, _ in network.hidden_layers:
        z = h @ W.T + b
        patterns.append(z > 0)
        h = np.maximum(z, 0)
    code = np.concatenate(patterns, axis=1)
    return 1 + int((code[1:] != code[:-1]).any(axis=1).sum())


def test_the_grid_sees_what_the_chapter_counts():
    x = (np.arange(512) + 0.5) / 512
    rng = np.random.default_rng(0)
    for _ in range(30):
        W = [rng.normal(size=(3, 1)), rng.normal(size=(3, 3)), np.eye(3)]
        network = Network(W, [*rng.normal(0, 0.5, (2, 3)), np.zeros(3)], ["relu"] * 2)
        assert grid_intervals(network, x) == chapters_count(network, x)


def test_a_grid_does_not_see_an_interval_between_two_of_its_points():
    network = Network([[[1.0], [1.0]], [[1.0, 1.0]]], [[-0.501, -0.502], [0.0]], ["relu"])
    assert grid_intervals(network, np.linspace(0, 1, 11)) == 2
    assert on_unit_interval(network).n_activation_regions == 3


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_one_hidden_layer_needs_and_has_2_to_the_k_units_for_the_sawtooth(k):
    from pellucid.constructions import interpolate, sawtooth

    assert linear_network_count(k) == 2**k
    deep = sawtooth(k).network
    shallow = interpolate(lambda x: deep(np.reshape(x, (-1, 1)))[:, 0], (0, 1), n_units=2**k)
    x = np.linspace(0, 1, 1025)[:, None]
    assert (shallow.network(x) == deep(x)).all()
    # Every subset of 2^k - 1 units with one kink each, by brute force for small k.
    if k < 4:
        n = 2**k - 1
        changes = -(2.0 ** (k + 1)) * (-1.0) ** np.arange(n)
        subsets = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        assert 2**k not in -(subsets @ changes)


# ---- the command


def test_the_command_prints_the_table_and_says_yes(capsys, tmp_path):
    assert run(["reproduce", "tents", "--out", str(tmp_path / "a")]) == 0
    out = capsys.readouterr().out
    assert "printed in the chapter" in out
    assert "6 of 6 rows agree, 2 of them with a correction" in out
    assert "[1] The k-fold sawtooth has k hidden layers" in out
    assert "3 files in" in out


def test_a_line_in_a_pipe_tells_what_is_being_computed(tmp_path):
    """Each comes before its work: a reader of the pipe sees that the command is alive."""
    program = (
        "import dataclasses, sys\n"
        "from pellucid import reproduction\n"
        "from pellucid.cli import main\n"
        "item = reproduction.ITEMS['averaging']\n"
        "wait = lambda: [sys.stdin.readline(), item.run()][1]\n"
        "reproduction.ITEMS['averaging'] = dataclasses.replace(item, run=wait)\n"
        "sys.argv = ['pellucid', 'reproduce', 'averaging', 'tents']\n"
        "main()\n"
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", program], text=True, **pipes) as command:
        order = [item.name for item in chosen(["averaging", "tents"])]
        told = [command.stderr.readline() for _ in range(order.index("averaging") + 1)]
        out, rest = command.communicate("go on\n", timeout=300)
    told += rest.splitlines(keepends=True)
    assert told == [f"{i} of 2: {ITEMS[name].title}\n" for i, name in enumerate(order, 1)]
    assert "of 2:" not in out
    assert command.returncode == 0


def test_the_command_fails_where_a_row_disagrees(capsys, monkeypatch):
    item = ITEMS["averaging"]
    values = dict(item.run().values) | {"units_after": 2}
    wrong = dataclasses.replace(item, run=lambda: Outcome(values))
    monkeypatch.setitem(ITEMS, "averaging", wrong)
    assert run(["reproduce", "averaging"]) == 1
    out = capsys.readouterr().out
    assert "5 of 6 rows agree" in out
    assert "1 disagree: averaging units_after." in out
    assert "NO" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tent"], "there is nothing called 'tent' to reproduce"),
        (["tents", "--out", "file"], "--out: file is not a folder"),
        (["tents", "--out", "mine"], "tents.svg exists and is no picture of Pellucid"),
        (["averaging", "--out", "table"], "rows.csv exists and is no table of reproductions"),
    ],
)
def test_mistakes_are_told_in_one_line_before_the_work(words, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tents.svg").write_text("<svg>my own</svg>")
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "rows.csv").write_text("a,b\n1,2\n")
    never = Item("tents", 1, "chapter", "", lambda: pytest.fail("it ran"), ("tents",))
    monkeypatch.setitem(ITEMS, "tents", never)
    monkeypatch.setitem(ITEMS, "averaging", dataclasses.replace(never, name="averaging"))
    assert run(["reproduce", *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_the_list_has_every_name(capsys):
    assert run(["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ITEMS)
