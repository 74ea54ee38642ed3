"""VNN-LIB: properties as the competition of verifiers writes them.

A file declares inputs X_i and outputs Y_j and asserts what must not happen all at once. Read are
bounds of single inputs, and linear conditions on outputs, joined by `and` and `or`.
"""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import InvalidFile, InvalidInput
from .._shapes import Array, Float64
from .property import Case, Property

LARGEST_FILE = 1 << 26
MOST_CASES = 10_000
DEEPEST = 200
"""Brackets within brackets."""
_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")
_VARIABLE = re.compile(r"([XY])_(\d{1,9})\Z")

Tree = Any  # a word, or a list of trees
Linear = tuple[dict[str, float], float]  # factors of variables, and a constant
Conjunction = tuple[Linear, ...]  # each is to be <= 0


def read_vnnlib(path: str | os.PathLike[str]) -> Property:
    """The property that a VNN-LIB file asserts the negation of.

    `InvalidFile` is raised for a missing file, and for one that says what cannot be read: a
    product of variables, a condition that joins inputs and outputs, an input without bounds.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InvalidFile(
                f"{path} is larger than {LARGEST_FILE >> 20} MiB; give a smaller one."
            )
        text = path.read_text("utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidFile(f"cannot read a property from {path}: {reason}.") from None
    except ValueError:
        raise InvalidFile(f"{path} is no text of VNN-LIB.") from None
    try:
        return _property(list(_trees(text)))
    except (_Unreadable, InvalidInput) as error:
        raise InvalidFile(f"cannot read a property from {path}: {error}") from None


def write_vnnlib(property: Property, path: str | os.PathLike[str]) -> None:
    """Write the property as VNN-LIB, which reads back as it is; `InvalidFile` where that fails."""
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
        terms = " ".join(f"(* {float(a)!r} Y_{j})" for j, a in enumerate(row) if a)
        yield f"(<= (+ {terms} 0.0) {float(b)!r})"


class _Unreadable(Exception):
    """What stands in the file that cannot be read."""


# ---- brackets


def _trees(text: str) -> Iterator[Tree]:
    """The bracketed expressions of a text, outermost first."""
    open_lists: list[list[Tree]] = []
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
            open_lists.append([])
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
        raise _Unreadable(f"{len(open_lists)} brackets are not closed at its end.")


def _property(trees: list[Tree]) -> Property:
    declared: dict[str, None] = {}
    found: list[Conjunction] = [()]
    for tree in trees:
        if tree[:1] in (["declare-const"], ["declare-fun"]) and len(tree) >= 3:
            declared[_variable(tree[1])] = None
        elif tree[:1] == ["assert"] and len(tree) == 2:
            found = _joined(found, _disjunction(tree[1]))
        elif tree[:1] not in (["set-logic"], ["set-info"], ["check-sat"], ["exit"]):
            raise _Unreadable(f"{_text(tree)} is none of declare-const and assert.")
    sizes = [sum(name[0] == letter for name in declared) for letter in "XY"]
    expected = [f"{letter}_{i}" for letter, n in zip("XY", sizes, strict=True) for i in range(n)]
    if not all(sizes) or set(expected) != set(declared):
        raise _Unreadable("it needs to declare X_0, X_1, ... and Y_0, Y_1, ... without gaps.")
    return Property(_case(conjunction, *sizes) for conjunction in found)


def _variable(word: Tree) -> str:
    if not isinstance(word, str) or not _VARIABLE.match(word):
        raise _Unreadable(f"{_text(word)} is no variable X_i or Y_j.")
    return word


def _text(tree: Tree) -> str:
    """An expression as it stood there, shortened."""
    whole = tree if isinstance(tree, str) else f"({' '.join(map(_text, tree[:5]))})"
    return whole if len(whole) <= 60 else whole[:57] + "..."


# ---- conditions


def _joined(a: list[Conjunction], b: list[Conjunction]) -> list[Conjunction]:
    """Both of two conditions, each of which is a list of alternatives."""
    if len(a) * len(b) > MOST_CASES:
        raise _Unreadable(f"its conditions have more than {MOST_CASES:,} cases.")
    return [(*one, *other) for one in a for other in b]


def _disjunction(tree: Tree) -> list[Conjunction]:
    """The alternatives under which a condition holds."""
    operator = tree[0] if isinstance(tree, list) and tree else None
    if operator == "or":
        found = [one for part in tree[1:] for one in _disjunction(part)]
        if len(found) > MOST_CASES:
            raise _Unreadable(f"its conditions have more than {MOST_CASES:,} cases.")
        return found
    if operator == "and":
        both: list[Conjunction] = [()]
        for part in tree[1:]:
            both = _joined(both, _disjunction(part))
        return both
    if operator in ("<=", ">=", "<", ">") and len(tree) == 3:
        left, right = _linear(tree[1]), _linear(tree[2])
        small, large = (left, right) if operator[0] == "<" else (right, left)
        return [(_sum(small, large, -1.0),)]
    raise _Unreadable(f"{_text(tree)} is no condition of <=, >=, and, or.")


def _linear(tree: Tree) -> Linear:
    if isinstance(tree, str):
        if _VARIABLE.match(tree):
            return {tree: 1.0}, 0.0
        try:
            number = float(tree)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise _Unreadable(f"{_text(tree)} is no variable X_i or Y_j and no number.")
        return {}, number
    parts = [_linear(part) for part in tree[1:]]
    if tree[:1] == ["+"] and parts:
        total = parts[0]
        for part in parts[1:]:
            total = _sum(total, part, 1.0)
        return total
    if tree[:1] == ["-"] and len(parts) == 1:
        return _sum(({}, 0.0), parts[0], -1.0)
    if tree[:1] == ["-"] and len(parts) == 2:
        return _sum(parts[0], parts[1], -1.0)
    if tree[:1] == ["*"] and len(parts) == 2 and not (parts[0][0] and parts[1][0]):
        constant, other = parts if not parts[0][0] else parts[::-1]
        return _sum(({}, 0.0), other, constant[1])
    raise _Unreadable(f"{_text(tree)} is not linear.")


def _sum(a: Linear, b: Linear, factor: float) -> Linear:
    factors = dict(a[0])
    for name, value in b[0].items():
        factors[name] = factors.get(name, 0.0) + factor * value
    return factors, a[1] + factor * b[1]


def _case(conjunction: Conjunction, d_in: int, d_out: int) -> Case:
    low, high = np.full(d_in, -np.inf), np.full(d_in, np.inf)
    rows: list[Float64[Array, " d_out"]] = []
    b: list[float] = []
    for factors, constant in conjunction:
        names = [name for name, value in factors.items() if value]
        letters = {name[0] for name in names}
        if any(int(name[2:]) >= (d_in if name[0] == "X" else d_out) for name in names):
            raise _Unreadable(f"a condition names {max(names)}, which is not declared.")
        if letters == {"Y"}:
            row = np.zeros(d_out)
            for name in names:
                row[int(name[2:])] = factors[name]
            rows.append(row)
            b.append(-constant)
        elif letters == {"X"} and len(names) == 1:
            i, bound = int(names[0][2:]), -constant / factors[names[0]]
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
