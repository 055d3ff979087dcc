"""``direct-dp`` in words and tables: its growth, its memory, and its peers."""

from benchmarks.comparison import CALLS
from benchmarks.markdown import write_megabytes, write_seconds, write_table
from benchmarks.plot import Curve, draw
from benchmarks.report import Report
from benchmarks.scaling import growth_by_epsilon, spread_by_sizes


def draw_scaling(report: Report) -> str:
    """Time against cells, ``direct-dp`` and its peers."""
    points: dict[str, list[tuple[float, float]]] = {}
    for record in report.scaling:
        name = f"direct-dp, eps {record.epsilon}"
        points.setdefault(name, []).append((record.cells, record.timing.seconds))
    for run in report.piqp:
        if run.form == "centred":
            point = run.contest.cells, run.contest.peer.seconds
            points.setdefault(f"PIQP, eps {run.epsilon}", []).append(point)
    for tables in report.tables:
        point = tables.contest.cells, tables.contest.peer.seconds
        points.setdefault(f"cost tables, eps {tables.epsilon}", []).append(point)
    return draw([Curve(name, values) for name, values in points.items()], "cells")


def write_scaling(report: Report, plot: str | None) -> str:
    """The growth with the cells, and whether epsilon matters; ``plot`` is the picture's file name."""
    epsilons = list(dict.fromkeys(record.epsilon for record in report.scaling))
    spread, growth = spread_by_sizes(report.scaling), growth_by_epsilon(report.scaling)
    rows = []
    for sizes in spread:
        group = [record for record in report.scaling if record.sizes == sizes]
        times = [write_seconds(record.timing.seconds) for record in group]
        exchanges = " / ".join(f"{record.exchanges:,}" for record in group)
        rows.append((f"{sizes:,}", f"{group[0].cells:,}", *times, f"{spread[sizes]:.2f}", exchanges))
    rows.append(("growth exponent", "", *(f"{growth[epsilon]:.2f}" for epsilon in epsilons), "", ""))
    header = ("sizes", "cells", *(f"s, epsilon {e}" for e in epsilons), "slowest / fastest", "exchanges")
    picture = f"\n\n![Time against cells, both logarithmic]({plot})" if plot else ""
    return f"""## Growth, and epsilon

The best of {report.repeats} calls each; all sizes and epsilons took turns. The growth exponent is the
least-squares slope of log time on log cells: 1 is linear, and a fixed cost per call makes it smaller.
*Exchanges* are the single moves from the rounded relaxation to the optimum, in the order of the epsilons.

{write_table(header, rows)}{picture}"""


def write_memory(report: Report) -> str:
    """Memory, stage by stage."""
    if report.memory is None:
        return ""
    use = report.memory
    rows = [
        ("imports done, kernels loaded", write_megabytes(use.imports)),
        (f"data of {report.largest:,} sizes set up", write_megabytes(use.data)),
        ("peak during post-processing", write_megabytes(use.peak)),
        ("peak above the data", write_megabytes(use.peak - use.data)),
    ]
    return f"""## Memory

Resident memory of a fresh process that does one post-processing of {report.largest:,} sizes, at epsilon
{report.scaling[0].epsilon}.

{write_table(("stage", "MB"), rows)}"""


def write_piqp(report: Report) -> str:
    """Beside PIQP: times, then objectives."""
    rows = [
        (
            f"{run.sizes:,}",
            run.epsilon,
            run.form,
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
        for run in report.piqp
    ]
    header = (
        "sizes", "epsilon", "form", "status", "iterations", "PIQP s", "of it set-up s",
        "processors", "process peak MB", "direct-dp s", "ratio", "ratio, one processor",
    )  # fmt: skip
    quality = [
        (
            f"{run.sizes:,}",
            run.epsilon,
            run.form,
            f"{run.objective:,.1f}",
            f"{run.contest.objective:,}",
            f"{run.excess:+.1e}",
            f"{run.violation:.0e}",
        )
        for run in report.piqp
    ]
    quality_header = (
        "sizes", "epsilon", "form", "PIQP (relaxed)", "direct-dp (whole numbers)", "difference",
        "PIQP misses a condition by",
    )  # fmt: skip
    return f"""## Against PIQP

PIQP (`piqp.SparseSolver`) solves the relaxed model: a variable for every region and size, a diagonal
quadratic term, an equation for every parent and size and one for the total, and x >= 0. Rounding its
answer to whole numbers that add up is not part of its time, nor is writing the matrices: set-up and
solve are. Its settings are its defaults:
{report.piqp_tolerances}.

The model is given to it in two forms. *As written*, in the counts x, the linear term makes the optimal
value huge, and the relative tolerances let PIQP stop early. *Centred*, in the differences from the noisy
values, it is solved accurately. The two sides took turns, {report.rounds} times, in a process of their
own: {CALLS} calls of `direct-dp` on all processors, {CALLS} on one, and one of PIQP. *Processors* is how
many PIQP kept busy; the last column compares with `direct-dp` confined to one.

{write_table(header, rows)}

The objectives on the same instances. The relaxed optimum cannot be above the integer one; where PIQP's
value is, it stopped too early.

{write_table(quality_header, quality)}"""


def write_cost_tables(report: Report) -> str:
    """Beside the paper's dynamic programme."""
    rows = [
        (
            run.epsilon,
            f"{run.sizes:,}",
            f"{run.contest.cells:,}",
            f"{run.entries:,}",
            write_seconds(run.contest.peer.seconds),
            write_megabytes(run.peak),
            write_seconds(run.contest.ours.seconds),
            f"**{run.contest.ratio:,.0f}**",
            f"{run.contest.ratio_alone:,.0f}",
            f"{run.objective:,}",
            "the same" if run.agrees else f"**{run.contest.objective:,}**",
        )
        for run in report.tables
    ]
    header = (
        "epsilon", "sizes", "cells", "entries per cell", "tables s", "process peak MB", "direct-dp s",
        "ratio", "ratio, one processor", "objective of the tables", "of direct-dp",
    )  # fmt: skip
    limited = "" if report.quick else " The sizes below are the most that the limit on entries allows."
    return f"""## Against the paper's cost tables

`direct-dp` with `solver="tables"` is the paper's dynamic programme. Its tables grow with the square of
1 / epsilon.{limited}
Where these are few, so are the cells, and the fixed costs of a call weigh on `direct-dp`. The two sides
took turns as above.

{write_table(header, rows)}"""
