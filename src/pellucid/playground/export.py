"""The page as a folder of static files, for any web server and any path on it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._errors import InvalidFile
from ..network.files import all_or_none
from .site import FIRST, site, with_offline
from .start import start_document

MANIFEST = "pellucid-playground.json"
MOST_LISTED = 5


def export_page(
    folder: str | Path,
    start: Mapping[str, Any] | None = None,
    lessons: Mapping[str, bytes] | None = None,
) -> tuple[str, ...]:
    """Write the page into a folder that needs no server of ours; return the files, in order.

    All files are written or none. In a folder of an earlier export they are replaced, and those
    that are no longer needed are removed. A folder with anything else in it is left as it is, and
    so is one whose files were changed since; `InvalidFile` names the files.

    Parameters
    ----------
    folder
        Made where it is missing.
    start
        What the page opens with, as `start_document` makes it; by default the usual page.
    lessons
        More lessons: names such as "rings.json" and the content of the files.
    """
    folder = Path(folder)
    if start is None and lessons:
        start = start_document(lessons=tuple(lessons))
    files = with_offline(site(start, lessons))
    earlier = _earlier(folder)
    files[MANIFEST] = _manifest(files)
    first = files.pop(FIRST)
    with _made({folder, *((folder / name).parent for name in files)}), all_or_none() as write:
        write(folder / FIRST, first)  # the first of them takes its place last
        for name, content in files.items():
            write(folder / name, content)
        for name in set(earlier) - {*files, FIRST}:
            write(folder / name, None)
    return (FIRST, *files)


def is_export(folder: Path) -> bool:
    """Whether a folder holds an exported page."""
    return (folder / MANIFEST).is_file()


def _manifest(files: Mapping[str, bytes]) -> bytes:
    """Which files the page has, with their hashes."""
    from importlib.metadata import version

    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    about = {"program": "pellucid playground", "version": version("pellucid"), "files": hashes}
    return (json.dumps(about, indent=1) + "\n").encode()


def _earlier(folder: Path) -> dict[str, str]:
    """The files of an earlier export there; `InvalidFile` where anything would be lost."""
    try:
        if not folder.exists():
            return {}
        if not folder.is_dir():
            raise InvalidFile(f"{folder} is no folder; name a folder for the page.")
        listed = _listed(folder)
        here = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
        here.pop(MANIFEST, None)
        foreign = [n for n in here if n not in listed]
        changed = [n for n, p in here.items() if n in listed and _hash(p) != listed[n]]
    except InvalidFile:  # a ValueError, too
        raise
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{folder!s:.200} cannot be read ({error}).") from None
    for names, what in ((foreign, "no part of an exported page"), (changed, "changed since")):
        if names:
            more = f" and {len(names) - MOST_LISTED} more" * (len(names) > MOST_LISTED)
            raise InvalidFile(
                f"{folder} holds {', '.join(sorted(names)[:MOST_LISTED])}{more}, {what}; nothing "
                "was written: choose another folder, or move them."
            )
    return {name: text for name, text in listed.items() if name in here}


def _listed(folder: Path) -> dict[str, str]:
    """The files and hashes in the manifest of a folder; none where it has no manifest."""
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
        return {str(k): str(v) for k, v in files.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidFile(f"{folder / MANIFEST} is damaged; choose another folder.") from None


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _made(folders: set[Path]) -> Iterator[None]:
    """Make folders where they are missing, for the work inside; if it fails, they go again."""
    missing = {p for folder in folders for p in (folder, *folder.parents) if not p.exists()}
    ordered = sorted(missing, key=lambda p: len(p.parts))
    try:
        for path in ordered:
            try:
                path.mkdir()
            except OSError as error:
                raise InvalidFile(f"cannot make {path} ({error.strerror or error}).") from None
        yield
    except BaseException:
        for path in reversed(ordered):
            with suppress(OSError):
                path.rmdir()
        raise
