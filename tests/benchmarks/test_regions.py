"""The benchmark of regions runs, compares counts first, and says what was missed or differs."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=BENCHMARKS, capture_output=True, text=True
    )


@pytest.mark.slow
def test_a_quick_run_has_every_part_of_the_table():
    done = python("regions.py", "--quick")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    for work, returned, against in [
        ("2-32-32-1, He-normal, on [-2, 2]^2", "patterns, polygons", "regioncam"),
        ("2-32-32-1, He-normal, on [-2, 2]^2", "patterns, polygons, slopes, adjacency", "region"),
        ("2-32-32-1, He-normal, on [-2, 2]^2", "patterns, polygons", "relucent"),
        ("2-24-1, He-normal, on [-2, 2]^2", "patterns, polygons", "100 us from Python"),
        ("3-8-8-1, He-normal, on [-1, 1]^3", "patterns, facets, vertices", "affinitree"),
        ("10-64-64-64-64-10, He-normal, on a segment", "patterns, breakpoints", "regioncam"),
        ("2-32-32-1, He-normal, on [-2, 2]^2", "all that the call returns", "its arrays"),
        ("2-64-64-1, He-normal, seed 0, on [-2, 2]^2", "count", "300 MiB in all"),
    ]:
        found = [row for row in rows if row.startswith(f"| {work} | {returned} |")]
        (row,) = [row for row in found if f"| {against}" in row]
        peer = against in ("regioncam", "region", "affinitree", "relucent")
        name = "regioncam" if against == "region" else against
        missing = peer and find_spec(name) is None
        assert ("not measured" in row) == missing
        assert ("not installed" in row) == missing
    notes = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert all("counts agree: Pellucid" in line for line in notes)
    assert any("Pellucid 1,327" in line and "known 1,327" in line for line in notes)
    assert "wrong" not in done.stdout


DIFFERENT = """
import json
from dataclasses import replace
from region_peers import comparing, measures, ours, peers
from region_peers.rows import Part
def strange(module, work):
    return lambda: 174
def broken(module, work):
    def search():
        raise RuntimeError("no such" + chr(10) + "thing")
    return search
peers.PEERS |= {"json": strange, "sys": broken}
peers.named = lambda name: name
part, work = Part(True, 1), measures.stored("a_he_8x8x8")
comparing.compare(part, work, (ours.COUNT,), ("json", "sys"), {(ours.COUNT, "json"): 1e-9})
comparing.check(part, replace(work, known=172))
rows = [[row.against, row.met, row.missed, str(row)] for row in part.rows]
print(json.dumps([rows, part.said, part.wrong]))
"""


def test_other_counts_and_errors_of_peers_are_printed():
    done = python("-c", DIFFERENT)
    assert done.returncode == 0, done.stderr
    rows, said, wrong = json.loads(done.stdout)
    assert [row[:3] for row in rows] == [["json", True, False], ["sys", None, False]]
    assert "not measured" in rows[1][3]
    name = "2-8-8-8-1, He-normal, on [-2, 2]^2"
    assert said == [
        f"{name}: sys raises RuntimeError: no such thing",
        f"{name}: **counts differ**: Pellucid 173, json 174, known 173",
    ]
    assert wrong == [f"{name}: 173 counted and 173 returned, known 172"]


VERDICTS = """
import sys, regions, results
from pathlib import Path
from region_peers.rows import Row
rows = {
    "fast": Row("work", "count", 1000, 1e-3, "peer", 4e-2, 40.0, asked=30.0),
    "slow": Row("work", "count", 1000, 1e-3, "peer", 2e-2, 20.0, asked=30.0),
    "small": Row("work", "count", 10, 8e-5, "", None, 8e-5, "s", 1e-4, True),
    "large": Row("work", "count", 10, 2e-4, "", None, 2e-4, "s", 1e-4, True),
    "rate": Row("work", "count", 3000000, 1.0, "", None, 3e6, "/s", 2e6),
    "no target": Row("work", "count", 1000, 1e-3, "peer", 1e-4, 0.1),
    "missing": Row("work", "count", 1000, 1e-3, "peer, which is not installed", asked=30.0),
    "wrong": Row("work", "count", 1000, 1e-3, "peer", 4e-2, 40.0, asked=30.0),
}
name = sys.argv[1]
regions.measure = lambda *_: ([rows[name]], ["said"], ["other count"] * (name == "wrong"))
results.PATH = Path(sys.argv[2])
sys.argv = ["regions.py", "--write"]
regions.main()
"""


@pytest.mark.parametrize(
    ("row", "status", "words"),
    [
        ("fast", 0, "| 1 ms | 1 million/s | peer | 40 ms | 40 x | at least 30 x | yes |"),
        ("slow", 1, "| 20 x | at least 30 x | **no** |"),
        ("small", 0, "| 80 us | at most 100 us | yes |"),
        ("large", 1, "| 200 us | at most 100 us | **no** |"),
        ("rate", 0, "| 3 million/s | at least 2 million/s | yes |"),
        ("no target", 0, "| 0.1 x |  |  |"),
        ("missing", 1, "| peer, which is not installed |  | not measured | at least 30 x |  |"),
        ("wrong", 1, "- **wrong**: other count"),
    ],
)
def test_the_exit_status_and_the_page_say_what_was_missed(tmp_path, row, status, words):
    page = tmp_path / "RESULTS.md"
    done = python("-c", VERDICTS, row, str(page))
    assert done.returncode == status, done.stderr
    assert words in page.read_text()
    assert ("missed: " in done.stderr) == (bool(status) and row != "wrong")
    assert ("other count" in done.stderr) == (row == "wrong")
