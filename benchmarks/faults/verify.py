"""Asks `pellucid verify`, in a fresh process, about what a tool called proved."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LIMIT = 120.0


def verifier() -> Callable[[Mapping[str, Any]], bool | None]:
    """A function of an answer: accepted, refused, or None where there is nothing to ask about."""
    if not _there():
        return lambda answer: None
    return _verify


def _there() -> bool:
    return find_spec("pellucid") is not None and find_spec("pellucid.cli.verify") is not None


def _verify(answer: Mapping[str, Any]) -> bool | None:
    certificate, table = answer.get("certificate"), answer.get("table")
    if certificate is None or table is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "certificate.json", Path(folder) / "data.csv"
        names[0].write_text(json.dumps(certificate))
        names[1].write_text(table)
        command = [sys.executable, "-m", "pellucid", "verify", *map(str, names)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0
