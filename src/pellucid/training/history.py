"""What was measured while one network trained."""

from dataclasses import dataclass
from typing import Any

from .._shapes import Array, Float64, Int


@dataclass(frozen=True, repr=False)
class History:
    """Losses in nats at chosen steps; `steps[k]` updates had been made when `loss[k]` was measured.

    Each `loss` is the mean over the rows of that step's batch, before the step's update; the last
    one is the mean over all training rows after the last update. `validation_loss` is the mean over
    the validation rows at the same moments, and empty where there were none.
    """

    steps: Int[Array, " k"]
    loss: Float64[Array, " k"]
    validation_loss: Float64[Array, " v"]

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
