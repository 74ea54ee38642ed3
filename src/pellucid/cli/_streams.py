"""Standard output and error that may be full, closed or without a reader, and stop no work."""

import io
import os
import sys
from typing import Any


class Output(io.RawIOBase):
    """A raw stream that keeps its first error and from then on drops what is written.

    The command goes on to its end, so that files are written whatever becomes of the text.
    """

    def __init__(self, raw: Any):
        self._raw = raw
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Say yes."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the stream behind."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Tell whether a terminal is behind."""
        return self._raw.isatty()

    def write(self, data: Any) -> int | None:
        """Write as much as the stream behind takes at once."""
        if self.error is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.error = error
        return len(data)


def checked_streams() -> Output | None:
    """Put an `Output` behind standard output and error; None where standard output is closed.

    A letter that a terminal does not have is replaced. Closed descriptors are led nowhere, so that
    no file that is opened later takes their number.
    """
    closed = sys.stdout is None
    _fill_descriptors()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # for as long as the process lives
    else:
        sys.stderr, _ = _checked(sys.stderr)
    if closed:
        return None
    sys.stdout, output = _checked(sys.stdout)
    return output


def _fill_descriptors() -> None:
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def _checked(stream: Any) -> tuple[Any, Output]:
    """Return the stream with an `Output` in its place; one that is no text file stays as it is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream, Output(None)
    stream.flush()
    output = Output(getattr(stream.buffer, "raw", stream.buffer))
    text = io.TextIOWrapper(
        io.BufferedWriter(output),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    return text, output
