"""Training as plain functions over arrays: a C++ kernel and its NumPy twin."""

from .engine import native_module, train_networks
from .jobs import ReferenceFunctions, TrainingJob, TrainingResult, n_parameters

__all__ = [
    "ReferenceFunctions",
    "TrainingJob",
    "TrainingResult",
    "n_parameters",
    "native_module",
    "train_networks",
]
