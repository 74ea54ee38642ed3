"""The training benchmark runs, compares only equal work, and says what was missed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
BITS = "Pellucid, one thread: networks that differ in a bit, of all"
AT_ONCE = "PyTorch, bmm, all starts at once, fused Adam"


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=BENCHMARKS,
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )


def lines(script: str) -> list[str]:
    """What the script prints."""
    done = python("-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


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
        ("8 networks of 4 shapes, two threads", "PyTorch, bmm, fused Adam, 1 thread"),
        ("8 networks of 4 shapes, two threads", BITS),
        ("XOR, 2-2-2 sigmoid, 10 starts, processor seconds", AT_ONCE),
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
    *caught, honest = lines(CHEATS)
    assert len(caught) == 3
    assert all(line.startswith("caught: digits") for line in caught)
    assert honest.startswith("losses of 20 steps within Pellucid")


TIMED_CHEATS = """
import numpy as np
import pellucid
from dataclasses import replace
from training import checks, grid, ours, works
from training.timing import Timed
train_many, work = pellucid.train_many, works.spirals((16,), quick=True)

def said(check, *arguments):
    try:
        return check(*arguments)
    except works.NotTheSameWork as error:
        return f"caught: {error}"

def ends(a, b):
    return checks.same_ends(work, {"a": Timed(1.0, a), "b": Timed(1.0, b)})

