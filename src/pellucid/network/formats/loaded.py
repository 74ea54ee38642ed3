"""What a reader is asked for, and what it gives: shared by all formats of files."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..._shapes import Array
from ..activations import Activation
from ..network import Network

if TYPE_CHECKING:
    from ..graph import AffineGraph


@dataclass(frozen=True)
class Options:
    """What the caller of `load` says about a file.

    `activation` names the activation of the hidden layers where a file does not. `name` picks one
    network of a file with several, `output` one output of a network with several. `raw` leaves out
    the normalisation that a NNET file states, and `weights` is the file of the weights beside a
    JSON description.
    """

    activation: str | Activation | None = None
    name: str | None = None
    output: str | None = None
    raw: bool = False
    weights: Path | None = None


@dataclass(frozen=True)
class Loaded:
    """A network that was read, and what the reader knows of it besides.

    `folded` has a sentence for everything that became part of an affine layer. `input_low` and
    `input_high` are the range of validity of the inputs, where the file states one. `heads` maps
    the name of an output to the function that the file applies to it last and that the network
    does not: "softmax", "log_softmax" or "sigmoid"; the network then gives the logits.
    """

    network: "Network | AffineGraph"
    name: str = ""
    folded: tuple[str, ...] = ()
    input_low: Array | None = None
    input_high: Array | None = None
    heads: dict[str, str] = field(default_factory=dict)
