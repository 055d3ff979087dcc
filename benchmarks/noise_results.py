"""Exact noise in tables."""

from benchmarks.markdown import write_exponent, write_megabytes, write_seconds, write_table
from benchmarks.noise_measuring import CENSUS_SCALE, REGIONS, NoiseReport
from benchmarks.timing import find_growth


def write_noise(report: NoiseReport | None) -> str:
    """The section of RESULTS.md."""
    if report is None:
        return "## Noise, beside OpenDP\n\nIt could not be measured: see the end of the page."
    return f"""## Noise, beside OpenDP

Exact two-sided geometric noise, drawn by this package (`digits`, its default) and by OpenDP (`opendp`) in
turns; the fastest of {report.turns} turns counts ({report.census_turns} for the hierarchies). More draws are
measured by `make noise` ([NOISE.md](NOISE.md)). The peak memory of the whole process was
{write_megabytes(report.peak)} MB.

One draw, on one processor:

{write_draws(report)}

The Census hierarchy ({sum(REGIONS):,} regions, scale {CENSUS_SCALE}), on all processors:

{write_hierarchies(report)}"""


def write_draws(report: NoiseReport) -> str:
    """Nanoseconds for one draw."""
    return write_table(
        ("scale", "`digits`, ns", "`opendp`, ns", "times as fast"),
        [
            (
                str(single.scale),
                f"{1e9 * single.ours:,.1f}",
                f"{1e9 * single.peer:,.0f}",
                f"**{single.ratio:,.0f}**",
            )
            for single in report.draws
        ],
    )


def write_hierarchies(report: NoiseReport) -> str:
    """Seconds for hierarchies of several sizes."""
    rows = [
        (
            f"{case.sizes:,}",
            f"{case.cells:,}",
            write_seconds(case.ours.seconds),
            f"{case.ours.processors:.1f}",
            write_seconds(case.peer.seconds),
            f"{case.peer.processors:.1f}",
            f"**{case.peer.seconds / case.ours.seconds:,.0f}**",
        )
        for case in report.hierarchies
    ]
    cells = [case.cells for case in report.hierarchies]
    growth = [
        write_exponent(find_growth(cells, [timing.seconds for timing in timings]))
        for timings in (
            [case.ours for case in report.hierarchies],
            [case.peer for case in report.hierarchies],
        )
    ]
    if any(growth):
        rows.append(("growth exponent", "", growth[0], "", growth[1], "", ""))
    header = ("sizes", "draws", "`digits` s", "processors", "`opendp` s", "processors", "times as fast")
    return write_table(header, rows)
