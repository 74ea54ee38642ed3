"""The type checker of the test session: beartype, where a whole number is a float (PEP 484).

A check of shapes and types takes longer than most of the functions that it is for. So each function
is checked at its first `FULLY` calls in every test, and from then on at one call in `ONE_IN`:
what is checked in a test does not depend on the tests before it. The checking form of a function is
made at its first call: there are thousands, and a process of the tests calls few of them.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
FULLY, ONE_IN = 10, 25
_jaxtyped = jaxtyping.jaxtyped
_test = 0


def begin_test() -> None:
    """Count calls anew."""
    global _test
    _test += 1


def often_enough(make_checked: Callable[[], Callable], plain: Callable) -> Callable:
    """The checked form for the first calls of a test and some of the later ones, else `plain`."""
    calls, counted_in, checked = 0, _test, None

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        nonlocal calls, counted_in, checked
        if counted_in != _test:
            calls, counted_in = 0, _test
        calls += 1
        if calls > FULLY and calls % ONE_IN:
            return plain(*args, **kwargs)
        checked = checked or make_checked()
        return checked(*args, **kwargs)

    return function


def jaxtyped(**options: Any) -> Callable:
    """jaxtyping's decorator, whose functions are not checked at every call."""

    def decorate(thing: Any) -> Any:
        make = functools.partial(_jaxtyped(**options), thing)
        return often_enough(make, thing) if inspect.isfunction(thing) else make()

    return decorate
