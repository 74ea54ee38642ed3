"""Whether a user's training minimises the loss that is given, or something else beside it.

At some steps of a training the gradient g that the optimizer was given is compared with the mean
gradient m of the loss on the same rows, computed on a copy: g = factor m. Without a decay of the
weights the factor may be any constant, times or through the number of rows (a sum). A clipped
gradient is a shorter step in the same direction, as an optimizer may take it. Beside a decay the
factor must be 1, clipped or not, since it says how much the penalty counts.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from .._errors import InvalidInput
from ..training import OPTIMIZERS
from .torch_code import LOOKED_AT, Code, user_code
from .torch_spy import Seen, broadcasts
from .torch_state import global_state_kept, in_float64, own_copy, seed_everything
from .torch_steps import Looked, Rows, Step

SAME = 1e-5
"""What a gradient may differ by, relative to it, beside rounding."""
ROUNDINGS = 8.0
"""And how many times what float32 and float64 differ by on the same rows."""
COARSE = 1e-4
"""The rounding, relative to the gradient, of a module that takes no float64."""
TELLING = 1e-3
"""One gradient at least must be compared as closely as this."""
CLIPPED = 1e-4
"""Gradients whose norms are the largest one, up to this, may have been clipped to it."""
VALUES = 1e-4
"""What the losses of a training may differ by, relative to them, from those on the same rows."""
DRAWS, FEW = 12, 0.02
"""Rows in batches for every row of X, after which no more than this share should be in none."""
JITTER = 1e-3
"""Deviations of a column by which equal rows are told apart while a training is looked at."""
NOTHING = "nothing is proved about it"
UNKNOWN = f"whether it minimises your loss is not known, and {NOTHING}"


@dataclass(frozen=True)
class Objective:
    """What else than `loss` a training minimises, in a sentence; "" where it is `loss`.

    A weight decay of the optimizer that belongs to the recipe is none of it. `is_loss` says that
    the numbers on which `backward` is called are those of `loss` as well, one in every step.
    """

    other: str
    is_loss: bool = False


def objective_of(code: Code) -> Objective:
    """What the user's training minimises."""
    if _is_random(code):
        return Objective(
            "your model draws at random while it is trained (Dropout): its objective is not the "
            f"loss that is told here, and {NOTHING}"
        )
    if code.given or code.train_fn is None:
        return Objective("", is_loss=True)
    X = _told_apart(code)
    seen = (code.run(code.seed) if X is code.X else code.train(X=X, gradients=True)).seen
    other = _of_optimizers(seen.looked)
    return Objective(other) if other else _of_steps(code, X, seen)


def _is_random(code: Code) -> bool:
    """Whether two passes in the mode of the training differ on the same rows."""
    seen = not code.given and code.train_fn is not None
    if seen and True not in code.run(code.seed).seen.training_modes:
        return False
    passes = []
    for seed in (0, 1):
        module = own_copy(code.fresh).train()
        with global_state_kept(), torch.no_grad(), user_code("the model's forward"):
            seed_everything(seed)
            passes.append(module(code.X[:LOOKED_AT]))
    return not torch.equal(*passes)


def _told_apart(code: Code) -> torch.Tensor:
    """The rows, moved a little where equal ones have different targets, so that each is known."""
    X, y = code.X, code.y
    if torch.equal(y[Rows(X).firsts], y):
        return X
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(X.shape, generator=generator, dtype=X.dtype)
    scale = X.std(0)
    return X + JITTER * torch.where(scale > 0, scale, torch.ones_like(scale)) * noise


# ---- the optimizers


def _of_optimizers(looked: Looked) -> str:
    """What an optimizer adds to the gradient that the recipe does not hold."""
    if looked.foreign:
        name = min(looked.foreign)
        return f"your {name} is no optimizer of torch's own, or has hooks: {UNKNOWN}"
    if len(looked.parts) > 1:
        return f"your optimizers hold different parameters of the model: {UNKNOWN}"
    if looked.decays <= {0.0}:
        return ""
    if len(looked.decays) > 1:
        return (
            "your optimizers decay some parameters and others not, or less: that objective is not "
            f"the one that is told here, and {NOTHING}"
        )
    names = sorted(looked.kinds)
    known = OPTIMIZERS.get(names[0].lower())
    if len(names) > 1 or known is None or known.name == "lbfgs":
        return (
            f"the weight decay of your {' and '.join(names)} is no part of the loss here: {NOTHING}"
        )
    if known.coupled_decay and not all(step.complete for step in looked.steps):
        return (
            "your weight decay is on some parameters alone, since others are frozen or not "
            f"trained: that objective is not the one that is told here, and {NOTHING}"
        )
    return ""


