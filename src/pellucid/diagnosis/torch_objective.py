"""Whether a user's training minimises the loss that is given, or something else beside it."""

import math

import torch

from ..training import OPTIMIZERS
from .torch_code import LOOKED_AT, Code, user_code
from .torch_loss import value_of
from .torch_spy import Called, Rows, Seen, broadcasts
from .torch_state import global_state_kept, own_copy, seed_everything

CALLS = 3
"""Updates in which the numbers that `backward` is called on are compared with the loss."""
ROUNDING = 1e-5
"""What float32 may add to a loss, relative to it."""
JITTER = 1e-3
"""Deviations of a column by which equal rows are told apart while a training is looked at."""
NOTHING = "nothing is proved about it"


def other_objective(code: Code) -> str:
    """In a sentence, what else than `loss` the training minimises; "" where it is `loss`.

    A weight decay of the optimizer that belongs to the recipe is none of it.
    """
    if _is_random(code):
        return (
            "your model draws at random while it is trained (Dropout): its objective is not the "
            f"loss that is told here, and {NOTHING}"
        )
    if code.given or code.train_fn is None:
        return ""
    return _of_decay(code.run(code.seed).seen) or _of_calls(code)


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


def _of_decay(seen: Seen) -> str:
    """A weight decay that the recipe does not hold."""
    if seen.decays <= {0.0}:
        return ""
    if len(seen.decays) > 1:
        return (
            "your optimizers decay some parameters and others not, or less: that objective is not "
            f"the one that is told here, and {NOTHING}"
        )
    name = seen.optimizer.lower()
    if name in OPTIMIZERS and name != "lbfgs":
        return ""
    return f"the weight decay of your {seen.optimizer} is no part of the loss here: {NOTHING}"


# ---- the numbers that backward is called on


def _of_calls(code: Code) -> str:
    X = _told_apart(code.X)
    seen = code.train(X=X, steps=CALLS).seen
    calls = [call for call in seen.called if math.isfinite(call.value)]
    if not calls:
        return (
            "train_fn calls backward on no number that comes from a forward of your model: whether "
            f"it minimises your loss is not known, and {NOTHING}"
        )
    known = Rows(X)
    for call in calls:
        rows = list(known.find(call.batch))
        if -1 in rows:
            return (
                "train_fn gives your model other rows than those of X: its objective is not the "
                f"loss on X that is told here, and {NOTHING}"
            )
        why = _disagreement(code, call, code.y[rows], seen.decays <= {0.0})
        if why:
            return why
    return ""


def _told_apart(X: torch.Tensor) -> torch.Tensor:
    """The rows, moved a little where some are equal, so that each is known by its numbers."""
    if len(torch.unique(X, dim=0)) == len(X):
        return X
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(X.shape, generator=generator, dtype=X.dtype)
    scale = X.std(0)
    return X + JITTER * torch.where(scale > 0, scale, torch.ones_like(scale)) * noise


def _disagreement(code: Code, call: Called, y: torch.Tensor, free: bool) -> str:
    """A sentence where the loss of these outputs and targets is another number.

    Half of it, or the sum over the rows, has the same minima where the weights are `free` of decay.
    """
    assert code.loss is not None
    targets = [y]
    if broadcasts(call.outputs.shape, y.shape):  # the shape gate tells of a loss that crosses them
        targets.append(y.reshape(call.outputs.shape))
    ours = [value_of(code.loss, call.outputs, target) for target in targets]
    known = [value for value in ours if value is not None]
    n = float(len(y))
    factors = (1.0, 0.5, 2.0, n, 1 / n, n / 2) if free else (1.0,)
    same = (math.isclose(call.value, f * v, rel_tol=ROUNDING) for f in factors for v in known)
    if any(same):
        return ""
    told = f"your loss of the same outputs is {known[0]:.6g}" if known else "your loss refuses them"
    return (
        f"train_fn calls backward on {call.value:.6g}, and {told}: it minimises something else "
        f"(a penalty, label smoothing, another loss or factor), and {NOTHING}"
    )
