"""RESULTS.md: one section for each script, replaced whole by that script's `--write`."""

import os
import platform
import re
from datetime import date
from pathlib import Path

from pellucid import _kernels

PATH = Path(__file__).with_name("RESULTS.md")
HEAD = (
    "# Results\n\nEach section is what one script printed, on the machine and day it names. "
    "Ratios within one run mean more than seconds.\n"
)


def machine() -> str:
    """What the numbers were measured on, and when."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if platform.system() == "Linux" else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    native = _kernels.native_module()
    isa = native.instruction_set() if native else "not compiled"
    cpu = f"{len(names)} x {names[0]}" if names else platform.processor()
    return f"{cpu}, kernel {isa}, Python {platform.python_version()}, {date.today()}"


def load() -> str:
    """How many processes wanted a processor in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def write_section(title: str, text: str) -> None:
    """Put the text under the title, in the place of what stood there."""
    page = PATH.read_text() if PATH.exists() else HEAD
    section = f"## {title}\n\n{text}\n"
    pattern = rf"^## {re.escape(title)}\n.*?(?=^## |\Z)"
    if re.search(pattern, page, re.M | re.S):
        page = re.sub(pattern, lambda _: section + "\n", page, flags=re.M | re.S)
    else:
        page = f"{page.rstrip()}\n\n{section}"
    PATH.write_text(page.rstrip() + "\n")
