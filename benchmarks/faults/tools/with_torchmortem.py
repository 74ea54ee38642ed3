"""torchmortem: hooks on the model at every step, findings with a severity.

Findings below a warning are not counted, and silence is "fits". It judges no data and no shape.
"""

from importlib import import_module
from typing import Any

from ..case import Case
from ..tool import Answer
from .observe import Run, Watcher

KINDS = {
    "Vanishing gradients detected": "optimization failure",
    "Gradient stalling": "optimization failure",
    "Exploding gradients detected": "unstable training",
    "Dead units": "optimization failure",
    "Activation saturation": "optimization failure",
    "Update ratio too low": "optimization failure",
    "Update ratio too high": "unstable training",
    "Training divergence detected": "unstable training",
    "Loss plateau detected": "optimization failure",
    "Catapult phase detected": None,  # it recovers by definition
    "Edge of stability regime detected": None,  # usual and harmless
    "Rank collapse": "capacity failure",  # told as what limits the capacity of the network
    "Weight norm explosion": "unstable training",
    "Stagnant weight norms": "optimization failure",
    "Inter-layer weight norm imbalance": "optimization failure",
    "High gradient noise": "unstable training",
}
"""Beginning of a finding's title -> kind; written before the tool was scored."""


def diagnose(case: Case, budget: float, threads: int) -> Answer:
    """Train with its hooks attached, then read its report."""
    Autopsy = import_module("torchmortem").Autopsy
    run, autopsy = Run(case), []

    def before(optimizer: Any) -> None:
        if not autopsy:  # the loop makes its optimizer itself: attach at its first step
            autopsy.append(Autopsy(run.model, optimizer=optimizer))
            autopsy[0].attach()

    run.train(Watcher(before, lambda optimizer, loss: autopsy[0].step(loss=loss)))
    if not autopsy:
        return Answer()
    autopsy[0].detach()
    report = autopsy[0].get_report()
    found = sorted((f for f in report.findings if f.severity >= 1), key=lambda f: -f.severity)
    kinds = [kind_of(f.title) for f in found]
    named = tuple(dict.fromkeys(kind for kind in kinds if kind is not None))
    return Answer(named or ("fits",), said=tuple(f.title for f in found))


def kind_of(title: str) -> str | None:
    """The kind of a finding."""
    return next(kind for start, kind in KINDS.items() if title.startswith(start))
