"""A document as HTML that needs no other file, no script and no network."""

import html as escaping
from importlib import resources

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
from .numerals import aligned, shape_text

FILL = "\N{NO-BREAK SPACE}"  # as wide as a digit in a font of fixed width
_NUMBER = 'class="digits"'
MARKS = {"blocked": "✕ ", "passes": "→ ", "target": ""}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(document: Document, standalone: bool = True) -> str:
    """The document as a page, or as one element for a notebook or another page."""
    sections = "\n".join(
        f"<section><h2>{_text(section.title)}</h2>\n"
        + "\n".join(_block(document, block) for block in section.blocks)
        + "</section>"
        for section in document.sections
    )
    body = (
        f'<div class="worked-pass"><h1>{_text(document.title)}</h1>\n'
        f'<p class="facts">{_text(document.facts)}</p>\n{sections}\n</div>\n'
    )
    style = f"<style>{_style_sheet()}</style>"
    if not standalone:
        return f"{style}\n{body}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="generator" content="Pellucid">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{_text(document.title)}</title>{style}</head>\n"
        f'<body class="worked-pass-page">\n{body}</body></html>\n'
    )


def _style_sheet() -> str:
    return resources.files("pellucid.walkthrough").joinpath("style.css").read_text("utf-8")


def _text(text: str) -> str:
    return escaping.escape(text)


def _block(document: Document, block: Block) -> str:
    if isinstance(block, Note):
        return f"<p>{_text(block.text)}</p>"
    if isinstance(block, Title):
        return f"<h3>{_text(block.text)}</h3>"
    if isinstance(block, Equation):
        return _equation(block)
    if isinstance(block, Matrix):
        return _matrix(document, block)
    if isinstance(block, Sums):
        return _sums(document, block)
    return _rows(document, block)


def _equation(block: Equation) -> str:
    number = f'<span class="number">{f"({block.number})" if block.number else ""}</span>'
    shapes = f'<span class="shapes">{_text(block.shapes)}</span>' if block.shapes else ""
    return f'<div class="equation">{number}<span class="body">{block.body}</span>{shapes}</div>'


def _column(document: Document, values: list) -> list[str]:
    """Numbers with their points under each other; texts as they are."""
    if all(isinstance(value, str) for value in values):
        return list(values)
    texts = aligned([document.numeral(value) for value in values], FILL)
    return [text.replace("-", "−") for text in texts]


def _matrix(document: Document, block: Matrix) -> str:
    limit = document.limit
    height, width = block.values.shape
    rows, columns = shown(height, limit), shown(width, limit)
    cells = [
        _column(document, ["…" if i is None or j is None else block.values[i, j] for i in rows])
        for j in columns
    ]
    names = block.rows or ("",) * height
    lines = [_header(("", *("…" if j is None else (block.columns or ())[j] for j in columns)))] * (
        block.columns is not None
    )
    for at, (i, numbers) in enumerate(zip(rows, zip(*cells, strict=True), strict=True)):
        label = "…" if i is None else names[i]
        inside = "".join(_zero_or_not(number) for number in numbers)
        ends = " first" * (not at) + " last" * (at == len(rows) - 1)
        lines.append(f'<tr class="entries{ends}"><th scope="row">{label}</th>{inside}</tr>')
    missing = [
        f"{left_out(n, limit)} {what} left out"
        for n, what in ((height, "rows"), (width, "columns"))
        if left_out(n, limit)
    ]
    told = "; ".join([shape_text(block.shape), *missing])
    top = "<sup>⊤</sup>" if block.upright else ""
    return (
        f'<div class="matrix"><span class="name">{block.symbol} =</span>'
        f'<div class="scroll"><table class="numbers">{"".join(lines)}</table></div>'
        f'{top}<span class="shapes">{told}</span></div>'
    )


def _zero_or_not(number: str) -> str:
    kind = ' class="zero"' if number.strip(FILL) == "0" else ""
    return f"<td{kind}>{number}</td>"


def _header(names: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<th scope=col>{name}</th>' for name in names)}</tr>"


def _sums(document: Document, block: Sums) -> str:
    results = aligned([document.numeral(one.result) for one in block.sums], FILL)
    lines = []
    for one, result in zip(block.sums, results, strict=True):
        terms = document.terms(one)
        cells = "".join(f"<td>{'+ ' if i else ''}{term}</td>" for i, term in enumerate(terms))
        result = result.replace("-", "−")
        lines.append(f'<tr><th scope="row">{one.symbol} =</th>{cells}<td>= {result}</td></tr>')
    inside = "".join(picked(lines, document.limit, "<tr><th>⋮</th></tr>"))
    return f'<div class="scroll"><table class="sums">{inside}</table></div>'


def _rows(document: Document, block: Rows) -> str:
    gap = Line(("⋮",) * len(block.header))
    lines = list(picked(block.lines, document.limit, gap))
    cells = zip(*(line.cells for line in lines), strict=True)
    columns = [_column(document, list(column)) for column in cells]
    kinds = [all(isinstance(line.cells[i], str) for line in lines) for i in range(len(columns))]
    body = []
    for line, texts in zip(lines, zip(*columns, strict=True), strict=True):
        inside = "".join(
            _cell(i, text, kinds[i], line.mark if i == len(texts) - 1 else "")
            for i, text in enumerate(texts)
        )
        body.append(f'<tr class="{line.mark or "plain"}">{inside}</tr>')
    head = "".join(
        f'<th scope="col"{"" if is_text else chr(32) + _NUMBER}>{name}</th>'
        for name, is_text in zip(block.header, kinds, strict=True)
    )
    return (
        f'<div class="scroll"><table class="units"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(i: int, text: str, is_text: bool, mark: str) -> str:
    if i == 0:
        return f'<th scope="row">{text}</th>'
    if not is_text:
        return f"<td {_NUMBER}>{text}</td>"
    return f"<td>{MARKS.get(mark, '')}{text}</td>"
