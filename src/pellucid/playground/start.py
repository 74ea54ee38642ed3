"""What the page opens with: a link, a saved state, a network or a table, as one document."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import InvalidFile, InvalidInput
from .documents import network_document, table_document
from .links import fragment_of

if TYPE_CHECKING:
    from ..datasets import Table
    from ..network import Network

FORMAT = 1
_OPENING = re.compile(rb'\s*\{\s*"version"\s*:\s*1\b')
LARGEST_STATE = 64 * 2**20
LARGEST_LESSON = 2**20


def start_document(
    *,
    link: str | None = None,
    state: Mapping[str, Any] | None = None,
    network: "Network | None" = None,
    table: "Table | None" = None,
    lessons: Sequence[str] = (),
    **about: Any,
) -> dict[str, Any]:
    """What the page opens with, as plain values for JSON.

    Parameters
    ----------
    link
        A link that the page made; its state is what stands behind "#".
    state
        The content of a file that the page saved.
    network
        A network to show.
    about
        What is known of the network besides: `name`, `likelihood`, `feature_names`, `classes`,
        `notes`.
    table
        Rows to train on.
    lessons
        Names of lessons that are listed before those of the page.
    """
    if network is None and about:
        raise InvalidInput(
            f"{', '.join(about)} would tell of a network, and there is none; give it."
        )
    shown = None if network is None else network_document(network, **about)
    return {
        "format": FORMAT,
        "link": None if link is None else fragment_of(link),
        "state": None if state is None else dict(state),
        "network": shown,
        "table": None if table is None else table_document(table),
        "lessons": list(lessons),
        "server": None,
    }


def is_state(path: Path) -> bool:
    """Whether a file is a state that the page saved: its version comes first."""
    try:
        with open(path, "rb") as file:
            return _OPENING.match(file.read(200)) is not None
    except OSError:
        return False


def read_state(path: Path) -> dict[str, Any]:
    """The state in a file that the page saved."""
    return _read_object(path, LARGEST_STATE, "state of the playground")


def read_lesson(path: Path) -> tuple[str, bytes]:
    """The name and the content of a file with a lesson, checked.

    `InvalidFile` says what is wrong with it; the page checks the rest when it opens the lesson.
    """
    from .lessons import check_lesson

    lesson = _read_object(path, LARGEST_LESSON, "lesson")
    try:
        check_lesson(lesson)
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from None
    return path.name, json.dumps(lesson, ensure_ascii=False, indent=1).encode()


def _read_object(path: Path, limit: int, what: str) -> dict[str, Any]:
    try:
        if not path.is_file():
            raise InvalidFile(f"there is no file {path}; give the path of a {what}.")
        if path.stat().st_size > limit:
            raise InvalidFile(f"{path} has more than {limit:,} bytes, too many for a {what}.")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{path} is no {what}: it is no JSON ({error!s:.100}).") from None
    if not isinstance(found, dict):
        raise InvalidFile(f"{path} is no {what}: it needs to be a JSON object.")
    return found
