"""The training benchmark runs, compares only equal work, and says what was missed."""

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


@pytest.fixture(scope="module")
def quick() -> str:
    """What a quick run prints."""
    done = python("train.py", "--quick")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "against"),
    [
        ("spirals 2-64-2", "PyTorch, default Adam"),
        ("spirals 2-8-8-8-2", "PyTorch, fused Adam"),
        ("spirals 2-4-2", "arithmetic floor"),
        ("digits 64-128-128-10, batch 32", "PyTorch, default Adam"),
        ("digits 64-128-128-10, batch 128", "PyTorch, fused Adam"),
        ("3,000 x 50, 3 x 256, batch 256", "PyTorch, default Adam"),
        ("spirals 2-64-2, baseline instructions", "PyTorch, default Adam"),
        ("400 networks of 4 shapes, 20 steps, peak memory", "one GiB"),
    ],
)
def test_a_quick_run_has_every_part_of_the_table(quick, work, against):
    (row,) = [line for line in quick.splitlines() if line.startswith(f"| {work} | {against} |")]
    assert "not measured" not in row


@pytest.mark.slow
def test_no_row_for_jax_is_dropped_where_it_is_missing(quick):
    rows = [line for line in quick.splitlines() if line.startswith("|") and "| JAX, " in line]
    works = [row for row in rows if "spirals 2-" in row or "digits" in row or "3 x 256" in row]
    assert len(works) == 7
    for row in rows:
        assert ("which is not installed" in row) == (find_spec("jax") is None)


@pytest.mark.slow
def test_a_quick_run_says_what_was_compared(quick):
    for work in ("spirals 2-64-2", "digits 64-128-128-10, batch 32", "XOR, 2-2-2 sigmoid"):
        (line,) = [x for x in quick.splitlines() if x.startswith(f"- {work}: losses of 20 steps")]
        assert "of PyTorch's" in line


CHEATS = """
from dataclasses import replace
from training import checks, ours, works
honest, work = ours.train, works.digits(32)
for cheat in ({"learning_rate": 1.001e-3}, {"seed": 1}, {"hidden": (127, 128)}):
    ours.train = lambda w, record: honest(replace(w, **cheat), record)
    try:
        print(checks.same_losses(work, 20, jax=False))
    except checks.NotTheSameWork as error:
        print("caught:", error)
ours.train = honest
print(checks.same_losses(work, 20, jax=False))
"""


@pytest.mark.slow
def test_another_rate_start_or_network_is_not_the_same_work():
    done = python("-c", CHEATS)
    assert done.returncode == 0, done.stderr
    *caught, honest = done.stdout.splitlines()
    assert len(caught) == 3
    assert all(line.startswith("caught: digits") for line in caught)
    assert honest.startswith("losses of 20 steps within Pellucid")


VERDICTS = """
import sys, results, train
from pathlib import Path
from training.rows import faster, missing, within
rows = {
    "fast": faster("work", "peer", 1.0, 3.0, 2.0),
    "slow": faster("work", "peer", 1.0, 1.5, 2.0),
    "small": within("work", "floor", 2.0, 1.0, 3.0),
    "large": within("work", "floor", 4.0, 1.0, 3.0),
    "no target": faster("work", "peer", 1.0, 0.1),
    "missing": missing("work", "JAX, which is not installed", 2.0),
}
chosen = rows[sys.argv[1]]
train.measure = lambda *_: ([chosen], ["said"])
results.PATH = Path(sys.argv[2])
sys.argv = ["train.py", "--write"]
train.main()
"""


@pytest.mark.parametrize(
    ("row", "status", "words"),
    [
        ("fast", 0, "| 3 | at least 2 | yes |"),
        ("slow", 1, "| 1.5 | at least 2 | **no** |"),
        ("small", 0, "| 2 | at most 3 | yes |"),
        ("large", 1, "| 4 | at most 3 | **no** |"),
        ("no target", 0, "| 0.1 |  |  |"),
        ("missing", 1, "|  | at least 2 | not measured |"),
    ],
)
def test_the_exit_status_and_the_page_say_what_was_missed(tmp_path, row, status, words):
    page = tmp_path / "RESULTS.md"
    done = python("-c", VERDICTS, row, str(page))
    assert done.returncode == status, done.stderr
    assert words in page.read_text()
    assert ("missed: " in done.stderr) == bool(status)
