"""Everything that may differ between two networks of one grid, checked in one place."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from .._errors import InvalidInput
from ..network import SCHEMES, Activation, as_activation
from .optimizers import OPTIMIZERS


@dataclass(frozen=True)
class Settings:
    """How one network is trained. Rates and penalties are torch's, of the same names.

    `hidden` are the hidden widths, `batch_size` None means all rows in every step, and `seed`
    drives both the initial weights and the order of the rows.
    """

    hidden: tuple[int, ...]
    seed: int = 0
    learning_rate: float = 0.01
    activation: str | Activation = "relu"
    scheme: str = "torch"
    optimizer: str = "adam"
    momentum: float = 0.0
    nesterov: bool = False
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    steps: int = 1000
    batch_size: int | None = None
    record_every: int | None = None

    def __post_init__(self) -> None:
        _check_choice("optimizer", self.optimizer, OPTIMIZERS)
        _check_choice("scheme", self.scheme, SCHEMES)
        object.__setattr__(self, "activation", as_activation(self.activation))
        object.__setattr__(self, "hidden", _hidden_widths(self.hidden))
        for name, least in (("steps", 0), ("batch_size", 1), ("record_every", 1)):
            object.__setattr__(self, name, _whole_number(name, getattr(self, name), least))
        object.__setattr__(self, "seed", _whole_number("seed", self.seed, None))
        for name, low, high in _RANGES:
            object.__setattr__(self, name, _real_number(name, getattr(self, name), low, high))
        if self.nesterov and self.momentum == 0:
            raise InvalidInput("nesterov needs momentum above 0, got 0; set momentum, e.g. 0.9.")

    @property
    def recording_interval(self) -> int:
        """Steps between two recorded losses: `record_every`, or about 200 records in all."""
        return self.record_every or max(1, self.steps // 200)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values: the activation by its name and parameters."""
        activation = as_activation(self.activation)
        return asdict(self) | {"hidden": list(self.hidden), "activation": str(activation)}


_RANGES = (
    ("learning_rate", 0.0, math.inf),
    ("momentum", 0.0, 1.0),
    ("beta1", 0.0, 1.0),
    ("beta2", 0.0, 1.0),
    ("epsilon", 0.0, math.inf),
    ("weight_decay", 0.0, math.inf),
)
_LISTS = (list, tuple, range, np.ndarray)


def settings_grid(settings: Mapping[str, Any]) -> Iterator[Settings]:
    """Yield the product of all settings that are lists, the first one outermost.

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
    for values in itertools.product(*choices):
        yield Settings(**dict(zip(settings, values, strict=True)))


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Return the `Settings` of one network; a name that is no setting is an `InvalidInput`."""
    names = [f.name for f in fields(Settings)]
    unknown = [name for name in values if name not in names]
    if unknown:
        raise InvalidInput(f"{unknown[0]} is no setting of training; there are {', '.join(names)}.")
    return Settings(**values)


def _check_choice(name: str, value: Any, table: Mapping[str, Any]) -> None:
    if value not in table:
        raise InvalidInput(f"{name} is {value!r}; choose one of {', '.join(table)}.")


def _hidden_widths(hidden: Any) -> tuple[int, ...]:
    try:
        widths = tuple(_whole_number("a hidden width", w, 1) for w in hidden)
    except TypeError:
        raise InvalidInput(
            f"hidden is {hidden!r}; it needs a list of widths, such as [8, 8], or []."
        ) from None
    return widths  # type: ignore[return-value]  # None only comes out for None, which has no width


def _whole_number(name: str, value: Any, least: int | None) -> int | None:
    if value is None and name in ("batch_size", "record_every"):
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInput(f"{name} is {value!r}; it needs a whole number.")
    if least is not None and value < least:
        raise InvalidInput(f"{name} is {value}; it needs at least {least}.")
    return int(value)


def _real_number(name: str, value: Any, low: float, high: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is {value!r}; it needs a number.") from None
    if not (low <= number <= high) or math.isinf(number):
        raise InvalidInput(f"{name} is {number:g}; it needs a number from {low:g} to {high:g}.")
    return number
