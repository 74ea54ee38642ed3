"""Training: one network (`train`) or a grid of them in one call (`train_many`)."""

from .executors import EXECUTORS, Executor
from .history import History, LayerHistory
from .optimizers import OPTIMIZERS, Optimizer
from .run import Grid, Run
from .schedules import SCHEDULES, Schedule
from .settings import Settings
from .train import train, train_many

__all__ = [
    "EXECUTORS",
    "OPTIMIZERS",
    "SCHEDULES",
    "Executor",
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
