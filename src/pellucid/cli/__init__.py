"""The command line: `pellucid diagnose`, `train`, `sweep`, `regions` and `datasets`."""

from ._entry import main, run

__all__ = ["main", "run"]
