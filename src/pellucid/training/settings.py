"""Everything that may differ between two networks of one grid, checked in one place."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._kernels import DTYPES, n_parameters
from .._kernels.schedules import learning_rate
from ..network import SCHEMES, Activations, as_activations, text_of
from .optimizers import OPTIMIZERS
from .schedules import SCHEDULES


@dataclass(frozen=True)
class Settings:
    """How one network is trained. Rates and penalties are torch's, of the same names.

    `hidden` are the hidden widths, and `activation` is one for all hidden layers or a sequence with
    one for each; a name may have parameters ("leaky_relu(0.1)"). `batch_size` None means all rows
    in every step, and `seed` drives the initial weights, the order of the rows and dropout. `dtype`
    is the number type that everything of the network is computed in.
    """

    hidden: tuple[int, ...]
    seed: int = 0
    learning_rate: float = 0.01
    activation: str | Activations = "relu"
    scheme: str = "torch"
    dtype: str = "float32"
    optimizer: str = "adam"
    momentum: float = 0.0
    nesterov: bool = False
    alpha: float = 0.99
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    history_size: int = 10
    schedule: str = "constant"
    warmup: int = 0
    step_size: int | None = None
    plateau_patience: int = 10
    gamma: float = 0.1
    eta_min: float = 0.0
    pct_start: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    dropout: float = 0.0
    l1: float = 0.0
    clip_norm: float | None = None
    label_smoothing: float = 0.0
    patience: int | None = None
    steps: int = 1000
    batch_size: int | None = None
    record_every: int | None = None
    measure_every: int | None = None

    @property
    def recording_interval(self) -> int:
        """Steps between two recorded losses: `record_every`, or about 200 records in all."""
        return self.record_every or max(1, self.steps // 200)

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of one step (0 is the first), as the kernel computes it.

        Raises InvalidInput for schedule "plateau", whose rates follow the recorded losses.
        """
        if self.schedule == "plateau":
            raise InvalidInput(
                'the rates of schedule "plateau" depend on the losses of a run; learning_rate_at '
                "knows those of the other schedules."
            )
        return learning_rate(self, step)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values: activations by their names and parameters."""
        activation = text_of(as_activations(self.activation))
        return asdict(self) | {"hidden": list(self.hidden), "activation": activation}


MOST_PARAMETERS = 500_000_000
"""Two gigabytes of float32, before the optimizer's own."""

