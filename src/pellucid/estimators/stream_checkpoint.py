"""Where a fit from files stands after an epoch, in a file that the same fit goes on from."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import InvalidFile
from ..network import Network, read_metadata, read_networks
from ..network.files import write_atomically
from ..network.serialization import to_bytes


class Record:
    """A network on its way, and the best that it was."""

    def __init__(self, network: Network):
        self.network = self.best = network
        self.lowest, self.waited = float("inf"), 0

    def judge(self, loss: float) -> None:
        """Note the held-out loss of the network as it is."""
        self.waited += 1
        if loss < self.lowest:
            self.lowest, self.best, self.waited = loss, self.network, 0


@dataclass(frozen=True)
class StreamCheckpoint:
    """A file, and what a fit must have in common with the one that wrote it."""

    path: Path
    key: str

    def save(self, records: list[Record], epoch: int, step: int) -> None:
        """Write where the fit stands after so many epochs and steps, whole or not at all."""
        state = {
            "key": self.key,
            "epoch": epoch,
            "step": step,
            "lowest": [record.lowest for record in records],
            "waited": [record.waited for record in records],
        }
        first, *others = [n for record in records for n in (record.network, record.best)]
        write_atomically(self.path, to_bytes(first, {"stream": json.dumps(state)}, others))

    def load(self, records: list[Record]) -> tuple[int, int]:
        """Take over what `save` wrote, if it is there; the epochs and steps that are done."""
        if not self.path.exists():
            return 0, 0
        try:
            state = json.loads(read_metadata(self.path)["stream"])
            networks = read_networks(self.path)
        except (KeyError, ValueError):
            raise InvalidFile(
                f"{self.path} is no checkpoint of a fit from files; name another file."
            ) from None
        if state.get("key") != self.key or len(networks) != 2 * len(records):
            raise InvalidFile(
                f"{self.path} is the checkpoint of another fit; name another file, or remove this "
                "one to begin anew."
            )
        for k, record in enumerate(records):
            record.network, record.best = networks[2 * k], networks[2 * k + 1]
            record.lowest, record.waited = float(state["lowest"][k]), int(state["waited"][k])
        return int(state["epoch"]), int(state["step"])


def key_of(
    estimator: Any, paths: tuple[str, ...], roles: tuple[str | None, ...], start: list[Network]
) -> str:
    """A text that differs where the files, the parameters or the first networks do."""
    digest = hashlib.sha256()
    for path in paths:
        about = os.stat(path)
        digest.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    ignored = ("n_jobs", "verbose")
    given = {k: v for k, v in sorted(estimator.get_params().items()) if k not in ignored}
    digest.update(f"{roles} {given!r}\n".encode())
    for network in start:
        digest.update(network.parameters().tobytes())
    return digest.hexdigest()
