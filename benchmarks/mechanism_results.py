"""All mechanisms in words and tables: on the nation, and beside bare fits."""

from collections.abc import Sequence
from fractions import Fraction

from benchmarks.fit_results import write_fit_table
from benchmarks.markdown import write_megabytes, write_seconds, write_table
from benchmarks.report import Report
from benchmarks.runtimes import Case, Series, Survey
from benchmarks.variants import list_variants
from tallytree.research.reproduction.runs import MOST_BYTES


def write_nation(report: Report) -> str:
    """Up to Census size: who can do it, in which time, and who cannot, and why."""
    cases = report.nation.cases
    rows = [
        (
            f"`{series.variant.label}`",
            *_write_times(series, cases),
            write_megabytes(series.runtimes[-1].peak) if series.runtimes else "",
        )
        for series in report.nation.series
    ]
    header = (
        "mechanism",
        *(f"{case.sizes:,} sizes, epsilon {case.epsilon}" for case in cases),
        "process peak MB",
    )
    small = [
        f"- `{variant.label}` was not tried: it is for small problems ({variant.make().cost})."
        for variant in list_variants()
        if variant.make().small
    ]
    notes = [*_write_refusals(report.nation), *small, *_write_real_epsilons(report.nation)]
    return f"""## Every mechanism at Census size

Seconds on the invented nation; the paper's Census data has 1,000 sizes. Each mechanism ran in a process of
its own, with at most {report.nation.most_seconds:.0f} s and {MOST_BYTES / 2**30:.0f} GB for a case; the first
that it could not do was its last. *Tables* are the paper's own dynamic programmes, where ours is another;
*published* is the paper's calibration of the chain, whose noise is too small for the epsilon that it states.
(The paper's own figures, on its datasets, are measured by `tallytree reproduce`.)
The peak is that of the whole process at the last case that it did.

{write_table(header, rows)}{_write_list(notes)}"""


def write_fits(report: Report) -> str:
    """The mechanisms that fit by isotonic regression, beside the bare fits."""
    return f"""## Beside bare isotonic fits

`cumulative-dp` makes every region's cumulative counts monotone, an isotonic fit for each; `cumulative-chain`
is one weighted isotonic fit along the whole tree. What they take is compared with these fits alone, by our
own kernels (`fit_isotonic_rows` and `fit_isotonic`, exact and in whole numbers) and by
`scipy.optimize.isotonic_regression` (in floats, on one processor), a call for each fit. The three took
turns, {report.fit_rounds} times. (For `cumulative-joint`, see its own section.)

{write_fit_table(report.fits)}"""


def _write_times(series: Series, cases: Sequence[Case]) -> list[str]:
    """A cell for each case: the seconds, or why it stopped there; nothing after that."""
    cells = {run.case: write_seconds(run.timing.seconds) for run in series.runtimes}
    if series.stop:
        failure = series.stop.failure
        cells[series.stop.case] = failure.reason if failure.timed_out else "cannot, see below"
    return [cells.get(case, "") for case in cases]


def _write_refusals(survey: Survey) -> list[str]:
    """Why those that are not merely slow could not go on."""
    return [
        f"- `{series.variant.label}` at N = {stop.case.sizes:,}, epsilon {stop.case.epsilon}: "
        f"{stop.failure.reason}"
        for series in survey.series
        if (stop := series.stop) and not stop.failure.timed_out
    ]


def _write_real_epsilons(survey: Survey) -> list[str]:
    """The real epsilon of what is not calibrated soundly."""
    return [
        f"- `{series.variant.label}`: its real epsilon is {float(run.real_epsilon):g}, "
        f"not the {run.case.epsilon} that it states."
        for series in survey.series
        for run in series.runtimes[-1:]
        if run.real_epsilon != Fraction(run.case.epsilon)
    ]


def _write_list(lines: Sequence[str]) -> str:
    return "\n\n" + "\n".join(lines) if lines else ""
