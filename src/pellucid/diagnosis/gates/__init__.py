"""Gates: what can be wrong with a table before any network is blamed."""

from .table import DATA_GATES, Gate, data_gates

__all__ = ["DATA_GATES", "Gate", "data_gates"]
