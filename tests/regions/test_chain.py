"""What exact regions keep of a network, for as long as the network is there."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from regions.networks import random_network

from pellucid.regions import chain


def test_two_threads_may_meet_a_new_network_at_once(monkeypatch):
    """Both make its chain and promise to forget it; the second finds nothing to forget."""
    both, make, raised = Barrier(2), chain._make_chain, []

    def make_together(network):
        both.wait(10)
        return make(network)

    monkeypatch.setattr(chain, "_make_chain", make_together)
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    network = random_network([2, 3, 1])
    key = id(network)
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(chain.chain_of, [network, network]))) == 2
    assert key in chain._chains
    del network
    gc.collect()
    assert key not in chain._chains
    assert not raised
