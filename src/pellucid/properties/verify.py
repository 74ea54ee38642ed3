"""`verify_proof`: a proof against a network that was read afresh."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..network import AffineGraph, Network
from .checker import ProofCheck, check_proof

_ENDS = ("low", "high")


def verify_proof(document: Mapping[str, Any], network: Network | AffineGraph) -> ProofCheck:
    """Accept or refuse a proof of `check_property` for a network.

    A graph is carried through a chain on the boxes of the proof, as the search did it; the rest is
    the checker's.
    """
    if isinstance(network, AffineGraph):
        try:
            ends = [[np.array(case[end], float) for case in document["cases"]] for end in _ENDS]
            network = network.to_network(np.min(ends[0], axis=0), np.max(ends[1], axis=0))
        except Exception as error:  # a document that describes no boxes of such a network
            reason = f"the proof does not fit the network ({type(error).__name__}: {error})"
            return ProofCheck(False, reason)
    return check_proof(document, network)
