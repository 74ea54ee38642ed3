"""What a diagnosis returns: one verdict, the evidence behind it, and which part of it is proof."""

import math
from dataclasses import dataclass
from typing import Any

from .._shapes import Array, Float64
from ..network import Network
from ..training import History
from .alarms import Alarm

KINDS = (
    "fits",
    "optimization failure",
    "capacity failure",
    "overfitting",
    "data limit",
    "data error",
    "wrong loss or output",
    "unstable training",
    "undecided",
)
BOUNDED = ("capacity failure", "wrong loss or output", "data limit")
"""The kinds that a lower bound proves."""
CERTAINTIES = ("proved", "likely", "undecided")


@dataclass(frozen=True)
class Recipe:
    """How the user trains: everything that an experiment may change."""

    hidden: tuple[int, ...]
    activation: str = "relu"
    optimizer: str = "adam"
    learning_rate: float = 0.01
    steps: int = 3000
    batch_size: int | None = None
    weight_decay: float = 0.0
    standardize: bool = False
    schedule: str = "constant"

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `train` for it: all but the widths and the scaling."""
        apart = "hidden", "standardize"
        return {name: value for name, value in vars(self).items() if name not in apart}


@dataclass(frozen=True)
class Experiment:
    """Some runs of one recipe, one entry per seed; losses in nats, of the standardised target.

    `role` is "recipe" (the user's own), "same architecture", "improved" (parameters of the user's
    architecture that no recipe gives: refitted, polished, pruned), "wider", "deeper" or "narrower"
    (a smaller one). `training_loss` is the objective on the training rows in float64.
    """

    name: str
    role: str
    recipe: Recipe
    seeds: tuple[int, ...]
    training_loss: Float64[Array, " k"]
    held_out_loss: Float64[Array, " k"]
    score: Float64[Array, " k"]
    histories: tuple[History, ...]
    n_diverged: int


@dataclass(frozen=True)
class Scaling:
    """How the training rows were scaled: (x - offset) / scale, and the target likewise.

    A recipe that does not standardise has offsets 0 and scales 1. The losses of a verdict do not
    depend on it: see `Verdict.loss_scale`.
    """

    input_offset: Float64[Array, " d_in"]
    input_scale: Float64[Array, " d_in"]
    target_offset: float
    target_scale: float


@dataclass(frozen=True)
class Reference:
    """A model that is no network, or the constant predictor, judged by cross-validation.

    `loss` and `score` are cross-validated on the training rows, `standard_error` is that of `loss`;
    `held_out_loss` and `held_out_score` are those of the model fitted on all training rows.
    """

    name: str
    loss: float
    standard_error: float
    score: float
    held_out_loss: float = math.nan
    held_out_score: float = math.nan


@dataclass(frozen=True)
class Statement:
    """One sentence of the verdict and how certain it is: proved, likely or undecided."""

    text: str
    certainty: str


@dataclass(frozen=True)
class Fix:
    """A changed recipe that was run: what changed, held-out loss and score before and after.

    "Before" is the user's own run, "after" the run of `recipe` with `seed`.
    """

    change: str
    recipe: Recipe
    loss_before: float
    loss_after: float
    score_before: float
    score_after: float
    seed: int = 0


@dataclass(frozen=True)
class Witness:
    """Better parameters of the user's own architecture: the proof of an optimization failure.

    The network takes the encoded, unscaled columns (`raw_X`) and returns outputs on the user's
    target scale, as the user's own network does. `share` is the lowered objective as a share of
    (trivial - reference), and `claim` what `check_witness` takes beside the two networks' files.
    `name` says in words which recipe made it, with `seed`.
    """

    network: Network
    objective: float
    user_objective: float
    held_out_loss: float
    user_held_out_loss: float
    share: float
    claim: dict[str, Any]
    seed: int = 0
    name: str = ""

    def state_dict(self, module: Any) -> dict[str, Any]:
        """The parameters for a PyTorch module of the user's shape: `module.load_state_dict(...)`.

        The module takes the columns as they are, like `network`; `module` itself is not changed.
        `UnsupportedLayer` says why a module cannot take them.
        """
        from .torch_witness import state_dict_for

        return state_dict_for(self, module)


@dataclass(frozen=True)
class UnitHealth:
    """The units of one hidden layer on the training rows."""

    layer: int
    n_units: int
    n_dead: int
    n_always_active: int
    n_saturated: int


@dataclass(frozen=True)
class Step:
    """One step of the waterfall: a loss on the training rows, and whose it is.

    That of the reference is cross-validated, as all that is measured against it.
    """

    name: str
    loss: float


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong; its share of (trivial - reference), NaN where none is known."""

    kind: str
    share: float
    certainty: str


