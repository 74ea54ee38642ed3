"""Importing pellucid stays light, and every public name is really there."""

import subprocess
import sys
from pathlib import Path

import pellucid

HEAVY = ("torch", "matplotlib", "sklearn", "polars", "scipy", "starlette")


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_nothing_heavy():
    code = f"import sys, pellucid; print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_importing_the_packages_below_diagnosis_loads_nothing_heavy():
    names = "constructions, datasets, likelihoods, network, training"
    code = f"import sys; from pellucid import {names}\n"
    code += f"print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_every_public_name_can_be_reached_and_is_listed():
    for name in pellucid.__all__:
        assert getattr(pellucid, name) is not None
        assert name in dir(pellucid)


def test_type_checkers_see_the_same_names_as_the_interpreter():
    source = Path(pellucid.__file__).read_text()
    for name in pellucid.__all__:
        assert f"import {name} as {name}" in source
