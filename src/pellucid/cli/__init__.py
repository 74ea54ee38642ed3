"""The command line: `pellucid diagnose`, `train`, `sweep` and `datasets`."""

from ._entry import main, run

__all__ = ["main", "run"]
