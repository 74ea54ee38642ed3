"""Where units are zero: a line for the first layer, bent at the lines of every layer before."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._errors import InvalidInput
from .._shapes import Array
from ..network import Network
from ..regions import LinearRegions, linear_regions
from . import _domains, _style

if TYPE_CHECKING:
    import matplotlib.figure

    from ..regions.domains import Domain

_COLOURS = (_style.BLUE, _style.ORANGE, _style.GREEN, _style.PURPLE, _style.SKY, _style.GREY)
_MANY_LINES = 6000  # more are drawn as one picture inside an SVG


def bent_hyperplanes(
    network: Network,
    domain: "Domain",
    layer: int | None = None,
    unit: int | None = None,
    *,
    names: Sequence[str] | None = None,
) -> "matplotlib.figure.Figure":
    """Draw where pre-activations have their kink on a `Plane` or a `Box` of two inputs.

    A unit of the first hidden layer has it on a straight line, one of a later layer on a line that
    bends where it meets those of earlier layers. `layer` and `unit` (counted from 0, as in
    `regions.switches`) name one unit, which is drawn thick over the thin lines of all layers before
    it. Without `unit` all units of the layers up to `layer` are drawn, by default all layers.

    Raises InvalidInput where there is no such layer or unit, and as `linear_regions` does.
    """
    last = len(network.hidden_layers) - 1
    if last < 0:
        raise InvalidInput("the network has no hidden layer, and so no kink.")
    layer = last if layer is None else _number(layer, last, "layer")
    unit = None if unit is None else _number(unit, network.hidden[layer] - 1, "unit")
    if domain.dimension != 2:
        raise InvalidInput(
            f"the domain has {domain.dimension} dimensions; lines are drawn on a Plane or a Box of "
            "two inputs."
        )
    regions = linear_regions(_up_to(network, layer, unit), domain)
    with _style.style():
        figure, ax = _domains.new_axes(domain, names)
        lines, layers = kink_lines(regions)
        for one in range(layer + 1):
            chosen = one == layer
            _draw(ax, lines[layers == one], one, len(lines), thick=chosen and unit is not None)
        title = f"hidden layer {layer}, unit {unit}" if unit is not None else "kinks of all units"
        below = f"{_domains.sure_of(regions)}; layers and units are counted from 0"
        if not (layers == layer).any():
            below += f"; no kink of layer {layer} on this domain"
        if layer:
            figure.legend(loc="outside lower left", ncols=4)
        _domains.tell(figure, ax, title, below)
    return figure


def _number(value: object, most: int, name: str) -> int:
    if not isinstance(value, int | np.integer) or not 0 <= value <= most:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number from 0 to {most}.")
    return int(value)


def _up_to(network: Network, layer: int, unit: int | None) -> Network:
    """The network without later layers; of `layer` with that unit alone, where one is named."""
    rows = slice(None) if unit is None else slice(unit, unit + 1)
    weights = [*network.weights[:layer], network.weights[layer][rows]]
    biases = [*network.biases[:layer], network.biases[layer][rows]]
    last = np.ones((1, len(weights[-1])), network.dtype)
    return Network(
        [*weights, last], [*biases, np.zeros(1, network.dtype)], network.activations[: layer + 1]
    )


def kink_lines(regions: LinearRegions) -> tuple[Array, Array]:
    """Edges on which some switch has its kink, (m, 2, 2), and the layer of each, (m,).

    An edge between two regions comes from both, as each may name another switch of those that are
    zero there.
    """
    p, offsets, facets = (regions._get(name) for name in ("vertices", "offsets", "facets"))
    after = np.arange(1, len(p) + 1)
    after[offsets[1:] - 1] = offsets[:-1]
    inner = np.flatnonzero(facets >= 0)
    lines = np.stack([p[inner], p[after[inner]]], axis=1)
    return lines, regions.switches[facets[inner], 0]


def _draw(ax, lines: Array, layer: int, n: int, thick: bool) -> None:
    from matplotlib.collections import LineCollection

    drawn = LineCollection(
        list(lines),
        colors=_style.VERMILLION if thick else _COLOURS[layer % len(_COLOURS)],
        linewidths=2.4 if thick else (1.5 if n < 2000 else 0.7) * 0.65**layer,
        label=f"layer {layer}" + (", this unit" if thick else ""),
        capstyle="round",
        rasterized=n > _MANY_LINES,
        zorder=3 if thick else 2,
    )
    ax.add_collection(drawn, autolim=False)
