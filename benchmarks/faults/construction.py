"""`python -m faults.construction`: what was planted does show, generator by generator.

The truth of a planted case follows from how it was made. This measures that the fault is there as
well: recipes are trained by Pellucid's kernel (fast), code by PyTorch, and healthy networks are
compared with gradient boosting on rows that neither has seen. It writes `constructed.toml`.
"""

import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case
from .confirm import _rounded, write
from .healthy import HEALTHY
from .measures import halves
from .planted import GENERATORS

PATH = Path(__file__).with_name("constructed.toml")
HEAD = (
    "# Written by `python -m faults.construction`. `shown` counts the cases that are beyond the\n"
    "# limit on the right side; `measured` are the smallest, median and largest value. In the\n"
    "# cases of `also_optimization` another run does clearly better: this one failed twice.\n"
)
STARTS, OTHER_STARTS, LONGER = 5, 8, 3
OPTIMIZATION = "optimization failure"
ASKED = ("capacity failure", "wrong loss or output")
"""Main truths of runs that may have failed to find the best of the network as well."""
CLEARLY = 0.05
"""A run is clearly better by this share of a constant's loss. Half of what a witness needs, so
that no true proof of an optimization failure counts as wrong."""


def losses(case: Case, rows: Any, others: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared error as a share of the variance, or wrong rows: on `rows` (trained) and `others`."""
    z = _outputs(case, rows, seed)
    y = case.y
    if case.task == "classification":
        wrong = np.where(np.isfinite(z).all(1), z.argmax(1) != y, True).astype(float)
        return wrong[rows], wrong[others]
    with np.errstate(all="ignore"):
        error = np.nan_to_num((z[:, 0] - y) ** 2 / y[rows].var(), nan=1e9, posinf=1e9)
    return error[rows], error[others]


def _outputs(case: Case, rows: Any, seed: int) -> np.ndarray:
    """Outputs on all rows after training on some."""
    if case.recipe is None:
        from .measures import outputs, trained

        return outputs(trained(case, rows, seed), case)
    import pellucid

    recipe, X, y = case.recipe, case.X, case.y
    shift, size = 0.0, 1.0
    if recipe.standardize:
        deviation = X[rows].std(0)
        X = (X - X[rows].mean(0)) / np.where(deviation > 0, deviation, 1)
        if case.task == "regression":
            shift, size = float(y[rows].mean()), float(y[rows].std())
    d_out = 1 if case.task == "regression" else max(2, int(y.max()) + 1)
    target = (y[rows] - shift) / size if case.task == "regression" else y[rows]
    settings = {k: v for k, v in vars(recipe).items() if k not in ("hidden", "standardize")}
    widths = [X.shape[1], *recipe.hidden, d_out]
    run = pellucid.train(widths, X[rows], target, seed=seed, **settings)
    return np.asarray(run.network(np.asarray(X, dtype=np.float32)), dtype=float) * size + shift


def boosting(case: Case, rows: Any, others: Any) -> float:
    """The same number for gradient boosting on `others`."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    X, y = case.X, case.y
    if case.task == "classification":
        model = HistGradientBoostingClassifier(random_state=0).fit(X[rows], y[rows])
        return float(np.mean(model.predict(X[others]) != y[others]))
    model = HistGradientBoostingRegressor(random_state=0).fit(X[rows], y[rows])
    return float(np.mean((model.predict(X[others]) - y[others]) ** 2) / y[rows].var())


def on_training_rows(case: Case) -> float:
    """How much of the training rows stays unlearned."""
    every = np.arange(len(case.X))
    return float(losses(case, every, every, case.seed)[0].mean())


def best_of_starts(case: Case) -> float:
    """The same, the best of five starts."""
    every = np.arange(len(case.X))
    return min(float(losses(case, every, every, s)[0].mean()) for s in range(STARTS))


def on_new_rows(case: Case) -> float:
    """How much of new rows stays unlearned, relative to the constant prediction."""
    rows, others = halves(case)
    loss = float(losses(case, rows, others, case.seed)[1].mean())
    if case.task == "regression":
        constant = np.mean((case.y[others] - case.y[rows].mean()) ** 2)
        return loss * float(case.y[rows].var() / constant)
    return loss / (1 - np.bincount(case.y[others]).max() / len(others))


def gap(case: Case) -> float:
    """How much more of new rows than of training rows stays unlearned."""
    rows, others = halves(case)
    trained, new = losses(case, rows, others, case.seed)
    return float(new.mean() - trained.mean())


def behind_boosting(case: Case) -> float:
    """How much worse than gradient boosting on new rows, the mean of three splits."""
    worse = []
    for s in range(3):
        order = np.random.default_rng(s).permutation(len(case.X))
        others, rows = np.split(order, [len(order) // 4])
        loss = float(losses(case, rows, others, case.seed)[1].mean())
        worse.append(loss - boosting(case, rows, others))
    return float(np.mean(worse))


def training_loss(case: Case, seed: int) -> float:
    """The case's own loss on all rows: nats for classes, squared error for numbers."""
    every = np.arange(len(case.X))
    if case.recipe is None:
        import torch

        from .measures import trained
        from .torch_form import tensors

        assert case.loss is not None
        X, y = tensors(case)
        model = trained(case, seed=seed)
        with torch.no_grad():
            loss = float(case.loss(model(X), y))
    elif case.task == "regression":
        loss = float(losses(case, every, every, seed)[0].mean() * case.y.var())
    else:
        z = _outputs(case, every, seed)
        top = z.max(1, keepdims=True)
        log_p = z - top - np.log(np.exp(z - top).sum(1, keepdims=True))
        loss = float(-log_p[every, case.y].mean())
    return loss if np.isfinite(loss) else 1e30


def better_start(case: Case) -> float:
    """By how much the best of eight longer runs lowers the loss, as a share of a constant's."""
    if case.task == "regression":
        constant = float(case.y.var())
    else:
        p = np.bincount(case.y.ravel()) / case.y.size
        constant = float(-(p * np.log(np.where(p > 0, p, 1))).sum())
    own = training_loss(case, case.seed)
    if case.recipe is not None:
        case = replace(case, recipe=replace(case.recipe, steps=LONGER * case.recipe.steps))
    best = min(training_loss(case, case.seed + s) for s in range(OTHER_STARTS))
    return (own - best) / constant


def also_optimization(case: Case) -> bool:
    """Whether the run is an optimization failure as well: another start does clearly better."""
    return OPTIMIZATION not in case.truth and better_start(case) >= CLEARLY


def contradiction(case: Case) -> float:
    """Share of the variance that no function of the columns explains."""
    _, group = np.unique(case.X, axis=0, return_inverse=True)
    means = np.bincount(group, case.y) / np.bincount(group)
    return float(np.mean((case.y - means[group]) ** 2) / case.y.var())


def hangs_on_one_column(case: Case) -> float:
    """How many more rows of the held-out part are wrong where the best single column is mixed."""
    rows, others = halves(case)
    kept = losses(case, rows, others, case.seed)[1].mean()
    mixed = []
    for j in range(case.X.shape[1]):
        X = case.X.copy()
        X[others, j] = np.random.default_rng(0).permutation(X[others, j])
        mixed.append(losses(replace(case, X=X), rows, others, case.seed)[1].mean() - kept)
    return float(max(mixed))


def outliers(case: Case) -> float:
    """The largest target, in deviations of the middle nine tenths."""
    y = case.y[np.abs(case.y - np.median(case.y)) <= np.quantile(np.abs(case.y), 0.9)]
    return float(np.abs(case.y - np.median(case.y)).max() / y.std())


SPECIAL: dict[str, tuple[Callable[[Case], float], float, bool]] = {
    "contradicting_rows": (contradiction, 0.1, True),
    "column_that_gives_it_away": (hangs_on_one_column, 0.2, True),
    "wrong_unit_in_some_rows": (outliers, 100.0, True),
    "two_units_for_a_disk": (best_of_starts, 0.04, True),
    "corrupted_classes": (gap, 0.2, True),
}
KIND: dict[str, tuple[Callable[[Case], float], float, bool]] = {
    "optimization failure": (on_training_rows, 0.2, True),
    "unstable training": (on_training_rows, 0.2, True),
    "capacity failure": (best_of_starts, 0.1, True),
    "wrong loss or output": (on_training_rows, 0.2, True),
    "data limit": (on_new_rows, 0.9, True),
    "overfitting": (gap, 0.15, True),
    "fits": (behind_boosting, 0.05, False),
}
"""Main truth -> what is measured, its limit, and whether it must be above."""


def _measure(name: str, truth: str) -> tuple[Callable[[Case], float], float, bool]:
    if name == "softmax_twice":  # classes are right all the same; it is the loss that is not
        from .measures import MEASURES

        return (lambda case: MEASURES["loss"](case)), 0.5, True
    return SPECIAL.get(name) or KIND[truth]


def row(name: str, truth: str, cases: list[Case]) -> dict[str, Any]:
    """One line of the table."""
    measure, limit, above = _measure(name, truth)
    values = np.array([measure(case) for case in cases])
    shown = values > limit if above else values <= limit
    also = truth in ASKED or any(t in ASKED for t in cases[0].truth)
    return {
        "truth": truth,
        "measure": (measure.__doc__ or "the case's own loss").strip().split("\n")[0].rstrip("."),
        "limit": limit,
        "cases": len(cases),
        "shown": int(shown.sum()),
        "measured": [_rounded(v) for v in np.quantile(values, [0, 0.5, 1])],
        "also_optimization": [c.id for c in cases if also and also_optimization(c)],
    }


def main(arguments: list[str]) -> int:
    """All generators and controls, or those whose name contains a word; 1 if one is not shown."""
    import torch

    torch.set_num_threads(1)
    jobs = [(g.name, g.truth[0], [g.make(s) for s in range(g.seeds)]) for g in GENERATORS.values()]
    jobs += [(name, "fits", [build()]) for name, build in HEALTHY.items()]
    table = tomllib.loads(PATH.read_text()) if PATH.exists() else {}
    missed = 0
    for name, truth, cases in jobs:
        if arguments and not any(word in name for word in arguments):
            continue
        table[name] = made = row(name, truth, cases)
        missed += made["shown"] < made["cases"]
        mark = "" if made["shown"] == made["cases"] else "   NOT ALL SHOWN"
        also = (
            f", also optimization {len(made['also_optimization'])}"
            if made["also_optimization"]
            else ""
        )
        print(f"{name:32s} {made['shown']:2d} of {made['cases']:2d} {made['measured']}{also}{mark}")
        write(PATH, HEAD, {name: table[name] for name, *_ in jobs if name in table})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
