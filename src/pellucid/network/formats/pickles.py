"""Pickles, read as data: no name in them is imported and nothing is called.

`read_pickle` follows the opcodes itself. What a pickle would import becomes a `Global`, which is
only its name, and what it would call is looked up in a table of harmless functions. Any other name
ends the reading, before anything is done with it.
"""

import pickletools
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from ..._errors import InvalidFile

MOST_OPCODES = 500_000
DEEPEST = 100  # values inside values


@dataclass(frozen=True)
class Global:
    """The name of something that unpickling would import."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass
class Record:
    """An object that unpickling would make: its class by name, and its attributes."""

    kind: Global
    state: Any = None


class Table(dict):
    """A dictionary, with the attributes that a pickle sets on it."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: dict[str, Any] = {}


class BlockedGlobal(InvalidFile):
    """A pickle asks for a name that is not on the list of harmless ones."""


Harmless = Mapping[str, Callable[[tuple[Any, ...]], Any]]


@dataclass
class _Machine:
    """The stack and the memo of one pickle."""

    harmless: Harmless
    is_record: Callable[[Global], bool]
    persistent: Callable[[Any], Any]
    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def step(self, code: str, argument: Any) -> None:
        """Follow one opcode."""
        if code in _CONSTANTS:
            self.stack.append(_CONSTANTS[code])
        elif code in _LITERALS:
            self.stack.append(argument)
        elif code in _STEPS:
            _STEPS[code](self, argument)
        else:
            raise InvalidFile(f"its pickle has the opcode {code}, which no weights need.")

    def pop(self, n: int = 1) -> list[Any]:
        bottom = self.marks[-1] if self.marks else 0
        if len(self.stack) - n < bottom:
            raise InvalidFile("its pickle is damaged: the stack is empty.")
        values = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return values

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            raise InvalidFile("its pickle is damaged: a mark is missing.")
        start = self.marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise InvalidFile(f"its pickle is damaged: a {kind.__name__} is missing.")
        return self.stack[-1]

    def put(self, index: int) -> None:
        self.memo[index] = self.top(object)

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise InvalidFile("its pickle is damaged: it refers to what is not there.")
        self.stack.append(self.memo[index])

    def global_(self, module: Any, name: Any) -> None:
        found = Global(str(module), str(name))
        if str(found) not in self.harmless and not self.is_record(found):
            raise BlockedGlobal(
                f"its pickle asks for {str(found)!r:.120}, which is not on the list of harmless "
                "names; nothing was run."
            )
        self.stack.append(found)

    def instance(self, module: str, name: str) -> None:
        arguments = tuple(self.pop_mark())
        self.global_(module, name)
        self.stack.append(arguments)
        self.call()

    def set_items(self, pairs: list[Any]) -> None:
        table = self.top(dict)
        for key, value in zip(pairs[::2], pairs[1::2], strict=False):
            if not isinstance(key, str | int | float | None | Global):
                raise InvalidFile("its pickle has a dictionary whose keys are not text or numbers.")
            table[key] = value

    def dict_(self) -> None:
        pairs = self.pop_mark()
        self.stack.append(Table())
        self.set_items(pairs)

    def append(self, values: list[Any]) -> None:
        place = self.top(object)
        if isinstance(place, list):
            place.extend(values)
        elif not isinstance(place, Record):  # such as a deque: not needed
            raise InvalidFile("its pickle is damaged: a list is missing.")

    def call(self) -> None:
        function, arguments = self.pop(2)
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            raise InvalidFile("its pickle is damaged: it calls what is no function.")
        self.stack.append(
            Record(function)
            if self.is_record(function)
            else self.harmless[str(function)](arguments)
        )

    def build(self) -> None:
        (state,) = self.pop()
        target = self.top(object)
        if isinstance(target, Table) and isinstance(state, dict):
            target.attributes.update((k, v) for k, v in state.items() if isinstance(k, str))
        elif isinstance(target, Record):
            target.state = state


def read_pickle(
    file: BytesIO,
    harmless: Harmless,
    persistent: Callable[[Any], Any],
    is_record: Callable[[Global], bool] = lambda name: False,
) -> Any:
    """The value of the pickle that starts here, made of plain data.

    `harmless` maps the full names that may be called to functions of the tuple of arguments,
    `is_record` says which other classes become a `Record`, and `persistent` resolves what the
    pickle refers to outside itself. `BlockedGlobal` names the first other name, and `InvalidFile`
    says what is damaged.
    """
    machine = _Machine(harmless, is_record, persistent)
    try:
        _follow(machine, file)
    except InvalidFile:
        raise
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError):
        raise InvalidFile("its pickle is damaged or cut short.") from None
    return machine.pop()[0]


