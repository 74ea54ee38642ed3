"""Words that the sentences of several gates share."""

from collections.abc import Sequence

from ..._shapes import Array, Int

MOST_NAMES = 4
MOST_ROWS = 100


def names(columns: Sequence[str]) -> str:
    """The names of columns, the first few of them."""
    shown = ", ".join(map(repr, columns[:MOST_NAMES]))
    more = len(columns) - MOST_NAMES
    text = f"{shown} and {more} more" if more > 0 else shown
    return f"column {text}" if len(columns) == 1 else f"columns {text}"


def subject(columns: Sequence[str]) -> str:
    """The names of columns at the start of a sentence."""
    text = names(columns)
    return text[0].upper() + text[1:]


def percent(share: float) -> str:
    """A share in percent, with a digit more where it is small or nearly everything."""
    hundred = 100 * share
    return f"{hundred:.1f} %" if hundred < 9.95 or 99 < hundred < 100 else f"{hundred:.0f} %"


def some(rows: Int[Array, " k"]) -> tuple[int, ...]:
    """The first row numbers."""
    return tuple(int(row) for row in rows[:MOST_ROWS])
