"""Training: one network (`train`) or a grid of them in one call (`train_many`)."""

from .history import History
from .optimizers import OPTIMIZERS, Optimizer
from .run import Grid, Run
from .settings import Settings
from .train import train, train_many

__all__ = ["OPTIMIZERS", "Grid", "History", "Optimizer", "Run", "Settings", "train", "train_many"]
