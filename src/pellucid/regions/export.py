"""Regions as JSON, for other programs and pages, and as Parquet, for tables of any size."""

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array, Float64, Int
from ..network.files import write_atomically
from .geometry import MOST_DIMENSIONS

if TYPE_CHECKING:
    from .result import LinearRegions

FORMAT, VERSION = "pellucid-regions", 1
_BATCH = 2048  # regions that become text at once: bounds the memory beside the text


def to_json(regions: "LinearRegions", path: str | os.PathLike[str]) -> None:
    """`LinearRegions.to_json`; `volume` is null above six dimensions."""
    write_atomically(Path(path), json_bytes(regions))


def to_parquet(regions: "LinearRegions", path: str | os.PathLike[str]) -> None:
    """`LinearRegions.to_parquet`; `volume` is null above six dimensions."""
    write_atomically(Path(path), parquet_bytes(regions))


def place_of(regions: "LinearRegions") -> dict[str, Any]:
    """The network and the domain, as plain data."""
    network, domain = regions.network, regions.domain
    return {
        "network": {
            "widths": list(network.widths),
            "activations": [
                {"name": one.name, "parameters": list(one.parameters)}
                for one in network.activations
            ],
        },
        "domain": {
            "kind": type(domain).__name__,
            "origin": domain.origin.tolist(),
            "axes": domain.axes.tolist(),
            "low": domain.low.tolist(),
            "high": domain.high.tolist(),
        },
    }


def summary(regions: "LinearRegions") -> dict[str, Any]:
    """What all regions have in common, as plain data: the head of both files."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **place_of(regions),
        "n_activation_regions": regions.n_activation_regions,
        "certified": regions.certified,
        "undecided": regions.undecided,
        "complete": regions.complete,
        "vertex_error": regions.vertex_error,
    }


def json_bytes(regions: "LinearRegions") -> bytes:
    """The text of `to_json`, in UTF-8."""
    regions._get("vertices")  # the whole space has none, nor has a count
    head = summary(regions) | {
        "n_linear_regions": regions.n_linear_regions,
        "n_affine_maps": regions.n_affine_maps,
        "switches": regions.switches.tolist(),
        "adjacency": regions.adjacency.tolist(),
    }
    opening = json.dumps(head, allow_nan=False)[:-1] + ', "regions": [\n'
    batches = (",\n".join(map(_line, batch)) for batch in _batches(regions))
    return (opening + ",\n".join(batches) + "\n]}\n").encode()


def _line(region: dict[str, Any]) -> str:
    try:
        return json.dumps(region, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise InvalidInput(
            "a number of the regions is too large for float64, and JSON has no infinity; write "
            "Parquet, or take smaller weights or a smaller domain."
        ) from None


def _batches(regions: "LinearRegions") -> Iterator[list[dict[str, Any]]]:
    """The regions as plain data, some thousand at a time."""
    n, packed, volume = len(regions), regions._get("packed_patterns"), _volume(regions)
    lists = {
        "vertices": (regions._get("vertices"), regions._get("offsets")),
        "facets": (regions._get("facets"), regions._get("facet_offsets")),
    }
    for begin in range(0, n, _BATCH):
        rows = slice(begin, min(begin + _BATCH, n))
        bits = np.unpackbits(packed[rows], axis=1, count=regions.n_switches, bitorder="little")
        columns = {
            "pattern": ["".join(map(str, row)) for row in bits.tolist()],
            "linear_region": regions.linear_region[rows].tolist(),
            "slope": regions.slope[rows].tolist(),
            "intercept": regions.intercept[rows].tolist(),
            "volume": [None] * len(bits) if volume is None else volume[rows].tolist(),
        }
        columns |= {name: _lists(*arrays, rows) for name, arrays in lists.items()}
        names = list(columns)
        yield [
            dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)
        ]


def _volume(regions: "LinearRegions") -> Float64[Array, " n"] | None:
    """None where it would take too long."""
    return regions.volume if regions.domain.dimension <= MOST_DIMENSIONS else None


def _lists(flat: Array, offsets: Array, rows: slice) -> list[list]:
    own = offsets[rows.start : rows.stop + 1]
    values = flat[own[0] : own[-1]].tolist()
    own = (own - own[0]).tolist()
    return [values[a:b] for a, b in pairwise(own)]


# ---- tables


def to_frame(regions: "LinearRegions") -> Any:
    """`LinearRegions.to_frame`; `volume` is null above six dimensions."""
    import polars as pl

    d, d_out = regions.domain.dimension, regions.network.d_out
    packed, volume = regions._get("packed_patterns"), _volume(regions)
    columns: dict[str, Any] = {
        "region": np.arange(len(regions)),
        "linear_region": regions.linear_region,
        "volume": pl.Series([None] * len(regions) if volume is None else volume, dtype=pl.Float64),
        "vertices": np.diff(regions._get("offsets")),
        "active": np.bitwise_count(packed).sum(axis=1, dtype=np.int64),
    }
    columns |= {f"p_{i}": regions.center[:, i] for i in range(d)}
    columns |= {f"slope_{k}_{i}": regions.slope[:, k, i] for k in range(d_out) for i in range(d)}
    columns |= {f"intercept_{k}": regions.intercept[:, k] for k in range(d_out)}
    return pl.DataFrame(columns)


def parquet_bytes(regions: "LinearRegions") -> bytes:
    """The file of `to_parquet`."""
    import io

    buffer = io.BytesIO()
    about = {FORMAT: json.dumps(summary(regions) | {"switches": regions.switches.tolist()})}
    parquet_frame(regions).write_parquet(buffer, metadata=about)
    return buffer.getvalue()


def parquet_frame(regions: "LinearRegions") -> Any:
    """The table, with the pattern, the corners, the facets and the neighbours of each region."""
    import polars as pl

    n_bytes = -(-regions.n_switches // 8)
    packed = regions._get("packed_patterns")[:, :n_bytes]
    corners = pl.Series(
        "corners", regions._get("vertices"), pl.Array(pl.Float64, regions.domain.dimension)
    )
    facets = pl.Series("facets", regions._get("facets"))
    return to_frame(regions).with_columns(
        pl.Series("pattern", [row.tobytes() for row in packed], pl.Binary),
        _nested(corners, np.diff(regions._get("offsets"))),
        _nested(facets, np.diff(regions._get("facet_offsets"))),
        _nested(*_neighbours(regions.adjacency, len(regions))),
    )


def _neighbours(pairs: Int[Array, "m 2"], n: int) -> tuple[Any, Array]:
    import polars as pl

    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return pl.Series("neighbours", both[:, 1]), np.bincount(both[:, 0], minlength=n)


def _nested(flat: Any, lengths: Array) -> Any:
    """A column with a list in each row, from all values in one column and how many each takes."""
    import polars as pl

    owner = np.repeat(np.arange(len(lengths)), lengths)
    lists = pl.DataFrame({"row": owner, flat.name: flat}).group_by("row", maintain_order=True).all()
    rows = pl.DataFrame({"row": np.arange(len(lengths))})
    empty = pl.lit([], dtype=lists[flat.name].dtype)
    return rows.join(lists, on="row", how="left", maintain_order="left").select(
        pl.col(flat.name).fill_null(empty)
    )[flat.name]
