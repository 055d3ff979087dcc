"""The report in words and tables: RESULTS.md."""

from collections.abc import Iterable, Sequence

from benchmarks.comparison import CALLS
from benchmarks.goals import judge
from benchmarks.plot import Curve, draw
from benchmarks.report import Report
from benchmarks.scaling import growth_by_epsilon, spread_by_sizes

COLOURS = ("#0072b2", "#009e73", "#56b4e9", "#cc79a7", "#d55e00", "#e69f00", "#000000")


def write_results(report: Report, *, plot: str | None) -> str:
    """RESULTS.md; ``plot`` is the picture's file name beside it."""
    sections = [
        _write_opening(report),
        _write_goals(report),
        _write_scaling(report, plot),
        _write_memory(report),
        _write_piqp(report),
        _write_tables(report),
        _write_missing(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def draw_results(report: Report) -> str:
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
    return draw(
        [
            Curve(name, COLOURS[place % len(COLOURS)], values)
            for place, (name, values) in enumerate(points.items())
        ]
    )


def _write_opening(report: Report) -> str:
    smoke = "\n\n**A smoke run: too small for its numbers to mean anything.**" if report.quick else ""
    rows = [("Date", report.day.isoformat()), *report.machine.items(), ("Command", "`make bench`")]
    return f"""# Benchmarks{smoke}

How fast `direct-dp` finds the integer optimum of Model M_H, beside two other ways to solve that model.
Everything was measured in one run on one machine; this page is written by that run.

{_table(("", ""), rows)}

The data is an invented nation with the shape of the United States ({_regions(report)} regions on three
levels), with seeded noise, epsilon split evenly over the levels. A *cell* is one region and one size.
The time of `direct-dp` is that of its whole post-processing: laying out the tree, relaxing, rounding,
exchanging, the certificate and the exact objective. It uses all processors; the compiled kernels are
loaded before anything is timed. All times are wall-clock seconds, the best of several calls. On every
instance the solution was also checked: it adds up, to the total too, and its certificate says optimal."""


def _write_goals(report: Report) -> str:
    rows = [(goal.statement, goal.measured, "yes" if goal.met else "**no**") for goal in judge(report)]
    return "## Goals\n\n" + _table(("goal", "measured", "met"), rows)


def _write_scaling(report: Report, plot: str | None) -> str:
    epsilons = list(dict.fromkeys(record.epsilon for record in report.scaling))
    spread, growth = spread_by_sizes(report.scaling), growth_by_epsilon(report.scaling)
    rows = []
    for sizes in spread:
        group = [record for record in report.scaling if record.sizes == sizes]
        times = [_seconds(record.timing.seconds) for record in group]
        exchanges = " / ".join(f"{record.exchanges:,}" for record in group)
        rows.append((f"{sizes:,}", f"{group[0].cells:,}", *times, f"{spread[sizes]:.2f}", exchanges))
    rows.append(("growth exponent", "", *(f"{growth[epsilon]:.2f}" for epsilon in epsilons), "", ""))
    header = ("sizes", "cells", *(f"s, epsilon {e}" for e in epsilons), "slowest / fastest", "exchanges")
    picture = f"\n\n![Time against cells, both logarithmic]({plot})" if plot else ""
    return f"""## Growth, and epsilon

The best of {report.repeats} calls each; all sizes and epsilons took turns. The growth exponent is the
least-squares slope of log time on log cells: 1 is linear, and a fixed cost per call makes it smaller.
*Exchanges* are the single moves from the rounded relaxation to the optimum, in the order of the epsilons.

{_table(header, rows)}{picture}"""


def _write_memory(report: Report) -> str:
    if report.memory is None:
        return ""
    use = report.memory
    rows = [
        ("imports done, kernels loaded", _megabytes(use.imports)),
        (f"data of {report.largest:,} sizes set up", _megabytes(use.data)),
        ("peak during post-processing", _megabytes(use.peak)),
        ("peak above the data", _megabytes(use.peak - use.data)),
    ]
    return f"""## Memory

Resident memory of a fresh process that does one post-processing of {report.largest:,} sizes, at epsilon
{report.scaling[0].epsilon}.

{_table(("stage", "MB"), rows)}"""


def _write_piqp(report: Report) -> str:
    rows = [
        (
            f"{run.sizes:,}",
            run.epsilon,
            run.form,
            run.status,
            str(run.iterations),
            _seconds(run.contest.peer.seconds),
            _seconds(run.setup_seconds),
            f"{run.contest.peer.processors:.1f}",
            _megabytes(run.peak),
            _seconds(run.contest.ours.seconds),
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

{_table(header, rows)}

The objectives on the same instances. The relaxed optimum cannot be above the integer one; where PIQP's
value is, it stopped too early.

{_table(quality_header, quality)}"""


def _write_tables(report: Report) -> str:
    rows = [
        (
            run.epsilon,
            f"{run.sizes:,}",
            f"{run.contest.cells:,}",
            f"{run.entries:,}",
            _seconds(run.contest.peer.seconds),
            _megabytes(run.peak),
            _seconds(run.contest.ours.seconds),
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

{_table(header, rows)}"""


def _write_missing(report: Report) -> str:
    if not report.missing:
        return ""
    return "## Not measured\n\n" + _table(
        ("what", "why"), [(part.what, part.reason) for part in report.missing]
    )


def _regions(report: Report) -> str:
    record = report.scaling[0]
    return f"{record.cells // record.sizes:,}"


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def _megabytes(value: int) -> str:
    return f"{value / 1e6:,.0f}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
