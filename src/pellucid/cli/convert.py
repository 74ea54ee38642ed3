"""`pellucid convert`: a network from one format to another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._errors import InvalidInput
from . import _options as o

if TYPE_CHECKING:
    from ..network import Conversion


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="A", help="A network of any kind.", show_default=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="B",
            help="The new file; its suffix chooses the format: .pellucid, .onnx, .pt, .keras, .h5, "
            ".npz, .nnet.",
            show_default=False,
        ),
    ],
    activation: o.NetworkActivation = None,
    name: o.NetworkName = None,
    only_output: o.NetworkOutput = None,
    raw: o.Raw = False,
    weights: o.NetworkWeights = None,
    force: Annotated[bool, typer.Option("--force", help="Replace B if it exists.")] = False,
) -> None:
    """Write a network in another format, and check that both files give the same outputs.

    The check is on 100 random inputs, before the new file takes its name; what fails it is not
    written. Files are described on the page Formats of the documentation.

    Example: pellucid convert model.onnx model.nnet
    """
    from ..network import convert as convert_file
    from ._console import visible, visible_path
    from ._files import check_file

    check_file(target)
    if target.exists() and not force:
        raise InvalidInput(f"{target} exists; choose another place, or replace it with --force.")
    options = o.network_options(activation, name, only_output, raw, weights)
    done = convert_file(source, target, **options)
    for line in _lines(done):
        typer.echo(visible(line))
    typer.echo(visible_path(target))


def _lines(done: "Conversion") -> list[str]:
    loaded = done.loaded
    lines = [f"{done.source_format}: {loaded.network!r}"]
    lines += [f"folded: {what}" for what in loaded.folded]
    lines += [f"left off: the {head} of {name}" for name, head in loaded.heads.items()]
    same = (
        "equal bits"
        if done.difference == 0
        else f"largest difference {done.difference:.1e} of their scale"
    )
    lines.append(f"{done.target_format}: outputs on {done.n_inputs} random inputs: {same}")
    return lines
