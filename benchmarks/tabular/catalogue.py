"""The tables: the development tables of the estimators, and others from the same packages.

Nothing is shipped here: each table is read from a package that `make bench` installs. The names of
the others were chosen before anything was measured on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import sources


@dataclass(frozen=True)
class Source:
    """Where a table is and what of it is predicted.

    `labels`: the target is a class. `levels`: numeric columns whose numbers are names. `left_out`:
    columns that would give the target away, or number the rows.
    """

    read: Callable[[], Any]
    target: Any
    labels: bool
    levels: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    development: bool = False


def _scikit_learn(name: str, labels: bool = True) -> Source:
    return Source(partial(sources.scikit_learn, name), "target", labels, development=True)


def _keel(name: str, development: bool = False) -> Source:
    return Source(partial(sources.keel, name), "target", True, development=development)


TABLES: dict[str, Source] = {
    "iris": _scikit_learn("iris"),
    "wine": _scikit_learn("wine"),
    "breast_cancer": _scikit_learn("breast_cancer"),
    "digits": _scikit_learn("digits"),
    "credit": Source(
        partial(sources.r_package, "modeldata", "credit_data"), "Status", True, development=True
    ),
    "spambase": _keel("spambase", development=True),
    "phoneme": _keel("phoneme", development=True),
    "diabetes": _scikit_learn("diabetes", labels=False),
    "concrete": Source(
        partial(sources.r_package, "modeldata", "concrete"),
        "compressive_strength",
        False,
        development=True,
    ),
    "bikeshare": Source(
        partial(sources.islp, "Bikeshare"),
        "bikers",
        False,
        levels=("hr",),
        left_out=("casual", "registered"),
        development=True,
    ),
    "diamonds": Source(
        partial(sources.r_package, "ggplot2", "diamonds"), "price", False, development=True
    ),
    "penguins": Source(sources.penguins, "species", True),
    "attrition": Source(partial(sources.r_package, "modeldata", "attrition"), "Attrition", True),
    "oj": Source(partial(sources.islp, "OJ"), "Purchase", True, levels=("StoreID", "STORE")),
    "german": _keel("german"),
    "vehicle": _keel("vehicle"),
    "vowel": _keel("vowel"),
    "pima": _keel("pima"),
    "mammographic": _keel("mammographic"),
    "contraceptive": _keel("contraceptive"),
    "segment": _keel("segment"),
    "tic_tac_toe": _keel("tic-tac-toe"),
    "ionosphere": _keel("ionosphere"),
    "boston": Source(partial(sources.islp, "Boston"), "medv", False),
    "sacramento": Source(
        partial(sources.r_package, "modeldata", "Sacramento"), "price", False, left_out=("zip",)
    ),
    "carseats": Source(partial(sources.islp, "Carseats"), "Sales", False),
    "auto": Source(
        partial(sources.islp, "Auto"), "mpg", False, levels=("origin",), left_out=("name",)
    ),
    "wage": Source(partial(sources.islp, "Wage"), "wage", False, left_out=("logwage", "region")),
    "ames": Source(partial(sources.r_package, "modeldata", "ames"), "Sale_Price", False),
}
