"""`diagnose`: the protocol, stage by stage, and the verdict that it ends in."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsFloat

from numpy.typing import ArrayLike

from .._errors import InvalidInput
from ..datasets import Table
from ..network import Activation, Activations, as_activations, text_of
from ..training.settings import settings_from
from . import wording
from .causes import causes, waterfall
from .explaining import would_change
from .inspect import unit_health
from .investigation import CHEAP, DEAR, DEAREST, OWN_STAGES, STAGES, Investigation
from .judging import judge
from .lab import Clock, Lab, Progress, workers_of
from .own import own_question, witness_statements
from .problem import checked_seed, own_table, pose
from .references import import_ahead
from .remedy import choose_fix, is_advised
from .search import recipe_plans
from .source import KernelSource
from .splits import split_of
from .verdict import Recipe, Statement, Verdict

__all__ = ["STAGES", "diagnose"]


def diagnose(
    data: Table | ArrayLike,
    y: ArrayLike | None = None,
    *,
    hidden: Sequence[int] | None = None,
    activation: str | Activation | Sequence[str | Activation] = "relu",
    optimizer: str = "adam",
    learning_rate: float = 0.01,
    steps: int = 3000,
    batch_size: int | None = None,
    weight_decay: float = 0.0,
    standardize: bool = False,
    schedule: str = "constant",
    model: Any = None,
    model_fn: Callable[..., Any] | None = None,
    loss: Callable[..., Any] | None = None,
    train_fn: Callable[..., Any] | None = None,
    seed: int = 0,
    budget: float = 60.0,
    held_out: float = 0.25,
    groups: str | ArrayLike | None = None,
    time: str | ArrayLike | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Say why a network does badly, or that it does not, by controlled experiments.

    Parameters
    ----------
    data, y
        A `datasets.Table`, or inputs (n, d_in) with targets (n,).
    hidden
        Hidden widths; `[]` is a linear model.
    activation, optimizer, learning_rate, steps, batch_size, weight_decay, schedule
        The user's recipe, as in `train`. The network starts from torch's initialization.
    standardize
        Whether the recipe standardises the columns and, for regression, the target; by default it
        trains on the numbers as they are. The loss is told on the standardised target either way.
    model
        Instead of `hidden`: a trained `Network`, a PyTorch module, a fitted skorch net or
        scikit-learn MLP, that takes the columns as they are. Nothing of it is changed.
    model_fn, loss, train_fn
        Instead of `hidden`, code in PyTorch: `model_fn(seed)` or `model_fn()` makes a new module,
        `loss(outputs, y)` gives a scalar, and `train_fn(model, X, y)` trains the module in place
        (Adam on shuffled batches, where it is not given). X and y are tensors of the training
        rows, y of the shape that it has here.
    seed
        Of the user's run, and of the split into training and held-out rows.
    budget
        Seconds. Each stage has a fixed amount of work; a stage that is predicted to end after the
        budget is not begun, nor any later one. The user's run, gates and
        references are always made.
    held_out
        The share of rows to hold out.
    groups, time
        The name of a column, or one value per row; the column is no feature then. Rows of one group
        stay on one side of every split. With `time` (dates, or numbers that grow) the latest rows
        are held out, and references are judged by models of earlier rows.
    threads
        How many networks train at once; all processors by default. The numbers do not depend on it.
    progress
        Called with the name of a stage of `STAGES` and the fraction of it that is done.

    Returns
    -------
    Verdict
        After Ctrl-C, the verdict on what was done until then.

    Raises
    ------
    InvalidInput
        Data or settings that cannot be used, or fewer than 20 rows.
    """
    seed, budget = checked_seed(seed), _checked_budget(budget)
    start = _now()
    if hidden is None or model is not None or model_fn is not None:
        _check_one(hidden, model, model_fn)
        if groups is not None or time is not None:
            raise InvalidInput(
                "groups and time go with a recipe (hidden); split the rows yourself before you "
                "give a model or code of your own."
            )
        question = own_question(
            data,
            y,
            model=model,
            model_fn=model_fn,
            loss=loss,
            train_fn=train_fn,
            seed=seed,
            held_out=held_out,
        )
        clock = Clock(budget, start, workers_of(threads))
        lab = Lab(*question, threads, progress, clock)
        return _run_protocol(lab, seed)
    table = own_table(data, y)
    settings = {
        "hidden": _widths(hidden),
        "activation": activation,
        "optimizer": optimizer,
        "learning_rate": learning_rate,
        "steps": steps,
        "batch_size": batch_size,
        "weight_decay": weight_decay,
        "schedule": schedule,
        "seed": seed,
    }
    recipe, sigma = _recipe(settings, standardize)
    table, split = split_of(table, groups, time)
    problem = pose(table, recipe, seed, held_out, split)
    source = KernelSource(recipe, sigma, threads)
    clock = Clock(budget, start, workers_of(threads))
    return _run_protocol(Lab(problem, source, sigma, threads, progress, clock), seed)


