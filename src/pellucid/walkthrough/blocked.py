"""Which hidden units let no gradient through, and what follows from that."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .._shapes import Array
from .blocks import Note

if TYPE_CHECKING:
    from .worked import WorkedPass

SMALL_SLOPE = 0.01  # of a smooth unit that lets next to nothing through


def blocked_notes(work: "WorkedPass") -> Iterator[Note]:
    """A note for each hidden layer."""
    for k, blocked in enumerate(work.blocked, 1):
        yield Note(_layer_text(k, blocked, work.slopes[k - 1]))
    if not work.blocked:
        yield Note("There are no hidden units.")


def _layer_text(k: int, blocked: Array, slopes: Array) -> str:
    n, width = blocked.shape
    always = np.flatnonzero(blocked.all(axis=0))
    small = np.abs(slopes.astype(np.float64)) < SMALL_SLOPE
    faint = np.flatnonzero((small & ~blocked).all(axis=0))
    where = "" if n == 1 else f" on all {n} examples"
    if not len(always):
        text = f"Layer {k}: none of the {width} units blocks the gradient{where}."
    else:
        several = len(always) > 1
        text = (
            f"Layer {k}: {len(always)} of {width} units {'block' if several else 'blocks'} the "
            f"gradient{where}: unit{'s' * several} {_names(always)}. The slope there is 0: the "
            "incoming weights and the bias get gradient 0, and the layer below gets nothing."
        )
    if n > 1:
        share = blocked.mean()
        text += f" {blocked.sum():,} of {blocked.size:,} pairs of example and unit are blocked"
        text += f" ({100 * share:.0f} %)."
    if len(faint):
        text += f" Nearly blocked (slope below {SMALL_SLOPE:g}): {_names(faint)}."
    return text


def _names(units: Array, most: int = 12) -> str:
    names = [str(int(j)) for j in units[:most]]
    return ", ".join(names) + (", ..." if len(units) > most else "")
