"""Planted faults of loss and output: code, so PyTorch. torch is imported when a case is made."""

from typing import Any

from .case import Case
from .planted import planted, regression, unit

WRONG = ("wrong loss or output",)
BOUNDED = ("wrong loss or output", "capacity failure")


def _functions(sizes: Any, output: str, loss: str, rate: float, steps: int) -> dict[str, Any]:
    import torch
    from torch import nn

    from .torch_form import cross_entropy, fit, mlp, squared_error

    outputs = {
        "": nn.Identity,
        "softmax": lambda: nn.Softmax(1),
        "relu": nn.ReLU,
        "sigmoid": nn.Sigmoid,
    }

    def pairs(outputs: Any, y: Any) -> Any:
        return ((outputs - y) ** 2).mean()

    chosen = {"pairs": pairs, "squared": squared_error, "cross": cross_entropy}[loss]

    def model_fn(seed: int) -> nn.Module:
        return mlp(sizes, output=outputs[output]() if output else None, seed=seed)

    def train_fn(model: Any, X: Any, y: Any) -> None:
        fit(model, X, y, chosen, torch.optim.Adam(model.parameters(), rate), steps, 64)

    return {"model_fn": model_fn, "loss": chosen, "train_fn": train_fn}


@planted(BOUNDED, 11)
def softmax_twice(new, r, seed) -> Case:
    """Softmax before a cross-entropy that applies it again."""
    k = int(r.integers(3, 7))
    y = r.integers(0, k, 400)
    X = 3 * r.normal(size=(k, 5))[y] + r.normal(size=(400, 5))
    functions = _functions((5, 16, k), "softmax", "cross", 0.01, 800)
    return new(X=X, y=y, **functions, certificate="output range")


@planted(BOUNDED, 11)
def relu_for_numbers(new, r, seed) -> Case:
    """A ReLU as the output of a regression whose targets lie on both sides of zero."""
    X, y = regression(r, 300, 3, (3,), 0.1)
    return new(
        X=X,
        y=unit(y) - 0.5,
        **_functions((3, 16, 1), "relu", "squared", 0.01, 1000),
        certificate="output range",
    )


@planted(BOUNDED, 11)
def sigmoid_for_numbers(new, r, seed) -> Case:
    """A sigmoid as the output of a regression whose targets leave [0, 1]."""
    X, y = regression(r, 300, 3, (3,), 0.1)
    return new(
        X=X,
        y=2 * unit(y),
        **_functions((3, 16, 1), "sigmoid", "squared", 0.01, 1000),
        certificate="output range",
    )


@planted(WRONG, 11)
def shapes_that_broadcast(new, r, seed) -> Case:
    """Outputs (n, 1) minus targets (n,): every output is compared with every target."""
    X, y = regression(r, 300, 3, (3,), 0.1)
    return new(X=X, y=y, **_functions((3, 16, 1), "", "pairs", 0.01, 800))


@planted(("fits",), 8)
def healthy_logits(new, r, seed) -> Case:
    """Logits into a cross-entropy: the twin of `softmax_twice` without the fault."""
    k = int(r.integers(3, 7))
    y = r.integers(0, k, 400)
    X = 3 * r.normal(size=(k, 5))[y] + r.normal(size=(400, 5))
    return new(X=X, y=y, **_functions((5, 16, k), "", "cross", 0.005, 400))


@planted(("fits",), 8)
def healthy_regression_code(new, r, seed) -> Case:
    """A linear output and equal shapes: the twin of the other faults of output."""
    X, y = regression(r, 400, 3, (3,), 0.15)
    return new(X=X, y=y, **_functions((3, 16, 1), "", "squared", 0.01, 1500))
