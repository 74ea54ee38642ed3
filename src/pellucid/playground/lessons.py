"""Lessons: what a file of one may hold; `docs/playground.md` tells how a teacher writes it.

The page reads the same form (static/page/lesson_format.js); a test holds both against each other.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .._errors import InvalidInput

FORMAT = 1
MOST_STEPS, MOST_CHOICES, LONGEST_TEXT = 50, 10, 5000
WIDGETS = ("linear", "collapse", "gates", "hinges", "tent", "gradients", "symmetry")
GENERATED = (
    *("parameter-count", "weight-shape", "gradient-shape", "side", "blocked", "active-units"),
    *("regions-bound", "loss-of-point"),
)
CONTROLS = (
    *("data", "noise", "split", "dataSeed", "ownData", "features"),
    *("layers", "units", "activation", "weights", "scheme", "seed"),
    *("likelihood", "optimizer", "learningRate", "batchSize", "schedule", "regularization"),
    *("play", "step", "reset", "speed", "plane", "colour"),
    *("regions", "curves", "gradients", "inspector", "worked", "unitHealth"),
    *("seeds", "compare", "timeline", "code", "views", "challenges"),
    *("share", "undo"),
)
MEASURES = ("training_loss", "validation_loss", "units", "parameters", "hidden_layers", "step")
LESSON = ("format", "order", "title", "about", "steps")
STEP = ("title", "text", "state", "show", "widget", "question")
QUESTION = ("ask", "choices", "answer", "number", "tolerance", "explain", "generated", "goal")


def check_lesson(lesson: Any) -> None:
    """Raise `InvalidInput` with one sentence where that is no lesson.

    The state is checked by the page when a step is opened.
    """
    _fields(lesson, "the lesson", LESSON)
    if lesson.get("format") != FORMAT:
        raise InvalidInput(f"format is {lesson.get('format')!r:.40}; this version reads {FORMAT}.")
    _text(lesson.get("title"), "title", 120)
    _maybe(lesson, "order", lambda value: _number(value, "order"))
    _maybe(lesson, "about", lambda value: _text(value, "about", 400))
    steps = lesson.get("steps")
    if not isinstance(steps, list) or not 1 <= len(steps) <= MOST_STEPS:
        raise InvalidInput(f"steps needs to be a list of 1 to {MOST_STEPS} steps.")
    for i, step in enumerate(steps):
        _check_step(step, f"steps[{i}]")


def _check_step(step: Any, where: str) -> None:
    _fields(step, where, STEP)
    _text(step.get("text"), f"{where}.text", LONGEST_TEXT)
    _maybe(step, "title", lambda value: _text(value, f"{where}.title", 120))
    _maybe(step, "state", lambda value: _fields(value, f"{where}.state"))
    _maybe(step, "show", lambda value: _check_controls(value, f"{where}.show"))
    _maybe(step, "widget", lambda value: _one_of(value, f"{where}.widget", WIDGETS))
    _maybe(step, "question", lambda value: _check_question(value, f"{where}.question"))


def _check_controls(value: Any, where: str) -> None:
    _texts(value, where)
    for name in value:
        _one_of(name, where, CONTROLS)


def _check_question(question: Any, where: str) -> None:
    _fields(question, where, QUESTION)
    kinds = [kind for kind in ("choices", "number", "generated", "goal") if kind in question]
    if len(kinds) != 1:
        raise InvalidInput(f"{where} needs exactly one of choices, number, generated and goal.")
    if kinds == ["generated"]:
        return _one_of(question["generated"], f"{where}.generated", GENERATED)
    _text(question.get("ask"), f"{where}.ask", 1000)
    _maybe(question, "explain", lambda value: _text(value, f"{where}.explain", 2000))
    if kinds == ["choices"]:
        _texts(question["choices"], f"{where}.choices", 2)
        most = len(question["choices"]) - 1
        answer = question.get("answer")
        if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer <= most:
            raise InvalidInput(
                f"{where}.answer is {answer!r:.40}; it needs the place of the right choice, 0 to "
                f"{most}."
            )
    elif kinds == ["number"]:
        _number(question["number"], f"{where}.number")
        _maybe(question, "tolerance", lambda value: _number(value, f"{where}.tolerance"))
    else:
        _check_goal(question["goal"], f"{where}.goal")
    return None


def _check_goal(goal: Any, where: str) -> None:
    """Measures of the run, each with the number that it has to be at or below."""
    _fields(goal, where, MEASURES)
    if not goal:
        raise InvalidInput(f"{where} needs one of {', '.join(MEASURES)}.")
    for name, most in goal.items():
        _number(most, f"{where}.{name}")


def _fields(value: Any, where: str, names: tuple[str, ...] | None = None) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} needs to be a JSON object.")
    for name in value:
        if names is not None and name not in names:
            raise InvalidInput(f"{where} has {name!r:.40}; it takes {', '.join(names)}.")


def _maybe(value: Mapping[str, Any], name: str, check: Callable[[Any], None]) -> None:
    if name in value:
        check(value[name])


def _text(value: Any, where: str, longest: int) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise InvalidInput(f"{where} needs to be a text of 1 to {longest} characters.")


def _texts(value: Any, where: str, fewest: int = 0) -> None:
    most = 64 if fewest == 0 else MOST_CHOICES
    if not isinstance(value, list) or not fewest <= len(value) <= most:
        raise InvalidInput(f"{where} needs to be a list of {fewest} to {most} texts.")
    for text in value:
        _text(text, where, 400)


def _one_of(value: Any, where: str, names: tuple[str, ...]) -> None:
    if value not in names:
        raise InvalidInput(f"{where} is {value!r:.40}; choose one of {', '.join(names)}.")


def _number(value: Any, where: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e300:
        raise InvalidInput(f"{where} needs to be a number.")
