"""The files of the page: what an exported folder holds, and what the server hands out."""

import hashlib
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import Any

from .._errors import InvalidInput

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".gz": "application/octet-stream",  # the engine, which the page unpacks itself
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""Suffixes of files that belong to the page, with their types."""
LEFT_OUT = (
    *("package.json", "package-lock.json", "tsconfig.json", "jsconfig.json"),
    *("node_modules", "tests"),
)
FIRST, INDEX, FOLDER = "index.html", "lessons/index.json", "lessons/"
START, SERVER = "pellucid-start", "pellucid-server"


def page_files() -> dict[str, bytes]:
    """The files of the page by their path in it, as they are in the package."""
    return dict(sorted(_below(files("pellucid.playground") / "static", "")))


def _below(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        name = entry.name
        if name in LEFT_OUT or name.startswith(".") or name.endswith((".d.ts", ".test.js")):
            continue
        if entry.is_dir():
            found += _below(entry, f"{prefix}{name}/")
        elif PurePosixPath(name).suffix in TYPES:
            found.append((prefix + name, entry.read_bytes()))
    return found


def site(
    start: Mapping[str, Any] | None = None,
    lessons: Mapping[str, bytes] | None = None,
    server: bool = False,
) -> dict[str, bytes]:
    """The page with a start document and more lessons, for a folder or for the server.

    `lessons` maps names such as "rings.json" to their content. The page finds what it starts with
    by a tag in its head, which is put in here.
    """
    found = page_files()
    for name, content in (lessons or {}).items():
        if f"lessons/{name}" in (INDEX, *found):
            raise InvalidInput(f"there is a lesson {name!r} already; give the file another name.")
        found[f"lessons/{name}"] = content
    found[INDEX] = _index(found, tuple(lessons or ()))
    tags = {SERVER: "api/", START: "api/start"} if server else {}
    if start is not None and not server:
        found["start.json"] = json.dumps(start, allow_nan=False).encode()
        tags[START] = "start.json"
    found[FIRST] = _with_tags(found[FIRST], tags)
    return found


def with_offline(found: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a page, and what keeps them in the browser of a visitor who has no network."""
    first = _put(
        found[FIRST], b"</head>", b'<script type="module" src="offline_start.js"></script>\n'
    )
    found = dict(found) | {FIRST: first, "offline_start.js": _part("offline_start.js")}
    version = hashlib.sha256(b"".join(found[name] for name in sorted(found))).hexdigest()[:16]
    worker = _part("offline.js").replace(b"VERSION", version.encode())
    names = json.dumps(sorted(found)).encode()
    return found | {"offline.js": worker.replace(b'["FILES"]', names)}


def _part(name: str) -> bytes:
    return (files("pellucid.playground") / "offline" / name).read_bytes()


def _with_tags(page: bytes, tags: Mapping[str, str]) -> bytes:
    """The page with a meta element for each tag in its head, after what says its encoding."""
    text = "".join(f'<meta name="{name}" content="{content}">\n' for name, content in tags.items())
    return _put(page, b"<title>", text.encode())


def _put(page: bytes, place: bytes, what: bytes) -> bytes:
    before, found, after = page.partition(place)
    assert found, f"index.html has a {place!r}"
    return before + what + found + after


def _index(files: Mapping[str, bytes], own: tuple[str, ...]) -> bytes:
    """The list of lessons as the page shows it: a teacher's own first, then in their order."""
    entries = []
    for path, content in files.items():
        name = path.removeprefix(FOLDER)
        if path.startswith(FOLDER) and name.endswith(".json") and "/" not in name:
            lesson = json.loads(content)
            place = own.index(name) - len(own) if name in own else lesson.get("order", math.inf)
            about = {"file": name, "title": lesson["title"], "about": lesson.get("about", "")}
            entries.append((place, name, about))
    listed = [about for _, _, about in sorted(entries, key=lambda entry: entry[:2])]
    return (json.dumps(listed, indent=1, ensure_ascii=False) + "\n").encode()


def media_type(path: str) -> str:
    """The type of a file of the page."""
    return TYPES[PurePosixPath(path).suffix]
