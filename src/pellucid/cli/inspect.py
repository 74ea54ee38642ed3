"""`pellucid inspect`: what a network of any kind is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _options as o
from ._domain import Asked

if TYPE_CHECKING:
    from ..diagnosis import InspectedLayer, Inspection
    from ..network import Loaded
    from ..regions import Box


def inspect(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A network of any kind.", show_default=False)
    ],
    box: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Where to prove what units do and to count regions: one pair for every input, or "
            "one per input. The range that a file states if not given.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Count dead, always active and saturated units on these rows.",
            show_default=False,
        ),
    ] = None,
    target: o.Target = None,
    drop: o.Drop = None,
    activation: o.NetworkActivation = None,
    name: o.NetworkName = None,
    only_output: o.NetworkOutput = None,
    raw: o.Raw = False,
    weights: o.NetworkWeights = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the layers, weights and units of a network, what was folded, and its range of validity.

    Units are proved to be dead or affine on a box, and counted on the rows of a table. Activation
    regions on the box are counted exactly, where these are few enough.

    Example: pellucid inspect model.onnx --box -1,1
    """
    from ..diagnosis import inspect_network
    from ..network import read

    loaded = read(model, **o.network_options(activation, name, only_output, raw, weights))
    rows = None if data is None else _rows(model, loaded, data, target, drop)
    found = inspect_network(loaded, rows, _box(box, loaded.network.d_in))
    if json:
        _print_json(found)
    else:
        _print(found)


def _box(words: list[str] | None, d_in: int) -> "Box | None":
    from ..regions import Box

    domain = Asked(words, None, None, None).domain(d_in, None) if words else None
    return domain if isinstance(domain, Box) else None


def _rows(
    model: Path, loaded: "Loaded", data: str, target: str | None, drop: list[str] | None
) -> Any:
    from ..network.kept import about_of
    from ._model import rows_for, table_of

    about = about_of(model, loaded)
    if target is None and Path(data).suffix:  # a file: its target may be the model's
        target = about.get("target")
    split = {key: about[key] for key in ("estimator", "member") if key in about}
    return rows_for(table_of(data, target, drop), loaded.network, None, about=split)[1]


def _print_json(found: "Inspection") -> None:
    import json

    def plain(value: Any) -> Any:
        """Numbers that JSON does not know become texts."""
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        is_odd = isinstance(value, float) and value - value != 0
        return str(value) if is_odd else value

    typer.echo(json.dumps(plain(found.to_json()), indent=1, ensure_ascii=False))


def _print(found: "Inspection") -> None:
    from ._console import console, print_table, visible

    for line in _about(found):
        typer.echo(visible(line))
    header = [
        "layer",
        "activation",
        "inputs",
        "units",
        "parameters",
        "weights",
        "mean",
        "sd",
        "zeros",
    ]
    print_table(console(160), header, map(_row, found.layers), right_from=2)
    for layer in found.layers:
        for line in _units(layer):
            typer.echo(line)
    if found.n_regions is not None:
        least = "" if found.is_complete else "at least "
        typer.echo(f"activation regions on the box: {least}{found.n_regions}")


def _about(found: "Inspection") -> list[str]:
    lines = [found.network]
    if found.name:
        lines.append(f"name: {found.name}")
    lines += [f"folded: {what}" for what in found.folded]
    lines += [f"left off: the {head} of {name}" for name, head in found.heads.items()]
    if found.input_low is not None and found.input_high is not None:
        pairs = zip(found.input_low, found.input_high, strict=True)
        shown = ", ".join(f"{low:g} to {high:g}" for low, high in list(pairs)[:8])
        more = ", ..." if len(found.input_low) > 8 else ""
        lines.append(f"valid inputs: {shown}{more}")
    if found.not_finite:
        lines.append(f"not finite: {found.not_finite}; nothing is proved or counted")
    return lines


def _row(layer: "InspectedLayer") -> list[str]:
    w = layer.weights
    return [
        str(layer.layer),
        layer.activation,
        str(layer.n_inputs),
        str(layer.n_units),
        str(layer.n_parameters),
        f"{w.smallest:.3g} to {w.largest:.3g}",
        f"{w.mean:.3g}",
        f"{w.standard_deviation:.3g}",
        str(w.n_zero),
    ]


def _units(layer: "InspectedLayer") -> list[str]:
    begin, lines = f"layer {layer.layer}: ", []
    for units, what in ((layer.dead, "dead"), (layer.affine, "affine")):
        if units:
            lines.append(f"{begin}{_listed(units)} proved to be {what} on the box")
    for units in layer.duplicates:
        lines.append(f"{begin}{_listed(units)} with equal weights and bias")
    seen = layer.observed
    if seen is not None:
        lines.append(
            f"{begin}on the rows {seen.n_dead} dead, {seen.n_always_active} always active, "
            f"{seen.n_saturated} saturated"
        )
    return lines


def _listed(units: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, units[:10])) + (", ..." if len(units) > 10 else "")
    return f"{len(units)} unit{'s' if len(units) > 1 else ''} ({shown})"
