"""`pellucid regions`: counts, pictures and files of a saved network; every mistake in a line."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from regions.networks import random_network

import pellucid
from pellucid import Box, Plane, Segment, linear_regions
from pellucid.cli import run
from pellucid.cli._words import spread

NET = random_network([2, 9, 9, 2], seed=1)
WIDE = random_network([4, 6, 3], seed=2)
ONE = random_network([1, 7, 1], seed=3)
SQUARE = Box([-2, -1], [2, 3])


@pytest.fixture(autouse=True)
def in_a_folder_with_networks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, net in (("net", NET), ("wide", WIDE), ("one", ONE)):
        pellucid.save(net, f"{name}.pellucid")


def regions(text: str) -> int:
    return run(["regions", *text.split()])


def printed_json(capsys, text: str) -> dict:
    assert regions(f"{text} --json") == 0
    return json.loads(capsys.readouterr().out)


# ---- what it prints


def test_it_prints_a_plain_table(capsys):
    assert regions("net.pellucid --box -2,2 -1,3") == 0
    out = capsys.readouterr().out
    found = linear_regions(NET, SQUARE)
    lines = dict(line.rsplit(None, 1) for line in out.splitlines()[2:])
    assert "network 2-9-9-2, relu; Box([-2, -1] to [2, 3])" in out.splitlines()[0]
    assert lines["activation regions"] == f"{len(found):,}"
    assert lines["linear regions"] == f"{found.n_linear_regions:,}"
    assert lines["certified"] == lines["complete"] == "yes"
    assert lines["smallest region (area)"] == f"{found.volume.min():.4g}"
    assert lines["largest region (area)"] == f"{found.volume.max():.4g}"
    assert float(lines["seconds"]) > 0
    assert not list(Path().glob("*.p[!e]*"))  # no file unasked


def test_json_is_the_same_for_programs(capsys):
    facts = printed_json(capsys, "net.pellucid --box -2,2 -1,3")
    found = linear_regions(NET, SQUARE)
    assert facts["n_activation_regions"] == len(found)
    assert facts["n_affine_maps"] == found.n_affine_maps
    assert facts["certified"] is facts["complete"] is True
    assert facts["smallest_region"] == found.volume.min()
    assert facts["domain"] == {"kind": "Box", "low": [-2, -1], "high": [2, 3]}
    assert facts["network"]["widths"] == [2, 9, 9, 2]


def test_count_keeps_nothing_and_limit_ends_early(capsys):
    facts = printed_json(capsys, "net.pellucid --box -2,2 --count")
    assert facts["n_activation_regions"] == len(linear_regions(NET, Box([-2, -2], [2, 2])))
    assert facts["n_linear_regions"] is facts["largest_region"] is None
    assert regions("net.pellucid --box -2,2 --count") == 0
    assert "linear regions" not in capsys.readouterr().out
    facts = printed_json(capsys, "net.pellucid --box -2,2 --limit 5 --threads 1")
    assert facts["n_activation_regions"] == 5
    assert facts["complete"] is False
    assert regions("net.pellucid --box -2,2 --limit 5") == 0
    assert "no: the search was ended, there are more" in capsys.readouterr().out
    assert printed_json(capsys, "net.pellucid --box -2,2 --seconds 60")["complete"] is True


def test_sizes_are_left_out_above_six_dimensions(capsys):
    pellucid.save(random_network([7, 3, 1]), "solid.pellucid")
    facts = printed_json(capsys, "solid.pellucid --box -1,1")
    assert facts["n_activation_regions"] > 1
    assert facts["smallest_region"] is facts["largest_region"] is None
    assert facts["volume"] == 128
    assert regions("solid.pellucid --box -1,1") == 0
    assert "est region" not in capsys.readouterr().out


# ---- where it looks


@pytest.mark.parametrize(
    ("words", "domain"),
    [
        ("net.pellucid --box -2,2 -1,3", SQUARE),
        ("--box -2,2 -1,3 net.pellucid", SQUARE),
        ("net.pellucid --box=-2,2 --box=-1,3", SQUARE),
        ("net.pellucid --box -2,2", Box([-2, -2], [2, 2])),
        ("net.pellucid --box -.5,+.5e0 -1,3", Box([-0.5, -1], [0.5, 3])),
        ("one.pellucid --box -2,2", Box(-2, 2)),
        ("wide.pellucid --box -1,1 0,1 -1,0 0,2", Box([-1, 0, -1, 0], [1, 1, 0, 2])),
        ("net.pellucid --line -2,-2 2,1", Segment([-2, -2], [2, 1])),
        ("one.pellucid --line -2 2", Segment(-2, 2)),
        (
            "wide.pellucid --slice 0,0,0,0 1,0,0,0 -1,1,0,0",
            Plane.through([0, 0, 0, 0], [1, 0, 0, 0], [-1, 1, 0, 0]),
        ),
        (
            "wide.pellucid --slice 0,0,0,0 1,0,0,0 0,1,1,0 --extent 2",
            Plane([0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], 2),
        ),
        (
            "wide.pellucid --extent -1,2 0,3 --slice 0,0,0,0 1,0,0,0 0,1,1,0",
            Plane([0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], ((-1, 2), (0, 3))),
        ),
    ],
)
def test_the_domain_is_the_one_that_the_words_say(capsys, words, domain):
    facts = printed_json(capsys, words)
    assert facts["domain"]["kind"] == type(domain).__name__
    assert np.allclose([facts["domain"]["low"], facts["domain"]["high"]], [domain.low, domain.high])
    net = {1: ONE, 2: NET, 4: WIDE}[domain.d_in]
    assert facts["n_activation_regions"] == len(linear_regions(net, domain))


def test_quoted_points_and_a_double_dash():
    assert run(["regions", "--box", "-2,2 -1,3", "net.pellucid"]) == 0
    assert spread(["regions", "--", "--box", "1,2"]) == ["regions", "--", "--box", "1,2"]
    assert spread(["train", "--box", "1,2", "3,4"]) == ["train", "--box", "1,2", "3,4"]
    assert spread([]) == []
    assert spread(["regions", "--box"]) == ["regions", "--box"]


def test_rows_of_a_table_are_points(capsys):
    rows = np.random.default_rng(0).normal(size=(12, 4))
    table = pl.DataFrame(rows, schema=list("abcd")).with_columns(y=pl.Series(["u", "v"] * 6))
    table.write_csv("t.csv")
    facts = printed_json(capsys, "wide.pellucid --slice @0 @4 @5 --data t.csv --target y")
    plane = Plane.through(rows[0], rows[4], rows[5])
    assert np.allclose(facts["domain"]["high"], plane.high)
    assert regions("wide.pellucid --line @0 @12 --data t.csv --target y") == 2
    assert "--line: there is no row 12; the table has rows 0 to 11." in capsys.readouterr().err


def test_the_target_of_the_model_is_that_of_its_table(capsys):
    rows = np.random.default_rng(0).normal(size=(12, 4))
    table = pl.DataFrame(rows, schema=list("abcd")).with_columns(y=pl.Series(["u", "v"] * 6))
    table.write_csv("t.csv")
    about = {"feature_names": json.dumps(list("abcd")), "target": "y"}
    pellucid.save(WIDE, "told.pellucid", about)
    facts = printed_json(capsys, "told.pellucid --slice @0 @4 @5 --data t.csv")
    assert np.allclose(facts["domain"]["high"], Plane.through(rows[0], rows[4], rows[5]).high)


# ---- files


def test_every_file_is_written_and_said(capsys):
    asked = "--png a.png --svg a.svg --json a.json --parquet a.parquet"
    assert regions(f"net.pellucid --box -2,2 {asked}") == 0
    out = capsys.readouterr().out
    for name in ("a.png", "a.svg", "a.json", "a.parquet"):
        assert f"written: {name}\n" in out
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "certified, complete" in Path("a.svg").read_text()
    n = len(linear_regions(NET, Box([-2, -2], [2, 2])))
    assert len(json.loads(Path("a.json").read_text())["regions"]) == n
    assert pl.read_parquet("a.parquet").height == n
    before = {name: Path(name).read_bytes() for name in ("a.png", "a.svg", "a.json", "a.parquet")}
    assert regions(f"net.pellucid --box -2,2 {asked}") == 0  # its own files are replaced
    assert {name: Path(name).read_bytes() for name in before} == before


def test_a_picture_of_a_line_is_the_graph():
    assert regions("one.pellucid --box -2,2 --svg line.svg") == 0
    assert "output 0" in Path("line.svg").read_text()


def test_the_points_of_a_slice_are_marked():
    points = "0,0,0,0 1,0,0,0 -1,1,0,0"
    assert regions(f"wide.pellucid --slice {points} --svg a.svg") == 0
    text = Path("a.svg").read_text()
    assert all(f">{name}<" in text for name in "ABC")
    assert regions("wide.pellucid --slice 0,0,0,0 1,0,0,0 -1,1,0,0 --extent 1 --svg a.svg") == 0
    assert ">A<" not in Path("a.svg").read_text()


def test_names_of_the_network_and_rows_of_the_table_are_in_the_picture():
    assert run(["train", "moons", "--hidden", "6", "--steps", "50", "--out", "moons.pellucid"]) == 0
    words = "moons.pellucid --box -2,3 -2,2 --data moons --color class --svg moons.svg"
    assert regions(words) == 0
    text = Path("moons.svg").read_text()
    names = json.loads(pellucid.network.read_metadata("moons.pellucid")["feature_names"])
    assert all(f">{name}<" in text for name in names)
    assert "black: decision boundary" in text
    assert regions(f"{words} --no-boundary") == 0
    assert "black" not in Path("moons.svg").read_text()


def test_a_single_output_has_a_boundary_where_it_is_asked_for():
    single = random_network([2, 5, 1])
    centered = single.biases[1] - single([0, 0])
    net = pellucid.Network(single.weights, [single.biases[0], centered], ["relu"])
    pellucid.save(net, "single.pellucid")
    assert regions("single.pellucid --box -2,2 --svg a.svg") == 0
    assert "output 0 is 0" not in Path("a.svg").read_text()
    assert regions("single.pellucid --box -2,2 --svg a.svg --boundary") == 0
    assert "output 0 is 0" in Path("a.svg").read_text()


def test_the_files_of_others_are_not_replaced(capsys):
    others = {"a.png": b"\x89PNG of another", "a.svg": b"<svg/>", "a.json": b"{}"}
    others |= {"a.parquet": b"PAR1", "b.png": Path("net.pellucid").read_bytes()}
    for name, content in others.items():
        Path(name).write_bytes(content)
        assert regions(f"net.pellucid --box -2,2 --{name.split('.')[1]} {name}") == 2
        assert "it is not replaced" in capsys.readouterr().err
        assert Path(name).read_bytes() == content


def test_none_of_the_files_is_written_where_one_cannot_be(monkeypatch):
    def fail(_):
        raise pellucid.InvalidFile("no room.")

    monkeypatch.setattr("pellucid.regions.export.parquet_bytes", fail)
    assert regions("net.pellucid --box -2,2 --png a.png --parquet a.parquet") == 2
    assert not Path("a.png").exists()


# ---- mistakes


def table_of(columns: int) -> None:
    frame = pl.DataFrame({f"c{i}": np.arange(6.0) ** i for i in range(columns)})
    frame.with_columns(y=pl.Series(["u", "v"] * 3)).write_csv("t.csv")


MISTAKES = {
    "nowhere": ("net.pellucid", "none is given; say where to look with one of --box"),
    "two places": ("net.pellucid --box -2,2 --line 0,0 1,1", "--box and --line are given"),
    "no model": ("--box -2,2", "Missing argument 'MODEL'"),
    "no file": ("no.pellucid --box -2,2", "cannot read a network from no.pellucid"),
    "a folder": (". --box -2,2", "cannot read a network from"),
    "no network": ("t.csv --box -2,2", "cannot read a network from t.csv"),
    "a word in the box": ("net.pellucid --box -2,x", "--box: '-2,x' is not LOW,HIGH"),
    "a word after a pair": ("net.pellucid --box -2,2 -2,x", "--box: '-2,x' is not LOW,HIGH"),
    "one number": ("net.pellucid --box -2", "--box: '-2' is not LOW,HIGH"),
    "three numbers": ("net.pellucid --box 0,1,2", "--box: '0,1,2' is not LOW,HIGH"),
    "too many pairs": ("net.pellucid --box 0,1 0,1 0,1", "--box has 3 pairs; the network has 2"),
    "empty box": ("net.pellucid --box 1,1", "the box is empty in coordinate 0"),
    "reversed box": ("net.pellucid --box 0,1 2,-2", "the box is reversed in coordinate 1"),
    "endless box": ("net.pellucid --box -inf,inf", "low holds -inf; it must be finite"),
    "nan": ("net.pellucid --box nan,1", "low holds nan; it must be finite"),
    "a huge box": ("net.pellucid --box -1e308,1e308", "too large for float64"),
    "no value": ("net.pellucid --box", "--box"),
    "one point": ("net.pellucid --line 0,0", "--line has 1 point; it needs two points"),
    "three points of a line": ("net.pellucid --line 0,0 1,1 2,2", "--line has 3 points; it needs"),
    "the same point": ("net.pellucid --line 1,1 1,1", "the same point"),
    "inputs": ("net.pellucid --line 0,0,0 1,1,1", "is not 2 numbers, one for each input"),
    "two points of a plane": ("wide.pellucid --slice 0,0,0,0 1,0,0,0", "--slice has 2 points; it"),
    "points on a line": ("net.pellucid --slice 0,0 1,1 2,2", "lie on one line"),
    "parallel axes": ("net.pellucid --slice 0,0 1,1 2,2 --extent 1", "are parallel"),
    "extent alone": ("net.pellucid --box -2,2 --extent 1", "--extent belongs to --slice"),
    "a word as extent": ("net.pellucid --slice 0,0 1,0 0,1 --extent x", "--extent: 'x' is not one"),
    "zero extent": ("net.pellucid --slice 0,0 1,0 0,1 --extent 0", "the extent is empty in s"),
    "three extents": ("net.pellucid --slice 0,0 1,0 0,1 --extent 0,1 0,1 0,1", "has 3 values"),
    "a row without a table": ("net.pellucid --line @0 @1", "give the table with --data"),
    "no row": ("net.pellucid --line @x @1 --data moons", "'@x' is no row"),
    "color": ("net.pellucid --box -2,2 --color hue", "--color is 'hue'; choose one of pattern"),
    "colour of a line": (
        "net.pellucid --line 0,0 1,1 --color class --svg a.svg",
        "--color is for planes, and this is a line",
    ),
    "output": ("net.pellucid --box -2,2 --output-index 2", "--output-index is 2; the network has"),
    "limit": ("net.pellucid --box -2,2 --limit 0", "--limit is 0; it needs a whole number above"),
    "huge limit": (f"net.pellucid --box -2,2 --limit {2**63}", "--limit is 9223372036854775808"),
    "seconds": ("net.pellucid --box -2,2 --seconds nan", "--seconds is nan; it needs a finite"),
    "threads": ("net.pellucid --box -2,2 --threads 0", "--threads is 0; it needs"),
    "ending": ("net.pellucid --box -2,2 --png a.jpg", "needs a name that ends in .png"),
    "no folder": ("net.pellucid --box -2,2 --png no/a.png", "there is no folder no"),
    "twice": (
        "net.pellucid --box -2,2 --svg a.svg --png ./a.svg",
        "needs a name that ends in .png",
    ),
    "count and picture": ("net.pellucid --box -2,2 --count --png a.png", "keeps no region that"),
    "solid picture": ("wide.pellucid --box -1,1 --png a.png", "this box has 4; use --slice"),
    "columns": ("net.pellucid --box -2,2 --data digits", "--data has 64 encoded columns"),
    "no target": ("net.pellucid --box -2,2 --data t.csv", "--target is missing"),
    "no data set": ("net.pellucid --box -2,2 --data moon", "did you mean 'moons'?"),
    "option": ("net.pellucid --bxo -2,2", "no option --bxo; did you mean --box?"),
    "an argument more": ("net.pellucid more --box -2,2", "unexpected extra argument"),
}


@pytest.mark.parametrize(("words", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_code_2(capsys, as_users_run, words, message):
    table_of(2)
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert regions(words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("pellucid: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_inputs_are_never_written_over(capsys):
    Path("net.png").write_bytes(Path("net.pellucid").read_bytes())
    assert regions("net.png --box -2,2 --png net.png") == 2
    assert "--png: net.png is the model itself; name another file." in capsys.readouterr().err
    table_of(2)
    pl.read_csv("t.csv").write_parquet("t.parquet")
    words = "net.pellucid --box -2,2 --data t.parquet --target y --parquet t.parquet"
    assert regions(words) == 2
    assert "--parquet: t.parquet is the table itself" in capsys.readouterr().err


def test_a_smooth_network_is_refused(capsys):
    pellucid.save(pellucid.initialize([2, 4, 1], activation="tanh"), "smooth.pellucid")
    assert regions("smooth.pellucid --box -2,2") == 2
    err = capsys.readouterr().err
    assert "tanh" in err
    assert err.count("\n") == 1


def test_names_cannot_steer_the_terminal(capsys):
    Path("\x1b[2J.pellucid").write_bytes(Path("net.pellucid").read_bytes())
    run(["regions", "\x1b[2J.pellucid", "--box", "-2,2"])
    run(["regions", "net.pellucid", "--box", "\x1b[2J"])
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err


def test_the_example_in_the_help_runs(capsys):
    assert run(["regions", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    words = text.partition("Example: pellucid ")[2].split()
    Path("model.pellucid").write_bytes(Path("net.pellucid").read_bytes())
    assert run(words) == 0
    assert Path("regions.png").exists()