def _is_penalised(looked: Looked) -> bool:
    """Whether a weight decay is part of the gradient's objective."""
    return any(looked.decays) and all(OPTIMIZERS[k.lower()].coupled_decay for k in looked.kinds)


# ---- the gradients


def _of_steps(code: Code, X: torch.Tensor, seen: Seen) -> Objective:
    steps = [step for step in seen.looked.steps if _is_finite(step)]
    if not any(step.forwards for step in steps):
        return Objective(
            "train_fn makes no step of an optimizer with a gradient that comes from a forward of "
            f"your model: {UNKNOWN}"
        )
    if any(-1 in forward.rows for step in steps for forward in step.forwards):
        return Objective(
            "train_fn gives your model other rows than those of X: its objective is not the loss "
            f"on X that is told here, and {NOTHING}"
        )
    missing = _left_out(X, seen, steps)
    if missing:
        return Objective(
            f"train_fn never gives your model {missing} of the {len(X)} rows of X that it is "
            f"called with: its objective is not the loss on X that is told here, and {NOTHING}"
        )
    if any(step.moved for step in steps):
        changed = "train_fn changes parameters between the steps of its optimizer"
        return Objective(f"{changed}: {UNKNOWN}")
    ways = list(_ways(code, X, steps))
    if not ways:
        return Objective(f"your loss refuses the outputs of the training: {UNKNOWN}")
    fits = min(ways, key=lambda fits: sum(fit.rest for fit in fits))
    other = _disagreement(fits, _is_penalised(seen.looked))
    return Objective(other, not other and _is_loss(fits, seen))


def _left_out(X: torch.Tensor, seen: Seen, steps: Sequence[Step]) -> int:
    """How many rows are in no batch, after so many that each should have been; 0 where too few."""
    single = set(range(len(X))) - Rows(X).repeated
    given = [row for step in steps for forward in step.forwards for row in forward.rows]
    given += [row for batch in seen.batches for row in batch]
    given = [row for row in given if row in single]
    missing = single - set(given)
    enough = len(given) >= DRAWS * len(single) and len(missing) > FEW * len(single)
    return len(missing) if enough else 0


def _is_finite(step: Step) -> bool:
    """Whether there are gradients, and all numbers."""
    finite = (bool(torch.isfinite(gradient).all()) for gradient in step.gradients.values())
    return bool(step.gradients) and all(finite)


@dataclass(frozen=True)
class _Fit:
    """A gradient as factor m + rest: the norms of all, and what rounding makes of m."""

    step: int
    rows: int
    value: float  # of the loss
    norm: float
    of_m: float
    rounding: float
    factor: float
    rest: float

    @property
    def telling(self) -> bool:
        """Whether m is more than rounding."""
        return self.of_m > 0.0 and ROUNDINGS * self.rounding <= TELLING * self.of_m

    def allowed(self, usual: float) -> float:
        """What the rest may be; the `usual` factor counts where m tells none."""
        factor = self.factor if self.telling else usual
        return SAME * self.norm + ROUNDINGS * self.rounding * abs(factor)

    @property
    def unsure(self) -> float:
        """What the factor may be off by, of a rest that is allowed."""
        return math.sqrt(max(self.allowed(self.factor) ** 2 - self.rest**2, 0.0)) / self.of_m


def _is_loss(fits: Sequence[_Fit], seen: Seen) -> bool:
    """Whether each step has one call of `backward`, on the loss of its rows."""
    values = seen.loss_values
    if len(values) != seen.steps:
        return False
    return all(math.isclose(values[fit.step], fit.value, rel_tol=VALUES) for fit in fits)


def _disagreement(fits: Sequence[_Fit], penalised: bool) -> str:
    """A sentence where the gradients are not those of the loss; "" where they are."""
    telling = [fit for fit in fits if fit.telling]
    usual = max((fit.factor for fit in telling), default=1.0)
    other = next((fit for fit in fits if fit.rest > fit.allowed(usual)), None)
    if other is not None:
        return (
            f"in step {other.step + 1} the optimizer of train_fn is given another gradient than "
            "that of your loss on the same rows: it minimises something else (a penalty, label "
            f"smoothing, another loss), and {NOTHING}"
        )
    if not telling:
        return f"the gradients of train_fn are too small to be compared with your loss's: {UNKNOWN}"
    if penalised:
        far = next((fit for fit in telling if abs(fit.factor - 1) > fit.unsure), None)
        if far is None:
            return ""
        return (
            f"beside a weight decay the gradient in step {far.step + 1} is {far.factor:.3g} times "
            "that of your mean loss (clipped, scaled, or added up over batches): the decay counts "
            f"as another one than is told here, and {NOTHING}"
        )
    if any(_is_common(telling, power) for power in (0, 1, -1)):
        return ""
    factors = [fit.factor for fit in telling]
    return (
        f"the gradients of train_fn are from {min(factors):.3g} to {max(factors):.3g} times those "
        f"of your loss: it weighs rows or batches differently, and {NOTHING}"
    )


