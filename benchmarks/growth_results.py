"""Growth, memory and a solver beside it, for any mechanism, in tables and a figure."""

from collections.abc import Mapping, Sequence

from benchmarks.markdown import write_megabytes, write_seconds, write_table
from benchmarks.piqp_peer import PiqpRun
from benchmarks.report import Growth
from benchmarks.scaling import growth_by_epsilon, spread_by_sizes
from tallytree.drawing.curves import Curve, draw

Points = list[tuple[float, float]]


def draw_growth(growth: Growth, peers: Mapping[str, Points]) -> str:
    """Time against cells; ``peers`` are further curves."""
    points: dict[str, Points] = {}
    for record in growth.scaling:
        name = f"{growth.mechanism}, eps {record.epsilon}"
        points.setdefault(name, []).append((record.cells, record.timing.seconds))
    return draw([Curve(name, values) for name, values in [*points.items(), *peers.items()]], "cells")


def list_piqp_points(runs: Sequence[PiqpRun]) -> dict[str, Points]:
    """PIQP's times against cells, for each epsilon."""
    points: dict[str, Points] = {}
    for run in runs:
        point = run.contest.cells, run.contest.peer.seconds
        points.setdefault(f"PIQP, eps {run.epsilon}", []).append(point)
    return points


def write_growth_table(growth: Growth, effort: str) -> str:
    """Seconds for each number of sizes and epsilon; ``effort`` names what else is counted."""
    epsilons = list(dict.fromkeys(record.epsilon for record in growth.scaling))
    spread, exponent = spread_by_sizes(growth.scaling), growth_by_epsilon(growth.scaling)
    rows = []
    for sizes in spread:
        group = [record for record in growth.scaling if record.sizes == sizes]
        times = [write_seconds(record.timing.seconds) for record in group]
        efforts = " / ".join(f"{record.evidence.effort[effort]:,}" for record in group)
        rows.append((f"{sizes:,}", f"{group[0].cells:,}", *times, f"{spread[sizes]:.2f}", efforts))
    rows.append(("growth exponent", "", *(f"{exponent[epsilon]:.2f}" for epsilon in epsilons), "", ""))
    times_header = [f"s, epsilon {epsilon}" for epsilon in epsilons]
    header = ("sizes", "cells", *times_header, "slowest / fastest", effort.replace("_", " "))
    return write_table(header, rows)


def write_memory_table(growth: Growth) -> str:
    """Memory, stage by stage."""
    if growth.memory is None:
        return "It could not be measured: see the end of the page."
    use = growth.memory
    rows = [
        ("imports done, kernels loaded", write_megabytes(use.imports)),
        (f"data of {growth.largest:,} sizes set up", write_megabytes(use.data)),
        ("peak during post-processing", write_megabytes(use.peak)),
        ("peak above the data", write_megabytes(use.peak - use.data)),
    ]
    return f"""Resident memory of a fresh process that does one post-processing of {growth.largest:,} sizes,
at epsilon {growth.scaling[0].epsilon}.

{write_table(("stage", "MB"), rows)}"""


def write_piqp_times(mechanism: str, runs: Sequence[PiqpRun]) -> str:
    """What PIQP took, and what the mechanism took on the same instances."""
    rows = [
        (
            f"{run.sizes:,}",
            run.epsilon,
            run.form.label,
            run.status,
            str(run.iterations),
            write_seconds(run.contest.peer.seconds),
            write_seconds(run.setup_seconds),
            f"{run.contest.peer.processors:.1f}",
            write_megabytes(run.peak),
            write_seconds(run.contest.ours.seconds),
            f"**{run.contest.ratio:,.0f}**",
            f"{run.contest.ratio_alone:,.0f}",
        )
        for run in runs
    ]
    header = (
        "sizes", "epsilon", "form", "status", "iterations", "PIQP s", "of it set-up s",
        "processors", "process peak MB", f"{mechanism} s", "ratio", "ratio, one processor",
    )  # fmt: skip
    return write_table(header, rows)
