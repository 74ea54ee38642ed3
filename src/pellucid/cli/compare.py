"""`pellucid compare`: two recipes as a controlled experiment."""

from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..diagnosis import Comparison

MOST_SEEDS = 10_000


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help='A recipe: "hidden=16,learning_rate=0.01"; what is not said is as in diagnose.',
            show_default=False,
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The other recipe.", show_default=False)],
    data: Annotated[
        str,
        typer.Option(
            help="A CSV or Parquet file, or a name that `pellucid datasets` lists.",
            show_default=False,
        ),
    ],
    target: o.Target = None,
    task: o.Task = "auto",
    drop: o.Drop = None,
    groups: o.Groups = None,
    time: o.Time = None,
    seeds: Annotated[int, typer.Option(help="Starts of each recipe, at least 3.")] = 10,
    seed: Annotated[int, typer.Option(help="The first of them, and the seed of the split.")] = 0,
    threads: o.Threads = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> int:
    """Train two recipes on the same rows from the same seeds, and say which is better.

    Example: pellucid compare hidden=2,steps=200 hidden=16,steps=200 --data moons --seeds 4
    """
    from ..diagnosis import compare as run
    from ._console import progress_bar
    from ._load import load_table

    o.check_numbers(seed, threads)
    if not 3 <= seeds <= MOST_SEEDS:
        raise InvalidInput(f"--seeds is {seeds}; it needs a whole number from 3 to {MOST_SEEDS}.")
    apart = [name for name in (groups, time) if name is not None]
    table = load_table(data, target, task, drop, keep=apart)
    with progress_bar("comparison") as show:
        comparison = run(
            a,
            b,
            table,
            seeds=seeds,
            seed=seed,
            groups=groups,
            time=time,
            threads=threads,
            progress=None if show is None else lambda name, done: show(done, 1.0, name),
        )
    if json:
        import json as writer

        typer.echo(writer.dumps(comparison.to_dict(), indent=2, allow_nan=False))
    else:
        _print(comparison)
    return 0


def _print(c: "Comparison") -> None:
    import numpy as np

    from ._console import console, print_table, visible

    out = console()
    out.print(visible(c.sentence), style="bold")
    out.print()
    out.print(visible(f"B is A with {c.change}."))
    out.print(
        visible(
            f"{c.data_name}: {c.n_training:,} training and {c.n_held_out:,} held-out rows; "
            f"means over {len(c.seeds)} seeds:"
        )
    )
    score = "R²" if c.score_name == "R2" else c.score_name
    rows = [
        (
            name,
            f"{np.mean(training):.4g}",
            f"{np.mean(held_out):.4g}",
            f"{np.mean(scores):.3g}",
            str(diverged),
        )
        for name, training, held_out, scores, diverged in (
            ("A", c.training_loss_a, c.held_out_loss_a, c.score_a, c.n_diverged_a),
            ("B", c.training_loss_b, c.held_out_loss_b, c.score_b, c.n_diverged_b),
        )
    ]
    print_table(out, ("", "training", "held out", score, "diverged"), rows)
    for note in c.notes:
        out.print(visible(f"- {note}"))
