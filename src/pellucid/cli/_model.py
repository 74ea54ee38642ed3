"""A saved network and the table that goes with it: names of inputs and classes, encoded rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._errors import InvalidInput, UnsupportedLayer

if TYPE_CHECKING:
    from ..datasets import Table
    from ..network import AffineGraph, Network


def read_model(
    model: str, **options: Any
) -> tuple["Network | AffineGraph", dict[str, str], dict[str, str]]:
    """The network of a file of any kind, the texts kept with it, and the softmax that was left off.

    The options are those of `load`; texts are kept by files of our own alone.
    """
    from ..network import read
    from ..network.kept import about_of

    loaded = read(model, **options)
    return loaded.network, about_of(model, loaded), dict(loaded.heads)


def read_chain(model: str, **options: Any) -> tuple["Network", dict[str, str]]:
    """As `read_model`; `UnsupportedLayer` where the network is no chain of layers."""
    from ..network import Network

    network, about, _ = read_model(model, **options)
    if isinstance(network, Network):
        return network, about
    try:
        return network.to_network(), about  # where no layer has to carry a value
    except (InvalidInput, UnsupportedLayer):
        raise UnsupportedLayer(
            f"{model} is no chain of layers but a graph ({network!r}), whose values skip layers, "
            "and this works on chains; pellucid inspect and pellucid regions take graphs."
        ) from None


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

    `what` is what the user calls the table, and `about` the metadata of the network. The network of
    an estimator takes the columns as its preprocessing makes them.
    """
    if about and "estimator" in about:
        from ..estimators.saving import encoded_rows

        return encoded_rows(about["estimator"], int(about["member"]), table)
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
