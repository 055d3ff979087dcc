"""The report on one dataset in words and tables: ACCURACY.md, ACCURACY-TAXI.md."""

from benchmarks.accuracy.duels import find_duels, write_duels
from benchmarks.accuracy.report import Report
from benchmarks.accuracy.results import select
from benchmarks.accuracy.tables import write_epsilon
from benchmarks.markdown import write_table


def write_page(report: Report, *, picture: str | None) -> str:
    """The page; ``picture`` is the file name of the picture beside it."""
    duels = find_duels(report.results)
    sections = [
        _write_opening(report, picture),
        _write_findings(report),
        report.words.compare(report.results),
        write_duels(duels, report.words.judge(duels), report.levels),
        *(write_epsilon(report, epsilon) for epsilon in report.settings.epsilons),
        _write_caveats(report),
        _write_missing(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _write_opening(report: Report, picture: str | None) -> str:
    smoke = "\n\n**A smoke run: too small for its numbers to mean anything.**" if report.quick else ""
    rows = [("Date", report.day.isoformat()), *report.machine.items(), ("Command", f"`{report.command}`")]
    plot = f"\n\n![L1 error by mechanism, level and epsilon]({picture})" if picture else ""
    return f"""# Accuracy{smoke}

{report.words.introduce()}

{write_table(("", ""), rows)}

Every number is the mean ± standard deviation over the seeds; mechanisms that need a general solver have
{report.settings.solver_seeds} seeds at most. L1 is the sum over regions and sizes of the absolute error, in
thousands. EMD is the mean over a level's regions of the groups times the steps that they were moved along
the sizes. *Violations* are the regions and sizes whose subregions do not add up to them. Epsilon is split
evenly over the levels; *real epsilon* is what the noise is worth.{plot}"""


def _write_findings(report: Report) -> str:
    tables = [select(report.results, epsilon) for epsilon in report.settings.epsilons]
    findings = list(report.words.find(tables))
    parts = [
        ("It agrees", [finding.text for finding in findings if finding.agrees is True]),
        ("It does not agree", [finding.text for finding in findings if finding.agrees is False]),
        ("Why, and what follows", [finding.text for finding in findings if finding.agrees is None]),
    ]
    return "## What agrees, what does not, and why\n\n" + "\n\n".join(
        f"### {title}\n\n" + "\n".join(f"- {text}" for text in texts) for title, texts in parts if texts
    )


def _write_caveats(report: Report) -> str:
    caveats = {result.variant.mechanism: result.variant.make().caveat for result in report.results}
    rows = [(f"`{name}`", caveat) for name, caveat in caveats.items() if caveat]
    return "## To be known about them\n\n" + write_table(("mechanism", "what"), rows) if rows else ""


def _write_missing(report: Report) -> str:
    if not report.missing:
        return ""
    rows = [(f"`{missing.variant.label}`", missing.reason) for missing in report.missing]
    return "## Not measured\n\n" + write_table(("mechanism", "why, in one run"), rows)
