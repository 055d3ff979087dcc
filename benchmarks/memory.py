"""Peak memory of post-processing, in a process that does nothing else."""

import contextlib
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class MemoryUse:
    """Resident bytes of one process, stage by stage."""

    imports: int
    """With everything imported and the kernels loaded."""
    data: int
    """With the instance set up too."""
    peak: int
    """The most during post-processing."""


def measure_memory(sizes: int, epsilon: str) -> MemoryUse:
    """To be called in a fresh process."""
    from benchmarks.instances import make_instance

    make_instance(1, epsilon).solve()  # loads the kernels
    imports = resident_memory()
    instance = make_instance(sizes, epsilon)
    data = resident_memory()
    reset_peak()  # setting up the data takes scratch memory that is not post-processing's
    instance.solve()
    return MemoryUse(imports, data, peak_memory())


def resident_memory() -> int:
    """Bytes that this process has in memory now (where unknown: its peak)."""
    return _status("VmRSS") or peak_memory()


def peak_memory() -> int:
    """The most bytes it has had in memory.

    Read from /proc where there is one, because getrusage's figure survives exec and so starts at the
    memory of the process that started this one.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak() -> None:
    """Start the peak anew from the present, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status(field: str) -> int:
    if not STATUS.exists():
        return 0
    for line in STATUS.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0
