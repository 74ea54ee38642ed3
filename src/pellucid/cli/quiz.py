"""`pellucid quiz`: questions with generated numbers, graded on the terminal or in a pipe."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import InvalidInput
from ._options import LARGEST_SEED

if TYPE_CHECKING:
    from ..quiz import Grade, Question

INTERRUPTED = 130
LETTERS = "abcdefghij"
WIDTH = 96
MOST_VARIANTS = 1000
AGAIN = "That could not be read as an answer; once more (or return to give up): "


def quiz(
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC",
            help="Ask about this topic only; may be given again. --list names them.",
            show_default="all of them",
        ),
    ] = None,
    count: Annotated[int, typer.Option(help="Questions.")] = 10,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the questions and their numbers; the same gives the same quiz.",
            show_default="another one each time",
        ),
    ] = None,
    list_topics: Annotated[
        bool, typer.Option("--list", help="List the topics and kinds of questions.")
    ] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Print questions with their answers; ask nothing.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the questions with their answers as JSON.")
    ] = False,
    variants: Annotated[
        int | None,
        typer.Option(
            help="With --json: every kind of question with so many sets of numbers, for a page.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Answer questions about feedforward networks: shapes, passes, gradients, regions, losses.

    Numbers may be 0.25, 1/4, 2^-2; return alone gives a question up, q ends the quiz.

    Example: pellucid quiz --topic backward --count 5
    """
    from ..quiz import draw

    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput(f"--seed is {seed}; it needs a whole number from 0 to {LARGEST_SEED}.")
    if variants is not None and not (json and 1 <= variants <= MOST_VARIANTS):
        raise InvalidInput(
            f"--variants is {variants}; it goes with --json, and needs a whole number from 1 to "
            f"{MOST_VARIANTS}."
        )
    if list_topics:
        _list()
        return 0
    if json:
        _print_json(count, topic, seed or 0, variants)
        return 0
    seed = _any_seed() if seed is None else seed
    questions = draw(count, topic, seed)
    if answers:
        _print_answers(questions)
        return 0
    return _Session(questions, seed, topic).hold()


def _any_seed() -> int:
    import secrets

    return secrets.randbelow(100_000)


def _list() -> None:
    from ..quiz import QUESTIONS
    from ._console import console, print_table

    rows = [(kind.topic, kind.name, kind.summary) for kind in QUESTIONS.values()]
    print_table(console(), ("topic", "kind", "asks for"), rows, right_from=3)


def _print_json(count: int, topic: list[str] | None, seed: int, variants: int | None) -> None:
    from json import dumps

    from ..quiz import draw, export, to_dict

    if variants is not None:
        found = export(variants, topic, seed)
    else:
        found = to_dict(draw(count, topic, seed))
    typer.echo(dumps(found, indent=1, ensure_ascii=False, allow_nan=False))


def _print_answers(questions: "Sequence[Question]") -> None:
    for i, question in enumerate(questions, 1):
        typer.echo(_told(question, i, len(questions)))
        typer.echo(_wrapped(f"Answer: {question.expected}. {question.explanation}") + "\n")


def _told(question: "Question", i: int, n: int) -> str:
    lines = [_wrapped(f"{i}/{n} ({question.topic}) {question.text}")]
    for letter, choice in zip(LETTERS, question.choices, strict=False):
        lines.append(_wrapped(choice, f"  {letter}) ", "     "))
    return "\n".join(lines)


def _wrapped(text: str, first: str = "", others: str = "") -> str:
    from textwrap import fill

    return fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


class _Ended(Exception):
    """The one who answers wants no more questions, or the pipe has none."""


class _Session:
    """Asks one question after another and keeps the score."""

    def __init__(self, questions: "Sequence[Question]", seed: int, topics: list[str] | None):
        self.questions, self.seed, self.topics = questions, seed, topics
        self.asked: list[tuple[Question, Grade]] = []
        self.on_terminal = sys.stdin is not None and sys.stdin.isatty()

    def hold(self) -> int:
        """Ask them all, or until the end; the score so far is told in any case."""
        code = 0
        typer.echo(f"{len(self.questions)} questions (seed {self.seed}); q ends the quiz.\n")
        try:
            for i, question in enumerate(self.questions, 1):
                typer.echo(_told(question, i, len(self.questions)))
                self._ask(question)
        except _Ended:
            typer.echo("")
        except (KeyboardInterrupt, typer.Abort):
            typer.echo("")
            code = INTERRUPTED
        self._score()
        return code

    def _ask(self, question: "Question") -> None:
        from ..quiz import grade

        hint = f" ({question.hint})" if question.hint else ""
        answer = self._line(f"Your answer{hint}: ")
        found = grade(question, answer)
        while self.on_terminal and answer and not found.understood:
            answer = self._line(AGAIN)
            found = grade(question, answer)
        self.asked.append((question, found))
        if found.right:
            told = "Right."
        elif not answer:
            told = f"The answer is {found.expected}."
        else:
            unread = "" if found.understood else " (it could not be read as an answer)"
            told = f"No{unread}: {found.expected}."
        typer.echo(_wrapped(f"{told} {found.explanation}") + "\n")

    def _line(self, prompt: str) -> str:
        """One line of standard input; in a pipe it is shown behind its prompt."""
        typer.echo(prompt, nl=False)
        if self.on_terminal:
            sys.stdout.flush()
        line = "" if sys.stdin is None else sys.stdin.readline(10_000)
        if not line or line.strip().lower() in ("q", "quit", "exit"):
            raise _Ended
        if not self.on_terminal:
            from ._console import visible

            typer.echo(visible(line.strip())[:80])
        return line.strip()

    def _score(self) -> None:
        right = sum(found.right for _, found in self.asked)
        n = len(self.asked)
        if not n:
            typer.echo("No question was answered.")
            return
        share = f" ({100 * right / n:.0f} %)"
        left = len(self.questions) - n
        rest = f"; {left} not asked" if left else ""
        typer.echo(f"{right} of {n} right{share}{rest}.")
        missed = dict.fromkeys(q.topic for q, found in self.asked if not found.right)
        if missed:
            typer.echo(f"To practise: {', '.join(f'pellucid quiz --topic {t}' for t in missed)}")
        words = "".join(f" --topic {t}" for t in self.topics or ())
        typer.echo(
            f"The same questions again: pellucid quiz{words} --count {len(self.questions)} "
            f"--seed {self.seed}"
        )
