"""One step of an optimizer in numbers: gradients cleared, forward, backward, update."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array, Float64
from ..likelihoods import Likelihood
from ..network import Network
from .rational import RationalNetwork
from .worked import WorkedPass, check_form, worked_pass

if TYPE_CHECKING:
    from .._kernels.jobs import TrainingJob

RULES = ("sgd", "rmsprop", "adam", "adamw")


@dataclass(frozen=True, eq=False, repr=False)
class WorkedStep:
    """What one step of an optimizer did, and its text in several forms.

    `number` is 1 for the first step. Arrays are flat, in the order of `Network.parameters()`:
    `parameters` before the update, `gradient` of the loss, `update` (new minus old), and the
    optimizer's memory after the step, `first` and `second` (momentum, or Adam's two averages).
    `loss_after` is the loss of the same examples under the new parameters, in nats.
    """

    number: int
    worked: WorkedPass
    settings: "TrainingJob"
    parameters: Float64[Array, " p"]
    gradient: Float64[Array, " p"]
    first: Float64[Array, " p"]
    second: Float64[Array, " p"]
    update: Float64[Array, " p"]
    network: Network
    loss_after: float

    @property
    def loss(self) -> float:
        """The loss before the update, in nats."""
        return float(self.worked.loss)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """W1[0, 0], W1[0, 1], ..., b1[0], ..., in the order of the arrays."""
        found: list[str] = []
        for k, W in enumerate(self.worked.network.weights, 1):
            found += [f"W{k}[{i}, {j}]" for i in range(W.shape[0]) for j in range(W.shape[1])]
            found += [f"b{k}[{i}]" for i in range(W.shape[0])]
        return tuple(found)

    def to_text(self, notation: str = "column", digits: int = 6, limit: int = 40) -> str:
        """The step as plain text; see `WorkedPass.to_text`. `limit` is that of the long table."""
        from .as_text import text

        return text(self._document("text", notation, digits, limit))

    def to_latex(
        self, notation: str = "column", digits: int = 6, limit: int = 40, standalone: bool = False
    ) -> str:
        """The step in LaTeX (amsmath); a whole document with `standalone`."""
        from .as_latex import latex

        return latex(self._document("latex", notation, digits, limit), standalone)

    def to_html(
        self, notation: str = "column", digits: int = 6, limit: int = 40, standalone: bool = True
    ) -> str:
        """The step as an HTML page that needs nothing else, or as a part of one."""
        from .as_html import html

        return html(self._document("html", notation, digits, limit), standalone)

    def _repr_html_(self) -> str:
        return self.to_html(standalone=False)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain lists, those of the pass under "pass"."""
        arrays = ("parameters", "gradient", "first", "second", "update")
        return (
            {"step": self.number, "optimizer": self.settings.optimizer}
            | {"learning_rate": self.settings.learning_rate, "loss": self.loss}
            | {"loss_after": self.loss_after, "parameter_names": list(self.parameter_names)}
            | {name: getattr(self, name).tolist() for name in arrays}
            | {"pass": self.worked.to_dict()}
        )

    def _document(self, dialect: str, notation: str, digits: int, limit: int) -> Any:
        from .step_document import step_document

        check_form(notation, digits, limit)
        return step_document(self, dialect, notation, digits, limit)

    def __repr__(self) -> str:
        return (
            f"WorkedStep(step {self.number} of {self.settings.optimizer}, "
            f"loss {self.loss:.6g} -> {self.loss_after:.6g})"
        )


