"""The plain torch recipe of the baselines.

128-128 ReLU, dropout 0.1, AdamW 1e-3 / 1e-4, batches of 128, at most 200 epochs, a tenth of the
rows for validation, patience 16, the best epoch, the target standardised.
"""

import copy

import numpy as np
from numpy.typing import NDArray

WIDTH, DROPOUT, RATE, DECAY = 128, 0.1, 1e-3, 1e-4
BATCH, EPOCHS, SHARE, PATIENCE = 128, 200, 0.1, 16
Numbers = NDArray[np.float64]


def fit_predict(X: Numbers, y: NDArray, held_out: Numbers, n_classes: int) -> Numbers:
    """Probabilities (n, k) of the held-out rows, or numbers (n,) where `n_classes` is 0."""
    import torch

    offset, scale = (0.0, 1.0) if n_classes else (y.mean(), y.std())
    target = torch.as_tensor(y) if n_classes else torch.tensor((y - offset) / scale).float()
    torch.manual_seed(0)
    model = _network(X.shape[1], n_classes or 1)
    _fit(model, torch.tensor(X, dtype=torch.float32), target, _validation_rows(y, n_classes))
    with torch.no_grad():
        out = model(torch.tensor(held_out, dtype=torch.float32)).double()
    return out.softmax(1).numpy() if n_classes else out[:, 0].numpy() * scale + offset


def _network(d_in: int, d_out: int):
    from torch import nn

    return nn.Sequential(
        nn.Linear(d_in, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT),
        nn.Linear(WIDTH, d_out),
    )  # fmt: skip


def _validation_rows(y: NDArray, n_classes: int) -> NDArray[np.bool_]:
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    _, chosen = train_test_split(
        rows, test_size=SHARE, random_state=0, stratify=y if n_classes else None
    )
    return np.isin(rows, chosen)


def _fit(model, X, y, validation: NDArray[np.bool_]) -> None:
    """Train in place; the model ends with the weights of the best epoch."""
    import torch
    from torch import nn

    def loss(rows, target):
        out = model(rows)
        if target.is_floating_point():
            return nn.functional.mse_loss(out[:, 0], target)
        return nn.functional.cross_entropy(out, target)

    held = torch.as_tensor(validation)
    X_train, y_train, X_held, y_held = X[~held], y[~held], X[held], y[held]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    best, best_loss, since = copy.deepcopy(model.state_dict()), np.inf, 0
    for _ in range(EPOCHS):
        model.train()
        for rows in torch.randperm(len(X_train)).split(BATCH):
            optimizer.zero_grad()
            loss(X_train[rows], y_train[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            now = loss(X_held, y_held).item()
        since = 0 if now < best_loss else since + 1
        if now < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), now
        if since >= PATIENCE:
            break
    model.load_state_dict(best)
