"""Which likelihoods the target of a table fits, and the target as a likelihood takes it."""

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from ..datasets import Table
from ..likelihoods import Likelihood

OF_CLASSES = ("label", "binary")
USUAL = {"classification": "categorical", "regression": "gaussian"}


def task_of(head: Likelihood) -> str:
    """The task that a likelihood is for."""
    return "classification" if head.target_kind in OF_CLASSES else "regression"


def check_fit(head: Likelihood, table: Table, key: str) -> None:
    """InvalidInput where the likelihood, which `key` names, is for other targets."""
    if table.task != task_of(head):
        raise InvalidInput(
            f"{key} {head} is for a {task_of(head)}; the target {table.target_name!r} makes a "
            f"{table.task}."
        )
    count = len(table.classes or ())
    if head.name == "bernoulli" and count != 2:
        raise InvalidInput(
            f"{key} bernoulli is for two classes; {table.target_name!r} has {count}: leave it out, "
            "or take ordinal where they have an order."
        )


def is_usual(head: Likelihood, table: Table) -> bool:
    """Whether it is the likelihood that the task has anyway."""
    return head.name == USUAL[table.task]


def targets(head: Likelihood, y: Array) -> Array:
    """Labels as they are, and other targets as a column of floats."""
    return y if head.target_kind == "label" else y.astype(np.float64)[:, None]


def order_of(head: Likelihood, classes: tuple[str, ...] | None) -> str | None:
    """The classes as they were ordered, which the user should look at; None without an order."""
    return None if head.name != "ordinal" else "classes in order: " + " < ".join(classes or ())
