"""scikit-learn's own callbacks, where that version has them, and a bar otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

CallbackSupport: Any = object
"""The mixin of scikit-learn 1.9; before it there is nothing to support."""


def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as it is."""
    return method


with suppress(ImportError):  # before 1.9
    from sklearn import callback

    CallbackSupport, with_callbacks = callback.CallbackSupportMixin, callback.with_callbacks


TASKS = 20
"""Subtasks that the training of the networks of one fold is told in."""


@contextmanager
def reporting(
    estimator: Any, X: Any, y: Any, verbose: bool
) -> Iterator[Callable[[], bool | Callable[[int, int], None]]]:
    """What gives each fold its `progress`: the callbacks of the estimator, or a bar, or neither.

    A callback hears of the fit, and of a subtask after each twentieth of the steps of each fold.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield lambda: bool(verbose)
        return
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    yield lambda: _reporter(estimator, context)
    context.call_on_fit_task_end(
        estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: dict(vars(estimator))
    )


def _reporter(estimator: Any, context: Any) -> Callable[[int, int], None]:
    """Tells the callbacks of one fold's subtasks, each of them once."""
    told = 0

    def report(done: int, total: int) -> None:
        nonlocal told
        share = int(TASKS * done / max(total, 1))
        for _ in range(told, share):
            part = context.subcontext(task_name="training")
            part.call_on_fit_task_begin(estimator=estimator)
            part.call_on_fit_task_end(estimator=estimator)
        told = max(told, share)

    return report
