"""`train` fits one network, `train_many` a whole grid in one native call."""

import os
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from .. import _kernels
from .._errors import InvalidInput
from ..likelihoods import Likelihood
from ..network import Network, as_activation, initialize
from .checkpoints import EVERY, Checkpoint, checkpoint_at, fingerprint, train_with_checkpoints
from .data import TrainingData, Validation, training_data
from .executors import as_executor
from .history import History, LayerHistory
from .progress import Progress, progress_bar
from .run import Grid, Run
from .settings import Settings, check_size, settings_from, settings_grid

#: the settings that a job has under the same name and with the same meaning
_SAME = tuple(
    {f.name for f in fields(Settings)}
    & {f.name for f in fields(_kernels.TrainingJob)}
    - {"activation", "record_every"}
    - {"batch_size", "step_size", "clip_norm", "patience", "measure_every"}  # None is 0 there
)


def train(
    network: Network | Sequence[int],
    X: ArrayLike,
    y: ArrayLike,
    *,
    likelihood: str | Likelihood | None = None,
    validation: Validation | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: ArrayLike | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    engine: str = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = EVERY,
    **settings: Any,
) -> Run:
    """Train one network and return it with its history.

    Parameters
    ----------
    network
        Widths `[d_0, ..., d_L]` of a network to initialize, or a `Network` to go on from, which
        brings its own activations. The setting `dtype` decides the number type of both.
    X, y
        Inputs (n, d_in) and targets: whole-number labels (n,), or real numbers (n,) or (n, d_out).
    likelihood
        A name of `likelihoods.LIKELIHOODS`, with parameters as in "student_t(4)", or a
        `Likelihood`; by default "categorical" for whole-number labels and "gaussian" for real
        numbers. The last width is the number of outputs that it needs. Losses are in nats.
    validation
        A pair (X, y) of held-out rows whose loss is recorded too; they never change the training.
        A third entry, (X, y, sample_weight), weighs them.
    sample_weight, class_weight
        How much each row (n,) and, for labels, each class (d_out,) counts; the training loss is
        then the weighted mean over the rows of a batch.
    threads, progress, engine, checkpoint, checkpoint_every
        As in `train_many`.
    settings
        Fields of `Settings` other than `hidden`, by their names.

    Raises
    ------
    InvalidInput
        Shapes that do not fit together, unknown names, numbers out of range, NaN in the data.
    InvalidFile
        A checkpoint folder that cannot be used.
    """
    widths = network.widths if isinstance(network, Network) else _widths(network)
    one = settings_from(settings | {"hidden": widths[1:-1]})
    start = network if isinstance(network, Network) else _initial(widths, one)
    data = training_data(X, y, likelihood, start.d_out, validation, sample_weight, class_weight)
    saved = checkpoint_at(checkpoint, checkpoint_every)
    return _run([(one, start)], data, threads, progress, engine, saved)[0]


def train_many(
    X: ArrayLike,
    y: ArrayLike,
    *,
    hidden: Sequence[Sequence[int]],
    seed: Any = 0,
    learning_rate: Any = 0.01,
    activation: Any = "relu",
    scheme: Any = "torch",
    dtype: Any = "float32",
    optimizer: Any = "adam",
    momentum: Any = 0.0,
    nesterov: Any = False,
    alpha: Any = 0.99,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    epsilon: Any = 1e-8,
    weight_decay: Any = 0.0,
    history_size: Any = 10,
    schedule: Any = "constant",
    warmup: Any = 0,
    step_size: Any = None,
    plateau_patience: Any = 10,
    gamma: Any = 0.1,
    eta_min: Any = 0.0,
    pct_start: Any = 0.3,
    div_factor: Any = 25.0,
    final_div_factor: Any = 1e4,
    dropout: Any = 0.0,
    l1: Any = 0.0,
    clip_norm: Any = None,
    label_smoothing: Any = 0.0,
    patience: Any = None,
    steps: Any = 1000,
    batch_size: Any = None,
    record_every: Any = None,
    measure_every: Any = None,
    likelihood: str | Likelihood | None = None,
    validation: Validation | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: ArrayLike | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    engine: str = "auto",
    executor: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = EVERY,
) -> Grid:
    """Train a grid of networks on the same rows, one network to a thread.

    Every setting is one value or a list of values; the grid is the product of the lists, the first
    one in the order of this signature outermost. `hidden` is always a list of lists of widths; `[]`
    is a linear model. Results do not depend on the number of threads.

    Parameters
    ----------
    X, y, likelihood, validation, sample_weight, class_weight
        As in `train`, the same for all networks; the output width follows from `y`.
    threads
        How many networks train at once; by default one for each processor.
    progress
        True draws a bar, False does not, None does on a terminal; or a function of
        (steps done, steps in all).
    engine
        "auto"; "kernel" (compiled); "reference" (the NumPy twin: slow, for checking); "torch"
        (PyTorch, on a GPU where it sees one), or "torch:cpu", "torch:cuda", "torch:mps".
    executor
        None or "local" trains on this machine, "ray" on a Ray cluster (RAY_ADDRESS says which; else
        one is started here), where a killed worker loses nothing.
    checkpoint, checkpoint_every
        A folder, new or of an earlier call with the same arguments: what is done is saved there
        about every so many seconds, and the same call goes on from what it finds, to the same
        bits. A folder of anything else is refused.

    Returns
    -------
    Grid
        One `Run` per network. After Ctrl-C it holds what was reached, marked "interrupted".

    Raises
    ------
    InvalidInput, InvalidFile
        As in `train`.
    """
    arguments = dict(locals())
    grid = settings_grid({f.name: arguments[f.name] for f in fields(Settings)})
    data = training_data(X, y, likelihood, None, validation, sample_weight, class_weight)
    saved = checkpoint_at(checkpoint, checkpoint_every)
    return train_grid(
        grid,
        data,
        threads=threads,
        progress=progress,
        engine=engine,
        executor=executor,
        saved=saved,
    )


