"""How badly a trained network does; each number is larger where it does worse.

Every measure takes the case (with its PyTorch functions) and trains on some rows itself, so that
a case can be confirmed by one call.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from .case import Case
from .torch_form import tensors

HELD_OUT, SPLIT_SEED = 0.25, 0


def trained(case: Case, rows: object = slice(None), seed: int | None = None) -> nn.Module:
    """The case's network after its training on those rows."""
    assert case.model_fn is not None
    assert case.train_fn is not None
    model = case.model_fn(case.seed if seed is None else seed)
    torch.manual_seed(case.seed if seed is None else seed)
    case.train_fn(model, *tensors(case, rows))
    return model.eval()


def outputs(model: nn.Module, case: Case, rows: object = slice(None)) -> np.ndarray:
    """Its outputs in float64."""
    with torch.no_grad():
        return model(tensors(case, rows)[0]).double().numpy()


def unexplained(z: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error as a share of the variance of the target; infinite after divergence."""
    error = float(np.mean((z.reshape(len(y), -1) - y.reshape(len(y), -1)) ** 2) / y.var())
    return error if np.isfinite(error) else float("inf")


def error_rate(z: np.ndarray, y: np.ndarray) -> float:
    """Share of rows with the wrong class; one output is a logit or a probability of class 1."""
    if not np.isfinite(z).all():
        return 1.0
    if z.ndim == 2 and z.shape[1] > 1:
        return float(np.mean(z.argmax(1) != y))
    z = z.reshape(-1)
    middle = 0.5 if z.min() >= 0 and z.max() <= 1 else 0.0
    return float(np.mean((z > middle) != y))


def halves(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to judge by."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(case.X))
    n = max(1, round(HELD_OUT * len(case.X)))
    return np.sort(order[n:]), np.sort(order[:n])


def _on_training_rows(score: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[Case], float]:
    return lambda case: score(outputs(trained(case), case), case.y)


def _on_new_rows(score: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[Case], float]:
    def measure(case: Case) -> float:
        rows, others = halves(case)
        return score(outputs(trained(case, rows), case, others), case.y[others])

    return measure


def _spread(case: Case) -> float:
    """0 where the outputs differ from row to row, 1 where they are all the same."""
    z = outputs(trained(case), case)
    return float(not np.isfinite(z).all() or np.ptp(z, axis=0).max() < 1e-3 * max(case.y.std(), 1))


def _last_column(case: Case) -> float:
    """How much of what the network gets right on new rows hangs on the last column alone."""
    rows, others = halves(case)
    model, mixed = trained(case, rows), case.X.copy()
    mixed[:, -1] = np.random.default_rng(SPLIT_SEED).permutation(mixed[:, -1])
    honest = error_rate(outputs(model, case, others), case.y[others])
    return error_rate(outputs(model, replace(case, X=mixed), others), case.y[others]) - honest


def _gap(score: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[Case], float]:
    def measure(case: Case) -> float:
        rows, others = halves(case)
        model = trained(case, rows)
        new = score(outputs(model, case, others), case.y[others])
        return new - score(outputs(model, case, rows), case.y[rows])

    return measure


def _five_seeds(case: Case) -> float:
    """Share of five seeds whose training does not end in finite outputs that explain anything."""
    return float(
        np.mean([unexplained(outputs(trained(case, seed=s), case), case.y) > 0.9 for s in range(5)])
    )


def _exact_match(case: Case) -> float:
    """Share of rows where some label is wrong; every label is on above one half."""
    return float(np.mean(((outputs(trained(case), case) > 0.5) != case.y).any(1)))


def _loss(case: Case) -> float:
    """The case's own loss on its rows."""
    assert case.loss is not None
    model = trained(case)
    X, y = tensors(case)
    with torch.no_grad():
        value = float(case.loss(model(X), y))
    return value if np.isfinite(value) else float("inf")


MEASURES: dict[str, Callable[[Case], float]] = {
    "variance unexplained": _on_training_rows(unexplained),
    "variance unexplained on new rows": _on_new_rows(unexplained),
    "wrong rows": _on_training_rows(error_rate),
    "wrong rows on new rows": _on_new_rows(error_rate),
    "more variance unexplained on new rows": _gap(unexplained),
    "more wrong rows on new rows": _gap(error_rate),
    "constant output": _spread,
    "failed share of five seeds": _five_seeds,
    "wrong without the last column": _last_column,
    "rows with a wrong label": _exact_match,
    "loss": _loss,
}
"""Name -> function of a case (with PyTorch functions)."""
