"""A progress bar on a terminal, silence in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]


@contextmanager
def progress_bar(show: bool | Progress | None) -> Iterator[Progress | None]:
    """Yield what the engine calls with (steps done, steps in all): a bar, `show` itself, or None.

    `show=None` draws the bar when standard error is a terminal.
    """
    if callable(show):
        yield show
    elif show or (show is None and sys.stderr.isatty()):
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("training", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield None
