"""The verdict as JSON: its shape is that of the schema in the docs, whatever the clock does."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pellucid.datasets import load_dataset
from pellucid.diagnosis import KINDS, diagnose

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/verdict.schema.json").read_text())
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "null": type(None),
    "boolean": bool,
    "integer": int,
}


def faults(value: Any, schema: dict[str, Any], where: str = "") -> list[str]:
    """What does not follow the schema: the keywords that the schema in the docs uses, no others."""
    if "$ref" in schema:
        return faults(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], where)
    if "anyOf" in schema:
        found = [faults(value, one, where) for one in schema["anyOf"]]
        return min(found, key=len)
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where} is {value!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where} is {value!r}"]
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    fitting = [n for n in names if isinstance(value, TYPES[n])]
    if not fitting or (isinstance(value, bool) and "boolean" not in names):
        return [f"{where} is {value!r:.40}, not {names}"]
    if isinstance(value, list):
        return [f for i, v in enumerate(value) for f in faults(v, schema["items"], f"{where}[{i}]")]
    if isinstance(value, dict) and "properties" in schema:
        expected = set(schema["properties"])
        found = [f"{where}: {key}" for key in expected ^ set(value)]
        for key in expected & set(value):
            found += faults(value[key], schema["properties"][key], f"{where}.{key}")
        return found
    return []


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    slow: dict[str, Any] = {"learning_rate": 1e-3, "steps": 300}
    verdicts = [
        diagnose(load_dataset("iris"), hidden=[8], **slow),
        diagnose(load_dataset("sine"), hidden=[3], standardize=True),
        diagnose(load_dataset("diabetes"), hidden=[16], standardize=True),
    ]
    return [json.loads(json.dumps(v.to_dict(), allow_nan=False)) for v in verdicts]


@pytest.mark.slow
def test_verdicts_follow_the_schema(records: list[dict[str, Any]]):
    for record in records:
        assert faults(record, SCHEMA) == []


def test_the_schema_knows_every_kind():
    assert tuple(SCHEMA["properties"]["kind"]["enum"]) == KINDS


def test_what_does_not_follow_the_schema_is_found(records: list[dict[str, Any]]):
    good = records[0]
    for key in good:
        assert faults({k: v for k, v in good.items() if k != key}, SCHEMA)
    for wrong in (
        {"kind": "broken"},
        {"seed": 1.5},
        {"seed": True},
        {"extra": 1},
        {"waterfall": [{"name": "a"}]},
        {"sentence": None},
    ):
        assert faults(good | wrong, SCHEMA), wrong


class SlowClock:
    """A clock on which every look takes a second."""

    def __init__(self, tick: float):
        self.tick, self.now = tick, 0.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def timeless(record: dict[str, Any]) -> str:
    record.pop("timing")
    return json.dumps(record, allow_nan=False)


def test_a_slow_clock_changes_the_stage_at_most(monkeypatch: pytest.MonkeyPatch):
    def run(tick: float | None, budget: float) -> dict[str, Any]:
        with monkeypatch.context() as patch:
            if tick is not None:
                patch.setattr(time, "monotonic", SlowClock(tick))
            return diagnose(
                load_dataset("moons"), hidden=[4], learning_rate=1e-3, steps=50, budget=budget
            ).to_dict()

    as_it_is, slow = run(None, 1e6), run(1.0, 1e9)
    assert as_it_is["stage"] == slow["stage"] == as_it_is["stages"][-1]
    assert timeless(as_it_is) == timeless(slow)
    cut, slower = run(1.0, 20.0), run(1e3, 2e4)
    assert cut["stage"] == slower["stage"] != cut["stages"][-1]
    assert timeless(cut) == timeless(slower)
