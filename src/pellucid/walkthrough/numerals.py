"""How numbers are written: a zero without sign, fractions as they are, columns on their points."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

LONGEST_FRACTION = 12  # characters; a longer one is written as a decimal
SAME = 1e-14  # relative; a sum of floats that close to a short decimal is that decimal
GAP = "..."  # in the place of what is left out
SMALL, LARGE = 1e-3, 1e6  # outside of these a float is written with a power of ten


def numeral(value: Any, digits: int = 6) -> str:
    """One number with up to `digits` decimals; `-0.0` is written 0, a small number 1.2e-07.

    Zeros at the end stand only where something was rounded: 1.6 is exact, 0.183490 is not.
    """
    if isinstance(value, Fraction | int) and len(str(value)) <= LONGEST_FRACTION:
        return str(value)
    v = float(value)
    if not math.isfinite(v):
        return str(v)
    if v == 0:
        return "0"
    if SMALL <= abs(v) < LARGE and abs(v) >= 10.0 ** (2 - digits):
        return _trimmed(f"{v:.{digits}f}", v)
    text = f"{v:.{digits - 1}e}"
    mantissa, _, exponent = text.partition("e")
    if math.isclose(float(text), v, rel_tol=SAME):
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{exponent}"


def _trimmed(text: str, v: float) -> str:
    """Without zeros at the end where they say nothing: 1.6, but 0.183490 where it was rounded."""
    if "." not in text or not math.isclose(float(text), v, rel_tol=SAME):
        return text
    return text.rstrip("0").rstrip(".")


def aligned(texts: Sequence[str], fill: str = " ") -> list[str]:
    """The same texts, padded to one width so that their points stand under each other."""
    split = [_at_point(text) for text in texts]
    left = max((len(a) for a, _ in split), default=0)
    right = max((len(b) for _, b in split), default=0)
    return [fill * (left - len(a)) + a + b + fill * (right - len(b)) for a, b in split]


def _at_point(text: str) -> tuple[str, str]:
    at = -1 if text == GAP else text.find(".")
    if at < 0 and "e" in text and text[0] in "-0123456789":
        at = text.find("e")
    return (text, "") if at < 0 else (text[:at], text[at:])


def aligned_columns(rows: Iterable[Sequence[str]], fill: str = " ") -> list[list[str]]:
    """A table of texts with every column aligned."""
    columns = [aligned(column, fill) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def shape_text(shape: Sequence[int]) -> str:
    """(3,) or (3, 4), as Python writes it."""
    return str(tuple(int(d) for d in shape))
