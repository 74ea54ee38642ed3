"""gradsnitch: rules on the curves of loss, gradient norm, rate and update ratio.

Silence is "fits". It judges no data and no shape.
"""

from importlib import import_module
from typing import Any

from ..case import Case
from ..tool import Answer
from .observe import VALIDATIONS, Run, Watcher

KINDS = {
    "GS001": "unstable training",  # loss NaN or infinite
    "GS002": "unstable training",  # gradient norm infinite
    "GS003": "unstable training",  # spike of the gradient norm
    "GS004": "overfitting",
    "GS005": "optimization failure",  # plateau
    "GS006": "unstable training",  # divergence
    "GS007": "optimization failure",  # vanishing gradients
    "GS008": "optimization failure",  # update ratio; "unstable training" where too high
    "GS009": "unstable training",  # growing oscillation
    "GS010": "optimization failure",  # rate collapsed early
}
"""Rule -> kind; written before the tool was scored."""


def diagnose(case: Case, budget: float, threads: int) -> Answer:
    """Train once to count the steps, then with its monitor, and lint."""
    gradsnitch, steps = import_module("gradsnitch"), Watcher()
    Run(case).train(steps)
    apart = max(1, len(steps.losses) // VALIDATIONS)
    run, monitor = Run(case), []

    def before(optimizer: Any) -> None:
        if not monitor:
            monitor.append(gradsnitch.watch(run.model, optimizer))

    def after(optimizer: Any, loss: float) -> None:
        step = len(monitor[0].rows)
        validation = run.validation_loss() if step % apart == 0 else None
        monitor[0].log(step, loss, val_loss=validation)

    run.train(Watcher(before, after))
    found = gradsnitch.lint(monitor[0].df()) if monitor else []
    found = sorted(found, key=lambda f: f.severity != "error")
    named = tuple(dict.fromkeys(kind_of(f) for f in found))
    return Answer(named or ("fits",), said=tuple(f"{f.code} {f.name}" for f in found))


def kind_of(finding: Any) -> str:
    """The kind of a finding."""
    if finding.code == "GS008" and "too high" in finding.name:
        return "unstable training"
    return KINDS[finding.code]
