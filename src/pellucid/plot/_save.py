"""Figures to files, and to SVG text that can stand inside a page."""

import html
import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import InvalidFile
from ..network.files import write_atomically
from . import _style

if TYPE_CHECKING:
    import matplotlib.figure

FORMATS = ("svg", "png", "pdf")
MAKER = "Pellucid"
_ABOUT = {
    "svg": {"Date": None, "Creator": MAKER},
    "png": {"Software": MAKER},
    "pdf": {"CreationDate": None, "Creator": MAKER},
}


def save(figure: "matplotlib.figure.Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure to an .svg, .png or .pdf file and return its path.

    The same figure gives the same bytes: no date, no random names. The file is written under a
    temporary name and renamed. Raises InvalidFile for another ending or an unwritable place.
    """
    target = Path(path)
    kind = target.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InvalidFile(f"{target.name!r} does not end in one of .{', .'.join(FORMATS)}.")
    write_atomically(target, render(figure, kind))
    return target


def to_svg(figure: "matplotlib.figure.Figure", title: str, description: str = "") -> str:
    """Return a figure as an `<svg>` element for an HTML page.

    It has `role="img"`, the title and description for those who listen to it, no fixed size, and
    no identifiers that another figure on the same page could also have.
    """
    text = render(figure, "svg", salt=title).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    title, description = (html.escape(_style.printable(t)) for t in (title, description))
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", text)
    box = re.search(r'viewBox="[^"]*"', text)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{box[0] if box else ""} role="img" aria-label="{title}">'
        f"<title>{title}</title>" + (f"<desc>{description}</desc>" if description else "")
    )
    return head + text[text.index(">") + 1 :].strip()


def render(figure: "matplotlib.figure.Figure", kind: str, salt: str = "pellucid") -> bytes:
    """Return the bytes of a file of that format, without a date and with who made it."""
    about: dict = _ABOUT[kind]
    buffer = io.BytesIO()
    with _style.style(**{"svg.hashsalt": salt}):
        figure.savefig(buffer, format=kind, dpi=200, metadata=about)
    return buffer.getvalue()
