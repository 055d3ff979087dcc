"""What the numbers were measured on: no names and no paths."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tallytree.processors import count_processors

PACKAGES = ("tallytree", "numpy", "numba", "scipy", "piqp")


def describe_machine(more: Sequence[str] = ()) -> dict[str, str]:
    """Processor, memory, versions; ``more`` are further packages."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "Processor": _processor(),
        "Processors for this run": str(count_processors()),
        "Load average at the start": f"{os.getloadavg()[0]:.1f}, over a minute",
        "Memory": f"{pages * page / 2**30:.0f} GB",
        "System": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(f"{name} {version(name)}" for name in (*PACKAGES, *more)),
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
