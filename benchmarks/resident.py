"""The resident set of this process: what it has in memory, and had at most."""

import re
import resource
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak() -> float:
    """MiB in memory at most, since the start or the last `forget_peak`."""
    return _field("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def forget_peak() -> float:
    """Begin anew with what is in memory now, in MiB; where the system cannot, the old peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return _field("VmRSS") or peak()


def _field(name: str) -> float | None:
    found = re.search(rf"{name}:\s*(\d+) kB", STATUS.read_text()) if STATUS.exists() else None
    return int(found[1]) / 1024 if found else None
