"""The options that `diagnose` and `train` share, and the recipe that they make."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput

if TYPE_CHECKING:
    from ..diagnosis.verdict import Recipe

MOST_STEPS = 2**53  # counted in a double, too
MOST_ROWS = 2**31 - 64  # of the kernel
MOST_DRAWN_ROWS = 10_000_000
MOST_THREADS = 4096
LARGEST_SEED = 2**31 - 1  # of scikit-learn, whose models the networks are compared with
MOST_LAYERS, MOST_DIGITS = 1000, 9

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV or Parquet file, or a name that `pellucid datasets` lists.",
        show_default=False,
    ),
]
NetworkActivation = Annotated[
    str | None,
    typer.Option(
        "--activation",
        help="Activation of the hidden layers, where the file does not say it: relu, tanh, ....",
        show_default=False,
    ),
]
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="Which network of a file with several: part of the names of its layers.",
        show_default=False,
    ),
]
NetworkOutput = Annotated[
    str | None,
    typer.Option(
        "--only-output", help="Keep one output of several, by its name.", show_default=False
    ),
]
NetworkWeights = Annotated[
    Path | None,
    typer.Option("--weights", help="The weights of a Keras model in JSON.", show_default=False),
]
Raw = Annotated[
    bool,
    typer.Option("--raw", help="Leave out the normalisation that a NNET file states."),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Column to predict. A file needs it; a listed data set has one of its own.",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Leave this column out; may be given again.", show_default=False),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="Column whose equal rows (a patient, a machine) stay on one side of every split; "
        "no feature.",
        show_default=False,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of dates or growing numbers: the latest rows are held out; no feature.",
        show_default=False,
    ),
]
Task = Annotated[
    str, typer.Option(help="classification, regression, or auto: decided from the target.")
]
Hidden = Annotated[str, typer.Option(help="Hidden widths, such as 8,8; none is a linear model.")]
ActivationName = Annotated[str, typer.Option("--activation", help="Activation of hidden units.")]
OptimizerName = Annotated[str, typer.Option("--optimizer", help="sgd, rmsprop, adam or adamw.")]
LearningRate = Annotated[float, typer.Option(help="Learning rate.")]
LikelihoodName = Annotated[
    str | None,
    typer.Option(
        "--likelihood",
        help="What the outputs say about the target, such as ordinal, poisson, student_t(4) or "
        "quantile(0.1,0.9); if not given, categorical for classes and gaussian for numbers.",
        show_default=False,
    ),
]
Steps = Annotated[int, typer.Option(help="Updates of the parameters.")]
BatchSize = Annotated[
    int | None, typer.Option(help="Rows per step; all rows if not given.", show_default=False)
]
WeightDecay = Annotated[float, typer.Option(help="L2 penalty (decoupled in adamw).")]
Schedule = Annotated[
    str, typer.Option(help="How the rate changes: constant, cosine, one_cycle or plateau.")
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--raw",
        help="Scale columns (and a numeric target) to mean 0 and deviation 1, or not.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the split, the initial weights and the order.")]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Networks trained at once; one per processor if not given; the results "
        "do not depend on it.",
        show_default=False,
    ),
]


def network_options(
    activation: str | None, name: str | None, output: str | None, raw: bool, weights: Path | None
) -> dict[str, Any]:
    """The options of `load`, as `Network...` and `Raw` above have them."""
    return {
        "activation": activation,
        "name": name,
        "output": output,
        "raw": raw,
        "weights": weights,
    }


def recipe_from(
    hidden: str,
    activation: str,
    optimizer: str,
    learning_rate: float,
    steps: int,
    batch_size: int | None,
    weight_decay: float,
    standardize: bool,
    schedule: str = "constant",
) -> "Recipe":
    """Return the recipe that the options describe; InvalidInput where one of them cannot be."""
    from dataclasses import asdict

    from ..diagnosis.verdict import Recipe
    from ..training.settings import settings_from

    recipe = Recipe(
        hidden=hidden_widths(hidden),
        activation=activation,
        optimizer=optimizer,
        learning_rate=learning_rate,
        steps=steps,
        batch_size=batch_size,
        weight_decay=weight_decay,
        standardize=standardize,
        schedule=schedule,
    )
    if not 1 <= steps <= MOST_STEPS:
        raise InvalidInput(f"--steps is {steps}; it needs a whole number from 1 to {MOST_STEPS}.")
    if batch_size is not None and not 1 <= batch_size <= MOST_ROWS:
        raise InvalidInput(
            f"--batch-size is {batch_size}; it needs a whole number from 1 to {MOST_ROWS}."
        )
    settings = asdict(recipe)
    del settings["standardize"]
    settings_from(settings)  # checks every name and range
    return recipe


def hidden_widths(text: str) -> tuple[int, ...]:
    """Return the widths that "8,8" means; "none" is a network without hidden layer."""
    if text.strip().lower() == "none":
        return ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and word.strip("0") for word in words):
        raise InvalidInput(
            f"--hidden is {text!r:.80}; it needs whole numbers above 0 with commas between them, "
            "such as 16 or 8,8, or none."
        )
    longest = max(len(word.lstrip("0")) for word in words)
    if longest > MOST_DIGITS or len(words) > MOST_LAYERS:
        raise InvalidInput(
            f"--hidden has {len(words):,} layers, and its largest width has {longest:,} digits; "
            f"give at most {MOST_LAYERS:,} layers and numbers of {MOST_DIGITS} digits."
        )
    return tuple(int(word) for word in words)


def check_numbers(seed: int, threads: int | None = None) -> None:
    """Refuse a seed or a number of threads that the work behind could not take."""
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput(f"--seed is {seed}; it needs a whole number from 0 to {LARGEST_SEED}.")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise InvalidInput(
            f"--threads is {threads}; it needs a whole number from 1 to {MOST_THREADS}."
        )


def check_budget(budget: float) -> None:
    """Refuse a number of seconds that is not above zero or that is infinite."""
    if not 0 < budget < float("inf"):
        raise InvalidInput(f"--budget is {budget:g}; it needs a finite number above 0.")
