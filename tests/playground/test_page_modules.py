"""The page's modules that need no browser, in Node: states and links, undo, CSV, the scanline."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid

MODULES = Path(__file__).parent / "page"
STATIC = Path(pellucid.__file__).parent / "playground" / "static"


def test_the_modules_of_the_page_in_node():
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node: apt-get install nodejs")
    tests = sorted(map(str, MODULES.glob("*.test.js")))
    assert tests
    found = subprocess.run(
        [node, "--test", *tests], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 0, found.stdout[-4000:]


def test_the_data_sets_of_the_page_are_those_of_the_package():
    tool = Path(__file__).parents[2] / "tools" / "playground_datasets.py"
    if not tool.exists():
        pytest.skip("the tools are not installed")
    found = subprocess.run(
        [sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
def test_the_types_of_the_page_are_checked():
    checker = MODULES.parent / "node_modules" / ".bin" / "tsc"
    if not checker.exists():
        pytest.skip("there is no TypeScript: make node")
    found = subprocess.run(
        [str(checker), "--project", str(STATIC / "jsconfig.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-4000:]
