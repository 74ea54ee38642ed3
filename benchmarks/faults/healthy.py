"""Healthy controls: `HEALTHY`, careful recipes on data that scikit-learn and Pellucid ship."""

from collections.abc import Callable

import numpy as np

from .case import Case, Recipe

HEALTHY: dict[str, Callable[[], Case]] = {}
"""Id -> a function that builds the control."""


def _adam(hidden, rate=0.01, steps=1000, size=None, decay=0.0, activation="relu") -> Recipe:
    return Recipe(hidden, activation, "adam", rate, steps, size, decay, True)


def _table(name: str, target: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Encoded columns and targets of a bundled data set."""
    from pellucid.datasets import load_dataset

    table = load_dataset(name) if target is None else load_dataset(name, target=target)
    X = table.encoder(standardize=False).transform(table)
    dtype = np.int64 if table.task == "classification" else np.float64
    return np.asarray(X, dtype=np.float64), np.asarray(table.y, dtype=dtype)


def _digits_as_numbers() -> tuple[np.ndarray, np.ndarray]:
    """How much ink a digit has in its lower half, from its upper half."""
    X, _ = _table("digits")
    return X[:, :32], X[:, 32:].sum(1)


RECIPES = {
    "iris-16": ("iris", None, _adam((16,), 5e-3, 300, 32, 1e-2)),
    "iris-tanh": ("iris", None, _adam((8,), 0.01, 300, None, 1e-2, "tanh")),
    "wine-16": ("wine", None, _adam((16,), 5e-3, 200, 32, 2e-2)),
    "wine-linear": ("wine", None, _adam((), 0.01, 400, None, 2e-2)),
    "breast-cancer-16": ("breast_cancer", None, _adam((16,), 3e-3, 200, 64, 3e-2)),
    "breast-cancer-linear": ("breast_cancer", None, _adam((), 0.01, 400, None, 2e-2)),
    "breast-cancer-8-8": ("breast_cancer", None, _adam((8, 8), 3e-3, 250, 64, 3e-2)),
    "digits-64": ("digits", None, _adam((64,), 3e-3, 600, 64, 1e-3)),
    "digits-32-32": ("digits", None, _adam((32, 32), 3e-3, 600, 64, 3e-3)),
    "digits-tanh": ("digits", None, _adam((64,), 3e-3, 600, 64, 1e-3, "tanh")),
    "diabetes-linear": ("diabetes", None, _adam((), 0.02, 800)),
    "diabetes-8": ("diabetes", None, _adam((8,), 3e-3, 300, 64, 3e-2)),
    "diabetes-tanh": ("diabetes", None, _adam((8,), 3e-3, 400, None, 3e-2, "tanh")),
    "penguins-16": ("penguins", None, _adam((16,), 5e-3, 300, 32, 1e-2)),
    "penguins-mass": ("penguins", "body_mass_g", _adam((16,), 5e-3, 500, 32, 1e-2)),
    "penguins-mass-linear": ("penguins", "body_mass_g", _adam((), 0.02, 800)),
    "penguins-sex": ("penguins", "sex", _adam((8,), 5e-3, 300, 32, 1e-2)),
    "penguins-bill": ("penguins", "bill_length_mm", _adam((8,), 5e-3, 500, 32, 1e-2)),
    "moons-16": ("moons", None, _adam((16,), 0.01, 1000, None, 1e-3, "tanh")),
    "blobs-8": ("blobs", None, _adam((8,), 0.01, 400, None, 1e-2)),
    "xor-16": ("xor", None, _adam((16,), 0.01, 800, None, 3e-3)),
    "concentric-16": ("concentric", None, _adam((16,), 0.01, 800, None, 1e-4)),
    "spirals-64": ("spirals", None, _adam((64,), 0.01, 3000, None)),
    "checkerboard-64-64": ("checkerboard", None, _adam((64, 64), 0.01, 1500, 128, 1e-4)),
    "sine-16": ("sine", None, _adam((16,), 0.01, 2000, None, 0.0, "tanh")),
    "plane-linear": ("plane", None, _adam((), 0.02, 800)),
    "plane-8": ("plane", None, _adam((8,), 0.01, 600, None, 1e-3)),
    "digits-ink": ("ink", None, _adam((32,), 3e-3, 500, 64, 3e-3)),
}
"""Id -> data set, target (None is its own), recipe."""


def _control(name: str) -> Callable[[], Case]:
    data, target, recipe = RECIPES[name]

    def make() -> Case:
        X, y = _digits_as_numbers() if data == "ink" else _table(data, target)
        where = f"{data} {target or ''}".strip()
        return Case(f"healthy/{name}", ("fits",), X, y, f"{where}, a careful recipe", recipe)

    return make


for _name in RECIPES:
    HEALTHY[f"healthy/{_name}"] = _control(_name)