_CHOICES = {
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "scheme": SCHEMES,
    "dtype": dict.fromkeys(DTYPES),
}
_WHOLE = {
    "seed": -math.inf,
    "steps": 0,
    "batch_size": 1,
    "record_every": 1,
    "measure_every": 1,
    "warmup": 0,
    "step_size": 1,
    "plateau_patience": 0,
    "history_size": 1,
    "patience": 1,
}
_OPTIONAL = (
    "batch_size",
    "record_every",
    "measure_every",
    "step_size",
    "clip_norm",
    "patience",
)
_REAL = {
    "learning_rate": math.inf,
    "momentum": 1.0,
    "alpha": 1.0,
    "beta1": 1.0,
    "beta2": 1.0,
    "epsilon": math.inf,
    "weight_decay": math.inf,
    "gamma": math.inf,
    "eta_min": math.inf,
    "pct_start": 1.0,
    "div_factor": math.inf,
    "final_div_factor": math.inf,
    "l1": math.inf,
    "dropout": 1.0,
    "clip_norm": math.inf,
    "label_smoothing": 1.0,
}
_AT_LEAST_ONE = ("div_factor", "final_div_factor")
_LISTS = (list, tuple, range, np.ndarray)


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Return the checked `Settings` of one network from what a user gave."""
    names = [f.name for f in fields(Settings)]
    for name in values:
        if name not in names:
            known = ", ".join(names)
            raise InvalidInput(f"{name} is no setting of training; there are {known}.")
    settings = Settings(**{name: _checked(name, value) for name, value in values.items()})
    sigmas, hidden = settings.activation, settings.hidden
    if isinstance(sigmas, tuple) and len(sigmas) != len(hidden):
        raise InvalidInput(
            f"activation lists {len(sigmas)} for {len(hidden)} hidden layers; give one for all, or "
            "one for each."
        )
    if settings.nesterov and settings.momentum == 0:
        raise InvalidInput("nesterov needs momentum above 0, got 0; set momentum, e.g. 0.9.")
    for name in ("dropout", "label_smoothing"):
        if getattr(settings, name) == 1:
            raise InvalidInput(f"{name} is 1; it needs a number below 1, such as 0.1.")
    if settings.clip_norm == 0:
        raise InvalidInput("clip_norm is 0; it needs a number above 0, or None for no limit.")
    if settings.schedule == "step" and settings.step_size is None:
        raise InvalidInput('schedule "step" needs step_size, the steps between two reductions.')
    return settings


def settings_grid(settings: Mapping[str, Any]) -> list[Settings]:
    """Return the product of all settings that are lists, the first one outermost.

    `hidden` is always a list of lists; every other setting is one value or a list of values.
    """
    hidden = settings["hidden"]
    if not isinstance(hidden, _LISTS) or not all(isinstance(h, _LISTS) for h in hidden):
        raise InvalidInput(
            f"hidden is {hidden!r}; train_many needs a list of lists of widths, "
            "such as [[4], [8, 8]], with [] for a linear model."
        )
    choices = [v if isinstance(v, _LISTS) else [v] for v in settings.values()]
    for name, values in zip(settings, choices, strict=True):
        if len(values) == 0:
            raise InvalidInput(f"{name} is an empty list; give at least one value.")
    return [settings_from(one) for one in _products(list(settings), choices)]


def check_size(widths: Sequence[int]) -> None:
    """Refuse a network whose parameters could not be held."""
    if n_parameters(tuple(widths)) > MOST_PARAMETERS:
        raise InvalidInput(
            f"a network of widths {list(widths)!s:.60} has more than {MOST_PARAMETERS:,} "
            "parameters, the most that training takes; give smaller widths."
        )


def _products(names: list[str], choices: list[Any]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*choices):
        yield dict(zip(names, values, strict=True))


def _checked(name: str, value: Any) -> Any:
    if name == "hidden":
        return _hidden_widths(value)
    if name == "activation":
        return as_activations(value)
    if value is None and name in _OPTIONAL:
        return None
    if name in _CHOICES:
        return _choice(name, value, _CHOICES[name])
    if name in _WHOLE:
        return _whole_number(name, value, _WHOLE[name])
    if name in _REAL:
        return _real_number(name, value, float(name in _AT_LEAST_ONE), _REAL[name])
    return bool(value)


def _choice(name: str, value: Any, table: Mapping[str, Any]) -> str:
    if not isinstance(value, str) or value not in table:
        raise InvalidInput(f"{name} is {value!r}; choose one of {', '.join(table)}.")
    return value


def _hidden_widths(hidden: Any) -> tuple[int, ...]:
    if not isinstance(hidden, _LISTS):
        raise InvalidInput(
            f"hidden is {hidden!r}; it needs a list of widths, such as [8, 8], or [] for none."
        )
    return tuple(_whole_number("a hidden width", width, 1) for width in hidden)


def _whole_number(name: str, value: Any, least: float) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInput(f"{name} is {value!r}; it needs a whole number.")
    if value < least:
        raise InvalidInput(f"{name} is {value}; it needs at least {least}.")
    return int(value)


def _real_number(name: str, value: Any, low: float, high: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} is {value!r:.40}; it needs a number.") from None
    if not (low <= number <= high) or math.isinf(number):
        most = "up" if math.isinf(high) else f"to {high:g}"
        raise InvalidInput(f"{name} is {number:g}; it needs a finite number from {low:g} {most}.")
    return number