def train_grid(
    grid: list[Settings],
    data: TrainingData,
    *,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    engine: str = "auto",
    executor: str | None = None,
    saved: Checkpoint | None = None,
    starts: Sequence[Network] | None = None,
) -> Grid:
    """Train one network for each of the settings, in their order: what `train_many` ends in.

    `starts` are the networks to go on from, one for each; by default they are drawn.
    """
    widths = [(data.X.shape[1], *one.hidden, data.d_out) for one in grid]
    if starts is None:
        starts = [_initial(w, one) for w, one in zip(widths, grid, strict=True)]
    pairs = list(zip(grid, starts, strict=True))
    return Grid(tuple(_run(pairs, data, threads, progress, engine, saved, executor)))


def _widths(widths: Any) -> tuple[int, ...]:
    try:
        widths = tuple(widths)
        check_size(widths)
    except TypeError:
        raise InvalidInput(
            f"the first argument is {widths!r:.60}; it needs widths such as [2, 16, 2], "
            "or a Network."
        ) from None
    return widths


def _initial(widths: Sequence[int], settings: Settings) -> Network:
    """Drawn in float32 whatever the setting, so that both types start from the same numbers."""
    check_size(widths)
    return initialize(
        widths, activation=settings.activation, scheme=settings.scheme, seed=settings.seed
    ).astype(settings.dtype)


def _run(
    starts: list[tuple[Settings, Network]],
    data: TrainingData,
    threads: int | None,
    progress: bool | Progress | None,
    engine: str,
    saved: Checkpoint | None,
    executor: str | None = None,
) -> list[Run]:
    jobs = [_job(settings, network, data) for settings, network in starts]
    rows = {
        "X_validation": data.X_validation,
        "y_validation": data.y_validation,
        "sample_weight": data.sample_weight,
        "class_weight": data.class_weight,
        "validation_weight": data.validation_weight,
    }
    train_jobs = partial(
        as_executor(executor).train_networks,
        data.X,
        data.y,
        threads=threads or 0,
        engine=engine,
        functions=data.functions,
        **rows,
    )
    with progress_bar(progress) as report:
        if saved is None:
            results = train_jobs(jobs, progress=report)
        else:
            known = fingerprint(jobs, engine, {"X": data.X, "y": data.y, **rows})
            results = train_with_checkpoints(
                jobs,
                lambda some, pause: train_jobs(some, progress=pause),
                saved,
                known,
                len(data.X),
                report,
            )
    return [
        Run(
            network=network.astype(settings.dtype).with_parameters(result.parameters),
            history=_history(result),
            settings=settings,
            likelihood=str(data.likelihood),
            status=result.status,
            steps_done=result.steps_done,
            best_step=result.best_step,
        )
        for (settings, network), result in zip(starts, results, strict=True)
    ]


def _history(result: _kernels.TrainingResult) -> History:
    layers = None if result.layers is None else LayerHistory(**vars(result.layers))
    return History(result.steps, result.losses, result.validation_losses, layers)


def _job(settings: Settings, network: Network, data: TrainingData) -> _kernels.TrainingJob:
    if network.d_in != data.X.shape[1]:
        raise InvalidInput(
            f"the network takes {network.d_in} inputs and X has {data.X.shape[1]} columns; "
            "the first width must be the number of columns."
        )
    if network.output_activation != as_activation("identity"):
        raise InvalidInput(
            f"the network ends in {network.output_activation.name}; training needs raw outputs "
            "(output_activation identity), since the likelihood holds the last nonlinearity."
        )
    return _kernels.TrainingJob(
        widths=network.widths,
        parameters=network.parameters().astype(settings.dtype),
        activations=tuple((a.name, a.parameters) for a in network.activations),
        likelihood=data.likelihood.name,
        likelihood_parameters=data.likelihood.parameters,
        batch_size=settings.batch_size or 0,
        step_size=settings.step_size or 0,
        clip_norm=settings.clip_norm or 0.0,
        patience=settings.patience or 0,
        measure_every=settings.measure_every or 0,
        record_every=settings.recording_interval,
        **{name: getattr(settings, name) for name in _SAME},
    )
