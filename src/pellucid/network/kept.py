"""What a file of a network keeps beside it, as `pellucid train` writes it: names, classes."""

import json
import os
from collections.abc import Mapping

from .._errors import InvalidFile
from .files import read_metadata
from .formats.loaded import Loaded
from .graph import AffineGraph
from .network import Network


def about_of(path: str | os.PathLike[str], loaded: Loaded) -> dict[str, str]:
    """The texts that a file of our own keeps; "member" is the number of the network in it."""
    try:
        return read_metadata(path) | {"member": loaded.name.partition("networks.")[2] or "0"}
    except InvalidFile:
        return {}


def names_in(
    about: Mapping[str, str], network: Network | AffineGraph
) -> tuple[list[str] | None, list[str] | None]:
    """What inputs and classes are called, where the texts say so as those of `train` do."""
    found: list[list[str] | None] = []
    for key, most in (("feature_names", network.d_in), ("classes", max(2, network.d_out))):
        try:
            value = json.loads(about.get(key, "null"))
        except ValueError:
            value = None
        if not isinstance(value, list) or len(value) != most:
            value = None
        found.append(value and [str(name) for name in value])
    return found[0], found[1]
