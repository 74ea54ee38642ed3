# pyright: reportMissingImports=false
# (an optional package, which the checks do not install)
"""`log_to_tensorboard`: event files, through TensorBoard's own writer."""

import os
import time
from pathlib import Path
from typing import Any

from .._errors import InvalidFile, MissingDependency
from .history import History
from .logged import Logged, logged
from .run import Grid, Run


def log_to_tensorboard(what: Run | Grid | History, folder: str | os.PathLike) -> tuple[Path, ...]:
    """Write what was logged while training as event files that `tensorboard --logdir` reads.

    A `Run` or a `History` goes into `folder`, each run of a `Grid` into a folder of its own there.
    Scalars are the losses, and the measures of the layers where there are any; a run's settings are
    its hparams. Values that are not finite are left out. Returns the folders.

    Raises MissingDependency where tensorboard is not installed, and InvalidFile where the folder
    cannot be made.
    """
    runs = logged(what)
    write = _writer()
    root = Path(folder)
    places = [root / run.name if isinstance(what, Grid) else root for run in runs]
    for run, place in zip(runs, places, strict=True):
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidFile(
                f"the folder {place} cannot be made ({error.strerror}); name another."
            ) from None
        write(run, place)
    return tuple(places)


def _writer() -> Any:
    """A function of (run, folder); TensorBoard without TensorFlow has all that it needs."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError:
        raise MissingDependency(
            "tensorboard is not installed, and its event files are written by it; "
            "pip install tensorboard."
        ) from None

    def write(run: Logged, folder: Path) -> None:
        now = time.time()
        writer = EventFileWriter(str(folder))
        if run.settings:
            writer.add_event(Event(wall_time=now, summary=hparams_pb(run.settings, run.name)))
        for name, step, value in run.scalars:
            writer.add_event(Event(wall_time=now, step=step, summary=scalar_pb(name, value)))
        writer.close()

    return write
