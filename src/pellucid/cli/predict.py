"""`pellucid predict`: what a saved estimator says about new rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput, InvalidTable

if TYPE_CHECKING:
    from ..datasets.features import Features
    from ..datasets.rawtable import RawTable


def predict(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A file that `train` saved.", show_default=False),
    ],
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="A CSV or Parquet file of rows.", show_default=False),
    ],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Print the probability of each class, too.")
    ] = False,
    quantiles: Annotated[
        str | None,
        typer.Option(help="Print these quantiles, such as 0.05,0.95, too.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="CSV file for the predictions; printed if not given.", show_default=False
        ),
    ] = None,
) -> None:
    """Predict the target of every row of a table, in its order, as CSV.

    Columns are found by their names: their order does not matter, others are passed over, and a
    column that the model reads and the table lacks is a mistake. A text that the training rows did
    not have counts as none of their levels.

    Example: pellucid predict model.pellucid new.csv --out predictions.csv
    """
    from ..datasets.files import read_file
    from ..estimators import load_estimator
    from ..network.files import write_atomically
    from ._console import visible, visible_path
    from ._files import check_file

    if out is not None:
        check_file(out, data)
        check_file(out, str(model), what="model")
    fitted = load_estimator(model)
    columns = _columns(fitted, probabilities, quantiles)
    features, notes = _features(fitted, read_file(data))
    text = _csv(fitted, features, columns, quantiles)
    for note in notes:
        typer.echo(f"pellucid: note: {visible(note)}", err=True)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_atomically(out, text.encode())
    typer.echo(f"written: {visible_path(out)}")


def _columns(fitted: Any, probabilities: bool, quantiles: str | None) -> list[str]:
    """Names of the columns to print; options that the model has no answer to are mistakes."""
    names = [f"predicted {name}" for name in fitted.target_names_]
    is_classifier = hasattr(fitted, "classes_")
    if probabilities and not is_classifier:
        raise InvalidInput("--probabilities is for classes, and the model predicts numbers.")
    if quantiles is not None and is_classifier:
        raise InvalidInput("--quantiles is for numbers, and the model predicts classes.")
    if probabilities:
        names += [f"probability of {name}" for name in fitted.classes_]
    if quantiles is not None:
        names += [f"quantile {level:g}" for level in _levels(quantiles)]
    return names


def _levels(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InvalidInput(
            f"--quantiles is {text!r:.60}; it needs numbers with commas, such as 0.05,0.95."
        ) from None


def _features(fitted: Any, raw: "RawTable") -> tuple["Features", list[str]]:
    """The columns that the model reads, and what the user may want to know of the table."""
    from ..datasets.features import features_of

    features = features_of(raw, fitted.column_kinds_, fitted.columns_)
    unseen = fitted.unseen_levels(features)
    notes = [
        f"column {name!r} has texts that the training rows did not have ({', '.join(levels)}): "
        "they count as none of their levels."
        for name, levels in unseen.items()
    ]
    if features.n_rows == 0:
        raise InvalidTable(f"{raw.origin} has no rows to predict.")
    return features, notes


def _csv(fitted: Any, features: "Features", columns: list[str], quantiles: str | None) -> str:
    import numpy as np
    import polars as pl

    parts = [np.asarray(fitted.predict(features)).reshape(features.n_rows, -1)]
    if len(columns) > parts[0].shape[1]:
        more = (
            fitted.predict_proba(features)
            if quantiles is None
            else fitted.predict_quantiles(features, _levels(quantiles)).reshape(features.n_rows, -1)
        )
        parts.append(more)
    values = [column for part in parts for column in part.T]
    frame = pl.DataFrame(
        [pl.Series(name, list(v)) for name, v in zip(columns, values, strict=True)]
    )
    return frame.write_csv()
