"""The table of learning-rate schedules. The formulas are in `_kernels` (compiled, and twin)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """One member of the family: its name, its source, and which settings it reads.

    Every schedule may follow a linear warm-up (the setting `warmup`). All but "plateau", which
    looks at the recorded losses, are pure functions of the step and the settings:
    `Settings.learning_rate_at` evaluates them.
    """

    name: str
    source: str
    reads: tuple[str, ...]


SCHEDULES: dict[str, Schedule] = {
    s.name: s
    for s in (
        Schedule("constant", "the rate as it is", ()),
        Schedule("step", "torch's StepLR", ("step_size", "gamma")),
        Schedule("cosine", "Loshchilov and Hutter, 2017, without restarts", ("eta_min",)),
        Schedule(
            "one_cycle",
            "Smith and Topin, 2019, the rate alone",
            ("pct_start", "div_factor", "final_div_factor"),
        ),
        Schedule("plateau", "torch's ReduceLROnPlateau", ("plateau_patience", "gamma", "eta_min")),
    )
}
