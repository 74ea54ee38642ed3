"""The benchmark of `watch` runs, and its two loops end with the same parameters."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.slow
def test_a_quick_run_prints_the_ratio_with_its_interval():
    name = "2-32-32-1, batch 32, SGD"
    done = subprocess.run(
        [sys.executable, "watch.py", "--quick", "--only", name],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(f"| {name} |")]
    low, high = map(float, row.split("|")[4].split(" to "))
    assert low <= float(row.split("|")[3]) <= high