honest, fewer = ours.train(work), ours.train(replace(work, epochs=18))
faster = ours.train(replace(work, learning_rate=0.1))
liar = replace(fewer, steps=20)
print(said(ends, honest, fewer))
print(said(ends, honest, faster))
print(said(checks.every_step, [work], [0], [liar]))
pellucid.train_many = lambda *a, steps, **k: train_many(*a, steps=steps // 2, **k)
print(said(ours.train, work))
pellucid.train_many = train_many
print(said(ends, honest, honest))
print(said(checks.every_step, [work], [0], [honest]))
seeds = range(8)
print(said(checks.same_grid, [work], seeds, 20, False))
real = ours.train_seeds
ours.train_seeds = lambda w, *rest: real(replace(w, learning_rate=0.0101), *rest)
print(said(checks.same_grid, [work], seeds, 20, False))
ours.train_seeds = real
many = ours.train_seeds(work, seeds, 1)
other = many.parameters.copy()
other[3, 0] = np.nextafter(other[3, 0], np.float32(2))
print(checks.networks_that_differ([many, many], [many, replace(many, parameters=other)]))
"""


@pytest.mark.slow
def test_fewer_steps_or_another_rate_in_the_timed_run_are_caught():
    (fewer, faster, liar, half, honest, every, grid, other_rate, differ) = lines(TIMED_CHEATS)
    assert fewer == "caught: spirals 2-16-2: b took 18 of 20 steps"
    assert faster.startswith("caught: spirals 2-16-2: losses in the end")
    assert liar.endswith("1 networks are not those of every step")
    assert half == "caught: spirals 2-16-2: finished after 10 steps"
    assert honest.startswith("losses in the end")
    assert every == "None"
    assert grid.startswith('["spirals 2-16-2 from 8 starts: losses of 20 steps within Pellucid')
    assert other_rate.startswith("caught: spirals 2-16-2: 8 networks depart")
    assert differ == "1"


FORMS = """
import numpy as np
from training import grid, works
if __name__ == "__main__":
    shapes = [works.spirals(hidden, quick=True) for hidden in ((4,), (8, 8))]
    forms = dict(grid.torch_forms(range(3)))
    first, *others = (form(shapes) for form in forms.values())
    for name, outcomes in zip(list(forms)[1:], others, strict=True):
        same = [
            (a.steps, a.parameters.shape) == (b.steps, b.parameters.shape)
            and np.allclose(a.parameters, b.parameters, atol=1e-3)
            for a, b in zip(first, outcomes, strict=True)
        ]
        print(name, same)
"""


@pytest.mark.slow
def test_every_form_of_pytorch_trains_the_same_networks():
    printed = lines(FORMS)
    assert len(printed) == 11
    assert sum("2 processes of one thread" in line for line in printed) == 4
    assert all(line.endswith(" [True, True]") for line in printed)


MULTISTART = """
from dataclasses import replace
from training import multistart
problem = multistart.xor()
easy = replace(problem, work=problem.work.shortened(60), threshold=10.0, starts=70)
rows, _ = multistart.time_to_solution(easy, 1, 20)
for row in rows:
    print(row)
print(*multistart._forms(70), *multistart._forms(64), sep=", ")
real = multistart.train_seeds
multistart.train_seeds = lambda w, *rest: real(replace(w, learning_rate=1e-6), *rest)
try:
    hard = replace(problem, work=problem.work.shortened(200), threshold=0.5, starts=16)
    multistart.time_to_solution(hard, 1, 20)
except multistart.NotTheSameWork as error:
    print("caught:", error)
print([multistart.starts_needed(p) for p in (1.0, 0.96, 0.9, 0.5, 0.1)])
"""


@pytest.mark.slow
def test_a_multistart_counts_the_same_successes_on_both_sides():
    many, few, forms, caught, needed = lines(MULTISTART)
    assert many.startswith("| XOR, 2-2-2 sigmoid, 70 starts, processor seconds | PyTorch, bmm, ")
    assert few.startswith("| XOR, 2-2-2 sigmoid, processor seconds to better parameters (95 %) |")
    assert "not measured" not in few
    assert forms.count("one start after the other") == forms.count("all starts at once") == 2
    assert forms.count("bmm, 64 starts at once") == 1
    assert caught.startswith("caught: XOR, 2-2-2 sigmoid: Pellucid succeeds from 0 starts")
    assert needed == "[1, 1, 2, 5, 29]"


FASTEST = """
from training.timing import fastest
now, shares = 0.0, {"slow": [], "good": [], "best": []}
def form(name, speed):
    def run(share):
        global now
        shares[name].append(share)
        now += speed * share
    return run
forms = {"slow": form("slow", 201), "good": form("good", 150), "best": form("best", 100)}
choice = fastest(forms, lambda: now)
for line in (choice.best, choice, shares):
    print(line)
"""


def test_a_form_that_is_slow_for_a_moment_is_not_tried_for_longer():
    best, said, shares = lines(FASTEST)
    assert best == "best"
    assert said == "best 10 s; good 15 s; at least 2 times the best for a moment: slow"
    moments = [0.01, 0.01, 0.01, 0.1]
    assert shares == str({"slow": moments[:2], "good": moments, "best": moments})


def test_the_heading_names_what_the_parts_run_with():
    heading = "import train; train.measure = lambda *_: ([], [], []); train.main()"
    plain, forced = (python("-c", heading, **v) for v in ({}, {"PELLUCID_ISA": "baseline"}))
    assert plain.returncode == forced.returncode == 0, forced.stderr
    assert forced.stdout == plain.stdout
    assert "PELLUCID_ISA is set; the benchmark runs without it" in forced.stderr


ENGINES = """
from dataclasses import replace
import engines
real, shapes = engines.train, engines.SHAPES[:2]
print(all(engines.check_same_work(shape) < 1e-5 for shape in shapes))
def other_rate(shape, engine, *rest, **named):
    rate = shape.rate * (1.01 if engine == "kernel" else 1.0)
    return real(replace(shape, rate=rate), engine, *rest, **named)
engines.train = other_rate
for shape in shapes:
    try:
        engines.check_same_work(shape)
    except engines.NotTheSameWork as error:
        print("caught:", error)
"""


@pytest.mark.slow
def test_engines_are_compared_on_the_same_work():
    same, *caught = lines(ENGINES)
    assert same == "True"
    assert len(caught) == 2
    assert all("the losses of the engines differ by" in line for line in caught)


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
    "bits": within("work", "bits", 0, 8, 0.0, unit=""),
    "a bit": within("work", "bits", 1, 8, 0.0, unit=""),
}
chosen = rows[sys.argv[1]]
train.measure = lambda *_: ([chosen], ["said"], [])
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
        ("bits", 0, "| 0 | 8 | 0 | at most 0 | yes |"),
        ("a bit", 1, "| 1 | 8 | 0.125 | at most 0 | **no** |"),
    ],
)
def test_the_exit_status_and_the_page_say_what_was_missed(tmp_path, row, status, words):
    page = tmp_path / "RESULTS.md"
    done = python("-c", VERDICTS, row, str(page))
    assert done.returncode == status, done.stderr
    assert words in page.read_text()
    assert ("missed: " in done.stderr) == bool(status)
