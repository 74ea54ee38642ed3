"""`pellucid check-property`: whether a network has a property on boxes of inputs."""

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput, UnsupportedLayer
from . import _options as o

if TYPE_CHECKING:
    from ..properties import PropertyResult

STATUSES = ("holds", "violated", "undecided")
FAILED = 1


def check_property(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="The network: a file of any known format.", show_default=False
        ),
    ],
    property: Annotated[
        Path,
        typer.Argument(
            metavar="PROPERTY",
            help="A VNN-LIB file: boxes of inputs and what must not happen on them.",
            show_default=False,
        ),
    ],
    activation: o.NetworkActivation = None,
    name: o.NetworkName = None,
    only_output: o.NetworkOutput = None,
    raw: o.Raw = False,
    weights: o.NetworkWeights = None,
    budget: Annotated[
        float, typer.Option(help="Seconds after which the answer is: undecided.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(help="Seed of the points that are tried.")] = 0,
    proof: Annotated[
        Path | None,
        typer.Option(
            help="Write the proof here; `pellucid verify FILE MODEL` checks it again.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the answer as JSON and nothing else.")
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with code 1 when this is the answer; may be given again.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Say whether a property of the outputs holds on boxes of inputs, with proof.

    The property holds (a checker has computed every bound again), is violated by an input that is
    printed, or is undecided when the budget ends. Networks are piecewise linear.

    Example: pellucid check-property model.onnx property.vnnlib --proof proof.json
    """
    from ..properties import check_property as check
    from ..properties import read_vnnlib
    from ._console import progress_bar
    from ._files import check_file

    unknown = [status for status in fail_on or () if status not in STATUSES]
    if unknown:
        raise InvalidInput(f"--fail-on is {unknown[0]!r}; choose one of {', '.join(STATUSES)}.")
    o.check_budget(budget)
    if proof is not None:
        check_file(proof, model, asked="--proof", what="network")
        check_file(proof, str(property), asked="--proof", what="property")
    asked = read_vnnlib(property)
    options = o.network_options(activation, name, only_output, raw, weights)
    network = _network(model, options)
    with progress_bar("boxes", quiet=json) as report:
        told = None if report is None else lambda stage, share: report(share, 1.0, stage)
        result = check(network, asked, budget=budget, seed=seed, progress=told)
    if proof is not None and result.proof is not None:
        _write(result.proof, proof)
    if json:
        typer.echo(json_.dumps(_as_dict(result), allow_nan=False))
    else:
        _print(result, proof)
    return FAILED if result.status in (fail_on or ()) else 0


def _network(model: str, options: dict[str, Any]) -> Any:
    """The network whose outputs the property is about."""
    from ..network import read

    loaded = read(model, **options)
    for output, head in loaded.heads.items():
        raise UnsupportedLayer(
            f"{model} ends in a {head} ({output}), and properties are about outputs that are "
            "piecewise linear; convert it and state the property of its logits."
        )
    return loaded.network


def _write(document: dict[str, Any], path: Path) -> None:
    from ..network.files import write_atomically

    write_atomically(path, json_.dumps(document).encode())


def _as_dict(result: "PropertyResult") -> dict[str, Any]:
    return {
        "status": result.status,
        "how": result.how,
        "n_boxes": result.n_boxes,
        "seconds": round(result.seconds, 3),
        "input": None if result.witness is None else result.witness.tolist(),
        "output": None if result.output is None else result.output.tolist(),
    }


def _print(result: "PropertyResult", proof: Path | None) -> None:
    from ._console import visible_path

    boxes = f"{result.n_boxes:,} box{'es' * (result.n_boxes != 1)}"
    if result.status == "holds":
        typer.echo(
            f"holds: proved by {result.how} of {boxes}; the checker computed every bound again, "
            f"with its rounding, and accepts ({result.seconds:.1f} s)."
        )
    elif result.status == "violated":
        assert result.witness is not None
        assert result.output is not None
        typer.echo(
            "violated: the outputs at this input break it, evaluated exactly "
            f"({result.seconds:.1f} s)."
        )
        typer.echo(f"input   {_numbers(result.witness)}")
        typer.echo(f"output  {_numbers(result.output)}")
    else:
        from ..properties.search import UNCHECKED

        missing = "neither a proof nor an input that breaks it was found"
        if result.how == UNCHECKED:
            missing = "no time was left for the checker to accept the proof"
        typer.echo(
            f"undecided: {boxes} were bounded in {result.seconds:.1f} s, and {missing}; give a "
            "larger --budget."
        )
    if proof is not None:
        told = "the proof is in " + visible_path(proof) if result.proof else "no proof was written"
        typer.echo(f"{told}.")


def _numbers(values: Any) -> str:
    return ", ".join(repr(float(v)) for v in values)
