"""All kinds of questions, and how a quiz is drawn from them."""

import random
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

from .._errors import InvalidInput
from . import activations, approximation, concepts, losses, passes, regions, shapes, symmetry
from . import training as steps
from .question import Kind, Question

_MODULES = (shapes, passes, activations, losses, regions, approximation, symmetry, steps, concepts)
QUESTIONS: dict[str, Kind] = {kind.name: kind for module in _MODULES for kind in module.KINDS}
TOPICS: tuple[str, ...] = tuple(dict.fromkeys(kind.topic for kind in QUESTIONS.values()))
MOST_QUESTIONS = 10_000


def draw(
    count: int = 10, topics: str | Sequence[str] | None = None, seed: int = 0
) -> tuple[Question, ...]:
    """Draw a quiz: different kinds as long as there are any, each with numbers of its own.

    `topics` is one of `TOPICS` or several, or the name of a kind in `QUESTIONS`; None is all of
    them. The same arguments give the same questions, on every machine. `InvalidInput` is raised
    for a topic that does not exist.
    """
    kinds = _kinds(topics)
    count = whole(count, "count", MOST_QUESTIONS)
    rng = random.Random(f"quiz:{seed}")
    order: list[Kind] = []
    while len(order) < count:
        order += rng.sample(kinds, len(kinds))
    return tuple(kind.ask(f"{seed}:{i}") for i, kind in enumerate(order[:count]))


def whole(value: SupportsIndex, name: str, most: int) -> int:
    """A whole number from 1 on, or InvalidInput."""
    if not isinstance(value, SupportsIndex) or not 1 <= value.__index__() <= most:
        raise InvalidInput(f"{name} is {value!r:.40}; it needs a whole number from 1 to {most}.")
    return value.__index__()


def _kinds(topics: str | Sequence[str] | None) -> list[Kind]:
    if topics is None:
        return list(QUESTIONS.values())
    names = [topics] if isinstance(topics, str) or not isinstance(topics, Iterable) else [*topics]
    for name in names:
        if name not in TOPICS and name not in QUESTIONS:
            raise InvalidInput(f"topic is {name!r:.40}; choose one of {', '.join(TOPICS)}.")
    found = [kind for kind in QUESTIONS.values() if kind.topic in names or kind.name in names]
    if not found:
        raise InvalidInput(f"there is no topic; choose one of {', '.join(TOPICS)}.")
    return found
