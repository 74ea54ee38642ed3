"""Which rows are held out of the training to choose the epoch by, and how it is said."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Int
from ..datasets.split import hold_out

FEWEST_ROWS = 10
"""Training needs so many rows before any are held out of it."""


@dataclass(frozen=True, eq=False)
class Split:
    """Held-out rows: `folds` has (training rows, held-out rows) of each network's share.

    `kind` is "none", "random", "stratified", "groups" or "given" (an `eval_set`, whose rows are not
    among those of the fit). `text` says it in a sentence.
    """

    kind: str
    folds: tuple[tuple[Array, Array], ...]
    text: str

    def renumbered(self, rows: Int[Array, " n"]) -> "Split":
        """The same, with `rows[i]` for row i."""
        return Split(self.kind, tuple((rows[a], rows[b]) for a, b in self.folds), self.text)


def make_split(
    n: int,
    labels: Int[Array, " n"] | None,
    groups: Any,
    share: float,
    folds: int,
    seed: int,
) -> Split:
    """Fold n rows `folds` times, or hold a share out once; in proportion of the labels, if any.

    Each class keeps a row for training, whatever its size. Rows of one group stay on one side.
    """
    everything = np.arange(n)
    if n < FEWEST_ROWS or (folds == 1 and share == 0):
        why = f"{n} rows are too few" if n < FEWEST_ROWS else "validation_share is 0"
        text = f"no rows were held out ({why}): every epoch is made."
        return Split("none", ((everything, everything[:0]),), text)
    if groups is not None:
        return _by_groups(_numbered(groups, n), labels, share, folds, seed)
    kind = "random" if labels is None else "stratified"
    if labels is not None and np.bincount(labels).max() == 1:
        text = "no rows were held out (no class has two): every epoch is made."
        return Split("none", ((everything, everything[:0]),), text)
    if folds == 1:
        held_out = hold_out(labels, n, share, seed)
        found = ((np.flatnonzero(~held_out), np.flatnonzero(held_out)),)
    else:
        numbers = _fold_numbers(n, labels, min(folds, n), seed)
        found = _folds_of(numbers)
    return Split(kind, found, _text(kind, found, n, seed))


def given_split(n: int, n_given: int) -> Split:
    """All n rows are trained on, and the user's own rows choose the epoch."""
    everything = np.arange(n)
    text = (
        f"the {n_given} rows of eval_set chose the epoch; all {n} rows of the fit were trained on."
    )
    return Split("given", ((everything, everything[:0]),), text)


def _fold_numbers(n: int, labels: Array | None, k: int, seed: int) -> Int[Array, " n"]:
    """The fold of each row: shuffled, then dealt out class by class."""
    order = np.random.default_rng(seed).permutation(n)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    numbers = np.empty(n, np.int64)
    numbers[order] = np.arange(n) % k
    if labels is not None:  # a class of one row trains in every fold
        single = np.bincount(labels)[labels] == 1
        numbers[single] = -1
    return numbers


def _folds_of(numbers: Int[Array, " n"]) -> tuple[tuple[Array, Array], ...]:
    folds = [
        (np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in np.unique(numbers)
    ]
    return tuple((a, b) for k, (a, b) in zip(np.unique(numbers), folds, strict=True) if k >= 0)


def _by_groups(
    groups: Int[Array, " n"], labels: Array | None, share: float, folds: int, seed: int
) -> Split:
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise InvalidInput("groups holds one group only; holding groups out needs two or more.")
    k = min(n_groups, max(2, round(1 / share)) if folds == 1 else folds)
    drawn = np.random.default_rng(seed).permutation(n_groups)[groups]
    rows = np.zeros((len(groups), 1))
    if labels is not None and np.bincount(labels).max() >= k:
        kind = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # rare classes
            found = list(kind.split(rows, labels, drawn))
    else:
        found = list(GroupKFold(k).split(rows, groups=drawn))
    found = [(a, b) for a, b in found if len(a) and len(b)][: 1 if folds == 1 else None]
    return Split("groups", tuple(found), _text("groups", tuple(found), len(groups), seed))


def _numbered(groups: Any, n: int) -> Int[Array, " n"]:
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InvalidInput(
            f"groups has shape {values.shape}; it needs one group for each of {n} rows."
        )
    _, numbers = np.unique(values.astype(str), return_inverse=True)
    return numbers.astype(np.int64)


def _text(kind: str, folds: tuple[tuple[Array, Array], ...], n: int, seed: int) -> str:
    how = {
        "random": "drawn at random",
        "stratified": "drawn in proportion of the classes",
        "groups": "drawn by whole groups",
    }[kind]
    if len(folds) > 1:
        return f"each of {len(folds)} folds of the {n} rows was held out once, {how} (seed {seed})."
    unseen = sum(len(rows) for _, rows in folds)
    return f"{unseen} of the {n} rows were held out, {how} (seed {seed})."
