"""Where the compiled region kernels are, if they are."""

from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def regions_module() -> ModuleType | None:
    """The compiled module, or None where no compiler built it."""
    try:
        return import_module("._regions", __package__)
    except ImportError:
        return None
