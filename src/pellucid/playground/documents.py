"""Networks and tables as the plain values that the page and the server exchange.

A network is `{name, widths, hidden, output, parameters, likelihood, feature_names, classes, notes}`
with the parameters W1 row by row, b1, W2, ...; a table is `{name, columns, X, target, task, y,
classes, notes}`. What comes from the page is checked here, and nothing of it is believed.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InvalidInput
from ..likelihoods import as_likelihood
from ..network import Activation, Network

if TYPE_CHECKING:
    from ..datasets import Table

MOST_UNITS, MOST_LAYERS = 128, 9
MOST_ROWS, MOST_COLUMNS = 5000, 24
"""What the page takes; static/page/state.js has the same numbers."""


# ---- networks


def network_document(
    network: Network,
    name: str = "",
    *,
    likelihood: str | None = None,
    feature_names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The network as plain values; `InvalidInput` for one that is too large for the page."""
    check_size(network.widths)
    if network.output_activation.name != "identity":
        raise InvalidInput(
            f"{name or 'the network'} ends in {network.output_activation}; the playground shows "
            "networks whose last layer has no activation."
        )
    notes = list(notes)
    if network.dtype != np.float32:
        notes.append("The page computes in float32; the weights were rounded to it.")
    with np.errstate(over="ignore"):
        parameters = np.concatenate(
            [
                np.concatenate([W.ravel(), b]).astype(np.float32)
                for W, b in zip(network.weights, network.biases, strict=True)
            ]
        )
    if not np.isfinite(parameters).all():
        raise InvalidInput(f"{name or 'the network'} has weights that float32 cannot hold.")
    head = None if likelihood is None else as_likelihood(likelihood)
    return {
        "name": name,
        "widths": list(network.widths),
        "hidden": [_named(sigma) for sigma in network.activations],
        "output": _named(network.output_activation),
        "parameters": parameters.tolist(),
        "likelihood": None if head is None else _named(head),
        "feature_names": None if feature_names is None else list(feature_names),
        "classes": None if classes is None else list(classes),
        "notes": notes,
    }


def _named(member: Any) -> dict[str, Any]:
    """An activation or a likelihood as the engine takes it."""
    return {"name": member.name, "parameters": list(member.parameters)}


def network_from(document: Any) -> Network:
    """The network that a document describes, in float32; `InvalidInput` says what is wrong."""
    document = _object(document, "the network")
    widths = [_whole(width, "a width") for width in _list(document, "widths")]
    check_size(widths)
    hidden = [_activation(entry) for entry in _list(document, "hidden")]
    if len(hidden) != len(widths) - 2:
        raise InvalidInput(
            f"hidden has {len(hidden)} activations, and widths has {len(widths) - 2} hidden layers."
        )
    output = document.get("output") or {"name": "identity"}
    return Network(
        *_arrays(_numbers(_list(document, "parameters"), "parameters"), widths),
        activations=hidden,
        output_activation=_activation(output),
    )


def check_size(widths: Sequence[int]) -> None:
    """Refuse what is no chain of layers, or too large for the page."""
    if not 2 <= len(widths) <= MOST_LAYERS + 1 or not all(1 <= w <= MOST_UNITS for w in widths):
        raise InvalidInput(
            f"the network has the widths {list(widths)!r:.80}; the playground takes 1 to "
            f"{MOST_LAYERS} layers of 1 to {MOST_UNITS} units."
        )


def check_hidden(widths: Any) -> None:
    """Refuse hidden widths that the page does not offer: the machine is the visitor's own."""
    if not isinstance(widths, list) or not all(type(width) is int for width in widths):
        raise InvalidInput("hidden needs to be a list of whole numbers.")
    check_size([1, *widths, 1])


def n_parameters(widths: Sequence[int]) -> int:
    """Weights and biases of a chain of these widths."""
    return sum(b * (a + 1) for a, b in pairwise(widths))


