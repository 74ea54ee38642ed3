"""Every example runs to its end, from an empty folder, without a word on standard error."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(p, id=p.name, marks=() if p == EXAMPLES[0] else pytest.mark.slow)
        for p in EXAMPLES
    ],
)
def test_example_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert done.stdout
