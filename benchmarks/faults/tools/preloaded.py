"""Loads what the tools load, where it is installed, before the clock of a case starts."""

import contextlib
import importlib

for _name in ("pellucid.diagnosis", "pellucid.datasets", "pandas"):
    with contextlib.suppress(ImportError):
        importlib.import_module(_name)
