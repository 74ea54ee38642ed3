"""What every result about activation patterns of one network has."""

from functools import cached_property

import numpy as np

from .._shapes import Array, Bool, Int
from ..network import Network
from .chain import Chain, chain_of


class Switched:
    """Switches are the (unit, kink) pairs of a network, in layer, unit and kink order."""

    network: Network
    packed_patterns: Array | None  # uint8 (n, bytes), bit i % 8 of byte i // 8

    @property
    def n_switches(self) -> int:
        """Number of (unit, kink) pairs."""
        return self._chain.n_switches

    @property
    def switches(self) -> Int[Array, "n_switches 3"]:
        """Layer, unit and kink of every switch, counted from 0."""
        return self._chain.switches

    @property
    def patterns(self) -> Bool[Array, "n n_switches"]:
        """The patterns, one boolean for each switch; 0 where a switch is 0 on the whole region."""
        packed = self._get("packed_patterns")
        return np.unpackbits(packed, axis=1, count=self.n_switches, bitorder="little").astype(bool)

    @cached_property
    def _chain(self) -> Chain:
        return chain_of(self.network)

    def _get(self, name: str) -> Array:
        return getattr(self, name)
