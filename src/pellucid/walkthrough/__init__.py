"""One forward and backward pass, and one step of an optimizer, equation by equation."""

from .rational import RationalNetwork
from .step import WorkedStep, worked_step
from .worked import WorkedPass, worked_pass

__all__ = ["RationalNetwork", "WorkedPass", "WorkedStep", "worked_pass", "worked_step"]
