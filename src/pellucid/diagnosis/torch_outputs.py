"""Gates on what a module returns and on how its loss takes it: shapes and ranges of outputs."""

import math
from dataclasses import dataclass

import torch
from torch import nn

from ..network import Network
from .alarms import Alarm
from .torch_code import Code
from .torch_loss import value_of
from .torch_measure import Score, score_of
from .torch_spy import broadcasts
from .torch_state import own_copy

SOFTMAX_SUM = 1e-4
RANGES: dict[str, tuple[float, float]] = {
    "relu": (0.0, math.inf),
    "sigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "softsign": (-1.0, 1.0),
    "softplus": (0.0, math.inf),
    "elu": (-1.0, math.inf),
    "log_softmax": (-math.inf, 0.0),
}
"""What an output activation can return."""
FEW_OUTSIDE = 0.02
"""A share of targets outside the range that is no reason for an alarm."""


def tried(what: str, before: Score, after: Score) -> str:
    """The sentence about a remedy that was run."""
    verb = "goes" if abs(after.held_out - before.held_out) > 0.005 else "stays: it goes"
    return (
        f"Run with {what} and otherwise the same training: {before.name} on held-out rows {verb} "
        f"from {shown(before.held_out)} to {shown(after.held_out)}."
    )


def shown(value: float) -> str:
    """A score with two digits, or in words."""
    return f"{value:.2f}" if math.isfinite(value) else "not a number"


# ---- shapes


def shape_gate(code: Code) -> Alarm | None:
    """Outputs (n, 1) against targets (n,): the loss compares every row with every other."""
    if code.given and code.loss is None:
        return None
    out, y = code.outputs, code.y[: len(code.outputs)]
    if code.train_fn is not None and not code.given:
        if not code.probe.broadcasts:
            return None
        a, b = code.probe.broadcasts[0]
    elif code.loss is not None and broadcasts(out.shape, y.shape) and _accepts(code):
        if not compares_rows(code) or (code.given and score_of(code, code.trained).held_out > 0):
            return None
        a, b = tuple(out.shape), tuple(y.shape)
    else:
        return None
    sentence = (
        f"The outputs have shape {a} and the targets {b}: the loss broadcasts them to "
        f"{max(a[0], b[0])} x {max(a[0], b[0])} and compares every row with every other, whose "
        f"best answer is one constant. Give both the same shape, as in y.reshape(outputs.shape)."
    )
    if not code.given:
        before = score_of(code, code.trained)
        fixed = code.train(y=code.y.reshape(_like(out, len(code.y)))).module
        after = score_of(code, fixed)
        if not after.better_than(before):
            return None
        sentence += " " + tried("targets of the outputs' shape", before, after)
    return Alarm("shapes", "wrong loss or output", "likely", sentence, remedy="reshape target")


def compares_rows(code: Code) -> bool:
    """Whether the loss of some rows is neither the mean nor the sum of their losses one by one.

    A loss that takes the last axis off the outputs itself is one of them.
    """
    out, y = code.outputs[:8], code.y[: len(code.outputs)][:8]
    assert code.loss is not None
    whole = value_of(code.loss, out, y)
    rows = zip(out.split(1), y.split(1), strict=True)
    each = [value_of(code.loss, a, b) for a, b in rows]
    known = [v for v in each if v is not None]
    if whole is None or len(known) < len(each):
        return True  # it refuses single rows, so nothing speaks for it
    total = math.fsum(known)
    return not any(math.isclose(whole, v, rel_tol=1e-4) for v in (total, total / len(each)))


def _accepts(code: Code) -> bool:
    """Whether the loss takes these shapes at all, and gives another number than for equal ones."""
    out, y = code.outputs, code.y[: len(code.outputs)]
    same = y.reshape(_like(out, len(y)))
    assert code.loss is not None
    crossed, matched = (value_of(code.loss, out, target) for target in (y, same))
    if crossed is None or matched is None:
        return False
    return not math.isclose(crossed, matched, rel_tol=1e-6)


def _like(out: torch.Tensor, n: int) -> tuple[int, ...]:
    return (n, 1) if out.ndim == 2 else (n,)


# ---- ranges


@dataclass(frozen=True)
class OutputKind:
    """The output activation as far as known, and how many units it has."""

    name: str
    n_units: int
    parameters: tuple[float, ...] = ()

    @property
    def range(self) -> tuple[float, float]:
        """What it can return: as in `RANGES`, with the parameters that it has here."""
        low, high = RANGES[self.name]
        return (-max(self.parameters[0], 0.0), high) if self.name == "elu" else (low, high)


def output_kind(code: Code) -> OutputKind:
    """Read from the module, or, for a softmax, seen from its outputs alone."""
    out, reading = code.outputs, code.reading
    n = out.shape[1] if out.ndim == 2 else 1
    if reading.network is not None:
        if reading.output != "identity":
            return OutputKind(reading.output, n)
        activation = reading.network.output_activation
        return OutputKind(activation.name, n, activation.parameters)
    if n > 1 and bool((out >= 0).all()):
        if bool(((out.sum(1) - 1).abs() < SOFTMAX_SUM).all()) and float(out.std()) > 0:
            return OutputKind("softmax", n)
    elif n == 1 and bool((out == 1).all()):
        return OutputKind("softmax", n)
    return OutputKind("", n)


