"""Gates for a user's own code: each looks for one fault, and is silent unless sure of it."""

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .alarms import Alarm
from .torch_code import Code, Trained
from .torch_loss import value_of
from .torch_measure import Score, score_of
from .torch_outputs import compares_rows, range_gate, shape_gate, shown, tried
from .torch_parameters import (
    dead_gate,
    frozen_gate,
    gradient_gate,
    optimizer_gate,
    unregistered_gate,
)
from .torch_spy import broadcasts
from .torch_state import global_state_kept, own_copy, seed_everything

if TYPE_CHECKING:
    from .problem import Problem

SAME_OUTPUTS = 1e-5
ORDERED_RUNS = 4.0
"""Labels change this many times less often along the rows than in a random order."""
START_FACTOR = 5.0
"""A loss at the start that is this many times the loss of outputs 0."""
LARGE_TARGETS = 100.0
RATES = (0.1, 0.01)
BATCH_STEPS, BATCH_SHARE = 60, 0.1


# ---- evaluation


def evaluation_gate(code: Code) -> Alarm | None:
    """Outputs that change from one evaluation to the next, or with the other rows of the batch."""
    module = code.trained if code.given else code.fresh
    X = code.X[:32]
    with global_state_kept(), torch.no_grad():
        seed_everything(0)
        twin = own_copy(module).eval()
        first, second = twin(X), twin(X)
        alone = _in_small_batches(twin, X[:4])
    if not _same(first, second):
        return Alarm(
            "evaluation mode",
            "wrong loss or output",
            "likely",
            f"Two evaluations of the same rows in evaluation mode differ by up to "
            f"{float((first - second).abs().max()):.2g}: something random, such as "
            "F.dropout(x) without training=self.training, stays on after model.eval().",
        )
    if alone is not None and not _same(first[:4], alone.reshape(first[:4].shape)):
        return Alarm(
            "evaluation mode",
            "wrong loss or output",
            "likely",
            "The output of a row changes with the other rows of its batch (by up to "
            f"{float((first[:4] - alone).abs().max()):.2g}, in evaluation mode): a softmax over "
            "dimension 0, or a normalisation without running statistics, mixes the rows.",
        )
    return None if code.given else _modes(code)


def _in_small_batches(module: nn.Module, X: torch.Tensor) -> torch.Tensor | None:
    """The outputs of rows one by one, or two by two where the forward takes no single row.

    None where it takes neither.
    """
    for size in (1, 2):
        try:
            return torch.cat([module(rows) for rows in X.split(size)])
        except Exception:  # a user's forward refuses few rows in its own way, as batch norm does
            continue
    return None


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    scale = max(float(a.abs().max()), 1e-6)
    return bool(torch.isfinite(a).all()) and float((a - b).abs().max()) <= SAME_OUTPUTS * scale


def _modes(code: Code) -> Alarm | None:
    """Dropout or batch normalisation that was off while training, or is off balance after it."""
    kinds = {type(m).__name__ for m in code.fresh.modules() if isinstance(m, _MODAL)}
    if not kinds or not code.probe.steps:
        return None
    if code.probe.training_modes == {False}:
        return Alarm(
            "evaluation mode",
            "warning",
            "likely",
            f"The training runs in evaluation mode, in which {', '.join(sorted(kinds))} does "
            "nothing: call model.train() before it.",
        )
    if not any("BatchNorm" in kind for kind in kinds):
        return None
    run = code.run(code.seed)
    evaluated = score_of(code, run.module)
    batch = _batch_statistics(code, run.module)
    if not batch.better_than(evaluated) or run.status != "finished":
        return None
    return Alarm(
        "evaluation mode",
        "wrong loss or output",
        "likely",
        f"The {evaluated.name} on held-out rows is {shown(evaluated.held_out)} in evaluation mode "
        f"and {shown(batch.held_out)} with the statistics of these rows: the running statistics of "
        "the batch normalisation are not those of the data (too few steps, a momentum that is "
        "too small, or batches that differ).",
    )


_MODAL = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)


