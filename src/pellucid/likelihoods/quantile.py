"""Quantiles of a real target, by the pinball loss; no distribution is assumed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float, Float64
from .base import (
    Levels,
    Likelihood,
    by_target,
    checked_levels,
    number,
    real_targets,
    split,
    written,
)

MOST_LEVELS = 1000


@dataclass(frozen=True)
class Quantile(Likelihood):
    """One output q for each level tau: the tau-quantile of the target (Koenker and Bassett 1978).

    The loss is the sum of the pinball losses, in the unit of the target. It is the negative
    log-likelihood of asymmetric Laplace densities tau (1 - tau) e^-loss up to a constant.
    """

    name: str = "quantile"
    target_kind: str = "real"
    levels: tuple[float, ...] = (0.1, 0.5, 0.9)

    parameter_names = ("levels",)
    about = "quantiles at the given levels, by the pinball loss"

    def __post_init__(self) -> None:
        levels = tuple(number(self.name, "a level", level, 1e-9, 1 - 1e-9) for level in self.levels)
        if not 0 < len(levels) <= MOST_LEVELS or list(levels) != sorted(set(levels)):
            raise InvalidInput(
                f"quantile got levels {list(levels)!r:.80}; it needs 1 to {MOST_LEVELS} different "
                "ones in increasing order, such as 0.1,0.5,0.9."
            )
        object.__setattr__(self, "levels", levels)

    @property
    def parameters(self) -> tuple[float, ...]:
        """The levels."""
        return self.levels

    @property
    def outputs_per_target(self) -> int:
        """One for each level."""
        return len(self.levels)

    def _powers(self) -> tuple[float | None, ...]:
        return (None,) * self.outputs_per_target

    def with_parameters(self, values: Iterable[SupportsFloat]) -> "Quantile":
        """With these levels; those of the table where there are none."""
        levels = tuple(values)
        return replace(self, levels=levels) if levels else self

    def __str__(self) -> str:
        usual = self.levels == type(self)().levels
        return self.name if usual else written(self.name, self.levels)

    def _excess(self, outputs: Array, y: Array) -> tuple[Array, Array]:
        """u = y - q, and the levels."""
        q, y = split(outputs, y, self)
        return y[:, :, None] - q, np.asarray(self.levels, dtype=outputs.dtype)

    def loss(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, " n"]:
        """max(tau u, (tau - 1) u), u = y - q, summed over levels and targets."""
        u, tau = self._excess(outputs, y)
        return np.maximum(tau * u, (tau - 1) * u).sum(axis=(1, 2))

    def gradient(self, outputs: Float[Array, "n d_out"], y: Array) -> Float[Array, "n d_out"]:
        """-tau where y is above q, else 1 - tau."""
        u, tau = self._excess(outputs, y)
        return np.where(u > 0, -tau, 1 - tau).reshape(outputs.shape)

    def predict(self, outputs: Float[Array, "n d_out"]) -> Float[Array, "n d_out"]:
        """The quantiles in increasing order for each target, where the outputs cross too.

        Sorting never raises the pinball loss (Chernozhukov, Fernandez-Val and Galichon 2010).
        """
        return np.sort(by_target(outputs, self), axis=2).reshape(outputs.shape)

    def quantiles(
        self, outputs: Float[Array, "n d_out"], levels: Levels
    ) -> Float[Array, "n targets levels"]:
        """The quantiles at `levels`, which must be among those that were trained."""
        wanted = checked_levels(levels)
        places = {level: i for i, level in enumerate(self.levels)}
        for level in wanted:
            if level not in places:
                raise InvalidInput(
                    f"level {level:g} is none of those of {self}; a network gives the quantiles "
                    "that it was trained for."
                )
        ordered = np.sort(by_target(outputs, self), axis=2)
        return ordered[:, :, [places[level] for level in wanted]]

    def constant_outputs(self, y: ArrayLike, d_out: int) -> Float64[Array, " d_out"]:
        """The quantiles of each target column, each of them a target of the column."""
        columns = self.check_targets(y, d_out).astype(np.float64)
        found = np.quantile(columns, self.levels, axis=0, method="inverted_cdf")
        return found.T.reshape(-1)

    def check_targets(self, y: ArrayLike, d_out: int) -> Float[Array, "n targets"]:
        """Finite numbers, (n, targets), or (n,) for one; an output for each level of each."""
        return real_targets(y, d_out, self)
