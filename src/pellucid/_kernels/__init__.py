"""Training as plain functions over arrays: a C++ kernel and its NumPy twin."""

from .checks import DTYPES
from .engine import native_module, train_networks, workspace_bytes
from .jobs import ReferenceFunctions, TrainingJob, TrainingResult, n_parameters

__all__ = [
    "DTYPES",
    "ReferenceFunctions",
    "TrainingJob",
    "TrainingResult",
    "n_parameters",
    "native_module",
    "train_networks",
    "workspace_bytes",
]