def _batch_statistics(code: Code, module: nn.Module) -> Score:
    """The score where batch normalisation uses the numbers of the rows that are evaluated."""
    twin = own_copy(module).eval()
    with global_state_kept(), torch.no_grad():
        for part in twin.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.momentum = None
                part.reset_running_stats()
                part.train()
        twin(code.X)
        twin.eval()
    return score_of(code, twin)


# ---- the input


def input_gate(code: Code) -> Alarm | None:
    """Outputs that are the same for every input, before the training or after it."""
    if code.given:
        return _constant_after(code)
    if _is_constant(code, code.fresh) and _is_constant(code, code.trained):
        return Alarm(
            "zeroed input",
            "wrong loss or output",
            "likely",
            "The outputs are the same for every row, before the training and after it: they do not "
            "depend on the input. Something between input and output is "
            "constant: an output activation, dead units, or an input that is not used.",
        )
    return None


def _is_constant(code: Code, module: nn.Module) -> bool:
    X = code.X[:64]
    if len(torch.unique(X, dim=0)) < 2:
        return False
    module = own_copy(module)
    try:
        rows, module = X.double(), module.double()
        out = code.outputs_of(module, rows)
    except Exception:  # a forward that insists on float32
        out = code.outputs_of(own_copy(module).float(), X)
    spread = float((out.max(0).values - out.min(0).values).max())
    return spread <= 1e-12 * max(float(out.abs().max()), 1e-300)


def _constant_after(code: Code) -> Alarm | None:
    if len(torch.unique(code.y, dim=0)) < 2 or not _is_constant(code, code.trained):
        return None
    return Alarm(
        "zeroed input",
        "wrong loss or output",
        "undecided",
        "The outputs of the trained model are the same for every row: they do not depend on the "
        "input (an output activation that is constant, dead units, or a training that collapsed).",
    )


# ---- the order of the rows


def order_gate(code: Code) -> Alarm | None:
    """Rows sorted by their target, in batches that follow one another unshuffled."""
    if code.given or code.train_fn is None or not _sorted(code.y):
        return None
    if not in_order(code):
        return None
    generator = torch.Generator().manual_seed(0)
    rows = torch.randperm(len(code.X), generator=generator)
    before = score_of(code, code.trained)
    after = score_of(code, code.train(X=code.X[rows], y=code.y[rows]).module)
    if not after.better_than(before):
        return None
    return Alarm(
        "row order",
        "optimization failure",
        "likely",
        "The rows are sorted by their target and train_fn takes them in that order, so that a "
        "batch holds few classes or levels and the next one undoes what it taught. Shuffle them in "
        f"every epoch. {tried('the rows shuffled once', before, after)}",
        remedy="shuffle rows",
    )


def _sorted(y: torch.Tensor) -> bool:
    """Whether targets change far less from row to row than in a random order."""
    y = y.double().reshape(len(y), -1)
    if len(y) < 20:
        return False
    generator = torch.Generator().manual_seed(0)
    other = y[torch.randperm(len(y), generator=generator)]
    steps = float((y[1:] - y[:-1]).abs().mean())
    return steps * ORDERED_RUNS < float((other[1:] - other[:-1]).abs().mean())


def in_order(code: Code) -> bool:
    """Whether the first batches are consecutive rows, and more than one of them."""
    batches = [b for b in code.probe.batches if b]
    if len(batches) < 4 or max(map(len, batches)) * 2 > len(code.X):
        return False
    flat = [row for batch in batches[:8] for row in batch if row >= 0]
    steps = [b - a for a, b in itertools.pairwise(flat)]
    return len(flat) > 8 and sum(step == 1 for step in steps) >= 0.8 * len(steps)


# ---- the start and the course of the training


