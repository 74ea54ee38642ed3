"""`pellucid train`: one network on a table, judged on rows that it did not see, and saved."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..datasets import Table
    from ..diagnosis.problem import Problem
    from ..diagnosis.search import Trial
    from ..diagnosis.verdict import Recipe
    from ..training import Run

HELD_OUT = 0.25
INTERRUPTED = 130
UNFINISHED = {
    "diverged": "Training diverged: the loss is no longer finite. What is judged and saved is the "
    "network at its last recorded finite loss; try a lower learning rate.",
    "interrupted": "Training was interrupted: what is judged and saved is the network as it is.",
}


RECIPE = (
    *("--hidden", "--activation", "--optimizer", "--learning-rate", "--steps", "--batch-size"),
    *("--weight-decay", "--likelihood", "--standardize", "--raw", "--schedule"),
)
"""Options that ask for one network by a recipe, in place of an estimator."""


def train(
    data: o.Data,
    target: o.Target = None,
    hidden: o.Hidden = "16",
    activation: o.ActivationName = "relu",
    optimizer: o.OptimizerName = "adam",
    learning_rate: o.LearningRate = 0.01,
    steps: o.Steps = 3000,
    batch_size: o.BatchSize = None,
    weight_decay: o.WeightDecay = 0.0,
    likelihood: o.LikelihoodName = None,
    standardize: o.Standardize = False,
    schedule: o.Schedule = "constant",
    task: o.Task = "auto",
    drop: o.Drop = None,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    preset: Annotated[
        str, typer.Option(help="Of the estimator: fast, balanced or best (an ensemble).")
    ] = "balanced",
    folds: Annotated[
        int, typer.Option(help="Folds of the estimator's cross-validation; 0 for none.")
    ] = 5,
    out: Annotated[
        Path,
        typer.Option(
            help="File for the estimator; or for the network, of encoded, unscaled columns."
        ),
    ] = Path("model.pellucid"),
) -> int:
    """Train an estimator on a table, print its cross-validated scores and save it.

    The scores stand beside those of a linear model and of gradient boosting on the same folds. With
    any option of a recipe (--hidden to --standardize) it is one network by that recipe instead,
    trained on three quarters of the rows and judged on the rest.

    Example: pellucid train penguins
    """
    from ..network import save
    from ._files import check_file, check_ours, is_network
    from ._invocation import is_given
    from ._load import load_table

    recipe = o.recipe_from(
        hidden,
        activation,
        optimizer,
        learning_rate,
        steps,
        batch_size,
        weight_decay,
        standardize,
        schedule,
    )
    o.check_numbers(seed, threads)
    check_file(out, data)
    check_ours(out, is_network, "network")
    asked = [option for option in RECIPE if is_given(option)]
    if not asked:
        from ._estimator import train_estimator

        table = load_table(data, target, task, drop)
        return train_estimator(table, preset, folds, seed, threads, out)
    for option in ("--preset", "--folds"):
        if is_given(option):
            raise InvalidInput(
                f"{option} is for the estimator, and {asked[0]} asks for one network by a recipe; "
                "leave one of them out."
            )
    if likelihood is None:
        return _train(load_table(data, target, task, drop), recipe, seed, threads, out)
    from ..likelihoods import as_likelihood
    from ..training.targets import check_fit, is_usual
    from . import _likelihood
    from ._console import visible

    head = as_likelihood(likelihood)
    table = load_table(data, target, _likelihood.wanted_task(head, data, task), drop)
    check_fit(head, table, "--likelihood")
    if is_usual(head, table):
        return _train(table, recipe, seed, threads, out)
    outcome = _likelihood.train_by(head, table, recipe, seed, threads)
    save(
        outcome.network,
        out,
        metadata(outcome.problem, seed) | {"likelihood": str(outcome.likelihood)},
    )
    if outcome.order:
        typer.echo(visible(outcome.order))
    header = outcome.loss_name, outcome.measure
    print_outcome(outcome.problem, outcome.run, outcome.rows(), header, out)
    return INTERRUPTED if outcome.run.status == "interrupted" else 0


def _train(table: "Table", recipe: "Recipe", seed: int, threads: int | None, out: Path) -> int:
    """Split, scale and train as `diagnose` does, judge in float64, save, and tell."""
    from ..diagnosis.problem import pose
    from ..diagnosis.search import Plan, judge_run
    from ..network import save
    from ..training import train
    from ._console import visible
    from ._invocation import as_diagnose

    problem = pose(table, recipe, seed, HELD_OUT)
    X, y = problem.scaled(problem.scaling_of(recipe))
    rows = ~problem.held_out
    run = train(
        [X.shape[1], *recipe.hidden, problem.d_out],
        X[rows],
        y[rows],
        **recipe.settings,
        seed=seed,
        threads=threads,
    )
    trial = judge_run(problem, Plan("network", "recipe", recipe, (seed,)), seed, run)
    save(trial.network, out, metadata(problem, seed))
    header = "loss (nats)", _measure(problem)
    print_outcome(problem, run, _rows(problem, trial), header, out)
    typer.echo(f"To ask what holds it back: {visible(as_diagnose())}")
    return INTERRUPTED if run.status == "interrupted" else 0


def metadata(problem: "Problem", seed: int) -> dict[str, str]:
    """What someone needs who loads the network: the order of inputs and outputs, and the split."""
    import json

    table = problem.table
    return {
        "feature_names": json.dumps(problem.feature_names),
        "target": table.target_name,
        "classes": json.dumps(problem.classes),
        "split": split_of(table, HELD_OUT, seed),
    }


def split_of(table: "Table", share: float, seed: int) -> str:
    """The split, for whoever loads the network to know the rows that it did not see."""
    import json

    return json.dumps({"rows": table.n_rows, "task": table.task, "share": share, "seed": seed})


def print_outcome(
    problem: "Problem", run: "Run", rows: list[tuple[str, ...]], header: tuple[str, str], out: Path
) -> None:
    """Print what was trained on what, a table of losses and scores, and where the network is."""
    from ..report import words
    from ._console import console, print_table, visible, visible_path
    from ._wording import spoken

    table = problem.table
    paper = console()
    n_held_out = int(problem.held_out.sum())
    paper.print(
        f"{visible(table.name)}: {table.n_rows - n_held_out:,} training rows, {n_held_out:,} held "
        f"out; column to predict: {visible(repr(table.target_name))} ({table.task})"
    )
    paper.print(
        f"network {'-'.join(map(str, run.network.widths))}, {run.network.n_parameters:,} "
        f"parameters; {_status(run)}"
    )
    if run.status in UNFINISHED:
        paper.print(UNFINISHED[run.status], style="yellow")
    print_table(paper, (header[0], "training", "held out", f"held-out {header[1]}"), rows)
    whole = words.whole_batch(run.settings.batch_size, table.n_rows - n_held_out)
    for note in (*table.notes, *([whole] if whole else [])):
        paper.print(f"note: {visible(spoken(note))}")
    typer.echo(f"saved: {visible_path(out)}")


def _measure(problem: "Problem") -> str:
    from ..report import words

    return words.score_title(problem.score_name)


def _rows(problem: "Problem", trial: "Trial") -> list[tuple[str, ...]]:
    from ..report import words

    name = problem.score_name
    constant_training, constant_held_out, constant_score = _constant(problem)
    return [
        (
            "this network",
            words.loss(trial.training_loss),
            words.loss(trial.held_out_loss),
            words.score(trial.score, name),
        ),
        (
            "constant predictor",
            words.loss(constant_training),
            words.loss(constant_held_out),
            words.score(constant_score, name),
        ),
    ]


def _status(run: "Run") -> str:
    if run.status == "finished":
        return f"finished after {run.steps_done:,} steps"
    return f"{run.status} after {run.steps_done:,} of {run.settings.steps:,} steps"


def _constant(problem: "Problem") -> tuple[float, float, float]:
    """Training loss, held-out loss and held-out score of the best constant outputs."""
    import numpy as np

    rows, unseen = np.flatnonzero(~problem.held_out), np.flatnonzero(problem.held_out)
    best = problem.likelihood.constant_outputs(problem.y[rows], problem.d_out)
    training, held_out = (np.tile(best, (len(r), 1)) for r in (rows, unseen))
    return (
        float(problem.losses(training, rows).mean()),
        float(problem.losses(held_out, unseen).mean()),
        problem.score(problem.hits(held_out, unseen), problem.held_out),
    )
