"""Peak memory of post-processing, in a process that does nothing else (Linux)."""

import ctypes
from dataclasses import dataclass
from pathlib import Path

from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class MemoryUse:
    """Resident bytes of one process, stage by stage."""

    imports: int
    """With everything imported and the kernels loaded."""
    data: int
    """With the instance set up too."""
    peak: int
    """The most during post-processing."""


def measure_memory(variant: Variant, sizes: int, epsilon: str) -> MemoryUse:
    """To be called in a fresh process."""
    from benchmarks.instances import make_instance

    make_instance(2, epsilon, variant).solve()  # loads the kernels
    imports = resident_memory()
    instance = make_instance(sizes, epsilon, variant)
    return_freed_memory()  # the scratch of making the data is not post-processing's
    data = resident_memory()
    reset_peak()
    instance.solve()
    return MemoryUse(imports, data, peak_memory())


def resident_memory() -> int:
    """Bytes that this process has in memory now."""
    return _read_status("VmRSS")


def peak_memory() -> int:
    """The most bytes it has had in memory since it started, or since the last reset.

    Not from getrusage, whose figure survives exec, and so starts at the memory of the process that
    started this one.
    """
    return _read_status("VmHWM")


def return_freed_memory() -> None:
    """Let the allocator (glibc's) give back what it keeps for later."""
    ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> None:
    """Let the peak start anew, from the present."""
    Path("/proc/self/clear_refs").write_text("5")


def _read_status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))
