"""What training returns: one run, or a grid of runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from ..network import Network
from .history import History
from .settings import Settings


@dataclass(frozen=True, repr=False)
class Run:
    """One trained network, how it was trained, and its history.

    `status` is "finished", "interrupted" (Ctrl-C; the network is as it was then) or "diverged"
    (the loss became infinite or NaN at step `steps_done`; the network is the last finite state
    that was recorded), "stopped early", or with L-BFGS "converged" (the gradient is 0, or no step
    lowers the objective). Under `patience` the network is that of `best_step`, the
    recorded step with the lowest validation loss, whatever the status; otherwise `best_step` is
    None and the network is the last one. `likelihood` is what `likelihoods.as_likelihood` reads.
    """

    network: Network
    history: History
    settings: Settings
    likelihood: str
    status: str
    steps_done: int
    best_step: int | None = None

    @property
    def loss(self) -> float:
        """The training loss in nats that was recorded last, or at `best_step`; infinite if none."""
        return float(self.history.loss[self._record]) if len(self.history.loss) else float("inf")

    @property
    def validation_loss(self) -> float | None:
        """The validation loss of the same moment; None without validation rows."""
        losses = self.history.validation_loss
        return float(losses[self._record]) if len(losses) else None

    @property
    def _record(self) -> int:
        """Which entry of the history belongs to the network."""
        return -1 if self.best_step is None else self.history.steps.tolist().index(self.best_step)

    def __repr__(self) -> str:
        return (
            f"Run({'-'.join(map(str, self.network.widths))}, seed {self.settings.seed}, "
            f"{self.status} after {self.steps_done} steps, loss {self.loss:.4g} nats)"
        )


@dataclass(frozen=True, repr=False)
class Grid:
    """The runs of one `train_many` call, in the order of the product of its settings."""

    runs: tuple[Run, ...]

    @property
    def networks(self) -> tuple[Network, ...]:
        """The trained networks, in the order of the runs."""
        return tuple(run.network for run in self.runs)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped at least one run before its last step."""
        return any(run.status == "interrupted" for run in self.runs)

    def to_frame(self) -> Any:
        """Return one row per run as a polars DataFrame: its settings and how it ended."""
        import polars as pl

        rows = [_row(run) for run in self.runs]
        return pl.DataFrame(rows, schema_overrides=_column_types(), infer_schema_length=None)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, i: int) -> Run:
        return self.runs[i]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        counts = {s: sum(r.status == s for r in self.runs) for r in self.runs for s in [r.status]}
        states = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"Grid({len(self.runs)} runs: {states})"


def _column_types() -> dict[str, Any]:
    """The type of each column that could hold nothing but None or empty lists."""
    import polars as pl

    types = {int: pl.Int64, float: pl.Float64}
    optional = {
        name: types[kind]
        for name, hint in get_type_hints(Settings).items()
        for kind in get_args(hint)
        if type(None) in get_args(hint) and kind in types
    }
    lists = {"hidden": pl.List(pl.Int64)}
    return lists | optional | {"validation_loss": pl.Float64, "best_step": pl.Int64}


def _row(run: Run) -> dict[str, Any]:
    return run.settings.to_dict() | {
        "n_parameters": run.network.n_parameters,
        "loss": run.loss,
        "validation_loss": run.validation_loss,
        "status": run.status,
        "steps_done": run.steps_done,
        "best_step": run.best_step,
    }
