"""The command line: `pellucid diagnose`, `pellucid train`, `pellucid datasets`."""

from ._entry import main, run

__all__ = ["main", "run"]
