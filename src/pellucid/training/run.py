"""What training returns: one run, or a grid of runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..network import Network
from .history import History
from .settings import Settings


@dataclass(frozen=True, repr=False)
class Run:
    """One trained network, how it was trained, and its history.

    `status` is "finished", "interrupted" (Ctrl-C; the network is as it was then) or "diverged"
    (the loss became infinite or NaN at step `steps_done`; the network is the last finite state
    that was recorded).
    """

    network: Network
    history: History
    settings: Settings
    likelihood: str
    status: str
    steps_done: int

    @property
    def loss(self) -> float:
        """The last recorded training loss in nats; infinite when nothing was recorded."""
        return float(self.history.loss[-1]) if len(self.history.loss) else float("inf")

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

        return pl.DataFrame([_row(run) for run in self.runs])

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


def _row(run: Run) -> dict[str, Any]:
    losses = run.history.validation_loss
    return run.settings.to_dict() | {
        "n_parameters": run.network.n_parameters,
        "loss": run.loss,
        "validation_loss": float(losses[-1]) if len(losses) else None,
        "status": run.status,
        "steps_done": run.steps_done,
    }