def _is_common(fits: Sequence[_Fit], power: int) -> bool:
    """Whether one positive number times rows**power is every factor; less than that if clipped."""
    if any(fit.factor <= 0 for fit in fits):
        return False
    largest = max(fit.norm for fit in fits)
    low, high = 0.0, math.inf
    for fit in fits:
        scale = float(fit.rows) ** power
        low = max(low, (fit.factor - fit.unsure) / scale)
        if fit.norm < (1 - CLIPPED) * largest:
            high = min(high, (fit.factor + fit.unsure) / scale)
    return 0.0 < low <= high


# ---- gradients of the loss, on a copy


@dataclass(frozen=True)
class _Mean:
    """Of the loss in a step: the mean gradient, over forwards or their rows, and the mean."""

    by_forward: torch.Tensor
    by_row: torch.Tensor
    value: float


def _ways(code: Code, X: torch.Tensor, steps: Sequence[Step]) -> Iterator[list[_Fit]]:
    """The steps beside the loss: targets in either shape, forwards equal or by their rows."""
    targets = [code.y]
    if broadcasts(code.outputs.shape, code.y[: len(code.outputs)].shape):
        targets.append(code.y.reshape(-1, *code.outputs.shape[1:]))  # the shape gate tells of it
    for y in targets:
        means = _means(code, own_copy(code.fresh), X, y, steps)
        finer = _means(code, in_float64(code.fresh), X.double(), y, steps)
        if means is None:
            continue
        pairs = list(zip(steps, means, finer or [None] * len(steps), strict=True))
        yield [_fit(s, m.value, m.by_forward, f and f.by_forward) for s, m, f in pairs]
        yield [_fit(s, m.value, m.by_row, f and f.by_row) for s, m, f in pairs]


def _fit(step: Step, value: float, m: torch.Tensor, finer: torch.Tensor | None) -> _Fit:
    g = _flat(step.gradients.values())
    of_m = float(m.norm())
    rounding = COARSE * of_m if finer is None else float((m - finer).norm())
    factor = float(g @ m) / of_m**2 if of_m else 0.0
    rows = sum(len(forward.rows) for forward in step.forwards)
    rest = float((g - factor * m).norm())
    return _Fit(step.number, rows, value, float(g.norm()), of_m, rounding, factor, rest)


def _means(
    code: Code, module: nn.Module, X: torch.Tensor, y: torch.Tensor, steps: Sequence[Step]
) -> list[_Mean] | None:
    """The mean gradients, None where module or loss refuse, as they may in float64."""
    try:
        with global_state_kept(), user_code("your model or loss"):
            return [_mean(code, module, X, y, step) for step in steps]
    except InvalidInput:
        return None


def _mean(code: Code, module: nn.Module, X: torch.Tensor, y: torch.Tensor, step: Step) -> _Mean:
    module.load_state_dict(step.state)
    named = dict(module.named_parameters())
    parameters = [named[name].requires_grad_() for name in step.gradients]
    n_parameters = sum(p.numel() for p in parameters)
    by_forward = by_row = torch.zeros(n_parameters, dtype=torch.float64)
    n, n_rows, total = 0, 0, 0.0
    for forward in step.forwards:
        for part, mode in zip(module.modules(), forward.modes, strict=True):
            part.training = mode
        value = _value(code, module(X[forward.rows].reshape(forward.shape)), y[forward.rows])
        found = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
        gradient, times, rows = _flat(found), forward.n_gradients, len(forward.rows)
        by_forward = by_forward + times * gradient
        by_row = by_row + times * rows * gradient
        n, n_rows, total = n + times, n_rows + times * rows, total + times * float(value)
    return _Mean(by_forward / max(n, 1), by_row / max(n_rows, 1), total / max(n, 1))


def _value(code: Code, outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss, in the precision of the outputs where it takes that."""
    assert code.loss is not None
    exact = y.to(outputs.dtype) if y.is_floating_point() else y
    if outputs.dtype == code.X.dtype:
        return code.loss(outputs, exact)
    try:
        return code.loss(outputs, exact)
    except Exception:  # a user's loss may refuse float64 in its own way
        return code.loss(outputs.to(code.X.dtype), y)


def _flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    flat = [tensor.detach().to_dense().reshape(-1).double() for tensor in tensors]
    return torch.cat(flat)
