"""README and docs tell the truth: their code runs, their printed output is what the code prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import pellucid

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```)?", re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_of_the_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "page"}
    for code, expected in BLOCK.findall(page.read_text()):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(page), "exec"), namespace)
        if expected:
            assert out.getvalue() == expected


def test_the_first_page_and_the_navigation_list_every_page():
    names = {page.name for page in (ROOT / "docs").glob("*.md")}
    linked = set(re.findall(r"\]\((\w+\.md)\)", (ROOT / "docs/index.md").read_text()))
    listed = set(re.findall(r"^  - .+: (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    assert linked == names - {"index.md"}
    assert listed == names


@pytest.mark.parametrize("name", pellucid.__all__)
def test_every_public_name_has_its_place_in_the_docs(name):
    pages = [p.read_text() for p in PAGES if f"::: pellucid.{name}\n" in p.read_text() + "\n"]
    assert len(pages) == 1, f"one docs page needs a line '::: pellucid.{name}'"
    assert re.search(rf"\b{name}\b", "".join(code for code, _ in BLOCK.findall(pages[0]))), (
        f"the page of {name} needs an example that uses it"
    )
