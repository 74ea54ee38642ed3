"""A document as plain text with aligned columns."""

from collections.abc import Iterable

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
)
from .numerals import aligned, aligned_columns, shape_text

WIDTH = 100
INDENT = "    "


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
        return [_equation(block)]
    if isinstance(block, Matrix):
        return _matrix(document, block)
    if isinstance(block, Sums):
        return _sums(document, block)
    return _rows(document, block)


def _wrapped(words: str) -> list[str]:
    from textwrap import wrap

    return wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def _equation(block: Equation) -> str:
    number = f"({block.number})" if block.number else ""
    left = f"{number:<5}{block.body}"
    return f"{left:<58}  {block.shapes}" if block.shapes else left


def _matrix(document: Document, block: Matrix) -> list[str]:
    limit = document.limit
    columns = block.columns or ("",) * block.values.shape[1]
    names = block.rows or ("",) * len(block.values)
    numbers = [
        [document.numeral(v) for v in picked(list(row), limit, "...")] for row in block.values
    ]
    gap = ["..."] * len(list(picked(columns, limit, "...")))
    body = aligned_columns(list(picked(numbers, limit, gap)))
    header = list(picked(columns, limit, "..."))
    cells = [header, *body] if any(columns) else body
    labels = ([""] if any(columns) else []) + list(picked(names, limit, "..."))
    table = [[label, *row] for label, row in zip(labels, cells, strict=True)]
    more = _more(block, limit)
    return [f"{INDENT}{block.symbol}  shape {shape_text(block.shape)}{more}", *_columns(table)]


def _more(block: Matrix, limit: int) -> str:
    rows, columns = (left_out(n, limit) for n in block.values.shape)
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
    rows = []
    for one in block.sums:
        rows.append([one.symbol, *document.terms(one), document.numeral(one.result)])
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns = [
        [cell.ljust(max(map(len, column))) for cell in column] for column in columns[:-1]
    ] + [aligned(columns[-1])]
    lines = [
        f"{INDENT}{symbol} = {' + '.join(terms)} = {result}"
        for symbol, *terms, result in zip(*columns, strict=True)
    ]
    return list(picked(lines, document.limit, f"{INDENT}..."))


def _rows(document: Document, block: Rows) -> list[str]:
    gap = Line(("...",) * len(block.header))
    shown = list(picked(block.lines, document.limit, gap))
    columns = []
    for name, cells in zip(
        block.header, zip(*(line.cells for line in shown), strict=True), strict=True
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