def _follow(machine: _Machine, file: BytesIO) -> None:
    with _quiet():
        for n, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if n > MOST_OPCODES:
                raise InvalidFile(f"its pickle has more than {MOST_OPCODES} opcodes.")
            if opcode.name == "STOP":
                return
            machine.step(opcode.name, argument)


@contextmanager
def _quiet() -> Iterator[None]:
    """Odd escapes in the texts of old pickles are not worth a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def first_global(file: BytesIO, harmless: Harmless) -> str:
    """The first name that a pickle would import and that is not harmless; "" if there is none.

    Only the opcodes are read, and only as far as they are opcodes: joblib writes arrays between.
    """
    try:
        with _quiet():
            return next((name for name in _globals(file) if name not in harmless), "")
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError, EOFError):
        return ""


def _globals(file: BytesIO) -> Iterator[str]:
    texts: list[str] = []
    for n, (opcode, argument, _) in enumerate(pickletools.genops(file)):
        if n > MOST_OPCODES:
            return
        if opcode.name in ("GLOBAL", "INST"):
            yield str(argument).replace(" ", ".")
        elif opcode.name == "STACK_GLOBAL":
            yield ".".join(texts[-2:])
        elif isinstance(argument, str):
            texts = [*texts[-1:], argument]


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = {
    *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "INT", "LONG", "BINFLOAT", "FLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BINSTRING", "SHORT_BINSTRING"),
    *("STRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_STEPS: dict[str, Callable[[_Machine, Any], object]] = {
    "PROTO": lambda m, a: None,
    "FRAME": lambda m, a: None,
    "MARK": lambda m, a: m.marks.append(len(m.stack)),
    "POP": lambda m, a: (
        m.marks.pop() if m.marks and m.marks[-1] == len(m.stack) else m.pop().clear()
    ),
    "POP_MARK": lambda m, a: m.pop_mark().clear(),
    "DUP": lambda m, a: m.stack.append(m.top(object)),
    "EMPTY_DICT": lambda m, a: m.stack.append(Table()),
    "EMPTY_LIST": lambda m, a: m.stack.append([]),
    "EMPTY_SET": lambda m, a: m.stack.append(Record(Global("builtins", "set"))),
    "ADDITEMS": lambda m, a: m.append(m.pop_mark()),
    "LIST": lambda m, a: m.stack.append(m.pop_mark()),
    "TUPLE": lambda m, a: m.stack.append(tuple(m.pop_mark())),
    "TUPLE1": lambda m, a: m.stack.append(tuple(m.pop(1))),
    "TUPLE2": lambda m, a: m.stack.append(tuple(m.pop(2))),
    "TUPLE3": lambda m, a: m.stack.append(tuple(m.pop(3))),
    "DICT": lambda m, a: m.dict_(),
    "APPEND": lambda m, a: m.append(m.pop()),
    "APPENDS": lambda m, a: m.append(m.pop_mark()),
    "SETITEM": lambda m, a: m.set_items(m.pop(2)),
    "SETITEMS": lambda m, a: m.set_items(m.pop_mark()),
    "PUT": lambda m, a: m.put(a),
    "BINPUT": lambda m, a: m.put(a),
    "LONG_BINPUT": lambda m, a: m.put(a),
    "MEMOIZE": lambda m, a: m.put(len(m.memo)),
    "GET": lambda m, a: m.get(a),
    "BINGET": lambda m, a: m.get(a),
    "LONG_BINGET": lambda m, a: m.get(a),
    "GLOBAL": lambda m, a: m.global_(*a.split(" ", 1)),
    "INST": lambda m, a: m.instance(*a.split(" ", 1)),
    "STACK_GLOBAL": lambda m, a: m.global_(*m.pop(2)),
    "REDUCE": lambda m, a: m.call(),
    "NEWOBJ": lambda m, a: m.call(),
    "BUILD": lambda m, a: m.build(),
    "BINPERSID": lambda m, a: m.stack.append(m.persistent(m.pop()[0])),
}
