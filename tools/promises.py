"""Hold `promises.toml` against README, docs, the public API and the tests.

Every list item under a heading "What it promises" of README.md or of a page in docs must be an
entry of promises.toml; each entry names the page it stands on, the public call that keeps it and
the test that checks it, and all three must exist.
"""

import ast
import importlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADING = "What it promises"


def promised_items(page: Path) -> list[str]:
    """The list items under the heading, each as one line without its bold lead-in marks."""
    match = re.search(rf"^## {HEADING}\n(.*?)(?=^## |\Z)", page.read_text(), re.M | re.S)
    if not match:
        return []
    items = re.split(r"^- ", match.group(1), flags=re.M)[1:]
    return [" ".join(item.split("\n\n")[0].split()) for item in items]


def public_call_exists(call: str) -> bool:
    """Whether `pellucid.name` or `pellucid.name.name` can be reached, or the CLI has the verb."""
    if call.startswith("pellucid "):
        return (ROOT / "src/pellucid/cli" / f"{call.split()[1].replace('-', '_')}.py").exists()
    head, *rest = call.split(".")
    found = importlib.import_module(head)
    for name in rest:
        found = getattr(found, name, None)
    return found is not None


def test_exists(test: str) -> bool:
    """Whether `tests/path.py::test_name` is defined there."""
    path, _, name = test.partition("::")
    file = ROOT / path
    if not file.exists():
        return False
    tree = ast.parse(file.read_text())
    return any(isinstance(n, ast.FunctionDef) and n.name == name for n in ast.walk(tree))


def problems() -> list[str]:
    """One sentence for each promise that is not kept in order."""
    entries = tomllib.loads((ROOT / "promises.toml").read_text())["promise"]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    written = {item: page for page in pages for item in promised_items(page)}
    listed = {entry["text"]: entry for entry in entries}
    found = [
        f"{p.relative_to(ROOT)} promises what promises.toml lacks: {item}"
        for item, p in written.items()
        if item not in listed
    ]
    for text, entry in listed.items():
        if text not in written or written[text] != ROOT / entry["page"]:
            found.append(f"promises.toml names what {entry['page']} does not say: {text}")
        if not public_call_exists(entry["call"]):
            found.append(f"no public call {entry['call']} for: {text}")
        if not test_exists(entry["test"]):
            found.append(f"no test {entry['test']} for: {text}")
    return found


if __name__ == "__main__":
    lines = problems()
    print("\n".join(lines) or "Every promise has its call and its test.")
    sys.exit(bool(lines))
