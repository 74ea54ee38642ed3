"""scikit-learn's own callbacks, where that version has them, and a bar otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method as it is."""
        return method


TASKS = 20
"""Subtasks that the training of the networks of one fold is told in."""


@contextmanager
def reporting(
    estimator: Any, X: Any, y: Any, verbose: bool
) -> Iterator[bool | Callable[[int, int], object]]:
    """What the training takes as `progress`: the callbacks of the estimator, or a bar, or neither.

    A callback hears of the fit, and of a subtask after each twentieth of the steps of each fold.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield bool(verbose)
        return
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    told = 0

    def report(done: int, total: int) -> None:
        nonlocal told
        share = int(TASKS * done / max(total, 1))
        told = 0 if share < told else told  # the next fold has begun
        for _ in range(told, share):
            part = context.subcontext(task_name="training")
            part.call_on_fit_task_begin(estimator=estimator)
            part.call_on_fit_task_end(estimator=estimator)
        told = share

    yield report
    context.call_on_fit_task_end(
        estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: dict(vars(estimator))
    )
