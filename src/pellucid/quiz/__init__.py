"""Questions with generated numbers about feedforward networks, and how answers are graded."""

from .answers import Grade, grade
from .export import export, to_dict
from .question import Kind, Question
from .table import QUESTIONS, TOPICS, draw

__all__ = [
    "QUESTIONS",
    "TOPICS",
    "Grade",
    "Kind",
    "Question",
    "draw",
    "export",
    "grade",
    "to_dict",
]
