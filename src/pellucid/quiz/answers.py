"""What was typed as an answer, read kindly: fractions, powers, commas, brackets, a word behind."""

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .._errors import InvalidInput
from .question import CHOICE, ONE, Number, Question

LONGEST = 200  # characters
UNIT = re.compile(r"(?<=[\d)!%])\s*(nats?|units?|pieces?|layers?|parameters?|regions?)\.?$")
LARGEST_POWER, LARGEST_BASE, LARGEST_FACTORIAL = 200, 10**6, 30


@dataclass(frozen=True)
class Grade:
    """Whether an answer is right, and whether it was understood at all."""

    right: bool
    understood: bool
    expected: str
    explanation: str


def grade(question: Question, answer: str) -> Grade:
    """Grade what was typed.

    A number may be written as 0.25, 1/4, 25 %, 2^-2, .25 or 2,5e-1, with a name before it and a
    unit behind it; several stand in any brackets with commas or spaces between them. A choice is
    its letter, its number or its text. One unit of the last decimal that is asked for is allowed.
    """
    if not isinstance(question, Question) or not isinstance(answer, str):
        raise InvalidInput(
            f"got {question!r:.40} and {answer!r:.40}; grade needs a Question and the text of an "
            "answer."
        )
    readings = _choice(question, answer) if question.form == CHOICE else read(question.form, answer)
    right = any(_is_right(question, reading) for reading in readings)
    return Grade(right, bool(readings), question.expected, question.explanation)


def _is_right(question: Question, reading: list[Number]) -> bool:
    if len(reading) != len(question.answer):
        return False
    pairs = zip(reading, question.answer, strict=True)
    return all(_is_near(given, true, question.tolerance) for given, true in pairs)


def _is_near(given: Number, true: Number, tolerance: float) -> bool:
    if given == true:
        return True
    try:
        difference = abs(Fraction(given) - Fraction(true))
    except (ValueError, OverflowError):  # not a finite number
        return False
    return difference <= Fraction(tolerance)


def _choice(question: Question, answer: str) -> list[list[Number]]:
    whole = answer.strip().lower().rstrip(".")
    word = whole.strip("() ")
    letters = "abcdefghij"[: len(question.choices)]
    if len(word) == 1 and word in letters:
        return [[letters.index(word)]]
    if word.isascii() and word.isdigit() and 1 <= int(word[:4]) <= len(question.choices):
        return [[int(word[:4]) - 1]]
    texts = [choice.lower().rstrip(".") for choice in question.choices]
    return [[texts.index(whole)]] if whole in texts else []


def read(form: str, answer: str) -> list[list[Number]]:
    """All ways to read the answer; none where it is no answer."""
    text = _tidy(answer)
    if not text or len(text) > LONGEST:
        return []
    ways = _as_one(text) if form == ONE else _as_several(text)
    found = []
    for way in ways:
        values = [_value(word) for word in way]
        if values and all(value is not None for value in values):
            found.append(values)
    return found


def _tidy(answer: str) -> str:
    text = answer.strip().lower()
    for old, new in (("−", "-"), ("–", "-"), ("·", "*"), ("×", "x"), ("÷", "/"), ("**", "^")):
        text = text.replace(old, new)
    text = re.sub(r"[a-z][\w\[\]()']*\s*=", "", text).strip().removeprefix("=").strip()  # z = 1.6
    return re.sub(
        r"(?<=[\d)!%])\s*(nats?|units?|pieces?|layers?|parameters?|regions?)\.?$", "", text
    )


def _as_one(text: str) -> list[list[str]]:
    text = text.rpartition("=")[2]  # 1/4 = 0.25
    text = re.sub(r"(?<=[\d!)])\s*x\s*(?=[\d(])", "*", text.strip("[] "))
    ways = [[text]]
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+", text):  # 1,024
        ways.append([text.replace(",", "")])
    if re.fullmatch(r"[-+]?\d*,\d+(e[-+]?\d+)?", text):  # 0,25
        ways.append([text.replace(",", ".")])
    return ways


def _as_several(text: str) -> list[list[str]]:
    """Split at commas or semicolons, or else at spaces; 64x4 is a shape."""
    flat = re.sub(r"(?<=\d)\s*x\s*(?=\d)", ",", text)
    flat = re.sub(r"torch\.size|\band\b", ",", flat)
    flat = re.sub(r"[\[\]{}]", " ", flat)
    if not re.search(r"[a-z]\(", flat):
        flat = re.sub(r"[()]", " ", flat)
    if ";" in flat and "," in flat:  # 0,5; 0,25
        ways = [flat.replace(",", ".").split(";"), re.split(r"[,;]", flat)]
    else:
        ways = [re.split(r"[,;]", flat) if re.search(r"[,;]", flat) else flat.split()]
        ways.append(re.split(r"[,;\s]+", flat.strip()))
    return [[word.strip() for word in way if word.strip()] for way in ways]


# ---- arithmetic


NOT_A_NUMBER = (
    *(SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError),
    Warning,
)


def _value(word: str) -> Number | None:
    """The number that an expression is, or None."""
    percent = word.endswith("%")
    word = word.removesuffix("%").strip()
    word = re.sub(r"(\d+)!", r"factorial(\1)", word.replace("^", "**").replace("π", "pi"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = _evaluate(ast.parse(word, mode="eval").body)
    except (
        SyntaxError,
        ValueError,
        TypeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
        Warning,
    ):
        return None
    if isinstance(found, float) and not math.isfinite(found):
        return None
    return found / 100 if percent else found


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > LARGEST_POWER or abs(base) > LARGEST_BASE:
        raise ValueError
    whole = Fraction(exponent).denominator == 1
    found = Fraction(base) ** int(exponent) if whole else float(base) ** float(exponent)
    if isinstance(found, complex):
        raise ValueError
    return found


def _factorial(n: Number) -> Number:
    if n != int(n) or not 0 <= n <= LARGEST_FACTORIAL:
        raise ValueError
    return math.factorial(int(n))


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "factorial": _factorial,
    **{name: getattr(math, name) for name in ("sqrt", "log", "exp", "tanh")},
    "ln": math.log,
}
_NAMES = {"pi": math.pi, "e": math.e}


def _evaluate(node: ast.expr) -> Number:
    """The value of numbers, operators and a few functions; ValueError for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        if isinstance(node.value, bool) or not math.isfinite(node.value):
            raise ValueError
        return Fraction(str(node.value))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        if any(isinstance(v, Fraction | int) and abs(v) > 10**300 for v in (left, right)):
            raise ValueError
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.operand))
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None and len(node.args) == 1:
            return function(_evaluate(node.args[0]))
    raise ValueError
