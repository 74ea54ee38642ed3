"""Where a run stands between two steps: the twin of ``isa/state.hpp``, and both engines' states.

The two engines lay their states out alike, but each goes on from its own alone: what they compute
agrees to rounding, not bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from .jobs import TrainingJob, TrainingResult, TrainingState, n_parameters
from .lbfgs import Memory
from .measure import MEASURED, are_moments, fits, layer_records
from .random_bits import WORD
from .schedules import Plateau

#: the counters
STEP, NEXT_ROW, N_RECORDED, N_MEASURED, RANDOM, BEST_STEP, WAITED, PLATEAU, PAIRS = range(9)
RECORDS = {"steps": np.int64, "losses": np.float64, "validation_losses": np.float64}


@dataclass
class Best:
    """The lowest validation loss so far; nan is never lower."""

    loss: float = float("inf")
    step: int = -1
    waited: int = 0

    def improves(self, validation: float, step: int) -> bool:
        """Note one recorded loss, and say whether it is the lowest."""
        self.waited += 1
        if not validation < self.loss:
            return False
        self.loss, self.step, self.waited = validation, step, 0
        return True


@dataclass
class Run:
    """What one step leaves behind for the next. L-BFGS has no moments, and only it a memory."""

    parameters: Array
    kept: Array
    first: Array
    second: Array
    memory: Memory
    order: Array
    plateau: Plateau
    next_row: int
    random: int
    step: int = 0
    best: Best = field(default_factory=Best)
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    measured: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in MEASURED})
    engine: str = "reference"

    def record(self, loss: float, validation: float) -> None:
        """Add one entry, of this moment, to the history."""
        self.steps.append(self.step)
        self.losses.append(loss)
        self.validation_losses.append(validation)

    def go_on(
        self,
        job: TrainingJob,
        loss: float,
        validation: float,
        validated: bool,
        keep: Callable[[], object],
    ) -> bool:
        """Record this moment, and ``keep`` its parameters if they are the ones to come back to.

        False where patience is at its end; that step is recorded by what ends the run.
        """
        if not job.patience or self.best.improves(validation, self.step):
            keep()
        elif self.best.waited >= job.patience:
            return False
        self.record(loss, validation)
        if job.schedule == "plateau" and self.step >= job.warmup:
            self.plateau.look(job, validation if validated else loss)
        return True

    def finish(
        self,
        job: TrainingJob,
        status: str,
        validated: bool,
        loss: Callable[[], float],
        held_out: Callable[[], float],
    ) -> TrainingResult:
        """The last record, and the parameters that come back.

        An interrupted run may go on, so it has not diverged, whatever its parameters are by now.
        """
        state = self.save(validated) if status == "interrupted" and self.step else None
        last = float("nan") if status == "diverged" else loss()
        fine = bool(np.isfinite(last) and np.isfinite(self.parameters).all())
        if not fine and status != "interrupted":
            status = "diverged"
        validation = held_out() if fine else float("nan")
        self.record(last if fine else float("nan"), validation)
        better = not job.patience or self.best.improves(validation, self.step)
        return TrainingResult(
            parameters=self.parameters if fine and (better or self.best.step < 0) else self.kept,
            **self.records(validated),
            status=status,
            steps_done=self.step,
            best_step=None if self.best.step < 0 else self.best.step,
            layers=layer_records(job, self.measures()),
            state=state,
        )

    def records(self, validated: bool) -> dict[str, Array]:
        """The history as arrays, of copies."""
        found = {name: np.array(getattr(self, name), dtype) for name, dtype in RECORDS.items()}
        return found if validated else found | {"validation_losses": np.empty(0)}

    def measure(self, **numbers: Any) -> None:
        """Add what was measured at this step, one number for each layer."""
        self.measured["measured_steps"].append(self.step)
        for name, of_layers in numbers.items():
            self.measured[name].extend(of_layers)

    def measures(self) -> dict[str, Array]:
        """What was measured, as flat arrays."""
        return {name: np.array(self.measured[name], dtype) for name, dtype in MEASURED.items()}

    def _vectors(self) -> list[Array]:
        return [self.parameters, self.kept, self.first, self.second, self.memory.s, self.memory.y]

    def save(self, validated: bool) -> TrainingState:
        """Everything above, in arrays of its own."""
        random = self.random - (1 << 64) if self.random >> 63 else self.random
        n_measured = len(self.measured["measured_steps"])
        counters = [self.step, self.next_row, len(self.steps), n_measured, random]
        counters += [self.best.step, self.best.waited, self.plateau.waited, self.memory.pairs]
        scalars = [self.best.loss, self.plateau.rate, self.plateau.lowest, self.memory.scale]
        arrays = {
            "numbers": np.concatenate([vector.ravel() for vector in self._vectors()]),
            "order": self.order.astype(np.int32),
            "counters": np.array(counters, np.int64),
            "scalars": np.array([*scalars, *self.memory.sy]),
        }
        arrays |= self.records(validated) | self.measures()
        return TrainingState(self.engine, self.step, arrays)

    def restore(self, state: TrainingState) -> None:
        """Take over a state that `save` made for the same job."""
        arrays = state.arrays
        vectors = self._vectors()
        ends = np.cumsum([vector.size for vector in vectors])[:-1]
        for vector, saved in zip(vectors, np.split(arrays["numbers"], ends), strict=True):
            vector[:] = saved.reshape(vector.shape)
        self.order[:] = arrays["order"]
        counters = arrays["counters"].tolist()
        self.step, self.next_row = counters[STEP], counters[NEXT_ROW]
        self.random = counters[RANDOM] & WORD
        lowest, rate, plateau, scale, *sy = arrays["scalars"].tolist()
        self.best = Best(lowest, counters[BEST_STEP], counters[WAITED])
        self.plateau = Plateau(rate, plateau, counters[PLATEAU])
        self.memory.pairs, self.memory.scale, self.memory.sy[:] = counters[PAIRS], scale, sy
        self.steps = arrays["steps"].tolist()
        self.losses = arrays["losses"].tolist()
        missing = [float("nan")] * len(self.steps)
        self.validation_losses = arrays["validation_losses"].tolist() or missing
        self.measured = {name: arrays[name].tolist() for name in MEASURED}


def start(job: TrainingJob, n: int, dtype: Any, validated: bool, engine: str = "reference") -> Run:
    """The run of ``job`` on n rows, before its first step or where its state says."""
    parameters = np.array(job.parameters, dtype=dtype)
    p, m = len(parameters), job.history_size if job.optimizer == "lbfgs" else 0
    full_batch = job.batch_size == 0 or job.batch_size >= n
    run = Run(
        parameters=parameters,
        kept=parameters.copy(),
        first=np.zeros(0 if m else p, dtype),
        second=np.zeros(0 if m else p, dtype),
        memory=Memory.empty(m, p, dtype),
        plateau=Plateau(job.learning_rate),
        order=np.arange(0 if full_batch else n),
        next_row=n,
        random=job.seed,
        engine=engine,
    )
    if job.state is not None:
        check_state(job, n, validated, run.save(True).arrays, engine)
        run.restore(job.state)
    return run


def check_state(
    job: TrainingJob, n: int, validated: bool, like: dict[str, Array], engine: str
) -> None:
    """Refuse a state, if there is one, that the engine did not make for such a job on n rows.

    Whatever a state says in bytes, nothing may read out of bounds.
    """
    state = job.state
    if state is None:
        return
    if state.engine != engine:
        raise InvalidInput(
            f"the state is of engine {state.engine!r} and the engine here is {engine!r}; a run "
            "goes on where it began."
        )
    if not (_same_layout(state.arrays, like) and _in_bounds(job, state.arrays, n, validated)):
        raise InvalidInput(
            "the state does not fit the job: go on with the same job on the same rows that it "
            "was interrupted with."
        )


def _same_layout(arrays: dict[str, Array], like: dict[str, Array]) -> bool:
    growing = RECORDS | MEASURED
    if set(arrays) != {*like, *growing}:
        return False
    if any(not isinstance(array, np.ndarray) or array.ndim != 1 for array in arrays.values()):
        return False
    sizes = all(arrays[k].shape == like[k].shape for k in like if k not in growing)
    types = {name: array.dtype for name, array in like.items()} | growing
    return sizes and all(arrays[name].dtype == types[name] for name in arrays)


def _in_bounds(job: TrainingJob, arrays: dict[str, Array], n: int, validated: bool) -> bool:
    counters, order = arrays["counters"].tolist(), arrays["order"]
    done, k, m = counters[STEP], len(arrays["steps"]), len(arrays["measured_steps"])
    return (
        0 <= done <= job.steps
        and 0 <= counters[NEXT_ROW] <= n
        and (k, m) == (counters[N_RECORDED], counters[N_MEASURED])
        and are_moments(arrays["steps"], done, job.record_every)
        and k == len(arrays["losses"])
        and len(arrays["validation_losses"]) == validated * k
        and fits(job, arrays, done)
        and counters[PAIRS] >= 0
        and bool(np.array_equal(np.sort(order), np.arange(len(order))))
    )


def steps_before(job: TrainingJob) -> int:
    """Steps that were done before the job came here."""
    return 0 if job.state is None else job.state.steps_done


def empty_result(job: TrainingJob) -> TrainingResult:
    """The result of a network that never started, or did not go on from its state."""
    if job.state is None:
        parameters, best = np.array(job.parameters), -1
        records = {name: np.empty(0, dtype) for name, dtype in (RECORDS | MEASURED).items()}
    else:
        arrays, p = job.state.arrays, n_parameters(job.widths)
        best = int(arrays["counters"][BEST_STEP])
        first = 0 if best < 0 else p  # the best ones are the second vector
        parameters = arrays["numbers"][first : first + p].copy()
        records = {name: arrays[name].copy() for name in (*RECORDS, *MEASURED)}
    return TrainingResult(
        parameters,
        records["steps"],
        records["losses"],
        records["validation_losses"],
        status="interrupted",
        steps_done=steps_before(job),
        best_step=None if best < 0 else best,
        layers=layer_records(job, records),
        state=job.state,
    )
