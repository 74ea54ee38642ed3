"""How the running command was called, for the report that says how to repeat it."""

import shlex
from contextvars import ContextVar

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


def command_line() -> str:
    """Return the command as one would type it."""
    return shlex.join(["pellucid", *ARGUMENTS.get()])


def as_diagnose() -> str:
    """Return the running `train` command as the `diagnose` command with the same recipe."""
    words = iter(ARGUMENTS.get()[1:])
    kept: list[str] = []
    for word in words:
        if word in ("--out", "--likelihood"):
            next(words, None)
        elif not word.startswith(("--out=", "--likelihood=")):
            kept.append(word)
    return shlex.join(["pellucid", "diagnose", *kept])


def is_given(option: str) -> bool:
    """Whether an option such as "--hidden" stands in the command."""
    return any(word == option or word.startswith(f"{option}=") for word in ARGUMENTS.get())
