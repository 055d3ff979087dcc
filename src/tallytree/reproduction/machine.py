"""What the numbers were measured on: no names and no paths."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from tallytree.processors import count_processors
from tallytree.versions import find_versions

PACKAGES = ("tallytree", "numpy", "numba", "scipy", "piqp")


def describe_machine(more: Sequence[str] = ()) -> dict[str, str]:
    """Processor, memory, versions; ``more`` are further packages."""
    return {
        "Processor": _processor(),
        "Processors for this run": str(count_processors()),
        "Load average at the start": _describe_load(),
        "Memory": _describe_memory(),
        "System": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(
            f"{name} {version}" for name, version in find_versions([*PACKAGES, *more]).items()
        ),
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def find_load() -> float:
    """The load average over a minute; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _describe_load() -> str:
    return f"{find_load():.1f}, over a minute"


def _describe_memory() -> str:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB"
    except (AttributeError, ValueError, OSError):  # not every system has it
        return "unknown"
