"""The two course chapters, run: every number and figure beside what is printed there."""

from .item import Item, Outcome
from .items import ITEMS
from .reproduce import Reproduction, reproduce
from .rows import Caption, Expected, Row, captions, expected_rows

__all__ = [
    "ITEMS",
    "Caption",
    "Expected",
    "Item",
    "Outcome",
    "Reproduction",
    "Row",
    "captions",
    "expected_rows",
    "reproduce",
]
