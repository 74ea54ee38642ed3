"""Where results go: checked before the work, so that no long run ends without a place for it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .._errors import InvalidFile


def check_folder(path: Path, asked: str = "--out") -> None:
    """Raise InvalidFile unless files can be written into this folder, made where it is missing."""
    place = path
    while not _is_there(place, asked) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise InvalidFile(f"{asked}: {place} is not a folder; choose another place.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InvalidFile(f"{asked}: {place} cannot be written; choose another place.")


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Make the folder where it is missing, for the work inside; if that fails, it goes again."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidFile(f"--out: cannot make {path} ({error.strerror or error}).") from None
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        raise


def check_file(
    path: Path, data: str | None = None, asked: str = "--out", what: str = "table"
) -> None:
    """Raise InvalidFile unless a file can be written there; its folder must exist.

    `data` is what the table (or another input, `what`) is read from: that file is never written.
    `asked` is what the user calls the place.
    """
    from ..network.files import replaceable

    if _is_there(path, asked) and path.is_dir():
        raise InvalidFile(f"{asked}: {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise InvalidFile(f"{asked}: there is no folder {path.parent}; make it first.")
    place = replaceable(path)
    if data is not None and place.exists() and _is_same(place, data):
        raise InvalidFile(f"{asked}: {path} is the {what} itself; name another file.")
    check_folder(place.parent, asked)


def check_ours(
    path: Path, is_ours: Callable[[Path], bool], what: str, asked: str = "--out"
) -> None:
    """Raise InvalidFile where another's file would be lost; an empty file is nobody's."""
    from ..network.files import replaceable

    place = replaceable(path)
    try:
        lost = place.exists() and place.stat().st_size > 0 and not is_ours(place)
    except OSError as error:
        raise InvalidFile(f"{asked}: cannot read {path} ({error.strerror or error}).") from None
    if lost:
        raise InvalidFile(
            f"{asked}: {path} exists and is no {what} of Pellucid; it is not replaced: choose "
            "another place."
        )


def is_network(path: Path) -> bool:
    """Tell whether a file is a network that Pellucid saved."""
    from ..network import read_metadata

    try:
        read_metadata(path)
    except InvalidFile:
        return False
    return True


def is_certificate(path: Path) -> bool:
    """Tell whether a file is a certificate of Pellucid."""
    from ..diagnosis import read_certificate

    try:
        return read_certificate(path).get("format") == "pellucid certificate"
    except InvalidFile:
        return False


def _is_there(path: Path, asked: str) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError) as error:  # a name too long, or with a null character
        reason = getattr(error, "strerror", None) or error
        raise InvalidFile(f"{asked} is {str(path)!r:.80}, no usable path ({reason}).") from None


def _is_same(place: Path, data: str) -> bool:
    try:
        return place.samefile(data)
    except (OSError, ValueError):  # what is read is the name of a data set, or missing
        return False
