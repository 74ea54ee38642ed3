"""The letters of the equations in plain text, LaTeX and HTML, in both notations."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .numerals import numeral

_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "′": "'",
}

_GREEK = {
    "δ": r"\delta",
    "Δ": r"\Delta",
    "μ": r"\mu",
    "ν": r"\nu",
    "τ": r"\tau",
    "π": r"\pi",
    "γ": r"\gamma",
}


class Text:
    """Equations of one line, for a terminal."""

    minus, odot, dot, equals = " - ", " ⊙ ", "·", " = "
    loss: Mapping[str, str] = MappingProxyType({"ℓ": "ℓ", "R": "R", "L": "L"})
    p, ones, mu, pi, theta = "p", "1", "μ", "π", "θ"
    arrow, gets, at_most = "->", "<-", "≤"

    def number(self, value: Any, digits: int) -> str:
        """A number."""
        return numeral(value, digits)

    def factor(self, value: Any, digits: int) -> str:
        """A number as a factor of a product: what is not plain digits in parentheses."""
        plain = numeral(value, digits).replace(".", "").isdigit()
        text = self.number(value, digits)
        return text if plain else f"({text})"

    def letter(self, base: str, layer: int | None, row: bool, transposed: bool = False) -> str:
        """A letter with the number of its layer."""
        return f"{base}{'' if layer is None else layer}{'ᵀ' if transposed else ''}"

    def partial(self, loss: str, of: str) -> str:
        """The derivative of the loss by something."""
        return f"∂{loss}/∂{of}"

    def function(self, name: str, of: str, prime: bool = False) -> str:
        """A function, or its derivative, of something."""
        return f"{name}{chr(39) * prime}({of})"

    def entry(self, of: str, *index: object) -> str:
        """One entry, counted from 0."""
        return f"{of}[{', '.join(map(str, index))}]"

    def power(self, base: str, exponent: str) -> str:
        """A power."""
        return f"{base}^{exponent}"

    def hatted(self, letter: str, hat: bool) -> str:
        """A letter, with a hat over it or without."""
        return f"{letter}_hat" if hat else letter

    def root(self, of: str) -> str:
        """A square root."""
        return f"sqrt({of})"

    def sum_over(self, index: str) -> str:
        """The sign of a sum."""
        return f"Σ_{index} "

    def plain(self, text: str) -> str:
        """A text as it is."""
        return visible(text)

    def words(self, text: str) -> str:
        """Words inside of an equation."""
        return self.plain(text)


class Latex(Text):
    """Equations for amsmath."""

    minus, odot, dot = " - ", r" \odot ", r" \cdot "
    loss = MappingProxyType({"ℓ": r"\ell", "R": r"\hat R", "L": "L"})
    ones, mu, pi, theta = r"\mathbf 1", r"\mu", r"\pi", r"\theta"
    arrow, gets, at_most = r"\to", r"\leftarrow", r"\le"

    def number(self, value: Any, digits: int) -> str:
        """A number; one with a power of ten as a product."""
        text = numeral(value, digits)
        mantissa, e, exponent = text.partition("e")
        if e:
            return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
        return {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\text{nan}"}.get(text, text)

    def letter(self, base: str, layer: int | None, row: bool, transposed: bool = False) -> str:
        """z^{(1)} in column notation, a_{1} in row notation."""
        base = _GREEK.get(base, base)
        top = r"\top" if transposed else ""
        if row:
            return (
                base + (f"_{{{layer}}}" if layer is not None else "") + (f"^{{{top}}}" * bool(top))
            )
        up = ("" if layer is None else f"({layer})") + top
        return base + (f"^{{{up}}}" if up else "")

    def partial(self, loss: str, of: str) -> str:
        """A fraction."""
        return rf"\frac{{\partial {loss}}}{{\partial {of}}}"

    def function(self, name: str, of: str, prime: bool = False) -> str:
        """An operator with its argument in parentheses."""
        name = r"\log" if name == "log" else rf"\operatorname{{{self.plain(name)}}}"
        return f"{name}{chr(39) * prime}({of})"

    def power(self, base: str, exponent: str) -> str:
        """A power."""
        return f"{base}^{{{exponent}}}"

    def hatted(self, letter: str, hat: bool) -> str:
        """A letter, with a hat over it or without."""
        return rf"\hat {letter}" if hat else letter

    def root(self, of: str) -> str:
        """A square root."""
        return rf"\sqrt{{{of}}}"

    def sum_over(self, index: str) -> str:
        """The sign of a sum."""
        return rf"\sum_{index} "

    def plain(self, text: str) -> str:
        """A text with every special character escaped."""
        return "".join(_LATEX.get(c, c) for c in visible(text))

    def words(self, text: str) -> str:
        """Words inside of an equation."""
        return rf"\text{{{self.plain(text)}}}"


class Html(Text):
    """Equations of elements that every browser knows."""

    minus, dot = " − ", " · "
    loss = MappingProxyType({"ℓ": "<i>ℓ</i>", "R": "<i>R̂</i>", "L": "<i>L</i>"})
    p, ones, mu, pi, theta = "<i>p</i>", "<b>1</b>", "<i>μ</i>", "<i>π</i>", "<i>θ</i>"
    arrow, gets = "→", "←"

    def number(self, value: Any, digits: int) -> str:
        """A number with a true minus sign, and a power of ten as one."""
        mantissa, e, exponent = numeral(value, digits).replace("-", "−").partition("e")
        ten = f"10<sup>{exponent[:1].strip('+0123456789')}{exponent.lstrip('+−0')}</sup>"
        return f"{mantissa} · {ten}" if e else mantissa

    def letter(self, base: str, layer: int | None, row: bool, transposed: bool = False) -> str:
        """An italic letter with its layer above (column notation) or below."""
        number = "" if layer is None else str(layer)
        top = "⊤" if transposed else ""
        if row:
            low = f"<sub>{number}</sub>" if number else ""
            return f"<i>{base}</i>{low}" + (f"<sup>{top}</sup>" if top else "")
        up = (f"({number})" if number else "") + top
        return f"<i>{base}</i>" + (f"<sup>{up}</sup>" if up else "")

    def partial(self, loss: str, of: str) -> str:
        """A fraction; whoever reads or copies the text gets its slash."""
        return (
            f'<span class="fraction"><span>∂{loss}</span><span class="slash">/</span>'
            f"<span>∂{of}</span></span>"
        )

    def function(self, name: str, of: str, prime: bool = False) -> str:
        """An upright name with its argument in parentheses."""
        return f"{self.plain(name)}{'′' * prime}({of})"

    def power(self, base: str, exponent: str) -> str:
        """A power."""
        return f"{base}<sup>{exponent}</sup>"

    def hatted(self, letter: str, hat: bool) -> str:
        """A letter, with a hat over it or without."""
        return f"<i>{letter}{chr(0x302) * hat}</i>"

    def root(self, of: str) -> str:
        """A square root."""
        return f"√{of}"

    def sum_over(self, index: str) -> str:
        """The sign of a sum."""
        return f"Σ<sub><i>{index}</i></sub> "

    def plain(self, text: str) -> str:
        """A text with every special character escaped."""
        return html.escape(visible(text))


DIALECTS: dict[str, Text] = {"text": Text(), "latex": Latex(), "html": Html()}


def visible(text: str) -> str:
    """A text on one line without control characters."""
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in str(text)))


@dataclass(frozen=True)
class Letters:
    """What everything is called: in a dialect, a notation, for one example or a batch."""

    dialect: Text
    row: bool
    batch: bool
    depth: int  # layers with weights
    activated: bool = False  # whether the outputs have an activation of their own

    def _letter(self, base: str, layer: int | None, transposed: bool = False) -> str:
        if self.batch and base not in "Wb":
            base = {"δ": "Δ"}.get(base, base.upper())
        return self.dialect.letter(base, layer, self.row, transposed)

    def _number(self, layer: int) -> int | None:
        """In row notation a single hidden layer needs no number."""
        return None if self.row and (layer == self.depth or self.depth == 2) else layer

    @property
    def x(self) -> str:
        """The input."""
        return self._letter("x", None)

    @property
    def outputs(self) -> str:
        """The outputs: the last pre-activation, or its activation f."""
        return self._letter("f", None) if self.activated else self.z(self.depth)

    @property
    def loss(self) -> str:
        """The loss of the example, or the mean over the batch."""
        return self.dialect.loss["L" if self.row else "R" if self.batch else "ℓ"]

    def z(self, layer: int, transposed: bool = False) -> str:
        """The pre-activation; in row notation that of a hidden layer is called a."""
        base = "a" if self.row and layer < self.depth else "z"
        return self._letter(base, self._number(layer), transposed)

    def h(self, layer: int, transposed: bool = False) -> str:
        """The hidden representation; that of layer 0 is the input."""
        if layer == 0:
            return self._letter("x", None, transposed)
        return self._letter("h", self._number(layer), transposed)

    def W(self, layer: int, transposed: bool = False) -> str:
        """The weights."""
        return self._letter("W", layer, transposed)

    def b(self, layer: int, transposed: bool = False) -> str:
        """The bias."""
        return self._letter("b", layer, transposed)

    def delta(self, layer: int, transposed: bool = False) -> str:
        """The derivative by the pre-activation."""
        if self.row:
            return self.by(self.z(layer))
        return self._letter("δ", layer, transposed)

    def by(self, of: str) -> str:
        """The derivative of the loss by something."""
        return self.dialect.partial(self.loss, of)
