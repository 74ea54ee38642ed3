"""Dates written as text."""

from typing import Any

from .._errors import InvalidTable
from .rawtable import RawTable

TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?)?$"
YEAR_FIRST = r"^(\d{4})([-/.])(\d{1,2})[-/.](\d{1,2})" + TIME
YEAR_LAST = r"^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4})" + TIME
MONTH_NAME = r"^\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}$|^[A-Za-z]{3,9} \d{1,2},? \d{4}$"
MOSTLY = 0.9


def parse_dates(raw: RawTable, name: str, text: Any) -> Any:
    """Datetimes (UTC where a zone is given), null where a cell is no date; None: not a date column.

    Year-month-day, day.month.year, and names of months are read; 3/4/2024 only where some other
    cell of the column tells the day from the month.
    """
    known = text.drop_nulls()
    head = known.head(100)
    if not _mostly(head, "|".join((YEAR_FIRST, YEAR_LAST, MONTH_NAME))):
        return None
    if _mostly(known, YEAR_FIRST):
        return _assemble(text, YEAR_FIRST, year=1, month=3, day=4)
    if _mostly(known, YEAR_LAST):
        day, month = _day_and_month(raw, name, text)
        return _assemble(text, YEAR_LAST, year=4, month=month, day=day)
    if _mostly(known, MONTH_NAME):
        return _parse_month_names(text)
    return None


def _mostly(text: Any, pattern: str) -> bool:
    return len(text) > 0 and bool(text.str.contains(pattern).mean() >= MOSTLY)


def _day_and_month(raw: RawTable, name: str, text: Any) -> tuple[int, int]:
    """Which group is the day and which the month; dots always mean day.month.year."""
    import polars as pl

    first, second = (text.str.extract(YEAR_LAST, g).cast(pl.Int32) for g in (1, 3))
    if (text.str.extract(YEAR_LAST, 2).drop_nulls() == ".").all() or first.max() > 12:
        return 1, 3
    if second.max() > 12:
        return 3, 1
    i = int(first.is_not_null().arg_max())
    raise InvalidTable(
        f"column {name!r} of {raw.origin} has dates such as {text[i]!r} ({raw.where(i)}) in which "
        "day and month cannot be told apart; write them as YYYY-MM-DD or leave the column out "
        f"(drop {name!r})."
    )


def _assemble(text: Any, pattern: str, year: int, month: int, day: int) -> Any:
    """Rewrite every cell as ISO and let polars read it; a 31st of February becomes null."""
    import polars as pl

    groups = {"year": year, "month": month, "day": day, "time": 5}
    parts = {key: text.str.extract(pattern, group) for key, group in groups.items()}
    parts["time"] = parts["time"].fill_null("").str.replace(",", ".").str.strip_chars("T ")
    zone = parts["time"].str.extract(r"(Z|[+-]\d{2}:?\d{2})$", 1).fill_null("+0000")
    zone = zone.str.replace("Z", "+0000").str.replace(":", "")
    clock = parts["time"].str.extract(r"^(\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)", 1).fill_null("00:00:00")
    clock = clock + (clock.str.len_chars() <= 5).replace_strict({True: ":00", False: ""})
    iso = parts["year"] + "-" + parts["month"] + "-" + parts["day"] + "T" + clock + zone
    read = iso.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", strict=False, time_unit="us")
    return read.dt.replace_time_zone(None).cast(pl.Datetime("us"))


def _parse_month_names(text: Any) -> Any:
    """5 Jan 2024, 5-Jan-2024, January 5, 2024 (English names)."""
    plain = text.str.replace_all(r"[-,]", " ").str.replace_all(r" +", " ")
    read = plain.str.to_datetime("%d %b %Y", strict=False, time_unit="us")
    for form in ("%d %B %Y", "%b %d %Y", "%B %d %Y"):
        read = read.fill_null(plain.str.to_datetime(form, strict=False, time_unit="us"))
    return read
