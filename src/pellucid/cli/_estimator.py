"""What `train` does without a recipe of its own: an estimator, compared, fitted and saved."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .._errors import InvalidInput

if TYPE_CHECKING:
    from ..datasets import Table
    from ..estimators.comparing import Compared

MOST_FOLDS = 100


def train_estimator(
    table: "Table", preset: str, folds: int, seed: int, threads: int | None, out: Path
) -> int:
    """Print cross-validated scores beside two other models, then fit on all rows and save."""
    from ..estimators import PRESETS, FeedforwardClassifier, FeedforwardRegressor
    from ..estimators.comparing import SCORES, cross_validate
    from ._console import console, print_table, progress_bar, visible, visible_path
    from ._wording import spoken

    if preset not in PRESETS:
        raise InvalidInput(f"--preset is {preset!r}; choose one of {', '.join(PRESETS)}.")
    if folds != 0 and not 2 <= folds <= min(MOST_FOLDS, table.n_rows):
        raise InvalidInput(
            f"--folds is {folds}; it needs a number from 2 to {min(MOST_FOLDS, table.n_rows)}, or "
            "0 for no cross-validation."
        )
    kind = FeedforwardRegressor if table.classes is None else FeedforwardClassifier
    model = kind(preset, random_state=seed, n_jobs=-1 if threads is None else threads)
    paper = console()
    paper.print(
        f"{visible(table.name)}: {table.n_rows:,} rows, {len(table.columns)} columns; column to "
        f"predict: {visible(repr(table.target_name))} ({table.task})"
    )
    if folds:
        with progress_bar("cross-validation") as show:
            compared = cross_validate(table, model, folds, seed, show)
        paper.print(f"cross-validated on {folds} folds, mean ± standard error:")
        print_table(paper, ("", *SCORES[table.task], "processor s"), map(_row, compared))
    model.fit(table)
    model.save(out)
    paper.print(
        f"{preset}: {len(model.networks_)} x network "
        f"{'-'.join(map(str, model.network_.widths))}; {model.split_.text}"
    )
    for note in (*table.notes, *model.notes_):
        paper.print(f"note: {visible(spoken(note))}")
    typer.echo(f"saved: {visible_path(out)}")
    return 0


def _row(one: "Compared") -> tuple[str, ...]:
    scores = [
        f"{mean:.4g} ± {error:.2g}"
        for mean, error in zip(one.mean, one.standard_error, strict=True)
    ]
    return (one.name, *scores, f"{one.seconds:.2f}")