def worked_step(
    network: Network,
    x: ArrayLike,
    y: Any,
    likelihood: str | Likelihood | None = None,
    *,
    optimizer: str = "sgd",
    learning_rate: float = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    alpha: float = 0.99,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.0,
    previous: WorkedStep | None = None,
    feature_names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
) -> WorkedStep:
    """Work one training step on one example or a batch, in float64, keeping every number.

    The update is the one of `pellucid.train` (torch's rules), for optimizer "sgd", "rmsprop",
    "adam" and "adamw". `previous` is a step before this one, whose memory (momentum, averages) it
    goes on from; `network` is then usually `previous.network`. The other arguments are those of
    `worked_pass` and `train`; `InvalidInput` is raised where they do not fit.
    """
    if isinstance(network, RationalNetwork):
        raise InvalidInput("a step is worked in floats; give RationalNetwork.rounded().")
    work = worked_pass(network, x, y, likelihood, feature_names=feature_names, classes=classes)
    if work.exact:
        raise InvalidInput("a step is worked in floats, and x holds fractions; give floats.")
    options = {"momentum": momentum, "nesterov": nesterov, "alpha": alpha, "beta1": beta1}
    options |= {"beta2": beta2, "epsilon": epsilon, "weight_decay": weight_decay}
    _check(optimizer, {"learning_rate": learning_rate, **options}, previous)
    job = _job(work, optimizer, learning_rate, options)
    before = np.asarray(job.parameters)
    gradient = _flat(work.weight_gradients, work.bias_gradients)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        after, first, second = _update(job, gradient, previous)
        if not np.isfinite(after).all():
            raise _too_far(optimizer, learning_rate)
        new = work.network.with_parameters(after)  # pyright: ignore[reportAttributeAccessIssue]  # a Network
        loss_after = float(work.likelihood.loss(new(work.x), work.y).mean())
    if not np.isfinite(loss_after):
        raise _too_far(optimizer, learning_rate)
    return WorkedStep(
        number=1 if previous is None else previous.number + 1,
        worked=work,
        settings=job,
        parameters=before,
        gradient=gradient,
        first=first + 0,
        second=second + 0,
        update=after - before + 0,
        network=new,
        loss_after=loss_after,
    )


def _too_far(optimizer: str, learning_rate: float) -> InvalidInput:
    or_epsilon = "" if optimizer == "sgd" else ", or an epsilon above 0"
    return InvalidInput(
        f"a step of {optimizer} with learning_rate {learning_rate:g} leads to numbers that float64 "
        f"cannot hold; choose a smaller learning rate{or_epsilon}."
    )


def _check(optimizer: str, numbers: dict[str, float], previous: WorkedStep | None) -> None:
    if optimizer not in RULES:
        raise InvalidInput(f"optimizer is {optimizer!r:.40}; choose one of {', '.join(RULES)}.")
    limits = {"learning_rate": np.inf, "epsilon": np.inf, "weight_decay": np.inf}
    for name, value in numbers.items():
        number = isinstance(value, SupportsFloat)
        if name != "nesterov" and not (number and 0 <= float(value) < limits.get(name, 1.0)):
            below = " and below 1" if name not in limits else ""
            told = f"{value:g}" if number else f"{value!r:.40}"
            raise InvalidInput(f"{name} is {told}; it needs a finite number from 0{below}.")
    if numbers["nesterov"] and not numbers["momentum"]:
        raise InvalidInput("nesterov needs momentum above 0, got 0; set momentum, e.g. 0.9.")
    if previous is not None and not isinstance(previous, WorkedStep):
        raise InvalidInput(f"previous is a {type(previous).__name__}; it must be a WorkedStep.")
    if previous is not None and previous.settings.optimizer != optimizer:
        raise InvalidInput(
            f"the previous step is one of {previous.settings.optimizer}, and this one of "
            f"{optimizer}; they must agree, since it goes on from that memory."
        )


def _job(
    work: WorkedPass, optimizer: str, learning_rate: float, options: dict[str, Any]
) -> "TrainingJob":
    from .._kernels.jobs import TrainingJob

    network = work.network
    return TrainingJob(
        widths=network.widths,
        parameters=_flat(network.weights, network.biases),
        activations=tuple((a.name, a.parameters) for a in network.activations),
        likelihood=work.likelihood.name,
        optimizer=optimizer,
        learning_rate=learning_rate,
        **options,
    )


def _update(
    job: "TrainingJob", gradient: Array, previous: WorkedStep | None
) -> tuple[Array, Array, Array]:
    """Parameters and memory after the update that training, too, is made of."""
    from .._kernels.optimizers import UPDATES
    from .._kernels.state import start

    run = start(job, 1, np.float64, validated=False)
    if previous is not None:
        if previous.first.shape != run.first.shape:
            raise InvalidInput("the previous step is one of another network.")
        run.first[:], run.second[:], run.step = previous.first, previous.second, previous.number
    UPDATES[job.optimizer](job, run, gradient, job.learning_rate)
    return run.parameters, run.first, run.second


def _flat(weights: Sequence[Array], biases: Sequence[Array]) -> Array:
    pairs = zip(weights, biases, strict=True)
    return np.concatenate([part.ravel() for pair in pairs for part in pair])
