"""The training kernel's NumPy twin: the same loop in textbook form, one network at a time.

It serves two purposes: as the expected value in the kernel's tests (in float32, and in float64
against PyTorch), and as the engine where no compiler built the kernel. Each part has the name of
the header in ``isa/`` that it is the twin of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._shapes import Array, Float
from .heads import takes_labels
from .jobs import ReferenceFunctions, TrainingJob, TrainingResult, ValidationRows, Weights
from .lbfgs import dot, lbfgs_step, status_at
from .measure import norms, ratios, unit_shares
from .model import Model, dropout_of, make_model
from .optimizers import UPDATES, adjusted
from .rows import next_rows
from .schedules import learning_rate
from .state import Run, start

_NO_WEIGHTS = Weights()


def train_reference(
    X: Float[Array, "n d_in"],
    y: Array,
    job: TrainingJob,
    functions: ReferenceFunctions,
    *,
    validation: ValidationRows | None = None,
    stopped: Callable[[], bool] = lambda: False,
    stepped: Callable[[], None] = lambda: None,
    weights: Weights = _NO_WEIGHTS,
    dtype: Any = None,
) -> TrainingResult:
    """Train one network; ``stopped`` is asked and ``stepped`` told once a step.

    Everything is computed in the type of the job's parameters, or in ``dtype``, for oracles.
    """
    dtype = job.parameters.dtype if dtype is None else dtype
    weights = weights.in_type(dtype)
    as_targets = np.int64 if takes_labels(job.likelihood) else dtype
    if validation is not None:
        rows, held_out, *u = validation
        u = u[0].astype(dtype) if u and u[0] is not None else None
        validation = rows.astype(dtype), held_out.astype(as_targets), u
    trainer = _Trainer(
        X.astype(dtype),
        y.astype(as_targets),
        validation,
        weights.samples,
        job,
        make_model(job, functions, weights),
        start(job, len(X), dtype, validation is not None),
    )
    status = "finished"
    with np.errstate(all="ignore"):
        while status == "finished" and trainer.run.step < job.steps:
            status = "interrupted" if stopped() else trainer.one_step()
            if status == "finished":
                stepped()
        return trainer.finish(status)


@dataclass
class _Trainer:
    X: Float[Array, "n d_in"]
    y: Array
    validation: ValidationRows | None
    weights: Array | None
    job: TrainingJob
    model: Model
    run: Run

    @property
    def curved(self) -> bool:
        """Whether the optimizer looks at the objective, not at its gradient alone."""
        return self.job.optimizer == "lbfgs"

    def held_out(self) -> float:
        """Mean loss over the validation rows; nan without."""
        if self.validation is None:
            return float("nan")
        x, y, *weights = self.validation
        return self.model.loss(self.run.parameters, x, y, *weights)

    def finite(self) -> bool:
        return bool(np.isfinite(self.run.parameters).all())

    def one_step(self) -> str:
        """From the batch to the update; anything but "finished" ends the run."""
        job, run = self.job, self.run
        recording = run.step % job.record_every == 0
        measuring = job.measure_every > 0 and run.step % job.measure_every == 0
        rows = next_rows(run, job.batch_size)
        batch = self.X[rows], self.y[rows], None if self.weights is None else self.weights[rows]
        dropout = dropout_of(job, run.step)
        loss, gradient = self.model.loss_and_gradient(run.parameters, *batch, dropout)
        if not np.isfinite(loss) or (recording and not self.finite()):
            return "diverged"
        f = loss
        if self.curved:
            f, gradient = self.with_penalty(run.parameters, loss, gradient)
            status = status_at(f, float(np.abs(gradient).max()))
            if status != "finished":
                return status
        if recording and not self.record(loss):
            return "stopped early"
        before = run.parameters.copy() if measuring else run.parameters
        measured = self.measure(*batch) if measuring else {}
        status = self.iterate(f, gradient) if self.curved else self.update(gradient)
        if measuring:
            update = norms(np.subtract(run.parameters, before, dtype=np.float64), job.widths)
            run.measure(update_ratio=ratios(update, norms(before, job.widths)), **measured)
        run.step += 1
        return status

    def update(self, gradient: Float[Array, " p"]) -> str:
        """Change the parameters by the optimizer's rule."""
        job, run = self.job, self.run
        rate = learning_rate(job, run.step, run.plateau.rate)
        UPDATES[job.optimizer](job, run, adjusted(job, run.parameters, gradient), rate)
        return "finished"

    def objective(self, parameters: Float[Array, " p"]) -> tuple[float, Float[Array, " p"]]:
        """The objective of L-BFGS and its gradient."""
        found = self.model.loss_and_gradient(parameters, self.X, self.y, self.weights)
        return self.with_penalty(parameters, *found)

    def with_penalty(
        self, parameters: Float[Array, " p"], loss: float, gradient: Float[Array, " p"]
    ) -> tuple[float, Float[Array, " p"]]:
        """That objective from the loss of all rows."""
        decay = self.job.weight_decay
        penalty = decay / 2 * dot(parameters, parameters)
        return loss + penalty, gradient + gradient.dtype.type(decay) * parameters

    def iterate(self, f: float, gradient: Float[Array, " p"]) -> str:
        """One iteration of L-BFGS."""
        rate, parameters = self.job.learning_rate, self.run.parameters
        found = lbfgs_step(self.run.memory, rate, parameters, f, gradient, self.objective)
        if found is None:
            return "converged"
        parameters[:] = found
        return "finished"

    def measure(self, x: Array, y: Array, u: Array | None) -> dict[str, Any]:
        """Gradient norms and shares of units of one batch, without dropout."""
        parameters, model = self.run.parameters, self.model
        _, gradient = model.loss_and_gradient(parameters, x, y, u)
        dead, saturated = unit_shares(self.job, model, parameters, x)
        gradient_norm = norms(gradient, self.job.widths)
        return {"gradient_norm": gradient_norm, "dead": dead, "saturated": saturated}

    def record(self, loss: float) -> bool:
        """False where patience is at its end."""
        run, validated = self.run, self.validation is not None
        return run.go_on(
            self.job,
            loss,
            self.held_out(),
            validated,
            lambda: np.copyto(run.kept, run.parameters),
        )

    def finish(self, status: str) -> TrainingResult:
        """The last record, and the parameters that come back."""
        run, validated = self.run, self.validation is not None
        return run.finish(
            self.job,
            status,
            validated,
            lambda: self.model.loss(run.parameters, self.X, self.y, self.weights),
            self.held_out,
        )
