"""Feedforward networks: what they are, what they compute, and where they are kept."""

from .activations import (
    ACTIVATIONS,
    Activation,
    ActivationFamily,
    Activations,
    as_activation,
    as_activations,
    text_of,
)
from .converting import Conversion, convert
from .files import load, read, read_metadata, read_networks, save
from .formats.loaded import Loaded
from .formats.table import FORMATS, Format
from .graph import AffineGraph, GraphPass, Node
from .initialization import SCHEMES, Scheme, initialize
from .network import Layer, Network
from .passes import BackwardPass, ForwardPass
from .serialization import from_bytes, networks_from_bytes, to_bytes

__all__ = [
    "ACTIVATIONS",
    "FORMATS",
    "SCHEMES",
    "Activation",
    "ActivationFamily",
    "Activations",
    "AffineGraph",
    "BackwardPass",
    "Conversion",
    "Format",
    "ForwardPass",
    "GraphPass",
    "Layer",
    "Loaded",
    "Network",
    "Node",
    "Scheme",
    "as_activation",
    "as_activations",
    "convert",
    "from_bytes",
    "initialize",
    "load",
    "networks_from_bytes",
    "read",
    "read_metadata",
    "read_networks",
    "save",
    "text_of",
    "to_bytes",
]