@dataclass(frozen=True)
class CurvePoint:
    """The user's recipe on so many of the training rows: mean losses over a few seeds."""

    n_rows: int
    training_loss: float
    held_out_loss: float
    n_seeds: int


@dataclass(frozen=True, repr=False, eq=False)
class Verdict:
    """The answer to "can this model not represent it, or was it trained badly?", with its evidence.

    `kind` is one of `KINDS` and `certainty` one of `CERTAINTIES`; `sentence` says both in words.
    Losses are mean negative log-likelihoods in nats (with the penalty, where the recipe has one),
    on rows that the user's run was trained on or held out from it; for regression those of the
    standardised target, whatever the recipe trains on. `score` is accuracy for classes
    and R^2 for numbers. `loss_scale` is the t of (y - output) / t in the loss: the standard
    deviation of the training targets, 1 for classes. `stage` is the last stage of the protocol that
    the time budget allowed.

    `alarms` is what the gates found, `floors` lower bounds of the training loss of the user's
    architecture (those of its penalty last), and `certificate` the document that
    `verify_certificate` accepts, where a bound is proved. `waterfall` leads from the constant
    prediction to the floor, `causes` are all kinds that the numbers support, each with its share,
    and `would_change` says what would change the verdict.
    `learning_curve` is the user's recipe on parts of the training rows, where it was asked for.
    """

    kind: str
    certainty: str
    sentence: str
    statements: tuple[Statement, ...]
    data_name: str
    target_name: str
    task: str
    classes: tuple[str, ...] | None
    feature_names: tuple[str, ...]
    notes: tuple[str, ...]
    n_training: int
    n_held_out: int
    recipe: Recipe
    seed: int
    n_parameters: int
    score_name: str
    references: tuple[Reference, ...]
    trivial_loss: float
    reference_loss: float
    experiments: tuple[Experiment, ...]
    unit_health: tuple[UnitHealth, ...]
    fix: Fix | None
    witness: Witness | None
    network: Network
    raw_X: Float64[Array, "n d_in"]
    y: Array
    held_out: Array
    scaling: Scaling
    loss_scale: float
    stage: str
    stages: tuple[str, ...]
    budget: float
    seconds: float
    alarms: tuple[Alarm, ...] = ()
    floors: tuple[Any, ...] = ()
    certificate: dict[str, Any] | None = None
    waterfall: tuple[Step, ...] = ()
    causes: tuple[Cause, ...] = ()
    would_change: tuple[str, ...] = ()
    learning_curve: tuple[CurvePoint, ...] = ()

    @property
    def reference_is_a_model(self) -> bool:
        """Whether the reference loss is a model's, cross-validated on the training rows.

        Where no model beats the constant predictor but networks do, it is the mean held-out loss
        of their runs.
        """
        return any(model.loss == self.reference_loss for model in self.references)

    def to_frame(self) -> Any:
        """Return one row per experiment and seed as a polars DataFrame."""
        from .rendering import verdict_frame

        return verdict_frame(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON, with a version in "schema".

        The same seed and stage give the same values, except under "timing". Numbers that are not
        finite are None. Arrays, histories and networks are left out; "witness" is the claim.
        """
        from .rendering import verdict_dict

        return verdict_dict(self)

    def __repr__(self) -> str:
        from .rendering import verdict_text

        return verdict_text(self)
