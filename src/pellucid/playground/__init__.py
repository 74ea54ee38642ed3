"""The playground: a page on which a network learns while one watches, and sees why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .export import export_page
from .lessons import check_lesson
from .start import start_document

if TYPE_CHECKING:
    from .server import Playground as Playground
    from .view import View as View

_LAZY = {"Playground": "server", "View": "view"}
"""Names whose module is imported when they are first used: a server, or a notebook's widgets."""

__all__ = ["Playground", "View", "check_lesson", "export_page", "start_document"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
