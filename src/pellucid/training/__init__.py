"""Training: one network (`train`) or a grid of them in one call (`train_many`)."""

from .history import History, LayerHistory
from .optimizers import OPTIMIZERS, Optimizer
from .run import Grid, Run
from .schedules import SCHEDULES, Schedule
from .settings import Settings
from .train import train, train_many

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Grid",
    "History",
    "LayerHistory",
    "Optimizer",
    "Run",
    "Schedule",
    "Settings",
    "train",
    "train_many",
]
