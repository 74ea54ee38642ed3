"""The presets: every setting that an estimator does not leave to its user, in one place each."""

from dataclasses import dataclass, replace
from typing import Any

from .._errors import InvalidInput
from ..datasets.scaling import SCALINGS


@dataclass(frozen=True)
class Preset:
    """All settings of a fit.

    `scaling` is how measured columns are centred and scaled ("standard": mean and deviation;
    "robust": median and quartiles), and `smooth_clip` c then squeezes them into (-c, c) by
    x / sqrt(1 + (x / c)^2); 0 leaves them alone. `embedding` adds `embedding_size` inputs to each
    measured column: "piecewise" says how much of each bin lies below it, "periodic" are waves;
    "none" adds nothing.

    A fit makes `epochs` passes over the training rows, in batches of `batch_size`, but at least
    `min_steps` steps, and stops when `patience` records of the validation loss, one for each pass,
    were no lower than the lowest before; 0 is no early stopping, and the best record comes back
    all the same. No network makes more than `most_steps` steps, or one pass. `warmup` is the share
    of the steps on which the rate rises. `validation_share` of the rows are held out; with `folds`
    above 1, each fold is held out once instead, and trains `members` networks on the others.
    `alternate` are settings, as (name, value), that every other fold has instead, the second first:
    networks that differ err in different rows. `temperature` asks for temperature scaling.
    """

    name: str
    scaling: str = "standard"
    smooth_clip: float = 0.0
    embedding: str = "none"
    embedding_size: int = 8
    embedding_scale: float = 0.1
    hidden: tuple[int, ...] = (128, 128)
    activation: str = "relu"
    scheme: str = "torch"
    optimizer: str = "adamw"
    learning_rate: float = 0.001
    beta2: float = 0.999
    weight_decay: float = 1e-4
    schedule: str = "constant"
    warmup: float = 0.0
    dropout: float = 0.1
    label_smoothing: float = 0.0
    clip_norm: float | None = None
    batch_size: int = 128
    epochs: int = 200
    min_steps: int = 0
    most_steps: int = 40_000
    patience: int = 16
    validation_share: float = 0.1
    folds: int = 1
    members: int = 1
    alternate: tuple[tuple[str, Any], ...] = ()
    temperature: bool = True

    def of_fold(self, fold: int) -> "Preset":
        """The settings of one fold, counted from 0."""
        return replace(self, **dict(self.alternate)) if fold % 2 else self


_OURS = Preset(
    "balanced",
    activation="silu",
    learning_rate=0.01,
    schedule="one_cycle",
    warmup=0.1,
    label_smoothing=0.1,
    batch_size=64,
    epochs=80,
    patience=24,
    folds=6,
    alternate=(("activation", "relu"), ("embedding", "piecewise"), ("embedding_size", 16)),
)
"""What paid on the development tables; docs/estimators_defaults.md has the measurements."""

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        replace(_OURS, name="fast", epochs=45, most_steps=1_800, patience=18, folds=3),
        _OURS,
        replace(_OURS, name="best", epochs=100, patience=30, folds=10),
    )
}
"""The presets by name."""

EMBEDDINGS = ("none", "piecewise", "periodic")

TUNABLE = (
    *("hidden", "activation", "optimizer", "learning_rate", "weight_decay", "schedule", "dropout"),
    *("label_smoothing", "batch_size", "epochs", "patience", "validation_share"),
    *("folds", "members"),
)
"""Settings that are parameters of an estimator, too; None there means that of the preset."""

_LEAST = {
    "smooth_clip": 0,
    "embedding_size": 2,
    "batch_size": 1,
    "epochs": 1,
    "min_steps": 0,
    "most_steps": 1,
    "patience": 0,
    "folds": 1,
    "members": 1,
}


def chosen_preset(preset: str | Preset, changes: dict[str, Any]) -> Preset:
    """The preset of that name with the changes that are not None; checked."""
    if isinstance(preset, str) and preset in PRESETS:
        preset = PRESETS[preset]
    if not isinstance(preset, Preset):
        raise InvalidInput(
            f"preset is {preset!r:.60}; choose one of {', '.join(PRESETS)}, or give a Preset."
        )
    given = {name: value for name, value in changes.items() if value is not None}
    if "hidden" in given:
        given["hidden"] = _widths(given["hidden"])
    alternate = tuple((name, value) for name, value in preset.alternate if name not in given)
    chosen = replace(preset, **given, alternate=alternate)
    for fold in range(2):
        _check(chosen.of_fold(fold))
    return chosen


def _widths(hidden: Any) -> tuple[int, ...]:
    try:
        widths = tuple(int(width) for width in hidden)
    except (TypeError, ValueError):
        widths = (0,)
    if any(width < 1 for width in widths):
        raise InvalidInput(
            f"hidden is {hidden!r:.60}; it needs hidden widths such as (128, 128), or () for a "
            "linear model."
        )
    return widths


def _check(preset: Preset) -> None:
    """What the training does not check itself."""
    for name, least in _LEAST.items():
        value = getattr(preset, name)
        is_whole = isinstance(value, (int, float)) and (
            name == "smooth_clip" or value == int(value)
        )
        if not is_whole or value < least:
            raise InvalidInput(f"{name} is {value!r:.40}; it needs a number from {least} up.")
    if not 0 <= preset.validation_share < 1:
        raise InvalidInput(
            f"validation_share is {preset.validation_share!r:.40}; it lies from 0 (no validation "
            "rows) to below 1."
        )
    if preset.scaling not in SCALINGS:
        raise InvalidInput(f"scaling is {preset.scaling!r}; choose one of {', '.join(SCALINGS)}.")
    if preset.embedding not in EMBEDDINGS:
        raise InvalidInput(
            f"embedding is {preset.embedding!r}; choose one of {', '.join(EMBEDDINGS)}."
        )
