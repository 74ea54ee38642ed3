"""Why a network does badly: controlled experiments, and a verdict that says which part is proof."""

from .alarms import Alarm
from .checker import CheckResult, check_witness
from .gates import DATA_GATES, Gate
from .gradient_flow import Flow, GradientFlow, gradient_flow
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
    "DATA_GATES",
    "KINDS",
    "STAGES",
    "Alarm",
    "CheckResult",
    "Experiment",
    "Fix",
    "Flow",
    "Gate",
    "GradientFlow",
    "Recipe",
    "Reference",
    "Scaling",
    "Statement",
    "UnitHealth",
    "Verdict",
    "Witness",
    "check_witness",
    "diagnose",
    "gradient_flow",
    "unit_health",
]
