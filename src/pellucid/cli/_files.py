"""Where results go: checked before the work, so that no long run ends without a place for it."""

import os
from pathlib import Path

from .._errors import InvalidFile


def check_folder(path: Path) -> None:
    """Raise InvalidFile unless files can be written into this folder, made where it is missing."""
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise InvalidFile(f"--out: {place} is not a folder; choose another place.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InvalidFile(f"--out: {place} cannot be written; choose another place.")


def make_folder(path: Path) -> Path:
    """Make the folder where it is missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"--out: cannot make {path} ({error.strerror or error}).") from None
    return path


def check_file(path: Path) -> None:
    """Raise InvalidFile unless a file can be written there; its folder must exist."""
    if path.is_dir():
        raise InvalidFile(f"--out: {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise InvalidFile(f"--out: there is no folder {path.parent}; make it first.")
    check_folder(path.parent)
