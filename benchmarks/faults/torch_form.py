"""A recipe as PyTorch code, and pieces that the cases in PyTorch share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from .case import Case, Recipe

ACTIVATIONS = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "leaky_relu": nn.LeakyReLU,
    "gelu": nn.GELU,
    "identity": nn.Identity,
}
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
ONE_CLASS_OF = 2  # a label is one of at least two classes


def mlp(
    widths: Sequence[int],
    activation: Callable[[], nn.Module] = nn.ReLU,
    output: nn.Module | None = None,
    seed: int = 0,
) -> nn.Sequential:
    """A fully connected network with torch's own initialization from that seed."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for i in range(len(widths) - 1):
        layers.append(nn.Linear(widths[i], widths[i + 1]))
        if i < len(widths) - 2:
            layers.append(activation())
    return nn.Sequential(*layers, *([] if output is None else [output]))


def batches(n: int, size: int | None, steps: int, seed: int = 0, shuffle: bool = True) -> Any:
    """Row indices of each step: epochs of shuffled rows, the last batch of each may be short."""
    generator = torch.Generator().manual_seed(seed)
    if size is None or size >= n:
        for _ in range(steps):
            yield slice(None)
        return
    order, at = torch.arange(n), n
    for _ in range(steps):
        if at >= n:
            order, at = (torch.randperm(n, generator=generator) if shuffle else order), 0
        yield order[at : at + size]
        at += size


def fit(
    model: nn.Module,
    X: torch.Tensor,
    y: torch.Tensor,
    loss: Callable[[Any, Any], Any],
    optimizer: torch.optim.Optimizer,
    steps: int,
    batch_size: int | None = None,
    shuffle: bool = True,
) -> None:
    """The usual loop."""
    model.train()
    for rows in batches(len(X), batch_size, steps, shuffle=shuffle):
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()


def squared_error(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Mean squared error of one output per row, whatever the shape of y."""
    return nn.functional.mse_loss(outputs.reshape(-1), y.reshape(-1))


def cross_entropy(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of one logit per class."""
    return nn.functional.cross_entropy(logits, y.reshape(-1).long())


def widths(case: Case, recipe: Recipe) -> tuple[int, ...]:
    """Columns, hidden widths, outputs."""
    d_out = 1 if case.task == "regression" else max(ONE_CLASS_OF, int(case.y.max()) + 1)
    return (case.X.shape[1], *recipe.hidden, d_out)


def functions(case: Case) -> dict[str, Callable[..., Any]]:
    """`model_fn`, `loss` and `train_fn` of a recipe."""
    recipe = case.recipe
    assert recipe is not None
    sizes, loss = widths(case, recipe), squared_error
    if case.task == "classification":
        loss = cross_entropy

    def model_fn(seed: int) -> nn.Module:
        return mlp(sizes, ACTIVATIONS[recipe.activation], seed=seed)

    def train_fn(model: nn.Module, X: torch.Tensor, y: torch.Tensor) -> None:
        optimizer = OPTIMIZERS[recipe.optimizer](
            model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        fit(model, X, y, loss, optimizer, recipe.steps, recipe.batch_size)

    return {"model_fn": model_fn, "loss": loss, "train_fn": train_fn}


def standardized(columns: np.ndarray) -> np.ndarray:
    """Mean 0 and deviation 1; a constant column becomes 0."""
    deviation = columns.std(0)
    return (columns - columns.mean(0)) / np.where(deviation > 0, deviation, 1.0)


def scaled(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """X and y as the recipe trains on them."""
    assert case.recipe is not None
    if not case.recipe.standardize:
        return case.X, case.y
    y = standardized(case.y) if case.task == "regression" else case.y
    return standardized(case.X), y


def tensors(case: Case, rows: Any = slice(None)) -> tuple[torch.Tensor, torch.Tensor]:
    """X in float32 and y in int64 or float32, in the shapes that they have."""
    X = torch.tensor(np.asarray(case.X[rows], dtype=np.float32))
    dtype = np.int64 if case.task == "classification" else np.float32
    return X, torch.tensor(np.asarray(case.y[rows], dtype=dtype))
