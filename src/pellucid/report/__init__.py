"""A verdict as one self-contained HTML file."""

from ._write import is_report, render_report, write_report
from .words import command_line

__all__ = ["command_line", "is_report", "render_report", "write_report"]
