"""Regions and the facets between them as a graph of NetworkX."""

from typing import TYPE_CHECKING

import numpy as np

from .._errors import MissingDependency
from .._shapes import Array

if TYPE_CHECKING:
    import networkx


def region_graph(n: int, pairs: Array, attributes: dict[str, Array]) -> "networkx.Graph":
    """Nodes 0 to n - 1 with the given attributes, an edge for each pair."""
    try:
        import networkx
    except ImportError:
        raise MissingDependency(
            'NetworkX is needed and not installed: pip install "pellucid[graphs]".'
        ) from None
    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(np.asarray(pairs).tolist())
    for name, values in attributes.items():
        networkx.set_node_attributes(graph, dict(enumerate(values.tolist())), name)
    return graph
