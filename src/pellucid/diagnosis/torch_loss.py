"""Which loss a callable is: found by evaluating it, on chosen outputs and the user's own targets.

Nothing is concluded from a name. The loss is evaluated on raw numbers, on probabilities, on log
probabilities and on numbers that deviate little and much from the targets, for rows of every class
and from the smallest target to the largest; it is called what every one of these evaluations,
failures included, agrees with, up to one constant factor.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from .torch_state import global_state_kept

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

ROWS, DRAWS = 12, 2
SAME = 1e-4
WIDE = 10.0
"""The largest deviations from the targets that are tried, in standard deviations of the targets."""

Probe = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class LossFamily:
    """A loss that is recognised: what it is, what it wants for outputs, and its likelihood.

    `wants` is "logits", "probabilities", "log probabilities" or "values"; `likelihood` the name of
    the likelihood whose negative logarithm it is, up to a factor and a constant, or None.
    """

    name: str
    likelihood: str | None
    wants: str
    evaluate: Loss


def _pick(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return outputs.gather(1, y.reshape(-1, 1).long()).reshape(-1)


def _labels_only(function: Loss) -> Loss:
    def evaluate(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if y.is_floating_point() or outputs.ndim != 2:
            raise TypeError("class labels are whole numbers")
        return function(outputs, y)

    return evaluate


def _one_hot(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if y.shape != outputs.shape or not y.is_floating_point():
        raise TypeError("the targets are no probabilities of the classes")
    return F.cross_entropy(outputs, y)


LOSSES: tuple[LossFamily, ...] = (
    LossFamily("cross entropy", "categorical", "logits", _labels_only(F.cross_entropy)),
    LossFamily("cross entropy of one-hot targets", "categorical", "logits", _one_hot),
    LossFamily(
        "negative log-likelihood",
        "categorical",
        "log probabilities",
        _labels_only(lambda o, y: -_pick(o, y).mean()),
    ),
    LossFamily(
        "negative log of the probability",
        "categorical",
        "probabilities",
        _labels_only(lambda o, y: -torch.log(_pick(o, y)).mean()),
    ),
    LossFamily("squared error", "gaussian", "values", lambda o, y: ((o - y) ** 2).mean()),
    LossFamily("absolute error", None, "values", lambda o, y: (o - y).abs().mean()),
    LossFamily(
        "binary cross entropy of logits",
        "bernoulli",
        "logits",
        lambda o, y: F.binary_cross_entropy_with_logits(o, y.to(o.dtype)),
    ),
    LossFamily(
        "binary cross entropy",
        "bernoulli",
        "probabilities",
        lambda o, y: F.binary_cross_entropy(o, y.to(o.dtype)),
    ),
)
"""The losses that are recognised."""
BY_NAME = {family.name: family for family in LOSSES}


@dataclass(frozen=True)
class RecognisedLoss:
    """`loss(outputs, y)` is `factor` times the family's mean; family None is an unknown loss."""

    family: LossFamily | None
    factor: float = 1.0

    @property
    def name(self) -> str:
        """In words."""
        return "unknown loss" if self.family is None else self.family.name


def recognise_loss(loss: Loss, outputs: torch.Tensor, y: torch.Tensor) -> RecognisedLoss:
    """Say which of `LOSSES` a loss is, on all targets `y` and outputs like `outputs`.

    Of `outputs` the shape of a row and the number type count.
    """
    n_units = outputs.shape[1] if outputs.ndim > 1 else 1
    groups = _probes(outputs, y, y[spread_rows(y, n_units)])
    theirs = [_values(loss, probes) for probes in groups]
    if all(value is None for values in theirs for value in values):
        return RecognisedLoss(None)
    reshaped = [_in_one_shape(probes) for probes in groups]
    for made in (groups, reshaped if all(reshaped) else groups):
        for family in LOSSES:
            factor = _factor(theirs, [_values(family.evaluate, probes) for probes in made])
            if factor is not None:
                return RecognisedLoss(family, factor)
    return RecognisedLoss(None)


def spread_rows(y: torch.Tensor, n_units: int = 1) -> torch.Tensor:
    """A few row numbers: from the smallest target through to the largest, and of every class.

    Targets with more values than there are outputs, and than these rows, are numbers: no classes.
    """
    flat = y.reshape(len(y), -1)
    key = flat.argmax(1) if flat.shape[1] > 1 else flat[:, 0]
    order = torch.argsort(key, stable=True)
    places = torch.linspace(0, len(y) - 1, min(ROWS, len(y))).round().long()
    ranked = key[order]
    starts = torch.cat([ranked.new_ones(1, dtype=torch.bool), ranked[1:] != ranked[:-1]])
    if int(starts.sum()) <= max(ROWS, n_units):
        places = torch.cat([places, starts.nonzero()[:, 0]])
    return order[torch.unique(places)]


