"""A document in LaTeX, with the packages amsmath and amssymb."""

from .blocks import (
    Block,
    Document,
    Equation,
    Line,
    Matrix,
    Note,
    Rows,
    Sum,
    Sums,
    Title,
    left_out,
    picked,
    shown,
)
from .dialects import DIALECTS
from .numerals import shape_text

_LATEX = DIALECTS["latex"]
_TEXT = {"·": r"$\cdot$", "Σ": r"$\Sigma$", "⊙": r"$\odot$"}


def latex(document: Document, standalone: bool = False) -> str:
    """The document as the body of a text, or as a whole file."""
    parts = [rf"\section*{{{_plain(document.title)}}}", _plain(document.facts)]
    for section in document.sections:
        parts.append(rf"\subsection*{{{_plain(section.title)}}}")
        parts += [_block(document, block) for block in section.blocks]
    body = "\n\n".join(parts) + "\n"
    return f"{_HEAD}{body}\\end{{document}}\n" if standalone else body


_HEAD = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{amsmath,amssymb}
\usepackage[margin=2cm]{geometry}
\setcounter{MaxMatrixCols}{1000}
\begin{document}
"""


def _plain(text: str) -> str:
    escaped = _LATEX.plain(text)
    return "".join(_TEXT.get(c, c) for c in escaped)


def _block(document: Document, block: Block) -> str:
    if isinstance(block, Note):
        return _plain(block.text)
    if isinstance(block, Title):
        return rf"\subsubsection*{{{_plain(block.text)}}}"
    if isinstance(block, Equation):
        return _display(_equation(block))
    if isinstance(block, Matrix):
        return _display(_matrix(document, block))
    if isinstance(block, Sums):
        return _sums(document, block)
    return _display(_rows(document, block))


def _display(body: str) -> str:
    return f"\\[\n{body}\n\\]"


def _equation(block: Equation) -> str:
    shapes = rf" \qquad \text{{{_plain(block.shapes)}}}" if block.shapes else ""
    number = rf" \tag{{{block.number}}}" if block.number else ""
    return f"{block.body}{shapes}{number}"


def _matrix(document: Document, block: Matrix) -> str:
    limit = document.limit
    rows = [
        " & ".join(
            r"\cdots" if v is None else document.number(v) for v in picked(list(row), limit, None)
        )
        for row in block.values
    ]
    gap = " & ".join([r"\vdots"] * len(shown(block.values.shape[1], limit)))
    lines = picked(rows, limit, gap)
    sizes = zip(block.values.shape, ("rows", "columns"), strict=True)
    missing = [f"; {left_out(k, limit)} {what} left out" for k, what in sizes if left_out(k, limit)]
    said = "".join(missing)
    shape = rf" \quad \text{{{shape_text(block.shape)}{said}}}"
    body = " \\\\\n".join(lines)
    top = r"^{\top}" if block.upright else ""
    return f"{block.symbol} = \\begin{{bmatrix}}\n{body}\n\\end{{bmatrix}}{top}{shape}"


def _sums(document: Document, block: Sums) -> str:
    lines = picked([_sum(document, one) for one in block.sums], document.limit, r"& \;\;\vdots")
    return _display("\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}")


def _sum(document: Document, one: Sum) -> str:
    result = document.number(one.result)
    return f"{one.symbol} &= {' + '.join(document.terms(one))} = {result}"


def _rows(document: Document, block: Rows) -> str:
    gap = Line((r"\vdots",) * len(block.header))
    lines = list(picked(block.lines, document.limit, gap))
    columns = zip(*(line.cells for line in lines), strict=True)
    kinds = "".join("l" if all(isinstance(c, str) for c in cells) else "r" for cells in columns)
    head, *body = (
        " & ".join(map(document.number, cells))
        for cells in (block.header, *(line.cells for line in lines))
    )
    ended = " \\\\\n".join(body)
    return f"\\begin{{array}}{{{kinds}}}\n{head} \\\\\n\\hline\n{ended}\n\\end{{array}}"
