"""`make promises` fails where a promise, its call or its test is missing."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def promises(tmp_path, monkeypatch):
    """The tool, working on a copy of what it reads."""
    spec = importlib.util.spec_from_file_location("promises", ROOT / "tools" / "promises.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("README.md", "promises.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("docs", "src", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def change(promises, file: str, old: str, new: str) -> list[str]:
    path = promises.ROOT / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    return promises.problems()


def test_the_promises_of_today_are_in_order(promises):
    assert promises.problems() == []


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("README.md", "- One seed gives", "- New.\n- One seed gives", "promises.toml lacks: New."),
        ("README.md", "- One seed gives one result", "- Nothing", "does not say: One seed"),
        ("promises.toml", '"pellucid.train_many"', '"pellucid.train_none"', "no public call"),
        ("promises.toml", '"pellucid diagnose"', '"pellucid divine"', "no public call"),
        ("promises.toml", "::test_kind_and_certainty", "::test_gone", "no test"),
    ],
)
def test_what_is_missing_is_named(promises, file, old, new, words):
    found = change(promises, file, old, new)
    assert any(words in line for line in found), found
