"""Questions for a page without Python: the numbers are drawn here, the grading is simple."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .question import Number, Question
from .table import QUESTIONS, TOPICS, draw, whole

FORMAT = 1
MOST_VARIANTS = 1000


def to_dict(questions: Sequence[Question]) -> dict[str, Any]:
    """Questions as plain values, for JSON.

    Each has its `text`, `form` ("number", "numbers" or "choice"), `answer` (numbers; of a choice
    the index), `tolerance` (a number counts as right if it is no farther off), `choices`, `hint`,
    `expected` (the answer in words) and `explanation`.
    """
    return {
        "format": FORMAT,
        "topics": list(TOPICS),
        "questions": [_plain(question) for question in questions],
    }


def export(variants: int = 20, topics: str | Sequence[str] | None = None, seed: int = 0) -> dict:
    """Every kind of question with several sets of numbers, for a static page; see `to_dict`.

    A kind that is always the same but for the order of its choices comes once.
    """
    variants = whole(variants, "variants", MOST_VARIANTS)
    kinds = {q.kind for q in draw(len(QUESTIONS), topics, seed)}
    found: dict[tuple, Question] = {}
    for name in (name for name in QUESTIONS if name in kinds):
        for i in range(variants):
            question = QUESTIONS[name].ask(f"{seed}:export:{i}")
            found.setdefault((name, question.text), question)
    return to_dict(list(found.values()))


def _plain(question: Question) -> dict[str, Any]:
    return {
        "kind": question.kind,
        "topic": question.topic,
        "text": question.text,
        "form": question.form,
        "answer": [_number(value) for value in question.answer],
        "tolerance": question.tolerance,
        "choices": list(question.choices),
        "hint": question.hint,
        "expected": question.expected,
        "explanation": question.explanation,
    }


def _number(value: Number) -> int | float:
    if isinstance(value, float):
        return value
    return int(value) if Fraction(value).denominator == 1 else float(value)
