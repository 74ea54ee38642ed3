"""The command line: one module for each verb of the program `pellucid`."""

from ._entry import main, run

__all__ = ["main", "run"]