def start_gate(code: Code) -> Alarm | None:
    """A first loss far above that of outputs 0, or targets far from 1: scaling, if it helps."""
    if code.given or code.loss is None or code.recognised.family is None:
        return None
    first = code.value(code.fresh, code.X, code.y)
    expected = value_of(code.loss, _neutral(code), code.y)
    if expected is None:
        return None
    values = code.recognised.family.wants == "values"
    size = float(code.y.double().square().mean()) if values else 0.0
    if not math.isfinite(first) or expected <= 0:
        return None
    if first < START_FACTOR * expected and size < LARGE_TARGETS:
        return None
    before = score_of(code, code.trained)
    after = _standardised(code, values)
    if not after.better_than(before):
        return None
    found = (
        f"the first loss is {first:.3g}, {first / expected:.1f} times that of outputs 0"
        if first >= START_FACTOR * expected
        else f"the targets have a mean square of {size:.3g}"
    )
    return Alarm(
        "initial loss",
        "optimization failure",
        "likely",
        f"The numbers are badly scaled for this start: {found}. "
        f"{tried('standardised columns' + (' and target' if values else ''), before, after)}",
        remedy="standardize",
    )


def _neutral(code: Code) -> torch.Tensor:
    """Outputs that say nothing: 0, or equal probabilities."""
    out = torch.zeros(len(code.y), *code.outputs.shape[1:], dtype=code.outputs.dtype)
    k = out.shape[1] if out.ndim == 2 else 1
    wants = code.recognised.family.wants if code.recognised.family else ""
    if wants == "probabilities":
        return out + (1.0 / k if k > 1 else 0.5)
    return out - math.log(k) if wants == "log probabilities" else out


def _standardised(code: Code, targets: bool) -> Score:
    """The score of the same training on standardised numbers, judged on the original ones."""
    o, s = code.X.mean(0), code.X.std(0)
    s = torch.where(s > 0, s, torch.ones_like(s))
    m, t = (code.y.mean(0), code.y.std(0)) if targets else (0.0, 1.0)
    y, y_new = ((code.y - m) / t, (code.y_new - m) / t) if targets else (code.y, code.y_new)
    other = Code(
        code.model_fn,
        code.loss,
        code.train_fn,
        (code.X - o) / s,
        y,
        (code.X_new - o) / s,
        y_new,
        code.seed,
    )
    return score_of(other, other.trained)


def finite_gate(code: Code) -> Alarm | None:
    """A loss that stops being a number, or outputs that collapse to one constant."""
    if code.given:
        return None
    run = code.run(code.seed)
    bad = run.seen.first_bad
    if run.status == "diverged" or bad is not None:
        where = f"from step {bad} on" if bad is not None else "at the end"
        return _unstable(code, f"The loss or the parameters are not finite {where}", run)
    if _is_constant(code, run.module) and not _is_constant(code, code.fresh):
        if len(torch.unique(code.y, dim=0)) < 2:
            return None
        return _unstable(
            code, "The training ended in a network that gives the same outputs for every row", run
        )
    return None


def _unstable(code: Code, what: str, run: Trained) -> Alarm | None:
    before = score_of(code, run.module)
    if run.status == "diverged":
        before = Score(before.name, -math.inf, -math.inf)
    rate = run.seen.settings.get("lr")
    used = "" if rate is None else f" at the learning rate {rate:g}"
    for factor in RATES:
        slower = code.train(rate=factor)
        if slower.status == "finished":
            after = score_of(code, slower.module)
            if after.better_than(before):
                told = tried(f"{factor:g} times the learning rate", before, after)
                return Alarm("finite loss", "unstable training", "likely", f"{what}{used}. {told}")
    after = _standardised(code, kind_is_values(code))
    if after.better_than(before):
        told = tried("standardised data", before, after)
        sentence = f"{what}{used}. {told}"
        return Alarm("finite loss", "unstable training", "likely", sentence, remedy="standardize")
    if run.status != "diverged":
        return None  # constant, and nothing tried helps: perhaps there is nothing to learn
    more = "Lower learning rates and standardised data did not help."
    return Alarm("finite loss", "unstable training", "likely", f"{what}{used}. {more}")


def kind_is_values(code: Code) -> bool:
    """Whether the targets are numbers that can be rescaled."""
    family = code.recognised.family
    return family is not None and family.wants == "values" and code.y.is_floating_point()


