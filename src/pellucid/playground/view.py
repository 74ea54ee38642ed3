"""The playground in a notebook: the same page as a widget, fed by a network or a training."""

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InvalidInput, MissingDependency
from ..network import Network, load
from .bundle import modules
from .documents import network_document, network_from
from .site import site
from .start import start_document

if TYPE_CHECKING:
    from ..datasets import Table

try:
    import anywidget
    import traitlets
except ImportError:
    raise MissingDependency(
        "the playground in a notebook needs anywidget; install it with: pip install "
        "'pellucid[notebook]'."
    ) from None

HEIGHT = 900
_ESM = (files("pellucid.playground") / "notebook" / "view.js").read_text()


class View(anywidget.AnyWidget):
    """The page of the playground in a cell's output; it needs no server and no internet.

    Parameters
    ----------
    network
        A `Network`, or anything else that `pellucid.load` takes, such as a `torch.nn.Sequential`.
        Without one the page starts as usual.
    table
        The rows that the page trains on, a `datasets.Table`.
    link
        A link that the page made; its state is opened.
    height
        In pixels.
    """

    _esm = _ESM
    modules = traitlets.List().tag(sync=True)
    files = traitlets.Dict().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)
    shown = traitlets.Dict().tag(sync=True)
    trained = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(HEIGHT).tag(sync=True)

    def __init__(
        self,
        network: Any = None,
        *,
        table: "Table | None" = None,
        link: str | None = None,
        height: int = HEIGHT,
    ):
        page = site()
        chain = None if network is None else _chain(network)
        super().__init__(
            modules=[list(module) for module in modules(page)],
            files={name: page[name] for name in page if not name.endswith(".js")},
            start=start_document(network=chain, table=table, link=link),
            height=height,
        )

    def show(self, network: Any) -> None:
        """Put a network in place of the one in the page; call it from a running training.

        Weights of a network with the same layers are exchanged, and the page keeps its views;
        another network starts anew.
        """
        document = network_document(_chain(network))
        flat = np.asarray(document.pop("parameters"), np.float32)
        self.shown = document | {"parameters": flat.tobytes()}

    @property
    def network(self) -> Network | None:
        """The network in the page, as it was at most half a second ago; None before it runs."""
        if not self.trained:
            return None
        flat = np.frombuffer(bytes(self.trained["parameters"]), np.float32)
        return network_from({**self.trained, "parameters": flat.tolist()})


def _chain(network: Any) -> Network:
    found = network if isinstance(network, Network) else load(network)
    if not isinstance(found, Network):
        raise InvalidInput(f"the playground shows chains of layers, and got {found!r:.200}.")
    return found
