"""The checker's answer."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """The checker's answer, with its reason and, where it got that far, its own numbers.

    The first four numbers are those of a witness; `bound` is the loss that the checker itself
    proves no parameters to reach, and `tolerance` the one that they would have to reach.
    """

    accepted: bool
    reason: str
    objective: float = math.nan
    user_objective: float = math.nan
    held_out_difference: float = math.nan
    held_out_standard_error: float = math.nan
    bound: float = math.nan
    tolerance: float = math.nan


class Refused(Exception):
    """Why a claim is not accepted."""
