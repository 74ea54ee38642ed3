"""Tables that the tests of the estimators share."""

import numpy as np
import pandas as pd

from pellucid.estimators import Preset

PLAIN = Preset("plain")
"""One network and one held-out share, whatever the presets are tuned to."""


def mixed(n=120, seed=0):
    """Numbers, text, true/false, dates, gaps; the class depends on two of them."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue"], n)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "colour": np.where(rng.random(n) < 0.1, None, colour),
            "big": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "grade": pd.Categorical(rng.choice(["1", "2", "3"], n)),
        }
    )
    score = size + (colour == "red") * 1.5
    return frame, score, np.where(score > 0.5, "yes", "no")