def range_gate(code: Code) -> Alarm | None:
    """An output activation that the loss, or the targets, cannot live with."""
    kind = output_kind(code)
    family = code.recognised.family
    wants = family.wants if family is not None else ""
    if kind.n_units == 1 and kind.name in ("softmax", "log_softmax"):
        constant = 1 if kind.name == "softmax" else 0
        return _alarm(
            code,
            f"The output is a {kind.name} over a single unit: it is {constant} for every input, "
            "whatever the parameters. Use a sigmoid for one unit, or two units.",
            "a sigmoid instead",
            nn.Sigmoid() if wants != "logits" else nn.Identity(),
        )
    if wants == "logits" and kind.name in RANGES and kind.name != "log_softmax":
        return _on_logits(code, kind)
    if wants == "log probabilities" and kind.name != "log_softmax" and kind.name:
        return _no_log_probabilities(code, kind)
    if wants == "values" and kind.name in RANGES:
        return _targets_outside(code, kind)
    return None


def _on_logits(code: Code, kind: OutputKind) -> Alarm | None:
    """The loss applies the softmax or sigmoid itself: any squashing before it bounds it."""
    low, high = kind.range
    categorical = code.recognised.family is not None and (
        code.recognised.family.likelihood == "categorical"
    )
    k = kind.n_units
    if categorical:
        layer, sense = f"a {kind.name}", "the cross entropy applies a softmax itself"
        floor = math.log(1 + (k - 1) * math.exp(low - high))
        floor_text = (
            f"no parameters bring it below ln(1 + {k - 1} e^{low - high:.0f}) = {floor:.3f}"
        )
    else:
        layer, sense = f"a {kind.name}", "the loss applies a sigmoid itself"
        y = code.y.double()
        floor = float((y * _softplus(-high) + (1 - y) * _softplus(low)).mean())
        floor_text = f"no parameters bring it below {floor:.3f} on these rows"
    bound = f": {floor_text}" if floor > 0.01 else ""
    what = "two softmaxes follow one another" if kind.name == "softmax" else f"{layer} comes first"
    if kind.name == "relu":
        what = "a ReLU comes before it, which makes logits below 0 impossible and units die"
    reached = code.value(code.trained, code.X, code.y)
    if floor > 0.01 and math.isfinite(reached):
        bound += f" (this training ended at {reached:.3f})"
    return _alarm(
        code,
        f"The output layer ends in {layer}, and {sense}: {what}{bound}. Remove the {kind.name}.",
        f"the {kind.name} removed",
        nn.Identity(),
    )


def _softplus(z: float) -> float:
    return math.log1p(math.exp(-abs(z))) + max(z, 0.0) if math.isfinite(z) else max(z, 0.0)


def _no_log_probabilities(code: Code, kind: OutputKind) -> Alarm:
    """NLLLoss takes log probabilities and does not check that it gets any."""
    if kind.name == "softmax":
        return _alarm(
            code,
            "The loss is the negative log-likelihood of log probabilities, and the output is a "
            "softmax, without the logarithm: the loss is minus the mean probability, between -1 "
            "and 0. Use log_softmax, or logits with the cross entropy.",
            "log_softmax instead",
            nn.LogSoftmax(1),
        )
    return _alarm(
        code,
        "The loss is the negative log-likelihood of log probabilities, and the outputs are no log "
        "probabilities: it has no lower bound and falls without end. End in log_softmax, or use "
        "the cross entropy.",
        "log_softmax at the end",
        nn.LogSoftmax(1),
        after_the_output=kind.name == "identity",
    )


def _targets_outside(code: Code, kind: OutputKind) -> Alarm | None:
    low, high = kind.range
    y = code.y.double()
    outside = float(((y < low) | (y > high)).double().mean())
    if kind.name in ("softmax", "log_softmax") or outside <= FEW_OUTSIDE:
        return None
    span = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
    return _alarm(
        code,
        f"The output ends in a {kind.name}, which returns numbers {span}, and {outside:.0%} of the "
        f"training targets lie outside (they go from {float(y.min()):.4g} to "
        f"{float(y.max()):.4g}). Remove the {kind.name} from the output.",
        f"the {kind.name} removed",
        nn.Identity(),
    )


def _alarm(
    code: Code, sentence: str, what: str, instead: nn.Module, after_the_output: bool = False
) -> Alarm:
    """The alarm, with the remedy run where the module could be read and trains."""
    fixed = None if code.given else with_output(code, instead, after_the_output)
    if fixed is not None:
        before = score_of(code, code.trained)
        half = 0.5 if isinstance(instead, nn.Sigmoid) else 0.0
        after = score_of(code, code.with_model(fixed).train(code.seed).module, half)
        sentence += " " + tried(what, before, after)
    remedy = "remove output activation"
    return Alarm("output range", "wrong loss or output", "likely", sentence, remedy=remedy)


def with_output(code: Code, instead: nn.Module, added: bool = False) -> nn.Module | None:
    """A copy of the untrained module with another output activation; None where unread."""
    reading = code.reading
    if added:
        return nn.Sequential(own_copy(code.fresh), instead)
    if reading.network is None:
        return None
    if reading.last:
        module = own_copy(code.fresh)
        if "." not in reading.last:
            setattr(module, reading.last, instead)
        else:
            parent, _, name = reading.last.rpartition(".")
            setattr(module.get_submodule(parent), name, instead)
        return module
    net = reading.network
    plain = Network(net.weights, net.biases, net.activations).to_torch()
    return nn.Sequential(*plain, instead).to(code.X.dtype)