def batch_gate(code: Code) -> Alarm | None:
    """Two rows with different targets that no training of this module can tell apart."""
    if code.given or code.loss is None:
        return None
    rows = _two_rows(code)
    if rows is None:
        return None
    X, y = code.X[rows], code.y[rows]
    out = code.outputs_of(code.fresh, X)
    if broadcasts(out.shape, y.shape) and compares_rows(code):  # the shape gate tells of this
        y = y.reshape(out.shape)
    module = own_copy(code.fresh).eval()
    with global_state_kept():
        seed_everything(code.seed)
        ends = _memorise(code, module, X, y)
    if ends is None:
        return None
    start, end, least = ends
    if end <= least + BATCH_SHARE * (start - least):
        return None
    return Alarm(
        "one batch",
        "wrong loss or output",
        "undecided",
        f"Two training rows with different targets could not be learned by heart: the loss went "
        f"from {start:.3g} to {end:.3g}. A sound model reaches nearly 0 on two rows: look at the "
        "outputs, the loss and the gradient.",
    )


def _two_rows(code: Code) -> list[int] | None:
    y = code.y.double().reshape(len(code.y), -1)
    low, high = int(y.sum(1).argmin()), int(y.sum(1).argmax())
    if torch.equal(y[low], y[high]) or torch.equal(code.X[low], code.X[high]):
        return None
    return [low, high]


def _memorise(code: Code, module: nn.Module, X: Any, y: Any) -> tuple[float, float, float] | None:
    """The loss before and after L-BFGS and Adam on few rows, and that of a perfect answer, 0."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    loss = code.loss
    if not parameters or loss is None:
        return None
    values: list[float] = []

    def step() -> torch.Tensor:
        for p in parameters:
            p.grad = None
        value = loss(module(X), y)
        value.backward()
        values.append(float(value.detach()))
        return value

    try:
        first = step()
        torch.optim.LBFGS(parameters, max_iter=BATCH_STEPS, line_search_fn="strong_wolfe").step(
            step
        )
        adam = torch.optim.Adam(parameters, lr=0.01)
        for _ in range(BATCH_STEPS):
            adam.step(step)
    except Exception:  # a loss that refuses these two rows
        return None
    finite = [v for v in values if math.isfinite(v)]
    if not finite or float(first.detach()) <= 0:
        return None
    family = code.recognised.family
    if family is None:  # nobody knows its lowest value
        return None
    return float(first.detach()), min(finite), 0.0


CODE_GATES: dict[str, Callable[[Code], Alarm | None]] = {
    "shapes": shape_gate,
    "output range": range_gate,
    "unregistered parameters": unregistered_gate,
    "optimizer": optimizer_gate,
    "frozen parameters": frozen_gate,
    "evaluation mode": evaluation_gate,
    "gradient": gradient_gate,
    "dead at the start": dead_gate,
    "zeroed input": input_gate,
    "row order": order_gate,
    "finite loss": finite_gate,
    "initial loss": start_gate,
    "one batch": batch_gate,
}
"""The gates in the order in which they are asked."""

EXPLAINED = {
    "zeroed input": ("output range", "dead at the start"),
    "one batch": tuple(name for name in CODE_GATES if name != "one batch"),
    "initial loss": ("finite loss", "output range", "shapes"),
    "gradient": ("dead at the start",),
    "finite loss": ("output range", "shapes", "dead at the start", "zeroed input"),
}
"""A gate that only shows what one of these, which found something, has explained."""


def alarms_of(code: Code) -> tuple[Alarm, ...]:
    """What the gates find in a user's code."""
    found: dict[str, Alarm] = {}
    for name, gate in CODE_GATES.items():
        if any(other in found for other in EXPLAINED.get(name, ())):
            continue
        alarm = gate(code)
        if alarm is not None:
            found[name] = alarm
    return tuple(found.values())


def code_gates(source: Any, problem: "Problem") -> tuple[Alarm, ...]:
    """The alarms of a source that runs a user's own code; none for other sources."""
    code = getattr(source, "code", None)
    return () if code is None else alarms_of(code(problem))
