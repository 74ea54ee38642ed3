"""Why a network does badly: controlled experiments, and a verdict that says which part is proof."""

from .alarms import Alarm
from .certificates import (
    capacity_certificate,
    read_certificate,
    witness_certificate,
    write_certificate,
)
from .checker import CheckResult, check_certificate, check_witness
from .comparison import Comparison, compare
from .floors import FLOORS, Architecture, Floor, find_floors
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
from .verify import verify_certificate

__all__ = [
    "CERTAINTIES",
    "DATA_GATES",
    "FLOORS",
    "KINDS",
    "STAGES",
    "Alarm",
    "Architecture",
    "CheckResult",
    "Comparison",
    "Experiment",
    "Fix",
    "Floor",
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
    "capacity_certificate",
    "check_certificate",
    "check_witness",
    "compare",
    "diagnose",
    "find_floors",
    "gradient_flow",
    "read_certificate",
    "unit_health",
    "verify_certificate",
    "witness_certificate",
    "write_certificate",
]
