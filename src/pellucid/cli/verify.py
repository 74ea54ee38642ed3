"""`pellucid verify`: check a certificate in a process that has never seen the search."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidFile, InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..datasets import Table
    from ..diagnosis import CheckResult

ACCEPTED, REFUSED = 0, 1


def verify(
    certificate: Annotated[
        Path,
        typer.Argument(metavar="CERTIFICATE", help="The JSON file.", show_default=False),
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="What it is about. Of diagnose: the table, a CSV or Parquet file or a listed data "
            "set. Of check-property: the network.",
            show_default=False,
        ),
    ],
    property: Annotated[
        Path | None,
        typer.Option(
            help="With a proof of check-property: the VNN-LIB file that it must be about.",
            show_default=False,
        ),
    ] = None,
    activation: o.NetworkActivation = None,
    name: o.NetworkName = None,
    only_output: o.NetworkOutput = None,
    raw: o.Raw = False,
    weights: o.NetworkWeights = None,
) -> int:
    """Check a certificate of `pellucid diagnose` again, with other algorithms and from the data.

    The certificate says which columns are read and which rows were held out. A proof of
    `pellucid check-property` is checked with its network. Exit code 0 where it is accepted, 1 where
    it is refused, 2 where a file cannot be read.

    Example: pellucid verify certificate.json table.csv
    """
    from ..diagnosis import read_certificate, verify_certificate
    from ..network import load
    from ._console import visible

    document = read_certificate(certificate)
    if document.get("format") == "pellucid property proof":
        options = o.network_options(activation, name, only_output, raw, weights)
        return _verify_proof(document, load(data, **options), property)
    if property is not None:
        raise InvalidInput("--property goes with a proof of check-property, and this is none.")
    table = _table(document, data, certificate)
    answer = verify_certificate(document, table)
    typer.echo(visible(_sentence(document, answer)))
    return ACCEPTED if answer.accepted else REFUSED


def _verify_proof(document: dict[str, Any], network: Any, property: Path | None) -> int:
    """Check a proof of a property with the network that it is about."""
    from ..properties import check_proof
    from ._console import visible

    answer = check_proof(document, network)
    reason = answer.reason
    if answer.accepted and property is not None and not _is_about(document, property):
        reason = f"the proof is about other cases than those of {property}"
    if reason != "accepted":
        typer.echo(visible(f"refused: {reason}."))
        return REFUSED
    n = len(document["cases"])
    cases = "its only case" if n == 1 else f"one of its {n} cases"
    if document["status"] == "holds":
        told = f"accepted: the property holds; on no input of its boxes happens {cases}, as bounds "
        told += f"on {answer.n_leaves:,} parts of them show."
    else:
        told = f"accepted: the property is violated; an input is known on which {cases} happens, "
        told += "evaluated in rational numbers."
    typer.echo(visible(told))
    return ACCEPTED


def _is_about(document: dict[str, Any], property: Path) -> bool:
    """Whether the cases of the document are those of a VNN-LIB file."""
    from ..properties import read_vnnlib

    names = ("low", "high", "A", "b")
    cases = read_vnnlib(property).cases
    return [[case[name] for name in names] for case in document["cases"]] == [
        [getattr(case, name).tolist() for name in names] for case in cases
    ]


def _table(document: dict[str, Any], data: str, path: Path) -> "Table":
    """The table with the columns, the target and the task of the certificate."""
    from ..datasets import read_table
    from ..datasets.files import read_file
    from ._load import is_listed, load_table

    try:
        target, task = document["data"]["target"], document["data"]["task"]
        columns = set(document["reading"]["columns"])
    except (KeyError, TypeError):
        target, task, columns = None, None, set()
    if not isinstance(target, str) or task not in ("classification", "regression"):
        raise InvalidFile(f"{path} is no certificate of Pellucid; give the file of one.")
    if is_listed(data) or not Path(data).exists():
        return load_table(data, target, "auto" if is_listed(data) else task, ())
    names = read_file(data).names
    keep = [name for name in names if name in columns]
    drop = [name for name in names if name not in columns and name != target]
    return read_table(data, target, task=task, drop=drop, keep=keep)


def _sentence(document: dict[str, Any], answer: "CheckResult") -> str:
    from ..diagnosis.wording import at_least

    if not answer.accepted:
        return f"refused: {answer.reason}."
    verdict, kind = document["verdict"], document["kind"]
    if kind == "witness":
        return (
            f"accepted: {verdict}, proved by a network of the same architecture, whose objective "
            f"is {answer.objective:.4f} and not {answer.user_objective:.4f} nats."
        )
    whose, trusted = "", ""
    if kind == "convex reformulation":
        whose = (
            f"nor of a wider one, whose objective with weight decay "
            f"{document['evidence']['weight_decay']:g} is as low as that of the evidence "
        )
        trusted = (
            ", and that the recipe adds half the weight decay times the squares of all weights and "
            "biases"
        )
    return (
        f"accepted: {verdict}, proved by {kind}: no parameters of the architecture "
        f"{_shape(document['architecture'])} {whose}have a training loss below "
        f"{at_least(document['bound'])} "
        f"on {_training_rows(document)} rows, and the tolerance is {answer.tolerance:.4f}; "
        f"taken on trust: the reference, {document['reference']:.4f}{trusted}."
    )


def _shape(architecture: dict[str, Any]) -> str:
    """Widths and activations, as the certificate names them."""
    names = dict.fromkeys(name for name, _ in architecture["activations"])
    output = architecture["output_activation"]
    ends = [] if output == "identity" else [f"{output} on the output"]
    return " ".join(["-".join(map(str, architecture["widths"])), *names, *ends])


def _training_rows(document: dict[str, Any]) -> str:
    """How many rows the claim is about: the certificate itself says which."""
    from ..diagnosis.checker.certificate import unpack_mask

    n = document["data"]["n_rows"]
    held_out = unpack_mask(document["held_out"], n)
    return f"{n - int(held_out.sum())} of {n}"
