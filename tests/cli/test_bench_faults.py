"""`pellucid bench-faults`: finds the benchmark of a checkout and passes the options on."""

import subprocess
from pathlib import Path

import pytest

from pellucid.cli import bench_faults, run

ROOT = Path(__file__).resolve().parents[2]


def test_without_a_checkout_one_sentence_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench_faults, "CHECKOUT", tmp_path)
    assert run(["bench-faults"]) == 2
    told = capsys.readouterr().err
    assert "checkout" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"), [("--jobs", "0"), ("--budget", "-1"), ("--every", "0"), ("--limit", "0")]
)
def test_numbers_that_make_no_sense_are_refused(option, value, capsys):
    assert run(["bench-faults", option, value]) == 2
    assert option in capsys.readouterr().err


def test_the_options_reach_the_benchmark(monkeypatch):
    seen = {}

    def called(command, env, check):
        seen.update(command=command, path=env["PYTHONPATH"])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(bench_faults.subprocess, "run", called)
    monkeypatch.chdir(ROOT)
    words = ["bench-faults", "--tool", "mine:judge", "--part", "all", "--jobs", "2", "--write"]
    assert run([*words, "--case", "xor", "--limit", "9"]) == 0
    for word in ("--tool=mine:judge", "--part=all", "--jobs=2", "--case=xor", "--limit=9.0"):
        assert word in seen["command"]
    assert "--write" in seen["command"]
    assert seen["path"].startswith(str(ROOT / "benchmarks"))
