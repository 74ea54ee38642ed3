"""The command line: `pellucid diagnose`, `pellucid train`, `pellucid datasets`."""

from ._main import main, run

__all__ = ["main", "run"]
