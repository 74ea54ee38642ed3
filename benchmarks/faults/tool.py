"""What a tool is: a function that gets a case and says what is wrong with it."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .case import KINDS, UNDECIDED, Case


@dataclass(frozen=True)
class Answer:
    """What a tool said: kinds, the main one first; none is "undecided".

    `proved` says that the tool calls its first kind proved. `certificate` is a document that
    `pellucid verify` reads, `table` the CSV text that it is about. `said` are the tool's own words.
    """

    kinds: tuple[str, ...] = ()
    proved: bool = False
    certificate: Mapping[str, Any] | None = None
    table: str | None = None
    said: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


Tool = Callable[[Case, float, int], Answer | str | Sequence[str]]
"""tool(case, budget in seconds, threads)"""
OWN = {
    "pellucid": "faults.tools.with_pellucid:diagnose",
    "torchmortem": "faults.tools.with_torchmortem:diagnose",
    "gradsnitch": "faults.tools.with_gradsnitch:diagnose",
    "sk-autod": "faults.tools.with_sk_autod:diagnose",
}
"""Short names of the adapters that come with the benchmark."""


class NotATool(Exception):
    """A tool that cannot be loaded, or that answers what is no answer."""


def load(name: str) -> Tool:
    """The function that "module:function", or a short name, stands for."""
    module, _, function = OWN.get(name, name).partition(":")
    if not function:
        known = ", ".join(OWN)
        raise NotATool(f"tool is {name!r}; it needs module:function, or one of {known}.")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise NotATool(f"the tool {name!r} cannot be loaded: {error}.") from None


def answer_of(value: Answer | str | Sequence[str] | None) -> Answer:
    """One kind, several kinds, or an `Answer`, checked."""
    if value is None:
        return Answer()
    if isinstance(value, str):
        value = Answer((value,))
    elif not isinstance(value, Answer):
        value = Answer(tuple(value))
    strange = [kind for kind in value.kinds if kind not in (*KINDS, UNDECIDED)]
    if strange:
        raise NotATool(f"the tool answered {strange[0]!r}; kinds are {', '.join(KINDS)}.")
    return value
