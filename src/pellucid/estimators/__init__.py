"""scikit-learn estimators for tables: a classifier and a regressor of feedforward networks."""

from .calibration import Reliability, Temperature, reliability
from .classifier import FeedforwardClassifier
from .conformal import ConformalRegressor, conformalize
from .distribution import PredictedDistribution
from .preprocessing import Preprocessing
from .recipe import PRESETS, Preset
from .regressor import FeedforwardRegressor
from .saving import load_estimator
from .splitting import Split

__all__ = [
    "PRESETS",
    "ConformalRegressor",
    "FeedforwardClassifier",
    "FeedforwardRegressor",
    "PredictedDistribution",
    "Preprocessing",
    "Preset",
    "Reliability",
    "Split",
    "Temperature",
    "conformalize",
    "load_estimator",
    "reliability",
]
