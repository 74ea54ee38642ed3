"""Computes what the equations of a worked pass say, in whichever dialect they are written."""

import html
import math
import re
from typing import Any

import numpy as np
from scipy.special import digamma, log_softmax, softmax

LETTERS = {r"\mu": "μ", r"\nu": "ν", r"\tau": "τ", r"\pi": "π", r"\gamma": "γ", r"\ell": "ℓ"}
NUMBER = r"-?\d+(?:\.\d+)?(?:(?:e-?\d+)|(?:\*10\*\*\(-?\d+\)))?"
FUNCTIONS = {
    "E": math.e,
    "PI": math.pi,
    "log": np.log,
    "abs": abs,
    "lgamma": math.lgamma,
    "digamma": digamma,
    "softmax": lambda *v: softmax(v[0] if len(v) == 1 else v),
    "log_softmax": log_softmax,
    "factorial": lambda n: math.gamma(n + 1),
    "array": np.array,
}


def as_python(text: str) -> str:
    """An equation as Python writes it, with `=` as it is."""
    for name, letter in LETTERS.items():
        text = text.replace(name, letter)
    text = re.sub(r"\\operatorname\{(\w+)\}", r"\1", text)
    text = re.sub(r"<sup>(.*?)</sup>", r"^{\1}", text)
    text = re.sub(r"<[^>]*>", "", html.unescape(text))
    for old, new in ((r"\log", "log"), (r"\cdot", "*"), ("·", "*"), ("−", "-")):
        text = text.replace(old, new)
    text = text.replace("{", "(").replace("}", ")").replace("^", "**")
    text = re.sub(r" ?\* ?", "*", text)
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", text)
    text = re.sub(r"(\d+)!", r"factorial(\1)", text).replace("2π", "2*PI")
    text = re.sub(rf"(?<!softmax)\(({NUMBER}(?:, {NUMBER})+)\)", r"array([\1])", text)
    return re.sub(r"\be\*\*", "E**", text)


class Reader:
    """What the letters of the equations stand for, as they are defined one after the other."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def values(self, parts: list[str]) -> list[Any]:
        """What each side of an equation comes to."""
        return [eval(part, {"__builtins__": {}}, FUNCTIONS | self.known) for part in parts]

    def define(self, equation: str) -> None:
        """Take a definition, name = right-hand side = number, and check that both sides agree."""
        name, *rest = as_python(equation).split(" = ")
        computed, shown = self.values(rest)
        np.testing.assert_allclose(computed, shown, rtol=1e-9, atol=1e-12, err_msg=equation)
        letter, _, index = name.partition("[")
        if index:
            self.known.setdefault(letter, {})[int(index[:-1])] = np.array(shown)
        else:
            self.known[letter] = np.array(shown)
