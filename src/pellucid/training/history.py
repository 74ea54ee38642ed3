"""What was measured while one network trained."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._shapes import Array, Float64, Int


@dataclass(frozen=True, repr=False)
class LayerHistory:
    """What was measured in each layer at `steps` (m,), on that step's batch and without dropout.

    `gradient_norm` (m, L) is Euclid's norm of the gradient of the mean loss with respect to a
    layer's W and b, `update_ratio` (m, L) the norm of the step's update of W and b over the norm of
    W and b (0 where nothing moved, inf where both were all 0 and moved). `dead` (m, L - 1) is the
    share of a hidden layer's units whose slope was 0 on all rows (0 for smooth activations),
    `saturated` (m, L - 1) the share of those whose slope was below 1 % of the steepest on more than
    99 % of the rows (0 for piecewise linear activations).
    """

    steps: Int[Array, " m"]
    gradient_norm: Float64[Array, "m layers"]
    update_ratio: Float64[Array, "m layers"]
    dead: Float64[Array, "m hidden"]
    saturated: Float64[Array, "m hidden"]

    def to_frame(self) -> Any:
        """Return one row per step and layer (from 1) as a polars DataFrame.

        The output layer has no units that could be dead or saturated: null.
        """
        import polars as pl

        m, n_layers = self.gradient_norm.shape
        columns = {"step": np.repeat(self.steps, n_layers), "layer": np.tile(layers_of(self), m)}
        columns |= {name: getattr(self, name).ravel() for name in ("gradient_norm", "update_ratio")}
        frame = pl.DataFrame(columns)
        for name in ("dead", "saturated"):
            hidden = np.concatenate([getattr(self, name), np.full((m, 1), np.nan)], axis=1)
            frame = frame.with_columns(pl.Series(name, hidden.ravel()).fill_nan(None))
        return frame

    def __repr__(self) -> str:
        m, n_layers = self.gradient_norm.shape
        return f"LayerHistory({n_layers} layers at {m} steps)"


def layers_of(history: LayerHistory) -> Int[Array, " layers"]:
    """The numbers of the layers, from 1."""
    return np.arange(1, history.gradient_norm.shape[1] + 1)


@dataclass(frozen=True, repr=False)
class History:
    """Losses in nats at chosen steps; `steps[k]` updates had been made when `loss[k]` was measured.

    Each `loss` is the mean over the rows of that step's batch, before the step's update; the last
    one is the mean over all training rows after the last update. `validation_loss` is the mean over
    the validation rows at the same moments, and empty where there were none. `layers` is what
    `measure_every` asked for.
    """

    steps: Int[Array, " k"]
    loss: Float64[Array, " k"]
    validation_loss: Float64[Array, " v"]
    layers: LayerHistory | None = None

    def to_frame(self) -> Any:
        """Return one row per recorded step as a polars DataFrame."""
        import polars as pl

        columns = {"step": self.steps, "loss": self.loss}
        if len(self.validation_loss):
            columns["validation_loss"] = self.validation_loss
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        if not len(self.steps):
            return "History(nothing recorded)"
        return (
            f"History({len(self.steps)} losses up to step {self.steps[-1]}: "
            f"{self.loss[0]:.4g} -> {self.loss[-1]:.4g} nats)"
        )
