"""The estimators of Pellucid, one program for each preset."""

from functools import partial

import numpy as np

from .peers import Prediction, Program
from .rows import Fold


def feedforward(preset: str, fold: Fold) -> Prediction:
    """A preset with its defaults, on the data frames as they are."""
    from pellucid import FeedforwardClassifier, FeedforwardRegressor

    if fold.labels:
        model = FeedforwardClassifier(preset=preset, random_state=0, n_jobs=1)
        return np.asarray(model.fit(fold.X, fold.y).predict_proba(fold.X_held_out), float)
    model = FeedforwardRegressor(preset=preset, random_state=0, n_jobs=1)
    return np.asarray(model.fit(fold.X, fold.y).predict(fold.X_held_out), float)


PRESETS: dict[str, Program] = {
    f"Pellucid {preset}": partial(feedforward, preset) for preset in ("fast", "balanced", "best")
}
