"""VNN-LIB: properties as the competition of verifiers writes them.

A file declares inputs X_i and outputs Y_j and asserts what must not happen all at once. Read are
bounds of single inputs, and linear conditions on outputs, joined by `and` and `or`. A strict bound
is read as one that may be reached. Numbers are rounded to float64 once as they stand there, and
once after exact sums and products.
"""

import os
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidInput
from .._shapes import Array, Float64
from .property import Case, Property

LARGEST_FILE = 1 << 26
MOST_CASES = 10_000
MOST_CONDITIONS = 1 << 24
"""Of all cases together."""
DEEPEST = 50
"""Brackets within brackets."""
_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")
_VARIABLE = re.compile(r"([XY])_(0|[1-9][0-9]{0,8})\Z")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")

Tree = Any  # a word, or brackets of trees
Linear = tuple[dict[str, Fraction], Fraction]  # factors of variables, and a constant
Conjunction = tuple[Linear, ...]  # each is to be <= 0


def read_vnnlib(path: str | os.PathLike[str]) -> Property:
    """The property that a VNN-LIB file asserts the negation of.

    `InvalidFile` is raised for a missing file, and for one that says what cannot be read: a
    product of variables, a condition that joins inputs and outputs, an input without bounds.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InvalidFile(
                f"{path} is larger than {LARGEST_FILE >> 20} MiB; give a smaller one."
            )
        text = content.decode("utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot read a property from {path}: {reason}.") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{path} is no text of VNN-LIB.") from None
    try:
        return _property(_trees(text))
    except (_Unreadable, InvalidInput) as error:
        raise InvalidFile(f"cannot read a property from {path}: {error}") from None


def write_vnnlib(property: Property, path: str | os.PathLike[str]) -> None:
    """Write the property as VNN-LIB, which reads back as it is, but for the sign of zeros.

    `InvalidFile` is raised where the file cannot be written.
    """
    lines = [f"(declare-const X_{i} Real)" for i in range(property.d_in)]
    lines += [f"(declare-const Y_{j} Real)" for j in range(property.d_out)]
    cases = "\n".join(f"  (and {' '.join(_conditions(case))})" for case in property.cases)
    try:
        Path(path).write_text("\n".join([*lines, f"(assert (or\n{cases}\n))\n"]), "utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot write {path}: {reason}.") from None


def _conditions(case: Case) -> Iterator[str]:
    for i, (low, high) in enumerate(zip(case.low, case.high, strict=True)):
        yield f"(>= X_{i} {float(low)!r})"
        yield f"(<= X_{i} {float(high)!r})"
    for row, b in zip(case.A, case.b, strict=True):
        terms = " ".join(f"(* {float(a)!r} Y_{j})" for j, a in enumerate(row) if a or not row.any())
        yield f"(<= (+ {terms}) {float(b)!r})"


class _Unreadable(Exception):
    """What stands in the file that cannot be read."""


# ---- brackets


class _Brackets(list[Tree]):
    """What stands between two brackets, and in which line the first one is."""

    def __init__(self, line: int):
        super().__init__()
        self.line = line


def _trees(text: str) -> Iterator[_Brackets]:
    """The bracketed expressions of a text, outermost first."""
    open_lists: list[_Brackets] = []
    line = 1
    at = 0
    for match in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        token = match.group()
        if token[0] == ";":
            continue
        if token == "(":
            if len(open_lists) >= DEEPEST:
                raise _Unreadable(f"line {line}: more than {DEEPEST} brackets within brackets.")
            open_lists.append(_Brackets(line))
        elif not open_lists:
            raise _Unreadable(f"line {line}: {token!r:.40} stands outside of brackets.")
        elif token != ")":
            open_lists[-1].append(token)
        else:
            done = open_lists.pop()
            if open_lists:
                open_lists[-1].append(done)
            else:
                yield done
    if open_lists:
        raise _Unreadable(f"the bracket of line {open_lists[-1].line} is not closed.")


def _property(trees: Iterable[_Brackets]) -> Property:
    declared: set[str] = set()
    asserted: list[list[Conjunction]] = []
    for tree in trees:
        if _declares(tree):
            declared.add(_variable(tree[1], tree.line))
        elif tree[:1] == ["assert"] and len(tree) == 2:
            asserted.append(_disjunction(tree[1], tree.line))
        elif tree[:1] not in (["set-logic"], ["set-info"], ["check-sat"], ["exit"]):
            raise _Unreadable(
                f"line {tree.line}: {_text(tree)} is neither an assertion nor the declaration of a "
                "real number."
            )
    sizes = [sum(name[0] == letter for name in declared) for letter in "XY"]
    expected = [f"{letter}_{i}" for letter, n in zip("XY", sizes, strict=True) for i in range(n)]
    if not all(sizes) or set(expected) != declared:
        raise _Unreadable("it needs to declare X_0, X_1, ... and Y_0, Y_1, ... without gaps.")
    found = _all_of(asserted)
    if len(found) * sum(sizes) > MOST_CONDITIONS:
        raise _Unreadable(_too_many())
    return Property(_case(conjunction, *sizes) for conjunction in found)


def _declares(tree: _Brackets) -> bool:
    """(declare-const NAME Real) or (declare-fun NAME () Real)."""
    if tree[:1] == ["declare-const"]:
        return len(tree) == 3 and tree[2] == "Real"
    return tree[:1] == ["declare-fun"] and len(tree) == 4 and tree[2:] == [[], "Real"]


def _variable(word: Tree, line: int) -> str:
    if not isinstance(word, str) or not _VARIABLE.match(word):
        raise _Unreadable(f"line {line}: {_text(word)} is no variable X_i or Y_j.")
    return word


def _text(tree: Tree) -> str:
    """An expression as it stood there, shortened."""
    whole = tree if isinstance(tree, str) else f"({' '.join(map(_text, tree[:5]))})"
    return whole if len(whole) <= 60 else whole[:57] + "..."


# ---- conditions


def _all_of(parts: Iterable[list[Conjunction]]) -> list[Conjunction]:
    """The alternatives under which several conditions hold, each a list of alternatives."""
    always: list[Linear] = []
    found: list[Conjunction] = [()]
    for part in parts:
        if len(part) == 1:
            always += part[0]
        else:
            found = _joined(found, part)
    return _joined([tuple(always)], found)


def _joined(a: list[Conjunction], b: list[Conjunction]) -> list[Conjunction]:
    """Both of two conditions."""
    conditions = len(a) * sum(map(len, b)) + len(b) * sum(map(len, a))
    if len(a) * len(b) > MOST_CASES or conditions > MOST_CONDITIONS:
        raise _Unreadable(_too_many())
    return [(*one, *other) for one in a for other in b]


def _too_many() -> str:
    return f"it has more than {MOST_CASES:,} cases or {MOST_CONDITIONS:,} conditions."


def _disjunction(tree: Tree, line: int) -> list[Conjunction]:
    """The alternatives under which a condition holds; `line` is that of the brackets around it."""
    operator = None
    if isinstance(tree, _Brackets):
        operator, line = tree[:1], tree.line
    if operator == ["or"]:
        found = [one for part in tree[1:] for one in _disjunction(part, line)]
        if len(found) > MOST_CASES:
            raise _Unreadable(f"line {line}: {_too_many()}")
        return found
    if operator == ["and"]:
        return _all_of(_disjunction(part, line) for part in tree[1:])
    if operator in (["<="], [">="], ["<"], [">"]) and len(tree) == 3:
        left, right = _linear(tree[1], line), _linear(tree[2], line)
        small, large = (left, right) if tree[0][0] == "<" else (right, left)
        return [(_sum([small, large], [1, -1]),)]
    raise _Unreadable(f"line {line}: {_text(tree)} is no condition of <=, >=, and, or.")


def _linear(tree: Tree, line: int) -> Linear:
    """The linear function that an expression stands for."""
    if isinstance(tree, str):
        return _of_word(tree, line)
    parts = [_linear(part, tree.line) for part in tree[1:]]
    if tree[:1] == ["+"] and parts:
        return _sum(parts, [1] * len(parts))
    if tree[:1] == ["-"] and len(parts) in (1, 2):
        return _sum(parts, [-1] if len(parts) == 1 else [1, -1])
    if tree[:1] == ["*"] and len(parts) == 2 and not (parts[0][0] and parts[1][0]):
        constant, other = parts if not parts[0][0] else parts[::-1]
        return _sum([other], [constant[1]])
    raise _Unreadable(f"line {tree.line}: {_text(tree)} is not linear.")


def _of_word(word: str, line: int) -> Linear:
    if _VARIABLE.match(word):
        return {word: Fraction(1)}, Fraction(0)
    number = float(word) if _NUMBER.match(word) else np.nan
    if not np.isfinite(number):
        raise _Unreadable(f"line {line}: {word[:40]!r} is no variable X_i or Y_j and no number.")
    return {}, Fraction(number)


def _sum(parts: list[Linear], by: list[int] | list[Fraction]) -> Linear:
    """The sum of multiples of linear functions."""
    factors: dict[str, Fraction] = {}
    constant = Fraction(0)
    for (more, number), factor in zip(parts, by, strict=True):
        constant += factor * number
        for name, value in more.items():
            factors[name] = factors.get(name, Fraction(0)) + factor * value
    return factors, constant


def _case(conjunction: Conjunction, d_in: int, d_out: int) -> Case:
    low, high = np.full(d_in, -np.inf), np.full(d_in, np.inf)
    rows: list[Float64[Array, " d_out"]] = []
    b: list[float] = []
    for factors, constant in conjunction:
        names = list(factors)
        letters = {name[0] for name in names}
        if any(int(name[2:]) >= (d_in if name[0] == "X" else d_out) for name in names):
            raise _Unreadable(f"a condition names {max(names)}, which is not declared.")
        if letters == {"Y"}:
            row = np.zeros(d_out)
            for name in names:
                row[int(name[2:])] = _float(factors[name])
            rows.append(row)
            b.append(_float(-constant))
        elif letters == {"X"} and len(names) == 1 and factors[names[0]]:
            i, bound = int(names[0][2:]), _float(-constant / factors[names[0]])
            if factors[names[0]] > 0:
                high[i] = min(high[i], bound)
            else:
                low[i] = max(low[i], bound)
        else:
            told = " and ".join(sorted(names)) or "no variable"
            raise _Unreadable(f"a condition joins {told}; it may bound one input, or outputs.")
    open_ended = np.flatnonzero(~np.isfinite(low) | ~np.isfinite(high))
    if len(open_ended):
        raise _Unreadable(
            f"X_{open_ended[0]} has no lower or no upper bound; every input needs two."
        )
    if not rows:
        raise _Unreadable("a case has no condition on the outputs.")
    return Case(low, high, rows, b)


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise _Unreadable("a number of it is too large for float64.") from None
