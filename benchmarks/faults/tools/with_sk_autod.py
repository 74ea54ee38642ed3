"""sk-autod: rules on the curves of training and validation loss, epoch by epoch.

An epoch is a hundredth of the training here. Curves are cut before the first number that is not
finite, since the tool refuses those; with fewer than five points left it has no answer. Silence is
"fits". It sees no network and no data.
"""

import math
from importlib import import_module
from typing import Any

from ..case import Case
from ..tool import Answer
from .observe import VALIDATIONS, Run, Watcher, every

KINDS: dict[str, tuple[str, ...]] = {
    "Classic overfitting": ("overfitting",),
    "Missed early stopping": ("overfitting",),
    "Exploding gradient": ("unstable training",),
    "LR too high": ("unstable training",),
    "Noisy training": ("unstable training",),
    "LR too low": ("optimization failure",),
    "Dying ReLU proxy": ("optimization failure",),
    "Underfitting": ("capacity failure", "optimization failure"),  # it tells both apart nowhere
    "Data leakage": ("data error",),
    "Label noise floor": ("data error", "data limit"),
}
"""Name of a detector -> kinds; written before the tool was scored."""
FEWEST = 5


def diagnose(case: Case, budget: float, threads: int) -> Answer:
    """Train once to count the steps, then with the loss on held-out rows, and ask."""
    ask, steps = import_module("sk_autod").diagnose, Watcher()
    Run(case).train(steps)
    apart = max(1, len(steps.losses) // VALIDATIONS)
    run, values = Run(case), []
    watcher = Watcher()

    def after(optimizer: Any, loss: float) -> None:
        if len(watcher.losses) % apart == 0:
            values.append(run.validation_loss())

    watcher.after = after
    run.train(watcher)
    training, validation = every(watcher.losses, values)
    n = finite(training, validation)
    if n < FEWEST:
        return Answer(said=(f"{n} finite points of {len(values)}",))
    found = ask(training[:n], validation[:n]).findings
    named = tuple(dict.fromkeys(kind for f in found for kind in KINDS[f.detector_name]))
    return Answer(named or ("fits",), said=tuple(f.detector_name for f in found))


def finite(*curves: list[float]) -> int:
    """How many points come before the first that is not finite."""
    points = zip(*curves, strict=True)
    return next(
        (i for i, point in enumerate(points) if not all(map(math.isfinite, point))),
        min(map(len, curves)),
    )
