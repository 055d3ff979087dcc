"""How the time and the memory of a mechanism grow with the cells, and whether epsilon matters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.instances import Evidence, make_instance, time_instances
from benchmarks.records import Data, write_megabytes, write_seconds, write_table
from benchmarks.settings import Settings
from benchmarks.timing import (
    GROWTH,
    Missing,
    Timing,
    attempt,
    growth_exponent,
    peak_memory,
    reset_peak,
    resident_memory,
    return_freed_memory,
    tell,
)
from tallytree.drawing.charts import Curve, draw
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant


@dataclass(frozen=True)
class Scaling:
    """One instance: its size, the best time, and the solution's evidence."""

    sizes: int
    epsilon: str
    cells: int
    timing: Timing
    evidence: Evidence


def measure_scaling(
    variant: Variant, sizes: Sequence[int], epsilons: Sequence[str], *, repeats: int
) -> list[Scaling]:
    """Whole post-processing at each number of sizes and each epsilon."""
    cases = [(n, epsilon) for n in sizes for epsilon in epsilons]
    instances = [make_instance(n, epsilon, variant) for n, epsilon in cases]
    return [
        Scaling(n, epsilon, instance.cells, timing, evidence)
        for (n, epsilon), instance, (timing, evidence) in zip(
            cases, instances, time_instances(instances, repeats), strict=True
        )
    ]


def growth_by_epsilon(records: Sequence[Scaling]) -> dict[str, float]:
    """The growth exponent in cells, for each epsilon."""
    return {
        epsilon: growth_exponent(
            [record.cells for record in records if record.epsilon == epsilon],
            [record.timing.seconds for record in records if record.epsilon == epsilon],
        )
        for epsilon in dict.fromkeys(record.epsilon for record in records)
    }


def spread_by_sizes(records: Sequence[Scaling]) -> dict[int, float]:
    """The slowest epsilon's time divided by the fastest's, for each number of sizes."""
    spread = {}
    for sizes in dict.fromkeys(record.sizes for record in records):
        seconds = [record.timing.seconds for record in records if record.sizes == sizes]
        spread[sizes] = max(seconds) / min(seconds)
    return spread


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
    make_instance(2, epsilon, variant).solve()  # loads the kernels
    imports = resident_memory()
    instance = make_instance(sizes, epsilon, variant)
    return_freed_memory()  # the scratch of making the data is not post-processing's
    data = resident_memory()
    reset_peak()
    instance.solve()
    return MemoryUse(imports, data, peak_memory())


@dataclass(frozen=True)
class Growth:
    """One mechanism on ever more sizes."""

    mechanism: str
    repeats: int
    scaling: Sequence[Scaling]
    memory: MemoryUse | None
    """At the largest number of sizes and the first epsilon."""

    @property
    def largest(self) -> int:
        """The largest number of sizes that it was measured at."""
        return max(record.sizes for record in self.scaling)

    @property
    def at_largest(self) -> Sequence[Scaling]:
        """What was measured there."""
        return [record for record in self.scaling if record.sizes == self.largest]


def measure_growth(variant: Variant, settings: Settings, repeats: int, missing: list[Missing]) -> Growth:
    """At all numbers of sizes; the memory at the largest."""
    tell(f"{variant.label}, all sizes")
    sizes, epsilons = settings.scaling_sizes, settings.scaling_epsilons
    scaling = measure_scaling(variant, sizes, epsilons, repeats=repeats)
    memory = attempt(
        f"memory of {variant.label}, {settings.largest} sizes",
        partial(measure_memory, variant, settings.largest, epsilons[0]),
        missing,
    )
    return Growth(variant.label, repeats, scaling, memory)


def judge_growth(growth: Growth) -> Goal:
    """Linear in the cells."""
    exponent = max(growth_by_epsilon(growth.scaling).values())
    return Goal(
        f"`{growth.mechanism}`: time grows linearly with the cells, exponent at most {GROWTH}",
        f"{exponent:.2f}, the largest over epsilon",
        exponent <= GROWTH,
    )


def judge_memory(growth: Growth, most: float) -> Goal:
    """The whole process."""
    statement = (
        f"`{growth.mechanism}`: peak memory of the whole process below {most / 1e9:.0f} GB "
        f"at {growth.largest:,} sizes"
    )
    if growth.memory is None:
        return Goal.open(statement)
    return Goal(statement, f"{growth.memory.peak / 1e9:.2f} GB", growth.memory.peak < most)


Points = list[tuple[float, float]]


def draw_growth(growth: Growth, peers: Mapping[str, Points]) -> str:
    """Time against cells; ``peers`` are further curves."""
    points: dict[str, Points] = {}
    for record in growth.scaling:
        name = f"{growth.mechanism}, eps {record.epsilon}"
        points.setdefault(name, []).append((record.cells, record.timing.seconds))
    return draw([Curve(name, values) for name, values in [*points.items(), *peers.items()]], "cells")


def record_growth(growth: Growth, effort: str) -> Data:
    """The data: a row for each number of sizes; ``effort`` names what is counted beside seconds."""
    rows = []
    for sizes, spread in spread_by_sizes(growth.scaling).items():
        group = [record for record in growth.scaling if record.sizes == sizes]
        rows.append(
            {
                "sizes": sizes,
                "cells": group[0].cells,
                "s": {record.epsilon: record.timing.seconds for record in group},
                "slowest / fastest": spread,
                "effort": [record.evidence.effort[effort] for record in group],
            }
        )
    use, memory = growth.memory, None
    if use is not None:
        memory = {
            "imports done, kernels loaded": use.imports,
            f"data of {growth.largest:,} sizes set up": use.data,
            "peak during post-processing": use.peak,
            "peak above the data": use.peak - use.data,
        }
    return {
        "mechanism": growth.mechanism,
        "calls": growth.repeats,
        "effort": effort,
        "rows": rows,
        "growth exponent": growth_by_epsilon(growth.scaling),
        "memory": memory,
    }


def write_growth_table(data: Data) -> str:
    """Seconds for each number of sizes and epsilon."""
    rows = [
        (
            f"{row['sizes']:,}",
            f"{row['cells']:,}",
            *map(write_seconds, row["s"].values()),
            f"{row['slowest / fastest']:.2f}",
            " / ".join(f"{count:,}" for count in row["effort"]),
        )
        for row in data["rows"]
    ]
    exponents = data["growth exponent"]
    rows.append(("growth exponent", "", *map("{:.2f}".format, exponents.values()), "", ""))
    times = [f"s, epsilon {epsilon}" for epsilon in exponents]
    return write_table(
        ("sizes", "cells", *times, "slowest / fastest", data["effort"].replace("_", " ")), rows
    )


def write_memory_table(data: Data) -> str:
    """Memory, stage by stage."""
    if data["memory"] is None:
        return "It could not be measured: see the end of the page."
    rows = [(stage, write_megabytes(use)) for stage, use in data["memory"].items()]
    largest = data["rows"][-1]["sizes"]
    return f"""Resident memory of a fresh process that does one post-processing of {largest:,} sizes,
at epsilon {next(iter(data["growth exponent"]))}.

{write_table(("stage", "MB"), rows)}"""
