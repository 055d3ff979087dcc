"""The report in words and tables: RESULTS.md."""

from benchmarks.direct_results import write_cost_tables, write_memory, write_piqp, write_scaling
from benchmarks.goals import judge
from benchmarks.markdown import write_table
from benchmarks.mechanism_results import write_city, write_fits, write_nation
from benchmarks.report import Report


def write_results(report: Report, *, scaling_plot: str | None, runtime_plot: str | None) -> str:
    """RESULTS.md; the plots are the pictures' file names beside it."""
    sections = [
        _write_opening(report),
        _write_goals(report),
        write_city(report, runtime_plot),
        write_nation(report),
        write_fits(report),
        write_scaling(report, scaling_plot),
        write_memory(report),
        write_piqp(report),
        write_cost_tables(report),
        _write_missing(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _write_opening(report: Report) -> str:
    smoke = "\n\n**A smoke run: too small for its numbers to mean anything.**" if report.quick else ""
    rows = [("Date", report.day.isoformat()), *report.machine.items(), ("Command", "`make bench`")]
    return f"""# Benchmarks{smoke}

How long the post-processing of every mechanism takes; and how fast `direct-dp` finds the integer optimum
of Model M_H, beside two other ways to solve that model. Everything was measured in one run on one machine;
this page is written by that run.

{write_table(("", ""), rows)}

Unless it says otherwise, the data is an invented nation with the shape of the United States
({_regions(report)} regions on three levels), with seeded noise, epsilon split evenly over the levels. A
*cell* is one region and one size. Times are of the whole post-processing: for `direct-dp`, laying out the
tree, relaxing, rounding, exchanging, the certificate and the exact objective. Our own kernels use all
processors, and are loaded before anything is timed. All times are wall-clock seconds, the best of several
calls. On every instance the solution was also checked: it keeps the conditions that its mechanism promises
(whole and not negative; for all but the rounded relaxations, it adds up, to the total too), and where there
is a certificate, it says optimal."""


def _write_goals(report: Report) -> str:
    rows = [(goal.statement, goal.measured, "yes" if goal.met else "**no**") for goal in judge(report)]
    return "## Goals\n\n" + write_table(("goal", "measured", "met"), rows)


def _write_missing(report: Report) -> str:
    if not report.missing:
        return ""
    return "## Not measured\n\n" + write_table(
        ("what", "why"), [(part.what, part.reason) for part in report.missing]
    )


def _regions(report: Report) -> str:
    record = report.scaling[0]
    return f"{record.cells // record.sizes:,}"