def _arrays(flat: np.ndarray, widths: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """Weights and biases out of W1 row by row, b1, W2, ...."""
    if len(flat) != n_parameters(widths):
        raise InvalidInput(
            f"parameters has {len(flat)} numbers; widths {list(widths)} need "
            f"{n_parameters(widths)}."
        )
    weights, biases, at = [], [], 0
    for a, b in pairwise(widths):
        weights.append(flat[at : at + a * b].reshape(b, a))
        biases.append(flat[at + a * b : at + a * b + b])
        at += b * (a + 1)
    return weights, biases


def _activation(entry: Any) -> Activation:
    entry = _object(entry, "an activation")
    parameters = entry.get("parameters", [])
    if not isinstance(parameters, list) or not all(map(is_number, parameters)):
        raise InvalidInput("the parameters of an activation need to be a list of numbers.")
    return Activation(entry.get("name", ""), tuple(parameters))


# ---- tables


def table_document(table: "Table", notes: Sequence[str] = ()) -> dict[str, Any]:
    """The encoded, unscaled columns of a table and its target as plain values.

    More than `MOST_ROWS` rows are a sample, drawn with a fixed seed; the notes say so.
    """
    encoder = table.encoder(None, standardize=False)
    if encoder.d > MOST_COLUMNS:
        raise InvalidInput(
            f"{table.name} has {encoder.d} columns once texts are encoded; the playground takes "
            f"at most {MOST_COLUMNS}: leave some out."
        )
    notes = [*table.notes, *notes]
    if table.n_rows > MOST_ROWS:
        chosen = np.random.default_rng(0).choice(table.n_rows, MOST_ROWS, replace=False)
        notes.append(f"{MOST_ROWS:,} of {table.n_rows:,} rows, drawn at random, are shown.")
        X, y = encoder.raw(table)[np.sort(chosen)], table.y[np.sort(chosen)]
    else:
        X, y = encoder.raw(table), table.y
    return {
        "name": table.name,
        "columns": list(encoder.feature_names),
        "X": np.asarray(X, float).tolist(),
        "target": table.target_name,
        "task": table.task,
        "y": y.tolist(),
        "classes": None if table.classes is None else list(table.classes),
        "notes": notes,
    }


def table_from(document: Any) -> "Table":
    """The table that a document describes; `InvalidInput` says what is wrong."""
    from ..datasets import as_table

    document = _object(document, "the table")
    rows = _list(document, "X")
    if not rows or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise InvalidInput("X needs to be a list of rows of equal length.")
    if len(rows) > MOST_ROWS or len(rows[0]) > MOST_COLUMNS:
        raise InvalidInput(
            f"X has {len(rows):,} rows of {len(rows[0]):,} columns; at most {MOST_ROWS:,} rows of "
            f"{MOST_COLUMNS} are taken."
        )
    flat = _numbers([value for row in rows for value in row], "X", np.float64)
    y = _numbers(_list(document, "y"), "y", np.float64)
    classes, columns = _texts(document, "classes"), _texts(document, "columns")
    if classes is not None and not (y == np.floor(y)).all():
        raise InvalidInput("y has a number that is no label; with classes, y holds 0, 1, ....")
    return as_table(
        flat.reshape(len(rows), -1),
        y if classes is None else y.astype(np.int64),
        task="regression" if classes is None else "classification",
        feature_names=columns,
        classes=classes,
        name=str(document.get("name") or "playground")[:200],
        target_name=str(document.get("target") or "y")[:200],
    )


# ---- plain values from outside


def is_number(value: Any) -> bool:
    """Whether that is a finite number of JSON, and no true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} needs to be a JSON object.")
    return value


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise InvalidInput(f"{key} needs to be a list.")
    return value


def _texts(document: Mapping[str, Any], key: str) -> list[str] | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"{key} needs to be a list of texts.")
    return value


def _whole(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{what} is {value!r:.40}; it needs to be a whole number.")
    return value


def _numbers(values: list[Any], what: str, dtype: Any = np.float32) -> np.ndarray:
    if not all(map(is_number, values)):
        raise InvalidInput(f"{what} has an entry that is no finite number.")
    with np.errstate(over="ignore"):
        found = np.asarray(values, dtype)
    if not np.isfinite(found).all():
        raise InvalidInput(f"{what} has a number that {np.dtype(dtype)} cannot hold.")
    return found
