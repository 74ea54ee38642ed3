"""A saved network and the table that goes with it: names of inputs and classes, encoded rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._errors import InvalidInput, UnsupportedLayer

if TYPE_CHECKING:
    from ..datasets import Table
    from ..network import AffineGraph, Network


def read_chain(
    model: str, activation: str | None = None, name: str | None = None
) -> tuple["Network", dict[str, str]]:
    """The network of a file of any kind, and the texts that a file of our own keeps with it.

    A network that is no chain of layers is refused.
    """
    from ..network import Network, load
    from ..network.kept import texts_of

    network = load(model, activation=activation, name=name)
    if not isinstance(network, Network):
        raise UnsupportedLayer(
            f"{model} is no chain of layers but a graph ({network!r}), and this works on chains."
        )
    return network, texts_of(model)


def table_of(data: str, target: str | None, drop: list[str] | None) -> "Table":
    """The table that rows are taken from; its target decides about the task."""
    from ._load import load_table

    return load_table(data, target, "auto", drop)


def rows_for(
    table: "Table",
    network: "Network | AffineGraph",
    names: Sequence[str] | None,
    what: str = "--data",
    about: dict[str, str] | None = None,
) -> tuple[Sequence[str], Any]:
    """Names and values of the encoded, unscaled columns, as `train` gives them to the network.

    `what` is what the user calls the table, and `about` the metadata of the network.
    """
    encoder = table.encoder(_training_rows(table, about or {}), standardize=False)
    if encoder.d != network.d_in:
        raise InvalidInput(
            f"{what} has {encoder.d} encoded columns, and the network takes {network.d_in} inputs; "
            "they must agree (--drop leaves a column out)."
        )
    if names is not None and list(encoder.feature_names) != names:
        raise InvalidInput(
            f"{what} has the columns {', '.join(encoder.feature_names):.120}, and the network was "
            f"trained on {', '.join(names):.120}; they must agree."
        )
    return encoder.feature_names, encoder.raw(table)


def _training_rows(table: "Table", about: dict[str, str]) -> Any:
    """The rows of this table that `train` filled gaps from, or None where that is not known."""
    import json

    from ..datasets import held_out_rows

    try:
        split = json.loads(about.get("split", "null"))
        if (split["rows"], split["task"]) == (table.n_rows, table.task):
            return ~held_out_rows(table, split["share"], split["seed"])
    except (ValueError, TypeError, KeyError):
        pass  # a network that has no split, or not this one
    return None
