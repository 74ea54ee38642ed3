"""How the running command was called, for the report that says how to repeat it."""

import shlex
from contextvars import ContextVar

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


def command_line() -> str:
    """Return the command as one would type it."""
    return shlex.join(["pellucid", *ARGUMENTS.get()])
