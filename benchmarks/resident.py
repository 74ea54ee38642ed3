"""What a process has had in memory at most."""

import re
import resource
from pathlib import Path


def peak() -> float:
    """MiB that this process had in memory at most."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
