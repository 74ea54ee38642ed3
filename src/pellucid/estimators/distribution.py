"""`PredictedDistribution`: what networks say about the target of each row, beside one number."""

from dataclasses import dataclass

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..datasets.features import Features
from ..likelihoods.base import Levels, checked_levels
from .members import Ensemble


@dataclass(frozen=True, eq=False, repr=False)
class PredictedDistribution:
    """The predicted distribution of each row's targets, by the likelihood that was trained.

    "gaussian" is a normal distribution whose standard deviation, `noise`, is the same for all rows.
    Of several networks, means and quantiles are averaged.
    """

    ensemble: Ensemble
    features: Features
    likelihood: str
    noise: Float64[Array, " targets"]

    @property
    def mean(self) -> Float64[Array, "n targets"]:
        """The mean (or location, or middle quantile) of each target."""
        return self.ensemble.predict(self.features)

    def quantiles(self, levels: Levels) -> Float64[Array, "n targets levels"]:
        """The quantiles of each target at `levels`, each between 0 and 1."""
        levels = checked_levels(levels)
        if self.likelihood != "gaussian":
            return self.ensemble.quantiles(self.features, levels)
        from scipy.special import ndtri

        return self.mean[:, :, None] + self.noise[:, None] * ndtri(levels)

    def interval(self, coverage: float = 0.9) -> Float64[Array, "n targets 2"]:
        """The central interval that holds the target with that probability, lower end first."""
        if not 0 < coverage < 1:
            raise InvalidInput(f"coverage is {coverage!r:.40}; it lies between 0 and 1.")
        return self.quantiles(np.array([(1 - coverage) / 2, (1 + coverage) / 2]))

    def __repr__(self) -> str:
        n, targets = self.features.n_rows, len(self.noise)
        return f"PredictedDistribution({self.likelihood}: {n} rows, {targets} target(s))"
