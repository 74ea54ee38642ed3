"""What pictures of a domain share: axes, labels, the rows of a table, what is said below."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._errors import InvalidInput
from .._shapes import Array
from ..regions import Box, LinearRegions, Segment
from . import _style

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

    from ..regions.domains import Domain

_MANY_ROWS = 1500
_COUNTED = 20_000  # regions whose linear regions are counted unasked
_LONGEST_SIDE = 2.5  # a rectangle longer than this is not drawn to scale
_ROOM = 0.015  # of a line's length, at both ends, so that points there are drawn whole
_HIGHEST = 5.0  # inches of the axes
_LETTERS = 16.0  # to an inch, of what is said below the title
_OFF = 1e-6  # of the domain's size: a point farther away does not lie on the plane


def check_regions(regions: object, dimension: int, instead: str) -> LinearRegions:
    """Refuse what cannot be drawn: other objects, other dimensions, counts, the whole space."""
    if not isinstance(regions, LinearRegions):
        raise InvalidInput(
            f"got a {type(regions).__name__}; this figure draws what linear_regions returns."
        )
    if regions.domain.dimension != dimension:
        raise InvalidInput(
            f"these regions have {regions.domain.dimension} "
            f"dimension{'s' if regions.domain.dimension != 1 else ''}; {instead}."
        )
    regions._get("vertices")
    return regions


def output_number(output: object, d_out: int) -> int:
    """The number of an output, checked."""
    if isinstance(output, int | np.integer) and -d_out <= output < d_out:
        return int(output) % d_out
    raise InvalidInput(f"output is {output!r}; the network has outputs 0 to {d_out - 1}.")


def new_axes(
    domain: "Domain", names: Sequence[str] | None
) -> "tuple[matplotlib.figure.Figure, matplotlib.axes.Axes]":
    """A figure whose axes are the coordinates of the domain, to scale where that is possible."""
    from matplotlib.ticker import MaxNLocator

    shown = axis_names(domain, names)
    figure = _style.new_figure(4.6 if domain.dimension == 2 else 3.6)
    ax = figure.add_subplot()
    room = _ROOM * (domain.high[0] - domain.low[0]) if domain.dimension == 1 else 0.0
    ax.set_xlim(domain.low[0] - room, domain.high[0] + room)
    ax.set_xlabel(shown[0])
    if domain.dimension == 2:
        ax.grid(visible=False)
        ax.set_ylim(domain.low[1], domain.high[1])
        ax.set_ylabel(shown[1])
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        to_scale(ax, domain)
    return figure, ax


def to_scale(ax: "matplotlib.axes.Axes", domain: "Domain") -> float:
    """Draw a rectangle to scale unless it is too long to be read; its height / width as drawn.

    0 for one that is not to scale.
    """
    units = np.linalg.norm(domain.axes, axis=1)  # lengths in the input space
    sides = units * (domain.high - domain.low)
    if max(sides) > _LONGEST_SIDE * min(sides):
        return 0.0
    ax.set_aspect(units[1] / units[0])
    return float(sides[1] / sides[0])


def axis_names(domain: "Domain", names: Sequence[str] | None) -> list[str]:
    """What the coordinates are called: inputs of a box, else steps along the axes."""
    if names is not None and len(names) != domain.d_in:
        raise InvalidInput(f"there are {len(names)} names; the domain has {domain.d_in} inputs.")
    if isinstance(domain, Box):
        return [_style.shorten(n, 40) for n in names or [f"x{i + 1}" for i in range(domain.d_in)]]
    if isinstance(domain, Segment):
        return ["s: from A (0) to B (1)"]
    u, v = np.linalg.norm(domain.axes, axis=1)
    cosine = float(domain.axes[0] @ domain.axes[1] / (u * v))
    slanted = "" if abs(cosine) < 1e-6 else f" ({np.degrees(np.arccos(cosine)):.0f}° to u)"
    return [_step("s", "u", float(u)), _step("t", "v", float(v)) + slanted]


def _step(coordinate: str, axis: str, length: float) -> str:
    unit = "" if abs(length - 1) < 1e-6 else f", of length {length:.3g}"
    return f"{coordinate}: along {axis}{unit}"


def title_of(regions: LinearRegions) -> str:
    """How many activation regions there are."""
    n = regions.n_activation_regions
    return f"{n:,} activation region{'s' if n != 1 else ''}"


def standing_of(regions: LinearRegions) -> str:
    """How many linear regions that are, where it costs little time, and whether all is sure."""
    n, told = regions.n_activation_regions, ""
    if n <= _COUNTED or "linear_region" in vars(regions):
        m = regions.n_linear_regions
        told = f"{m:,} linear region{'s' if m != 1 else ''}; "
    return told + sure_of(regions)


def sure_of(regions: LinearRegions) -> str:
    """Whether that is certain and all."""
    told = "certified" if regions.certified else f"not certified: {regions.undecided:,} undecided"
    return told + (", complete" if regions.complete else ", incomplete: the search was ended")


def no_boundary(regions: LinearRegions) -> str:
    """What is said where there is none to draw."""
    what = "no place where output 0 is 0" if regions.network.d_out == 1 else "no decision boundary"
    return what + (" here" if regions.complete else " in the part found")


def tell(figure: "matplotlib.figure.Figure", ax: "matplotlib.axes.Axes", *lines: str) -> None:
    """Put a title over the picture, what else is to be said below it, and the size right."""
    title, *more = lines
    width, ratio = _shape(ax)
    said = [part for line in more for part in _style.wrap(line, int(_LETTERS * width), 6) if part]
    ax.set_title(title, pad=9 + 12 * len(said))
    told = ax.annotate(
        "\n".join(said),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=8.5,
        color="#505050",
        annotation_clip=False,
    )
    told.set_in_layout(False)  # a long line must not narrow the axes
    if ratio:
        rows = sum(-(-len(one.get_texts()) // getattr(one, "_ncols", 1)) for one in figure.legends)
        more_inches = 1.0 + 0.17 * len(said) + (0.1 + 0.21 * rows if rows else 0)
        figure.set_size_inches(_style.WIDTH, width * ratio + more_inches)


def _shape(ax: "matplotlib.axes.Axes") -> tuple[float, float]:
    """Width of the axes in inches, and height / width; 0 where the figure has its own height."""
    width, aspect = _style.WIDTH - (1.75 if ax.child_axes else 0.8), ax.get_aspect()
    if aspect == "auto":
        return width, 0.0
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    ratio = float((high[1] - low[1]) / (high[0] - low[0]) * aspect)
    return min(width, _HIGHEST / ratio), ratio


def colour_bar(
    figure: "matplotlib.figure.Figure", ax: "matplotlib.axes.Axes", drawn: Any, label: str
) -> None:
    """A bar as high as the picture, which keeps its own proportions."""
    beside = ax.inset_axes((1.035, 0, 0.045, 1))
    bar = figure.colorbar(drawn, cax=beside)
    bar.set_label(label)
    _style.plain_ticks(beside.yaxis)


# ---- rows of a table over it


class Data:
    """Those of the points (m, d_in) that lie in the domain, with their classes or numbers."""

    def __init__(self, data: object, domain: "Domain", classes: Sequence[str] | None):
        X, y = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
        try:
            X = np.asarray(X, np.float64)
        except (TypeError, ValueError):
            X = np.empty(0)
        if X.ndim == 1 and domain.d_in == 1:
            X = X[:, None]
        if X.shape[1:] != (domain.d_in,):
            raise InvalidInput(
                f"data has points of shape {X.shape}; it needs (X, y) with X of (rows, "
                f"{domain.d_in}), or X alone."
            )
        y = None if y is None else np.asarray(y).reshape(-1)
        if y is not None and len(y) != len(X):
            raise InvalidInput(f"data has {len(X)} rows and {len(y)} targets; give one each.")
        p = domain.to_coordinates(X)
        size = float((np.abs(domain.axes).max(axis=1) * (domain.high - domain.low)).max())
        on = np.abs(X - domain.to_input(p)).max(axis=1, initial=0.0) <= _OFF * size
        inside = ((p >= domain.low) & (p <= domain.high)).all(axis=1)
        self.off, self.outside = int((~on).sum()), int((on & ~inside).sum())
        self.p = p[on & inside]
        self.y = None if y is None else y[on & inside]
        self.classes = classes

    @property
    def labels(self) -> Array | None:
        """The classes as numbers; None where y holds numbers or is not there."""
        return self.y if self.y is not None and self.y.dtype.kind in "iub" else None

    def note(self) -> str:
        """What has to be said about points that are not drawn."""
        places = (self.off, "off the plane or line"), (self.outside, "outside of the picture")
        told = [f"{n:,} point{'s' if n != 1 else ''} {where}" for n, where in places if n]
        return f"not drawn: {', '.join(told)}" if told else ""


def draw_points(ax: "matplotlib.axes.Axes", data: Data) -> None:
    """Points of a plane in the colours and markers of their classes."""
    labels = data.labels
    if labels is None:
        _group(ax, data.p, None, None)
        return
    for k in np.unique(labels).tolist():
        _group(ax, data.p[labels == k], int(k), class_name(data.classes, k), len(data.p))


def draw_marks(
    ax: "matplotlib.axes.Axes", domain: "Domain", marks: Mapping[str, ArrayLike]
) -> None:
    """A ring at each point of the plane, with its name beside it."""
    paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}
    for name, x in marks.items():
        p = domain.to_coordinates(x)
        ax.plot(*p, "o", mfc="none", mec=_style.BLACK, ms=8, zorder=6)
        look = {"weight": "bold", "bbox": paper, "zorder": 6}
        ax.annotate(name, tuple(p), (6, 6), textcoords="offset points", **look)


def _group(
    ax: "matplotlib.axes.Axes", p: Array, k: int | None, name: str | None, n: int | None = None
) -> None:
    n = len(p) if n is None else n
    many = n > _MANY_ROWS
    ax.scatter(
        p[:, 0],
        p[:, 1],
        s=18 if n <= 400 else 11 if not many else 5,
        marker="o" if k is None else _style.class_marker(k),
        facecolor=_style.BLACK if k is None else _style.class_colour(k),
        edgecolor="white" if k is None else _style.BLACK,
        linewidth=0.4 if not many else 0.2,
        label=name,
        rasterized=many,
        zorder=5,
    )


def class_name(classes: Sequence[str] | None, k: int) -> str:
    """What class k is called."""
    return _style.shorten(str(classes[k]), 24) if classes and k < len(classes) else f"class {k}"
