"""The reference values, and which test answers for which of them.

`data/reference_values.json` holds what the theory behind this project was checked against, by
section. `data/reference_rules.toml` names for every value the one test that compares it, or says
why none does. A test compares values that it reads through the fixture `reference`, which notes
them, or that are written in its own source with their signs.
"""

import ast
import json
import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
VALUES = json.loads((TESTS / "data" / "reference_values.json").read_text())
RULES = tomllib.loads((TESTS / "data" / "reference_rules.toml").read_text())
COMPARED, STATEMENTS, NOT_GIVEN = (RULES[kind] for kind in ("compared", "statements", "not_given"))

TOLERANCE = 1e-6  # relative: tests may write a value with fewer digits


class Recorded(Mapping):
    """Values that note which of them are read: a leaf by its keys, a list as a whole."""

    def __init__(self, values, read, path=()):
        self._values, self.read, self.path = values, read, path

    def __getitem__(self, key):
        return self._note(self._values[key], (*self.path, key))

    def _note(self, value, path):
        if isinstance(value, dict):
            return Recorded(value, self.read, path)
        if isinstance(value, list):
            return [self._note(v, (*path, str(i))) for i, v in enumerate(value)]
        self.read.add(path)
        return value

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)


def leaves(value, path=()):
    """Every value with the keys that lead to it."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in items:
            yield from leaves(below, (*path, str(key)))
    else:
        yield path, value


def follows(path, rule):
    """Whether a value's keys begin with those of a rule, in which * is any key."""
    parts = rule.split(" > ")
    return len(parts) <= len(path) and all(
        part in ("*", key) for part, key in zip(parts, path, strict=False)
    )


def tests_of(path):
    """The tests that are named for a value."""
    return [t for t, rules in COMPARED.items() if any(follows(path, rule) for rule in rules)]


def never_read(test, read):
    """Keys of the values that a test answers for, less those that it read."""
    rules = COMPARED.get(test, [])
    mine = {path for path, _ in leaves(VALUES) if any(follows(path, rule) for rule in rules)}
    return mine - read


# ---- the source of a test


@cache
def functions_of(file):
    found = ast.walk(ast.parse((TESTS / file).read_text()))
    return {node.name: node for node in found if isinstance(node, ast.FunctionDef)}


def reads_values(test):
    """Whether the test asks for the fixture that notes what it reads."""
    file, _, name = test.partition("::")
    return "reference" in {arg.arg for arg in functions_of(file)[name].args.args}


@cache
def written_in(test):
    """Literals of a test function, its decorators and the constants of its module that it names."""
    file, _, name = test.partition("::")
    constants = {
        target.id: node.value
        for node in ast.parse((TESTS / file).read_text()).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    nodes, found = [functions_of(file)[name]], []
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Constant) or is_negative(node):
            found.append(ast.literal_eval(node))
            continue
        if isinstance(node, ast.Name) and node.id in constants:
            nodes.append(constants.pop(node.id))
        nodes.extend(ast.iter_child_nodes(node))
    return found


def is_negative(node):
    """A minus and a number: its value is not the number's."""
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    )


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_written_in(value, test):
    """Whether a value stands in a test, with its sign."""
    if is_number(value):
        numbers = filter(is_number, written_in(test))
        return any(math.isclose(one, value, rel_tol=TOLERANCE) for one in numbers)
    return any(type(one) is type(value) and one == value for one in written_in(test))
