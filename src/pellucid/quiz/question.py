"""A question with its answer, and the table that questions are drawn from."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Number = int | float | Fraction
EXACT = 1e-9  # tolerance of an answer that is a whole number or a short decimal
UNENDING = 6e-4  # of a fraction without a short decimal, given as a decimal: three of them
SEVERAL, ONE, CHOICE = "numbers", "number", "choice"


@dataclass(frozen=True)
class Question:
    """One question: its text, its answer, and why that is the answer.

    `form` is "number", "numbers" (in this order) or "choice" (one of `choices`; the answer is its
    index). `tolerance` is how far a number may be off, and `hint` says how to answer.
    """

    kind: str
    topic: str
    text: str
    form: str
    answer: tuple[Number, ...]
    explanation: str
    tolerance: float = EXACT
    choices: tuple[str, ...] = ()
    hint: str = ""
    told: str = ""

    @property
    def expected(self) -> str:
        """The answer as it is told after the question."""
        if self.told:
            return self.told
        if self.form == CHOICE:
            return self.choices[int(self.answer[0])]
        if self.form == ONE:
            return written(self.answer[0], self.tolerance)
        texts = [written(value, self.tolerance) for value in self.answer]
        return ", ".join(text.rpartition(" = ")[2] for text in texts)


@dataclass(frozen=True)
class Kind:
    """A kind of question: what it asks for, and how one is made from a source of randomness."""

    name: str
    topic: str
    summary: str
    make: Callable[[random.Random], dict[str, Any]]

    def ask(self, seed: int | str) -> Question:
        """The question of that seed; the same for the same seed, anywhere."""
        asked = self.make(random.Random(f"{self.name}:{seed}"))
        return Question(kind=self.name, topic=self.topic, **asked)


def kind(topic: str) -> Callable[[Callable[[random.Random], dict[str, Any]]], Kind]:
    """Make a kind of question of a function; its first line of documentation is the summary."""

    def made(function: Callable[[random.Random], dict[str, Any]]) -> Kind:
        name = function.__name__.strip("_").replace("_", "-")
        summary = (function.__doc__ or "").splitlines()[0].rstrip(".")
        return Kind(name, topic, summary, function)

    return made


# ---- what the makers return


def number(text: str, answer: Number, explanation: str, decimals: int | None = None) -> dict:
    """A question for one number; with `decimals` it may be rounded to so many."""
    return {
        "text": text,
        "form": ONE,
        "answer": (answer,),
        "explanation": explanation,
        "tolerance": _tolerance([answer], decimals),
        "hint": _hint(decimals),
    }


def numbers(
    text: str, answers: Sequence[Number], explanation: str, decimals: int | None = None
) -> dict:
    """A question for several numbers, in order."""
    return number(text, 0, explanation, decimals) | {
        "form": SEVERAL,
        "answer": tuple(answers),
        "tolerance": _tolerance(answers, decimals),
        "hint": " ".join(("numbers with commas between them;", _hint(decimals))).rstrip("; "),
    }


def shapes(text: str, answers: Sequence[tuple[int, ...]], explanation: str) -> dict:
    """A question for one shape or several."""
    flat = [size for shape in answers for size in shape]
    return numbers(text, flat, explanation) | {"told": ", ".join(map(str, answers))}


def choice(
    rng: random.Random, text: str, right: str, wrong: Sequence[str], explanation: str
) -> dict:
    """A question with one right answer among some wrong ones, in random order."""
    choices = [right, *wrong]
    rng.shuffle(choices)
    return {
        "text": text,
        "form": CHOICE,
        "answer": (choices.index(right),),
        "explanation": explanation,
        "choices": tuple(choices),
        "hint": "a letter",
    }


def _tolerance(answers: Sequence[Number], decimals: int | None) -> float:
    """One unit of the last decimal that is asked for, so that cutting off passes, too."""
    if decimals is not None:
        return 1.0001 * 10.0**-decimals
    unending = any(isinstance(a, Fraction) and not _is_short(a) for a in answers)
    return UNENDING if unending else EXACT


def _is_short(value: Fraction) -> bool:
    """Whether it has at most six decimals."""
    return (value * 10**6).denominator == 1


def _hint(decimals: int | None) -> str:
    if decimals is None:
        return ""
    return f"to {decimals} decimal{'s' * (decimals != 1)}"


def written(value: Number, tolerance: float = EXACT) -> str:
    """A number in an answer: whole, a fraction, or with the decimals that were asked for."""
    if isinstance(value, int) or Fraction(value).denominator == 1:
        return str(int(value))
    if isinstance(value, Fraction):
        return f"{value} = {float(value):.6f}".rstrip("0") if _is_short(value) else str(value)
    text = f"{value:.{min(6, round(-math.log10(tolerance)))}f}"
    return "0" if float(text) == 0 else text
