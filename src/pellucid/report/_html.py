"""HTML elements whose text is escaped unless it was made here."""

import html
from collections.abc import Iterable

_VOID = ("br", "meta")


class Html(str):
    """Text that is HTML already; every other string is escaped where it enters an element."""

    __slots__ = ()


def escaped(text: object) -> Html:
    """Return text as HTML, without the control characters that a page cannot hold."""
    if isinstance(text, Html):
        return text
    visible = "".join(
        c if c.isprintable() or c in "\n " else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )
    return Html(html.escape(visible))


def el(tag: str, *children: object, **attributes: str) -> Html:
    """Return one element; `class_="x"` gives `class="x"`, `aria_label` gives `aria-label`."""
    pairs = (
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for name, value in attributes.items()
    )
    start = f"<{tag}{''.join(pairs)}>"
    if tag in _VOID:
        return Html(start)
    return Html(f"{start}{join(children)}</{tag}>")


def join(children: Iterable[object]) -> Html:
    """Put children one after another; None and empty ones are left out."""
    return Html("".join(escaped(child) for child in children if child is not None))


def section(anchor: str, title: str, *children: object) -> Html:
    """Return a titled section that a screen reader finds by its heading."""
    heading = el("h2", title, id=anchor)
    return Html(el("section", heading, *children, aria_labelledby=anchor) + "\n")


def table(
    caption: str, header: Iterable[str], rows: Iterable[Iterable[object]], numeric_from: int = 1
) -> Html:
    """Return a table that scrolls sideways by itself where the page is too narrow for it.

    The first cell of a row names it; cells from column `numeric_from` on are set as numbers.
    """
    head = el("tr", *(_column_name(i, name, numeric_from) for i, name in enumerate(header)))
    body = (
        el("tr", *(_cell(i, cell, numeric_from) for i, cell in enumerate(row))) + "\n"
        for row in rows
    )
    content = el(
        "table",
        el("caption", caption),
        el("thead", head),
        el("tbody", *(Html(row) for row in body)),
    )
    return el("div", content, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _column_name(i: int, name: str, numeric_from: int) -> Html:
    if i >= numeric_from:
        return el("th", name, scope="col", class_="number")
    return el("th", name, scope="col")


def _cell(i: int, cell: object, numeric_from: int) -> Html:
    if i == 0:
        return el("th", cell, scope="row")
    return el("td", cell, class_="number") if i >= numeric_from else el("td", cell)
