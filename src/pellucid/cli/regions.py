"""`pellucid regions`: count, draw and write the linear regions of a saved network."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._errors import InvalidInput
from . import _options as o
from ._domain import Asked
from ._model import read_model, rows_for, table_of
from ._region_files import Places
from ._words import HERE

if TYPE_CHECKING:
    from ..network import AffineGraph, Network
    from ..regions import LinearRegions

COLORS = ("pattern", "slope", "output", "class")
MOST_DRAWN = 2_000_000  # polygons in one picture


def regions(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A network of any kind.", show_default=False),
    ],
    box: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOW,HIGH ...",
            help="Look in a box: -2,2 -2,2 for two inputs; one pair alone is for every input.",
            show_default=False,
        ),
    ] = None,
    slice: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A B C",
            help="Look in the plane through three points, each as numbers with commas between "
            "them, or @3 for a row of --data. In pictures axis u goes from A to B, and v at right "
            "angles to it towards C.",
            show_default=False,
        ),
    ] = None,
    extent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="R",
            help="With this, --slice is an origin and two axes, u and v, followed from -R to R, or "
            "from LOW,HIGH LOW,HIGH.",
            show_default=False,
        ),
    ] = None,
    line: Annotated[
        list[str] | None,
        typer.Option(metavar="A B", help="Look on the line from A to B.", show_default=False),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(help="Draw the regions to this file.", show_default=False)
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Draw the regions to this file.", show_default=False)
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE.json]",
            help="Print the counts as JSON and nothing else; with FILE.json, write all regions "
            "to it.",
            show_default=False,
        ),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write a row for each region.", show_default=False)
    ] = None,
    color: Annotated[
        str | None,
        typer.Option(
            help="Colour regions of a plane by pattern, slope, output or class.",
            show_default="pattern",
        ),
    ] = None,
    output: Annotated[
        int | None,
        typer.Option(
            "--output-index",
            help="Output to colour by; on a line, to draw alone.",
            show_default=False,
        ),
    ] = None,
    boundary: Annotated[
        bool | None,
        typer.Option(
            "--boundary/--no-boundary",
            help="Draw the decision boundary, or where a single output is 0.",
            show_default="for classes",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Draw these rows over it: a CSV or Parquet file, or a listed data set.",
            show_default=False,
        ),
    ] = None,
    target: o.Target = None,
    drop: o.Drop = None,
    count: Annotated[
        bool, typer.Option("--count", help="Only count activation regions, and keep none.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(help="Regions after which to stop.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Seconds after which to stop.", show_default=False)
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads; one per processor if not given; the regions do not depend on it.",
            show_default=False,
        ),
    ] = None,
    activation: o.NetworkActivation = None,
    name: o.NetworkName = None,
    only_output: o.NetworkOutput = None,
    raw: o.Raw = False,
    weights: o.NetworkWeights = None,
) -> int:
    """Count, draw and write the linear regions of a network: exactly, none is sampled.

    Example: pellucid regions model.pellucid --box -2,2 -2,2 --png regions.png
    """
    asked = Asked(box, slice, line, extent)
    as_json = json == HERE
    files = {"--png": png, "--svg": svg, "--parquet": parquet}
    files["--json"] = None if json is None or as_json else Path(json)
    places = Places({name: path for name, path in files.items() if path is not None})
    _check_options(color, limit, seconds, threads)
    places.check(model, data, count)
    options = o.network_options(activation, name, only_output, raw, weights)
    work = _Work(model, options, asked, data, target, drop, color, output, boundary)
    work.check(places)
    found, time = work.find(count, limit, seconds, threads)
    told = places.write(found, work.draw(found) if places.draws else None)
    if as_json:
        _print_json(work, found, time)
    else:
        _print(work, found, time)
        for text in told:
            typer.echo(text)
    return 0


def _check_options(
    color: str | None, limit: int | None, seconds: float | None, threads: int | None
) -> None:
    if color is not None and color not in COLORS:
        raise InvalidInput(f"--color is {color!r:.40}; choose one of {', '.join(COLORS)}.")
    if limit is not None and not 1 <= limit < 2**63:
        raise InvalidInput(f"--limit is {limit}; it needs a whole number above 0.")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise InvalidInput(f"--seconds is {seconds:g}; it needs a finite number above 0.")
    o.check_numbers(0, threads)


class _Work:
    """The network, where to look, the rows to draw over it, and how."""

    def __init__(
        self,
        model: str,
        options: dict[str, Any],
        asked: Asked,
        data: str | None,
        target: str | None,
        drop: list[str] | None,
        color: str | None,
        output: int | None,
        boundary: bool | None,
    ):
        from ..network.kept import names_in

        self.model, self.asked = Path(model), asked
        self.network: Network | AffineGraph
        self.network, about, self.heads = read_model(model, **options)
        self.names: Sequence[str] | None
        self.classes: Sequence[str] | None
        self.names, self.classes = names_in(about, self.network)
        if target is None and Path(data or "").suffix:  # a file: its target may be the model's
            target = about.get("target")
        self.color, self.output, self.boundary = color, output, boundary
        self.table = None if data is None else table_of(data, target, drop)
        self.rows = None
        if self.table is not None:
            self.names, self.rows = rows_for(self.table, self.network, self.names, about=about)
            self.classes = self.classes or self.table.classes
        if asked.needs_rows and self.rows is None:
            raise InvalidInput(f"{asked.option} names a row (@); give the table with --data.")
        self.domain = asked.domain(self.network.d_in, self.rows)

    def check(self, places: Places) -> None:
        """Refuse before the work what could not be drawn after it."""
        d_out = self.network.d_out
        if self.output is not None and not 0 <= self.output < d_out:
            raise InvalidInput(
                f"--output-index is {self.output}; the network has outputs 0 to {d_out - 1}."
            )
        if self.color is not None and self.domain.dimension == 1:
            raise InvalidInput(
                "--color is for planes, and this is a line, whose outputs are drawn as graphs; "
                "leave it out (--output-index draws one output)."
            )
        if places.draws and self.domain.dimension > 2:
            raise InvalidInput(
                f"{places.draws} draws one or two dimensions, and this box has "
                f"{self.domain.dimension}; use --slice or --line."
            )

    def find(
        self, count: bool, limit: int | None, seconds: float | None, threads: int | None
    ) -> "tuple[LinearRegions, float]":
        """The regions, and the seconds that finding them took."""
        import time

        from ..regions import linear_regions

        start = time.perf_counter()
        options: dict[str, Any] = {"limit": limit, "seconds": seconds, "threads": threads}
        found = linear_regions(self.network, self.domain, count_only=count, **options)
        return found, time.perf_counter() - start

    def draw(self, found: "LinearRegions") -> Any:
        """The picture of one or two dimensions."""
        from .. import plot

        if len(found) > MOST_DRAWN:
            raise InvalidInput(
                f"there are {len(found):,} regions, too many for a picture; take a smaller part, "
                "or give --limit."
            )
        data = None if self.table is None else (self.rows, self.table.y)
        look: dict[str, Any] = {"data": data, "classes": self.classes, "names": self.names}
        has_classes = self.network.d_out > 1 or self.classes is not None
        look["boundary"] = has_classes if self.boundary is None else self.boundary
        if self.domain.dimension == 1:
            return plot.function(found, output=self.output, **look)
        look |= {"output": self.output or 0, "marks": self.asked.marks}
        return plot.linear_regions(found, self.color or "pattern", **look)


# ---- printing


def _facts(found: "LinearRegions", time: float) -> dict[str, Any]:
    """What is printed; None where regions were not kept, or volumes would cost too much."""
    from ..regions.geometry import MOST_DIMENSIONS

    kept, cheap = found.packed_patterns is not None, found.domain.dimension <= MOST_DIMENSIONS
    volume = found.volume if kept and cheap and len(found) else None
    return {
        "n_activation_regions": found.n_activation_regions,
        "n_linear_regions": found.n_linear_regions if kept else None,
        "n_affine_maps": found.n_affine_maps if kept else None,
        "certified": found.certified,
        "undecided": found.undecided,
        "by_filter": found.by_filter,
        "by_exact": found.by_exact,
        "complete": found.complete,
        "volume": found.domain.volume,
        "smallest_region": None if volume is None else float(volume.min()),
        "largest_region": None if volume is None else float(volume.max()),
        "seconds": time,
    }


def _print_json(work: _Work, found: "LinearRegions", time: float) -> None:
    import json

    from ..regions.export import place_of

    about = place_of(found)
    domain = {name: about["domain"][name] for name in ("kind", "low", "high")}
    facts = {"model": str(work.model), "network": about["network"], "domain": domain}
    told = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in _facts(found, time).items()
    }
    typer.echo(json.dumps(facts | told, indent=2, allow_nan=False))


def _print(work: _Work, found: "LinearRegions", time: float) -> None:
    from ._console import console, print_table, visible, visible_path

    facts, paper = _facts(found, time), console()
    network, domain = work.network, work.domain
    paper.print(f"{visible_path(work.model)}: {_shape(network)}; {visible(repr(domain))}")
    for name, head in work.heads.items():
        paper.print(visible(f"left off: the {head} of {name}; outputs are logits"))
    size = {1: "length", 2: "area"}.get(domain.dimension, "volume")
    sure = "yes" if found.certified else f"no: {found.undecided:,} signs undecided"
    rows = [
        ("activation regions", f"{found.n_activation_regions:,}"),
        ("linear regions", facts["n_linear_regions"]),
        ("affine maps", facts["n_affine_maps"]),
        ("certified", sure),
        ("complete", "yes" if found.complete else "no: the search was ended, there are more"),
        (f"smallest region ({size})", facts["smallest_region"]),
        (f"largest region ({size})", facts["largest_region"]),
        (f"whole domain ({size})", facts["volume"]),
        ("signs proved in floating point", f"{found.by_filter:,}"),
        ("signs proved in exact numbers", f"{found.by_exact:,}"),
        ("seconds", f"{time:.3g}"),
    ]
    print_table(
        paper, ("", ""), [(name, _cell(value)) for name, value in rows if value is not None]
    )


def _shape(network: "Network | AffineGraph") -> str:
    from ..network import Network

    if not isinstance(network, Network):
        return repr(network)
    names = dict.fromkeys(sigma.name for sigma in network.activations)
    return f"network {'-'.join(map(str, network.widths))}, {', '.join(names) or 'linear'}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
