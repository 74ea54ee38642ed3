"""Training: one network (`train`) or a grid of them in one call (`train_many`)."""

from .executors import EXECUTORS, Executor
from .history import History, LayerHistory
from .mlflow_log import log_to_mlflow
from .optimizers import OPTIMIZERS, Optimizer
from .run import Grid, Run
from .schedules import SCHEDULES, Schedule
from .settings import Settings
from .tensorboard_log import log_to_tensorboard
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
    "log_to_mlflow",
    "log_to_tensorboard",
    "train",
    "train_many",
]
