"""A case: data, how the network on it is trained, and which verdicts on that are right."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

KINDS = (
    "fits",
    "optimization failure",
    "capacity failure",
    "overfitting",
    "data limit",
    "data error",
    "wrong loss or output",
    "unstable training",
)
"""What can be true of a network; a tool may also answer "undecided"."""
UNDECIDED = "undecided"
CERTIFICATES = (
    "conflicting duplicates",
    "affine",
    "output range",
    "one hidden unit",
    "pieces on a line",
    "activation patterns",
    "convex reformulation",
)
"""Lower bounds on the loss of an architecture that a case may list as its proof."""


@dataclass(frozen=True)
class Recipe:
    """A plain fully connected network on a table, and its training: no code of a framework.

    The network ends in one linear output per class for class labels (cross-entropy), and in one
    for numbers (squared error). It starts from `torch.nn.Linear`'s initialization. `steps` counts
    updates; `batch_size` None is all rows, otherwise rows are shuffled anew in every epoch.
    `standardize` scales the columns, and a numeric target, to mean 0 and deviation 1.
    """

    hidden: tuple[int, ...]
    activation: str = "relu"
    optimizer: str = "adam"
    learning_rate: float = 0.01
    steps: int = 1000
    batch_size: int | None = None
    weight_decay: float = 0.0
    standardize: bool = False


@dataclass(frozen=True)
class Case:
    """One network on one data set.

    `truth` holds the verdicts that are right, the main one first; they follow from the cause that
    `confirm` measured, and no tool was asked about them. `certificate` names the lower bound that
    should prove a capacity failure. `y` has whole numbers for classes and floats for targets of a
    regression. A case is a `recipe`, or the three functions in PyTorch: `model_fn(seed)` makes the
    network, `loss(outputs, y)` is a scalar tensor, and `train_fn(model, X, y)` trains in place;
    the tensors have the dtypes and shapes of X (float32) and y (int64 or float32). `as_torch`
    makes the functions from a recipe.
    `measure` names how badly a trained network does (see `measures.py`); above `limit` it fails.
    `repaired` is the twin without the fault, which stays below.
    """

    id: str
    truth: tuple[str, ...]
    X: np.ndarray
    y: np.ndarray
    note: str
    recipe: Recipe | None = None
    model_fn: Callable[[int], Any] | None = None
    loss: Callable[[Any, Any], Any] | None = None
    train_fn: Callable[[Any, Any, Any], None] | None = None
    measure: str = ""
    limit: float = 0.0
    repaired: "Case | None" = None
    certificate: str | None = None
    url: str = ""
    seed: int = 0
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.truth) - set(KINDS)
        if not self.truth or unknown:
            raise ValueError(f"{self.id}: truth is {self.truth}; it needs kinds of {KINDS}.")
        if self.certificate is not None and self.certificate not in CERTIFICATES:
            raise ValueError(f"{self.id}: there is no certificate {self.certificate!r}.")

    @property
    def task(self) -> str:
        """What whole-number targets ("classification") and floats ("regression") ask for."""
        return "classification" if self.y.dtype.kind in "iu" else "regression"

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong: to accuse this network is a false alarm."""
        return self.truth[0] == "fits"

    def as_torch(self) -> "Case":
        """The same with the three functions, and data scaled where the recipe says so."""
        if self.recipe is None:
            return self
        from .torch_form import functions, scaled

        X, y = scaled(self)
        return replace(self, X=X, y=y, **functions(self), recipe=None)


def twin(case: Case, note: str, truth: tuple[str, ...] = ("fits",), **changes: Any) -> Case:
    """A case with some things changed, as the repair of another; its id says so."""
    fixed = {"certificate": None, "repaired": None, "id": f"{case.id}/repaired"}
    return replace(case, **{**fixed, "note": note, "truth": truth, **changes})
