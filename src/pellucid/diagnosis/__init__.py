"""Why a network does badly: controlled experiments, and a verdict that says which part is proof."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from .inspection import InspectedLayer, Inspection, WeightStatistics, inspect_network
from .protocol import STAGES, diagnose
from .verdict import (
    CERTAINTIES,
    KINDS,
    Cause,
    CurvePoint,
    Experiment,
    Fix,
    Recipe,
    Reference,
    Scaling,
    Statement,
    Step,
    UnitHealth,
    Verdict,
    Witness,
)
from .verify import verify_certificate

if TYPE_CHECKING:
    from .torch_gates import CODE_GATES as CODE_GATES
    from .torch_nonfinite import FirstNonFinite as FirstNonFinite
    from .torch_watch import Watch as Watch
    from .torch_watch import watch as watch

_WITH_TORCH = {
    "CODE_GATES": "torch_gates",
    "FirstNonFinite": "torch_nonfinite",
    "Watch": "torch_watch",
    "watch": "torch_watch",
}
"""Names whose module is imported when they are first used, because it imports PyTorch."""

__all__ = [
    "CERTAINTIES",
    "CODE_GATES",
    "DATA_GATES",
    "FLOORS",
    "KINDS",
    "STAGES",
    "Alarm",
    "Architecture",
    "Cause",
    "CheckResult",
    "Comparison",
    "CurvePoint",
    "Experiment",
    "FirstNonFinite",
    "Fix",
    "Floor",
    "Flow",
    "Gate",
    "GradientFlow",
    "InspectedLayer",
    "Inspection",
    "Recipe",
    "Reference",
    "Scaling",
    "Statement",
    "Step",
    "UnitHealth",
    "Verdict",
    "Watch",
    "WeightStatistics",
    "Witness",
    "capacity_certificate",
    "check_certificate",
    "check_witness",
    "compare",
    "diagnose",
    "find_floors",
    "gradient_flow",
    "inspect_network",
    "read_certificate",
    "unit_health",
    "verify_certificate",
    "watch",
    "witness_certificate",
    "write_certificate",
]


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .own import need_torch

    need_torch()
    return getattr(import_module(f".{_WITH_TORCH[name]}", __name__), name)
