"""Rows of the table: what is printed, what is computed, and whether both agree."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FILES = ("first", "second", "studies")


@dataclass(frozen=True)
class Expected:
    """One row of the expected numbers.

    `printed` is what the chapter prints, a text or a list of texts. A computed value agrees

    - with `value` and `within`, if it is no farther from `value` than `within`;
    - with `least` or `most`, if it is at least or at most so large;
    - with `value` alone, if it is equal;
    - without any of these, if it reads like `printed` when written with `form`.

    Lists are compared entry by entry. `note` says how the statement of the chapter is to be
    corrected; `value` then is what is right.
    """

    item: str
    key: str
    what: str
    printed: str | Sequence[str]
    value: Any = None
    within: Any = None
    least: float | None = None
    most: float | None = None
    form: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the table. `agrees` is None where nothing was computed; `computed` says why."""

    item: str
    key: str
    what: str
    printed: str
    computed: str
    agrees: bool | None
    note: str = ""


@dataclass(frozen=True)
class Caption:
    """What the caption of a figure of a chapter says, in other words, and where it is drawn."""

    chapter: int
    says: str
    figure: str


@cache
def expected_rows() -> tuple[Expected, ...]:
    """All rows, in the order of the files."""
    found = []
    for name in FILES:
        for item, table in _read(name).items():
            found += [Expected(item=item, **row) for row in table["row"]]
    return tuple(found)


@cache
def captions() -> tuple[Caption, ...]:
    """The figures of the chapters."""
    return tuple(Caption(**one) for one in _read("captions")["caption"])


def _read(name: str) -> dict[str, Any]:
    text = (
        files("pellucid.reproduction")
        .joinpath("expected", f"{name}.toml")
        .read_text(encoding="utf-8")
    )
    return tomllib.loads(text)


def compare(expected: Expected, computed: Any, why_missing: str = "") -> Row:
    """The row of one computed value; with `why_missing` there is none."""
    head = expected.item, expected.key, expected.what, _joined(_listed(expected.printed))
    if why_missing:
        return Row(*head, why_missing, None, expected.note)
    values = _listed(computed)
    shown = [written(value, expected.form) for value in values]
    return Row(*head, _joined(shown), _agrees(expected, values, shown), expected.note)


def _agrees(expected: Expected, values: list, shown: list[str]) -> bool:
    if expected.within is not None:
        wanted = _listed(expected.value)
        near = _listed(expected.within)
        near = near * len(wanted) if len(near) == 1 else near
        if len(values) != len(wanted):
            return False
        pairs = zip(values, wanted, near, strict=True)
        return all(abs(float(v) - w) <= d for v, w, d in pairs)
    if expected.least is not None or expected.most is not None:
        low = -float("inf") if expected.least is None else expected.least
        high = float("inf") if expected.most is None else expected.most
        return all(low <= float(v) <= high for v in values)
    if expected.value is not None:
        return [_plain(v) for v in values] == _listed(expected.value)
    return shown == _listed(expected.printed)


def written(value: Any, form: str = "") -> str:
    """A value as text: `form` is a format such as ".2f", or a text with one in braces."""
    value = _plain(value)
    if isinstance(value, float):
        value += 0.0  # -0.0 reads as 0.0
    if "{" in form:
        return form.format(value)
    if isinstance(value, bool | str) or not isinstance(value, int | float):
        return str(value)
    return format(value, form or ("" if isinstance(value, int) else ".4g"))


def _plain(value: Any) -> Any:
    """A Python number in place of one of NumPy."""
    return value.item() if hasattr(value, "item") else value


def _listed(value: Any) -> list:
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, Sequence) or hasattr(value, "__len__") else [value]


def _joined(parts: list) -> str:
    return " ".join(map(str, parts))
