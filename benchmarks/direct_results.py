"""``direct-dp`` in words and tables: its growth, its memory, and its peers."""

from benchmarks.comparison import CALLS, LONG_SECONDS
from benchmarks.growth_results import (
    Points,
    draw_growth,
    list_piqp_points,
    write_growth_table,
    write_memory_table,
    write_piqp_times,
)
from benchmarks.markdown import write_megabytes, write_seconds, write_table
from benchmarks.report import DirectReport


def draw_direct(report: DirectReport) -> str:
    """Time against cells, ``direct-dp`` and its peers."""
    tables: dict[str, Points] = {}
    for run in report.tables:
        point = run.contest.cells, run.contest.peer.seconds
        tables.setdefault(f"cost tables, eps {run.epsilon}", []).append(point)
    piqp = list_piqp_points([run for run in report.piqp if run.form.centred])
    return draw_growth(report.growth, {**piqp, **tables})


def write_growth(report: DirectReport, plot: str | None) -> str:
    """The growth with the cells, and whether epsilon matters; ``plot`` is the picture's file name."""
    picture = f"\n\n![Time against cells, both logarithmic]({plot})" if plot else ""
    return f"""## `direct-dp`: growth, and epsilon

The best of {report.growth.repeats} calls each; all sizes and epsilons took turns. The growth exponent is the
least-squares slope of log time on log cells: 1 is linear, and a fixed cost per call makes it smaller.
*Exchanges* are the single moves from the rounded relaxation to the optimum, in the order of the epsilons.

{write_growth_table(report.growth, "exchanges")}{picture}"""


def write_memory(report: DirectReport) -> str:
    """Memory, stage by stage."""
    return f"## `direct-dp`: memory\n\n{write_memory_table(report.growth)}"


def write_piqp(report: DirectReport, tolerances: str) -> str:
    """Beside PIQP: times, then objectives."""
    quality = [
        (
            f"{run.sizes:,}",
            run.epsilon,
            run.form.label,
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
    return f"""## `direct-dp` against PIQP

PIQP (`piqp.SparseSolver`) solves the relaxed model: a variable for every region and size, a diagonal
quadratic term, an equation for every parent and size and one for the total, and x >= 0. Rounding its
answer to whole numbers that add up is not part of its time, nor is writing the matrices: set-up and
solve are. Its settings are its defaults:
{tolerances}.

The model is given to it in two forms. *As written*, in the counts x, the linear term makes the optimal
value huge, and the relative tolerances let PIQP stop early. *Centred*, in the differences from the noisy
values, it is solved accurately. The two sides took turns, {report.rounds} times, in a process of their
own: {CALLS} calls of `direct-dp` on all processors, {CALLS} on one, and one of PIQP; where that took more
than {LONG_SECONDS:.0f} s, they did so once. *Processors* is how many PIQP kept busy; the last column compares
with `direct-dp` confined to one.

{write_piqp_times(report.growth.mechanism, report.piqp)}

The objectives on the same instances. The relaxed optimum cannot be above the integer one; where PIQP's
value is, it stopped too early.

{write_table(quality_header, quality)}"""


def write_cost_tables(report: DirectReport, *, quick: bool) -> str:
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
    limited = "" if quick else " The sizes below are the most that the limit on entries allows."
    return f"""## `direct-dp` against the paper's cost tables

`direct-dp` with `solver="tables"` is the paper's dynamic programme. Its tables grow with the square of
1 / epsilon.{limited}
Where these are few, so are the cells, and the fixed costs of a call weigh on `direct-dp`. The two sides
took turns as above.

{write_table(header, rows)}"""
