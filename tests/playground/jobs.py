"""Pellucid's networks and runs as the playground's engine takes them."""

import json
from importlib.resources import files

import numpy as np

from pellucid.likelihoods import as_likelihood

TABLES = json.loads((files("pellucid.playground") / "static/engine/tables.json").read_text())


def _settings(family):
    """Settings that belong to the members of a family: all but the decay, which is the job's."""
    return {name for one in TABLES[family] for name in one["defaults"]} - {"weight_decay"}


def net_of(network, likelihood="gaussian"):
    """Widths, activations and likelihood."""
    of = as_likelihood(likelihood)
    hidden = [{"name": a.name, "parameters": list(a.parameters)} for a in network.activations]
    named = {"name": of.name, "parameters": list(of.parameters)}
    return {"widths": list(network.widths), "hidden": hidden, "likelihood": named}


def parameters_of(network):
    return network.parameters().astype(np.float32)


def rows_of(X, y, likelihood):
    X, y = np.asarray(X, np.float32), np.asarray(y)
    labelled = as_likelihood(likelihood).target_kind == "label"
    kept = {"labels": y.astype(np.int32)} if labelled else {"targets": y.astype(np.float32).ravel()}
    return {"X": X.ravel(), "n": len(X), **kept}


def job_of(network, X, y, likelihood, validation=None, **settings):
    """The job that `pellucid.train(network, X, y, likelihood=..., **settings)` is."""
    names = {"optimizer": "adam", "schedule": "constant"} | settings
    optimizer = {k: v for k, v in settings.items() if k in _settings("optimizers")}
    schedule = {k: v for k, v in settings.items() if k in _settings("schedules")}
    rest = {k: v for k, v in settings.items() if k not in (*optimizer, *schedule)}
    return {
        **net_of(network, likelihood),
        **rest,
        "optimizer": {"name": names["optimizer"], **optimizer},
        "schedule": {"name": names["schedule"], **schedule},
        "rows": rows_of(X, y, likelihood),
        "validation": validation and rows_of(*validation, likelihood),
        "parameters": parameters_of(network),
    }