def _run_protocol(lab: Lab, seed: int) -> Verdict:
    investigation = Investigation(lab, seed)
    own, further = recipe_plans(lab.source.recipe, seed)
    import_ahead()
    lab.run("your run", [own], always=True)
    if not lab.groups:
        raise KeyboardInterrupt  # stopped before there was anything to judge
    investigation.open_gates()
    investigation.judge_references()
    investigation.refit()
    investigation.look_for_floors("floors", CHEAP)
    further_seeds = [further] if lab.source.repeats else []
    if not investigation.of_own_code:
        lab.run("your recipe", further_seeds)
    investigation.search()
    investigation.widen()
    if investigation.of_own_code:  # which may be slow
        lab.run("your recipe", further_seeds)
    investigation.look_for_floors("more floors", DEAR)
    investigation.mend()
    investigation.learn_curve()
    investigation.look_for_floors("last floors", DEAREST)
    return _verdict(investigation)


def _verdict(investigation: Investigation) -> Verdict:
    lab, recipe, seed = investigation.lab, investigation.recipe, investigation.seed
    problem, findings = lab.problem, investigation.findings()
    user, (evidence, witness) = findings.user, investigation.concluded()
    judgement = judge(evidence)
    fix = choose_fix(judgement.kind, findings, evidence)
    statements = judgement.statements
    open_ended = judgement.kind not in ("fits", "data limit") and not lab.stopped
    if fix is None and open_ended and not is_advised(judgement.kind, evidence):
        statements = (*statements, Statement(wording.no_fix(evidence, judgement.kind), "likely"))
    statements = (*statements, *witness_statements(lab.source, witness))
    return Verdict(
        kind=judgement.kind,
        certainty=judgement.certainty,
        sentence=judgement.sentence,
        statements=statements,
        data_name=problem.table.name,
        target_name=problem.table.target_name,
        task=problem.table.task,
        classes=problem.classes,
        feature_names=problem.feature_names,
        notes=tuple(problem.table.notes),
        n_training=int((~problem.held_out).sum()),
        n_held_out=int(problem.held_out.sum()),
        recipe=recipe,
        seed=seed,
        n_parameters=user.network.n_parameters,
        score_name=problem.score_name,
        references=tuple(model.summary(problem) for model in findings.references),
        trivial_loss=evidence.trivial,
        reference_loss=evidence.reference,
        experiments=tuple(group.summary() for group in lab.groups),
        unit_health=unit_health(user.network, problem.raw_X[~problem.held_out]),
        fix=fix,
        witness=witness,
        network=user.network,
        raw_X=problem.raw_X,
        y=problem.y,
        held_out=problem.held_out,
        scaling=problem.scaling,
        loss_scale=problem.loss_scale,
        stage=lab.stage + (" (interrupted)" if lab.interrupted else ""),
        stages=OWN_STAGES if investigation.of_own_code else STAGES,
        budget=lab.clock.budget,
        seconds=lab.clock.elapsed(),
        alarms=investigation.alarms,
        floors=investigation.bounds.floors,
        certificate=investigation.certificate(evidence, judgement.kind, witness),
        waterfall=waterfall(findings, evidence),
        causes=causes(evidence, judgement),
        would_change=would_change(evidence, judgement.kind, judgement.certainty),
        learning_curve=investigation.curve,
    )


def _widths(hidden: Any) -> list[Any]:
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise InvalidInput(f"hidden is {hidden!r}; it needs a list of widths, such as [16] or [].")
    return list(hidden)


def _recipe(settings: dict[str, Any], standardize: bool) -> tuple[Recipe, Activations]:
    """The recipe in plain, checked values, and its activation."""
    s = settings_from(settings)
    sigma = as_activations(s.activation)
    recipe = Recipe(
        hidden=s.hidden,
        activation=text_of(sigma),
        optimizer=s.optimizer,
        learning_rate=s.learning_rate,
        steps=s.steps,
        batch_size=s.batch_size,
        weight_decay=s.weight_decay,
        standardize=bool(standardize),
        schedule=s.schedule,
    )
    return recipe, sigma


def _check_one(hidden: Any, model: Any, model_fn: Any) -> None:
    named = {"hidden": hidden, "model": model, "model_fn": model_fn}
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        raise InvalidInput(
            f"got {' and '.join(given) or 'none'} of hidden, model and model_fn; give exactly one."
        )


def _checked_budget(budget: Any) -> float:
    if isinstance(budget, str) or not isinstance(budget, SupportsFloat) or not float(budget) > 0:
        raise InvalidInput(f"budget is {budget!r}; it needs a positive number of seconds.")
    return float(budget)


def _now() -> float:
    return time.monotonic()
