"""A verdict as one self-contained HTML file."""

from ._write import render_report, write_report
from .words import command_line

__all__ = ["command_line", "render_report", "write_report"]
