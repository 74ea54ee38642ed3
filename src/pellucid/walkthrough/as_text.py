"""A document as plain text with aligned columns."""

import re
from collections.abc import Iterable
from dataclasses import replace

from .blocks import (
    Block,
    Document,
    Equation,
    Line,
    Matrix,
    Note,
    Rows,
    Sums,
    Title,
    left_out,
    picked,
    shown,
)
from .numerals import GAP, aligned, aligned_columns, shape_text

WIDTH = 100
INDENT = "    "
LONGEST_NAME = 26


def text(document: Document) -> str:
    """The document, lines ended by newlines."""
    lines = [document.title, "=" * len(document.title), *_wrapped(document.facts), ""]
    for section in document.sections:
        lines += [section.title, "-" * len(section.title)]
        for block in section.blocks:
            lines += [*_block(document, block), ""]
    return "\n".join(line.rstrip() for line in lines)


def _block(document: Document, block: Block) -> Iterable[str]:
    if isinstance(block, Note):
        return _wrapped(block.text)
    if isinstance(block, Title):
        return [f"{block.text}:"]
    if isinstance(block, Equation):
        return _equation(block)
    if isinstance(block, Matrix):
        return _matrix(document, block)
    if isinstance(block, Sums):
        return _sums(document, block)
    return _rows(document, block)


def _wrapped(words: str) -> list[str]:
    from textwrap import wrap

    return wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def _equation(block: Equation) -> list[str]:
    """On one line, or broken before its signs."""
    number = f"({block.number})" if block.number else ""
    left = f"{number:<5}{block.body}"
    if len(left) > WIDTH:
        parts = re.split(r"(?= = | \+ )", left)
        lines = [""]
        for part in parts:
            if len(lines[-1]) + len(part) > WIDTH:
                lines.append(" " * 8)
            lines[-1] += part
        return lines
    return [f"{left:<58}  {block.shapes}" if block.shapes else left]


def _matrix(document: Document, block: Matrix) -> list[str]:
    """As many columns as fit on the page, at least three; a vector that does not fit stands up."""
    if len(block.values) == 1 and max(map(len, _table(document, block, document.limit))) > WIDTH:
        block = replace(block, values=block.values.T, rows=block.columns, columns=None)
    limit = document.limit
    lines = _table(document, block, limit)
    while limit > 3 and max(map(len, lines)) > WIDTH:
        limit -= 1
        lines = _table(document, block, limit)
    more = _more(block, document.limit, limit)
    return [f"{INDENT}{block.symbol}  shape {shape_text(block.shape)}{more}", *lines]


def _table(document: Document, block: Matrix, limit: int) -> list[str]:
    columns = block.columns or ("",) * block.values.shape[1]
    names = block.rows or ("",) * len(block.values)
    numbers = [[document.numeral(v) for v in picked(list(row), limit, GAP)] for row in block.values]
    gap = [GAP] * len(shown(len(columns), limit))
    body = aligned_columns(list(picked(numbers, document.limit, gap)))
    header = [_short(name) for name in picked(columns, limit, GAP)]
    cells = [header, *body] if any(columns) else body
    labels = [""] * any(columns)
    labels += [_short(name) for name in picked(names, document.limit, GAP)]
    return _columns([[label, *row] for label, row in zip(labels, cells, strict=True)])


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}{GAP}"


def _more(block: Matrix, height: int, width: int) -> str:
    n, m = block.values.shape
    rows, columns = left_out(n, height), left_out(m, width)
    told = [f"{rows} rows"] * (rows > 0) + [f"{columns} columns"] * (columns > 0)
    return f"; {' and '.join(told)} left out" if told else ""


def _columns(table: list[list[str]], left: int = 1, gap: str = "  ") -> list[str]:
    """Columns from `left` on set to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return [
        INDENT
        + gap.join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]


def _sums(document: Document, block: Sums) -> list[str]:
    """As many terms as fit on the page, at least three."""
    rows = [(one.symbol, document.terms(one), document.numeral(one.result)) for one in block.sums]
    rows = list(picked(rows, document.limit, None))
    most = max(len(row[1]) for row in rows if row is not None)
    lines = _lines(rows, most)
    while most > 3 and max(map(len, lines)) > WIDTH:
        most -= 1
        lines = _lines(rows, most)
    return lines


def _lines(rows: list, terms: int) -> list[str]:
    """Sums under each other, None as a gap, each with so many of its terms."""
    there = [row for row in rows if row is not None]
    symbols = _padded([symbol for symbol, _, _ in there])
    cut = [picked(all_terms, terms, GAP) for _, all_terms, _ in there]
    columns = [_padded(list(column)) for column in zip(*cut, strict=True)]
    results = aligned([result for _, _, result in there])
    lines = iter(
        f"{INDENT}{symbol} = {' + '.join(cells)} = {result}"
        for symbol, cells, result in zip(symbols, zip(*columns, strict=True), results, strict=True)
    )
    return [f"{INDENT}{GAP}" if row is None else next(lines) for row in rows]


def _padded(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [text.ljust(width) for text in texts]


def _rows(document: Document, block: Rows) -> list[str]:
    gap = Line((GAP,) * len(block.header))
    lines = list(picked(block.lines, document.limit, gap))
    columns = []
    for name, cells in zip(
        block.header, zip(*(line.cells for line in lines), strict=True), strict=True
    ):
        texts = [document.numeral(cell) for cell in cells]
        if all(isinstance(cell, str) for cell in cells):
            width = max(len(name), *map(len, texts))
            columns.append([name.ljust(width), *(text.ljust(width) for text in texts)])
        else:
            texts = aligned(texts)
            width = max(len(name), len(texts[0]))
            columns.append([name.rjust(width), *(text.rjust(width) for text in texts)])
    return [INDENT + "   ".join(row) for row in zip(*columns, strict=True)]