def _values(loss: Loss, probes: list[Probe]) -> list[float | None]:
    return [value_of(loss, o, t) for o, t in probes]


def _in_one_shape(probes: list[Probe]) -> list[Probe]:
    """The targets in the shape of outputs (n, 1), for a loss that flattens both itself."""
    return [(o, y.reshape(o.shape)) for o, y in probes if o.shape == (len(y), 1) and y.ndim == 1]


def _probes(outputs: torch.Tensor, y: torch.Tensor, few: torch.Tensor) -> list[list[Probe]]:
    """Outputs for `few` of the targets, drawn without the global generator.

    Raw numbers, probabilities and log probabilities; then, a list for each size, outputs that
    deviate by about that size from targets that are numbers: 1, and those of the targets `y`.
    """
    generator = torch.Generator().manual_seed(0)
    dtype = outputs.dtype if outputs.is_floating_point() else torch.float32
    shape = (len(few), *outputs.shape[1:])
    draws = [torch.randn(shape, generator=generator, dtype=dtype) for _ in range(DRAWS)]
    plain: list[Probe] = []
    for z in (2 * e for e in draws):
        several = z.ndim == 2 and z.shape[1] > 1
        p = torch.softmax(z, 1) if several else torch.sigmoid(z)
        plain += [(o, few) for o in (z, p, torch.log(p))]
    if few.numel() != draws[0].numel():
        return [plain]
    spread = float(y.double().std()) if len(y) > 1 else 0.0
    sizes = [size for size in (1.0, spread, WIDE * spread) if size > 0]
    centre = few.to(dtype).reshape(shape)
    return [plain, *([(centre + size * e, few) for e in draws] for size in sizes)]


def value_of(loss: Loss, outputs: torch.Tensor, y: torch.Tensor) -> float | None:
    """What a loss says of copies of these; None where it refuses, or says no finite number."""
    number = number_of(loss, outputs, y)
    return number if math.isfinite(number) else None


def number_of(loss: Loss, outputs: torch.Tensor, y: torch.Tensor) -> float:
    """The same with infinite numbers as they are; nan where it refuses."""
    try:
        return float(_answer(loss, outputs, y))
    except (TypeError, ValueError, RuntimeError):  # nothing, or more than one number
        return math.nan


def takes(loss: Loss, outputs: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether a loss accepts outputs and targets of this kind, whatever it says of them."""
    return _answer(loss, outputs, y) is not None


def _answer(loss: Loss, outputs: torch.Tensor, y: torch.Tensor) -> Any:
    try:
        with global_state_kept(), torch.no_grad():
            return loss(outputs.clone(), y.clone())
    except Exception:  # a user's loss may refuse these in its own way, which is an answer
        return None


def _factor(theirs: list[list[float | None]], ours: list[list[float | None]]) -> float | None:
    """The constant c with theirs = c ours, on every probe, and refusals on the same ones.

    Each group of probes is compared on its own scale, so that small deviations count, too.
    """
    groups = [list(zip(a, b, strict=True)) for a, b in zip(theirs, ours, strict=True)]
    if any((a is None) != (b is None) for pairs in groups for a, b in pairs):
        return None
    known = [[(a, b) for a, b in g if a is not None and b is not None] for g in groups]
    known = [pairs for pairs in known if any(b != 0 for _, b in pairs)]
    if not known:
        return None
    c = sum(a * b for a, b in known[0]) / sum(b * b for _, b in known[0])
    for pairs in known:
        scale = max(abs(b) for _, b in pairs)
        if not all(abs(a - c * b) <= SAME * scale * abs(c) for a, b in pairs):
            return None
    return c if c > 0 else None


def loss_of_skorch(net: Any) -> Loss:
    """The loss that a skorch net is trained with, as a function of its module's outputs.

    For NLLLoss skorch takes the logarithm of the outputs itself.
    """
    import copy

    criterion = getattr(net, "criterion_", None)
    if criterion is None:
        criterion = net.criterion() if isinstance(net.criterion, type) else net.criterion
    criterion = copy.deepcopy(criterion)
    if isinstance(criterion, torch.nn.NLLLoss):
        return lambda outputs, y: criterion(torch.log(outputs), y)
    return criterion


NAMED: dict[str, Callable[[], Loss]] = {
    "cross_entropy": torch.nn.CrossEntropyLoss,
    "mse": torch.nn.MSELoss,
    "l1": torch.nn.L1Loss,
    "bce": torch.nn.BCELoss,
    "bce_with_logits": torch.nn.BCEWithLogitsLoss,
    "nll": torch.nn.NLLLoss,
}
"""Losses of torch that have a name at the command line."""
