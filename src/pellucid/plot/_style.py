"""How every figure looks, in one place: palette, marks, type, sizes.

Colours are those of Okabe and Ito (2002), which stay apart under the common colour vision
deficiencies; a second sign (marker, line style, position) always says the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.axis
    import matplotlib.figure

    from ..diagnosis.verdict import Verdict

BLACK = "#1b1b1b"
GREY = "#767676"
BLUE = "#0072b2"
SKY = "#56b4e9"
GREEN = "#009e73"
ORANGE = "#e69f00"
VERMILLION = "#d55e00"
PURPLE = "#cc79a7"
YELLOW = "#f0e442"

CLASS_COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW, GREY)
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
WIDTH = 4.9  # inches; small enough that 10-point type is still read on a telephone
DECADES_BEFORE_LOG = 1.3  # losses that span more than a factor of 20 get a logarithmic axis
FLOOR = 1e-6  # nats; on a logarithmic axis a smaller loss is drawn here


@dataclass(frozen=True)
class Mark:
    """How one role is drawn, and what the legend calls it."""

    label: str
    colour: str
    marker: str


ROLES = {
    "recipe": Mark("your recipe", VERMILLION, "o"),
    "same architecture": Mark("same architecture", BLUE, "s"),
    "improved": Mark("same architecture, made", SKY, "P"),  # refitted, polished, pruned
    "wider": Mark("wider", GREEN, "^"),
    "deeper": Mark("deeper", PURPLE, "D"),
    "narrower": Mark("regularised", ORANGE, "v"),  # fewer units, a penalty, or fewer steps
}
OTHER_ROLE = Mark("other", GREY, "X")

_RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10.5,
    "text.parse_math": False,  # a column may be called "$x$"
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": BLACK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.color": "#404040",
    "ytick.color": "#404040",
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "svg.fonttype": "none",  # letters stay letters: searchable, small, read aloud
    "svg.hashsalt": "pellucid",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def style(**changes: Any) -> Iterator[None]:
    """Draw in the house style; a letter that the font lacks is no reason to warn."""
    import warnings

    import matplotlib

    rc: Any = _RC | changes
    with matplotlib.rc_context(rc), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(height: float, width: float = WIDTH) -> "matplotlib.figure.Figure":
    """Return an empty figure of that size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def role_mark(role: str) -> Mark:
    """Return how a role is drawn; an unknown one gets a colour of its own."""
    return ROLES.get(role, OTHER_ROLE)


def class_colour(k: int) -> str:
    """Return the colour of class k; colours repeat after eight, with another marker."""
    return CLASS_COLOURS[k % len(CLASS_COLOURS)]


def class_marker(k: int) -> str:
    """Return the marker of class k."""
    return CLASS_MARKERS[k % len(CLASS_MARKERS)]


def printable(text: str) -> str:
    """Put a user's text on one line, without control characters or halves of letters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def wrap(text: str, limit: int, most: int) -> list[str]:
    """Break a user's text into at most `most` lines of at most `limit` letters."""
    import textwrap

    lines = textwrap.wrap(printable(text), limit) or [""]
    return (
        lines
        if len(lines) <= most
        else [*lines[: most - 1], shorten(" ".join(lines[most - 1 :]), limit)]
    )


def shorten(text: str, limit: int = 30) -> str:
    """Put a user's text on one line of at most `limit` letters."""
    line = printable(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def wants_log(values: Any) -> bool:
    """Whether no loss is negative and those above `FLOOR` span more than a factor of 20."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    if len(finite) == 0 or finite.min() < 0 or finite.max() <= FLOOR:
        return False
    low = max(float(finite.min()), FLOOR)
    return float(np.log10(finite.max() / low)) > DECADES_BEFORE_LOG


def use_log(ax: "matplotlib.axes.Axes", axis: str) -> None:
    """Make an axis logarithmic, with its ticks written as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    one = ax.xaxis if axis == "x" else ax.yaxis
    (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
    low, high = one.get_view_interval()
    decades = np.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0, 3.0) if decades < 3.5 else (1.0,)
    one.set_major_locator(LogLocator(subs=subs, numticks=8))
    plain_ticks(one)
    one.set_minor_formatter(NullFormatter())


def plain_ticks(axis: "matplotlib.axis.Axis") -> None:
    """Write the ticks of an axis as plain numbers, with commas in thousands."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))


def power_ticks(axis: "matplotlib.axis.Axis", most: int = 6) -> None:
    """Put at most so many ticks on a logarithmic axis, written as powers: 1, 0.1, 10⁻⁶."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(numticks=most))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_formatter(NullFormatter())


def _power(value: float) -> str:
    exponent = round(float(np.log10(value))) if value > 0 else 0
    if abs(exponent) <= 2:
        return f"{value:g}"
    return "10" + _raised(exponent)


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def short(value: float) -> str:
    """Two digits of a number: 0.21, 1.9·10⁻⁵."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10{_raised(int(exponent))}"


def _plain(value: float) -> str:
    if 1e6 <= value < 1e9:
        return f"{value / 1e6:g} M"
    return f"{value:,.0f}" if 1e3 <= value < 1e6 else f"{value:g}"


def reference_label(verdict: "Verdict") -> str:
    """Return what the reference's line shows: the cross-validation of a model, or runs."""
    if verdict.reference_is_a_model:
        return "reference (cross-validated\non the training rows)"
    return "reference (mean of networks\non held-out rows)"


def line_at(
    ax: "matplotlib.axes.Axes", axis: str, value: float, label: str, dashed: bool = True
) -> None:
    """Draw one labelled line across the axes, unless its place is unknown."""
    if np.isfinite(value):
        draw = ax.axvline if axis == "x" else ax.axhline
        draw(
            value,
            color=BLACK if dashed else GREY,
            linestyle=(0, (5, 3)) if dashed else (0, (1, 2)),
            linewidth=1.3,
            label=label,
            zorder=1.5,
        )
