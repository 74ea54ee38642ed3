"""Why a network does badly: controlled experiments, and a verdict that says which part is proof."""

from .checker import CheckResult, check_witness
from .inspect import unit_health
from .protocol import STAGES, diagnose
from .verdict import (
    CERTAINTIES,
    KINDS,
    Experiment,
    Fix,
    Recipe,
    Reference,
    Scaling,
    Statement,
    UnitHealth,
    Verdict,
    Witness,
)

__all__ = [
    "CERTAINTIES",
    "KINDS",
    "STAGES",
    "CheckResult",
    "Experiment",
    "Fix",
    "Recipe",
    "Reference",
    "Scaling",
    "Statement",
    "UnitHealth",
    "Verdict",
    "Witness",
    "check_witness",
    "diagnose",
    "unit_health",
]
