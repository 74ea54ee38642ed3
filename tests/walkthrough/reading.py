"""Reads the numbers of a worked pass back from its text, LaTeX or HTML."""

import re
from html.parser import HTMLParser

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?$")


def is_number(word: str) -> bool:
    return bool(NUMBER.match(word))


def from_text(text: str) -> dict[str, list[list[float]]]:
    """Matrices by their symbols; the columns of tables by their names; sums by theirs."""
    found: dict[str, list[list[float]]] = {}
    lines = text.splitlines()
    for i, line in enumerate(lines):
        matrix = re.match(r"    (\S+)  shape \(", line)
        one_sum = re.match(r"    (\S+)\[\d+\] = .* = *(\S+)$", line)
        if matrix:
            rows = []
            for below in lines[i + 2 :]:
                if not below.strip():
                    break
                numbers = re.split(r" {2,}", below.strip())
                rows.append([float(w) for w in numbers if is_number(w)])
            found.setdefault(matrix[1], rows)
        elif one_sum:
            found.setdefault(one_sum[1], [[]])[0].append(float(one_sum[2]))
        elif re.match(r"    (unit|output) ", line):
            names = re.split(r" {2,}", line.strip())
            for below in lines[i + 1 :]:
                if not below.strip():
                    break
                for name, word in zip(names, re.split(r" {2,}", below.strip()), strict=True):
                    if is_number(word):
                        found.setdefault(f"{names[0]}:{name}", [[]])[0].append(float(word))
    return found


def from_latex(text: str) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {}
    text = _plain_symbols(text)
    pattern = r"\\\[\n(\S[^\n]*?) = \\begin\{bmatrix\}\n(.*?)\n\\end\{bmatrix\}"
    for symbol, body in re.findall(pattern, text, re.S):
        rows = [[float(w) for w in row.split("&")] for row in body.split(r"\\")]
        found.setdefault(symbol, rows)
    for symbol, result in re.findall(r"^(\S.*?)\[\d+\] &= .* = (\S+)(?: \\\\)?$", text, re.M):
        found.setdefault(symbol, [[]])[0].append(float(result))
    for body in re.findall(r"\\begin\{array\}\{l.*?\}\n(.*?)\n\\end\{array\}", text, re.S):
        rows = [[w.strip() for w in row.split("&")] for row in body.split(r"\\")]
        names = [re.sub(r"\\text\{(.*?)\}", r"\1", name) for name in rows[0]]
        for row in rows[1:]:
            for name, word in zip(names, row, strict=True):
                if is_number(word.removeprefix(r"\hline").strip()):
                    value = float(word.removeprefix(r"\hline"))
                    found.setdefault(f"{names[0]}:{name}", [[]])[0].append(value)
    return found


def _plain_symbols(text: str) -> str:
    """∂L/∂W1 for its fraction, W1 for its letter with a number."""
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", text)
    text = re.sub(r"\\operatorname\{(\w+)\}", r"\1", text)
    text = re.sub(r"_\{(\d)\}|\^\{\((\d)\)\}", lambda m: m[1] or m[2], text)
    for letter, name in (("ell", "ℓ"), ("delta", "δ"), ("Delta", "Δ"), ("hat R", "R")):
        text = text.replace(f"\\{letter}", name)
    return re.sub(r"\\frac\{\\partial (\S+)\}\{\\partial (\S+?)\}", r"∂\1/∂\2", text)


class _Reader(HTMLParser):
    """Words of the page: `name = [numbers]` of matrices, rows of tables."""

    def __init__(self):
        super().__init__()
        self.matrices: dict[str, list[list[float]]] = {}
        self.tables: list[list[list[str]]] = []
        self.opened: list[tuple[str, str]] = []
        self.symbol = ""

    def handle_starttag(self, tag, attrs):
        kind = dict(attrs).get("class") or ""
        if tag not in ("meta", "br"):
            self.opened.append((tag, kind))
        if tag == "span" and kind == "name":
            self.symbol = ""
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.opened[-1][0] == tag, (tag, self.opened)
        _, kind = self.opened.pop()
        if tag == "table" and kind == "numbers":
            rows = [[float(w) for w in row if is_number(w)] for row in self._plain()]
            self.matrices.setdefault(self.symbol, [row for row in rows if row])
        if tag == "table" and kind == "sums":
            for row in self._plain():
                symbol = row[0].partition("[")[0]
                self.matrices.setdefault(symbol, [[]])[0].append(float(row[-1].lstrip("= ")))
        if tag == "table" and kind == "units":
            names, *rows = self._plain()
            for row in rows:
                for name, word in zip(names, row, strict=True):
                    if is_number(word):
                        key = f"{names[0]}:{name}"
                        self.matrices.setdefault(key, [[]])[0].append(float(word))

    def _plain(self) -> list[list[str]]:
        return [[w.replace("\xa0", " ").strip() for w in row] for row in self.tables[-1]]

    def handle_data(self, data):
        data = data.replace("−", "-")
        if ("span", "name") in self.opened:
            self.symbol = (self.symbol + data).removesuffix(" =")
        if any(tag in ("td", "th") for tag, _ in self.opened):
            self.tables[-1][-1][-1] += data


def from_html(text: str) -> dict[str, list[list[float]]]:
    reader = _Reader()
    reader.feed(re.sub(r"<su[bp]>\(?(\d)\)?</su[bp]>", r"\1", text).replace("R̂", "R"))
    assert not reader.opened, reader.opened
    return {symbol.replace("′", "'"): rows for symbol, rows in reader.matrices.items()}


READERS = {"to_text": from_text, "to_latex": from_latex, "to_html": from_html}
