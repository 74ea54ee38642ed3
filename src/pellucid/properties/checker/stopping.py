"""How long a check may take."""

import time


class OutOfTime(Exception):
    """The time for a check is over."""


class Clock:
    """Time that is left; None never ends."""

    def __init__(self, seconds: float | None):
        self.end = None if seconds is None else time.monotonic() + seconds

    def ask(self) -> None:
        """Raise `OutOfTime` where none is left."""
        if self.end is not None and time.monotonic() > self.end:
            raise OutOfTime
