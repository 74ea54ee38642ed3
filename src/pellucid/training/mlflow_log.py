# pyright: reportMissingImports=false
# (an optional package, which the checks do not install)
"""`log_to_mlflow`: one MLflow run for each run, through MLflow's own client."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from .._errors import MissingDependency
from .history import History
from .logged import Logged, logged
from .run import Grid, Run

BATCH = 1000
"""Metrics that MLflow takes in one request."""
_FAILED = ("diverged",)
_KILLED = ("interrupted",)


def log_to_mlflow(
    what: Run | Grid | History,
    experiment: str = "pellucid",
    tracking_uri: str | None = None,
) -> tuple[str, ...]:
    """Log what was measured while training as runs of an MLflow experiment.

    A `Run` or a `History` becomes one MLflow run, a `Grid` one for each of its runs: the settings
    are parameters, the losses (and the measures of the layers where there are any) are metrics by
    step. Values that are not finite are left out; a run that diverged is marked as failed, one that
    was interrupted as killed. `tracking_uri` None is MLflow's own default; the active MLflow run
    and experiment of the process are left as they are. Returns the ids of the runs.

    Raises MissingDependency where mlflow is not installed (mlflow-skinny will do with a server).
    """
    runs = logged(what)
    try:
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise MissingDependency(
            "mlflow is not installed, and runs are logged by its client; pip install mlflow."
        ) from None
    client = MlflowClient(tracking_uri)
    known = client.get_experiment_by_name(experiment)
    home = client.create_experiment(experiment) if known is None else known.experiment_id
    now = int(time.time() * 1000)
    ids = []
    for run in runs:
        made = client.create_run(home, run_name=run.name).info.run_id
        params = [Param(name, str(value)) for name, value in run.settings.items()]
        client.log_batch(made, params=params)
        metrics = [Metric(name, value, now, step) for name, step, value in run.scalars]
        for part in _parts(metrics):
            client.log_batch(made, metrics=part)
        client.set_tag(made, "status", run.status)
        client.set_terminated(made, _ending(run))
        ids.append(made)
    return tuple(ids)


def _parts(metrics: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for i in range(0, len(metrics), BATCH):
        yield metrics[i : i + BATCH]


def _ending(run: Logged) -> str:
    """MLflow's word for how a run ended."""
    if run.status in _FAILED:
        return "FAILED"
    return "KILLED" if run.status in _KILLED else "FINISHED"
