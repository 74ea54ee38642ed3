"""All cases by id, and the two parts that they are split into."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from .case import Case
from .cases import REBUILT
from .healthy import HEALTHY, RECIPES
from .planted import GENERATORS

PARTS = ("tuning", "scoring")
SPLIT = Path(__file__).with_name("split.toml")
MEASURED = [Path(__file__).with_name(name) for name in ("confirmed.toml", "constructed.toml")]
ALSO = "also_optimization"


def builders() -> dict[str, Callable[[], Case]]:
    """Id -> a function that builds the case: rebuilt, healthy, planted."""
    found: dict[str, Callable[[], Case]] = {**REBUILT, **HEALTHY}
    for generator in GENERATORS.values():
        for seed in range(generator.seeds):
            name = f"planted/{generator.name}/{seed}"
            found[name] = lambda make=generator.make, seed=seed: make(seed)
    return found


def unit_of(name: str) -> str:
    """What is never divided between the parts: a public case, a data set, a generator."""
    kind, _, rest = name.partition("/")
    if kind == "planted":
        return f"planted/{rest.split('/')[0]}"
    if kind == "healthy":
        return f"healthy/{RECIPES[rest][0]}"
    return name.removesuffix("-deep")


def parts() -> dict[str, str]:
    """Unit -> "tuning" or "scoring", from the committed file."""
    table = tomllib.loads(SPLIT.read_text())
    return {unit: part for part in PARTS for unit in table[part]}


def ids(part: str = "all", source: str = "all") -> list[str]:
    """Ids of a part ("tuning", "scoring", "all") and a source ("rebuilt", "healthy", "planted")."""
    where = parts() if part != "all" else {}
    return [
        name
        for name in builders()
        if (part == "all" or where[unit_of(name)] == part) and source in ("all", source_of(name))
    ]


def truth_of(case: Case) -> tuple[str, ...]:
    """The kinds of a case, and "optimization failure" where better starts were measured."""
    tables = [tomllib.loads(path.read_text()) for path in MEASURED if path.exists()]
    twice = {name for table in tables for row in table.values() for name in row.get(ALSO, ())}
    return (*case.truth, "optimization failure") if case.id in twice else case.truth


def source_of(name: str) -> str:
    """Where a case comes from: "rebuilt", "healthy" or "planted"."""
    first = name.split("/")[0]
    return first if first in ("healthy", "planted") else "rebuilt"
