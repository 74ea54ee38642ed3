"""The way in: nothing heavy is imported before an interruption can be told in one line."""

import errno
import os
import sys
from collections.abc import Sequence

from ._streams import checked_streams

MISTAKE, INTERRUPTED = 2, 130


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0: done; 1: a verdict that `--fail-on` names, a row of `reproduce` that disagrees, or a
    certificate that `verify` refuses; 2: a user's mistake or a file that cannot be written, told in
    one line on standard error; 130: interrupted. Anything else that goes wrong is a bug and keeps
    its traceback.
    """
    from ._main import execute

    return execute([str(word) for word in arguments])


def main() -> None:
    """Run the command of this process (the entry point of the script `pellucid`)."""
    try:
        code = _run_checked()
    except KeyboardInterrupt:  # while something was imported or printed
        code = _told("interrupted", INTERRUPTED)
    sys.exit(code)


def _run_checked() -> int:
    """Run, and give code 2 where standard output did not take everything; files stay."""
    output = checked_streams()
    if output is None:
        return _told("cannot print: standard output is closed; nothing was done.", MISTAKE)
    try:
        code = run(sys.argv[1:])
    except SystemExit as stop:  # how a library answers a reader that has gone
        code = stop.code if isinstance(stop.code, int) else MISTAKE
    sys.stdout.flush()
    if output.error is None or code == INTERRUPTED:
        return code
    if output.error.errno == errno.EPIPE:  # the reader, such as `head`, has what it wanted
        return MISTAKE
    reason = (output.error.strerror or os.strerror(output.error.errno or 0)).lower()
    return _told(f"cannot print: {reason}; files were written as usual.", MISTAKE)


def _told(text: str, code: int) -> int:
    if sys.stderr is not None:
        print(f"pellucid: {text}", file=sys.stderr)
    return code
